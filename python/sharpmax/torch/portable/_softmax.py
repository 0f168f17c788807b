"""The members that are a softmax at a temperature known before, and those made of one.

softmax, ssmax, log_length, sink, top_k, hard, self_adjust. Formulas are those of src/normalizer/family.
"""

from __future__ import annotations

import functools
import math
import typing

import torch

from ._parameters import Number, Parameters, log
from ._visible import HIDDEN, Seen
from ._weighed import Weighed, dot, is_empty, poison_of, top_of

Tensor = torch.Tensor
Gradients = tuple[Tensor, dict[str, Tensor]]


def softmax_backward(weights: Tensor, d_weights: Tensor) -> Tensor:
    """w (dw - sum w dw)"""
    return torch._softmax_backward_data(d_weights, weights, -1, weights.dtype)


def log_partition(top: Tensor, beta: Number, weights: Tensor) -> Tensor:
    """ln sum exp(beta e). The heaviest weight is 1 / (1 + tail), whose logarithm loses nothing."""
    return top * beta - weights.amax(-1, keepdim=True).log()


def may_be_negative(beta: Number) -> bool:
    return isinstance(beta, Tensor) or beta < 0.0


def softmax_at(beta: Number, scores: Tensor, seen: Seen) -> Tensor:
    """Weights at a temperature of either sign, 0 at hidden keys."""
    logits = scores
    if isinstance(beta, Tensor) or beta != 1.0:
        logits = scores * beta
        if may_be_negative(beta):
            seen.fill(logits, HIDDEN)
    return seen.fill(logits.softmax(-1), 0.0)


def heaviest(beta: Number, scores: Tensor, seen: Seen) -> Tensor:
    """The score that gets the largest weight: the largest, or the least for a negative temperature."""
    top = top_of(scores)
    if not may_be_negative(beta):
        return top
    least = seen.fill(scores.clone(), -HIDDEN).amin(-1, keepdim=True) if seen.parts else scores.amin(-1, keepdim=True)
    if isinstance(beta, Tensor):
        return torch.where(beta < 0.0, least, top)
    return least


def through_beta(d_logits: Tensor, scores: Tensor, top: Tensor, seen: Seen) -> Tensor:
    """d beta from w (dw - D): gaps to the top, so that scores far from 0 do not cancel."""
    return dot(d_logits, seen.fill(scores - top, 0.0))


class Exponential:
    """exp(beta e) / sum, beta a number, or one that the count of keys decides."""

    signed = False

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def beta(self, seen: Seen) -> Number:
        return typing.cast(Number, self.parameters["beta"])

    def through(self, d_beta: Tensor, seen: Seen) -> dict[str, Tensor]:
        return {"beta": d_beta}

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        beta = self.beta(seen)
        weights = softmax_at(beta, scores, seen)

        @functools.cache
        def top() -> Tensor:
            return heaviest(beta, scores, seen)

        def log_ratios() -> Tensor:
            ratios = (scores - top()).clamp_(HIDDEN, -HIDDEN)  # 0 times it is 0
            return ratios if isinstance(beta, float) and beta == 1.0 else ratios.mul_(beta).clamp_(HIDDEN, -HIDDEN)

        return Weighed(weights, beta, None, lambda: log_partition(top(), beta, weights), log_ratios)

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        beta = self.beta(seen)
        d_logits = softmax_backward(weighed.weights, d_weights)
        found = {}
        if self.parameters.learned:
            found = self.through(through_beta(d_logits, scores, heaviest(beta, scores, seen), seen), seen)
        return d_logits.mul_(beta), found


class Ssmax(Exponential):
    def beta(self, seen: Seen) -> Number:
        return typing.cast(Number, self.parameters["s"] * seen.count.log() + self.parameters["b"])

    def through(self, d_beta: Tensor, seen: Seen) -> dict[str, Tensor]:
        return {"s": d_beta * seen.count.log(), "b": d_beta}


def _yarn(factor: Number) -> Number:
    if isinstance(factor, Tensor):
        return (0.1 * factor.clamp(min=1.0).log() + 1.0).square()
    return (0.1 * math.log(max(1.0, factor)) + 1.0) ** 2


class LogLength(Exponential):
    def beta(self, seen: Seen) -> Number:
        own = self.parameters
        if own["preset"] == "qwen":
            return (seen.count.log() / log(own["length"])).clamp(min=1.0)
        if own["preset"] == "llama4":
            return typing.cast(Number, 1.0 + own["a"] * (seen.count / own["floor"]).floor().log1p())
        return _yarn(own["factor"] if own["preset"] == "yarn" else seen.count / own["length"])


class Sink:
    """softmax times Z / (c + Z)."""

    signed = False

    def __init__(self, parameters: Parameters) -> None:
        self._log_c = log(parameters["c"])
        self._learned = bool(parameters.learned)

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        weights = softmax_at(1.0, scores, seen)
        top = top_of(scores)
        partition = log_partition(top, 1.0, weights)
        kept = torch.sigmoid(partition - self._log_c)
        if seen.parts:
            kept = torch.where(is_empty(top), 0.0, kept)
        return Weighed(seen.fill(weights.mul_(kept), 0.0), 1.0, None, lambda: partition)  # 0 * NaN is NaN

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        found = {}
        if self._learned:
            partition = weighed.partition()
            mean = dot(weighed.weights, d_weights)
            whole = torch.logaddexp(typing.cast(Tensor, self._log_c), partition)
            found["c"] = torch.where(mean == 0.0, 0.0, -mean * (-whole).exp())
        return softmax_backward(weighed.weights, d_weights), found


class TopK:
    """softmax over the k largest; of equal scores the lowest index."""

    signed = False

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def _left_out(self, scores: Tensor) -> Tensor | None:
        k = self.parameters["k"]
        keys = scores.shape[-1]
        if not isinstance(k, Tensor):
            if k >= keys:
                return None
            least = scores.topk(int(k), -1).values[..., -1:]
        else:  # one for each head; how large they are is not looked at
            place = k.clamp(max=keys).to(torch.int64) - 1
            least = scores.sort(-1, descending=True).values.gather(-1, place.expand(*scores.shape[:-1], 1))
        above = scores > least
        tied = scores == least
        room = k - above.sum(-1, keepdim=True)
        return ~(above | (tied & (tied.cumsum(-1) <= room)))

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        beta = self.parameters["beta"]
        logits = scores * beta
        if may_be_negative(beta):
            seen.fill(logits, HIDDEN)
        left_out = self._left_out(scores)
        if left_out is not None:
            logits.masked_fill_(left_out, HIDDEN)
        weights = logits.softmax(-1)
        if left_out is not None:
            weights.masked_fill_(left_out, 0.0)
        weights = seen.fill(weights.add_(poison_of(top_of(scores))), 0.0)
        return Weighed(weights, beta, None, lambda: log_partition(top_of(logits), 1.0, weights))

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        beta = self.parameters["beta"]
        d_logits = softmax_backward(weighed.weights, d_weights)
        found = {}
        if self.parameters.learned:
            found["beta"] = through_beta(d_logits, scores, top_of(scores), seen)
        return d_logits.mul_(beta), found


class Hard:
    """One-hot at the largest; the gradient is softmax's, passed straight through."""

    signed = False

    def __init__(self, parameters: Parameters) -> None:
        pass

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        poison = poison_of(top_of(scores))
        weights = poison.expand_as(scores).clone()
        place = scores.argmax(-1, keepdim=True)  # of equal ones the first
        return Weighed(seen.fill(weights.scatter_(-1, place, poison + 1.0), 0.0))

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        return softmax_backward(softmax_at(1.0, scores, seen), d_weights), {}


class SelfAdjust:
    """softmax times the height of a score in its row's range, or times the score itself."""

    def __init__(self, parameters: Parameters) -> None:
        self.signed = self._plain = parameters["form"] == "plain"

    def _range(self, scores: Tensor, seen: Seen) -> tuple[Tensor, Tensor, Tensor]:
        """Its lower end, 1 / its width (0 if it is empty), and scores with hidden keys above all others."""
        above = seen.fill(scores.clone(), -HIDDEN) if seen.parts else scores
        low, high = above.amin(-1, keepdim=True).clamp(max=0.0), top_of(scores).clamp(min=0.0)
        return low, torch.where(high > low, 1.0 / (high - low), 0.0), above

    def _factor(self, scores: Tensor, seen: Seen) -> Tensor:
        if self._plain:
            return seen.fill(scores.clone(), 0.0)
        low, slope, _ = self._range(scores, seen)
        return seen.fill((scores - low).mul_(slope), 0.0)

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        soft = softmax_at(1.0, scores, seen)
        partition = log_partition(top_of(scores), 1.0, soft)
        return Weighed(soft.mul_(self._factor(scores, seen)), 1.0, None, lambda: partition)

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        soft = softmax_at(1.0, scores, seen)
        factor = self._factor(scores, seen)
        mean = dot(weighed.weights, d_weights)
        d_factor = d_weights.mul_(soft)
        if self._plain:
            return (factor + 1.0).mul_(d_factor).sub_(soft * mean), {}
        low, slope, above = self._range(scores, seen)
        high = top_of(scores)
        d_scores = (factor + slope).mul_(d_factor).sub_(soft * mean)
        # The ends of the range move with the keys that hold them, unless 0 holds them.
        d_low = torch.where(low < 0.0, dot(d_factor, factor - 1.0) * slope, 0.0)
        d_high = torch.where(high > 0.0, -dot(d_factor, factor) * slope, 0.0)
        d_scores.scatter_add_(-1, above.argmin(-1, keepdim=True), d_low)
        return d_scores.scatter_add_(-1, scores.argmax(-1, keepdim=True), d_high), {}
