"""The members that choose a temperature by the row: adaptive, entropy_target, peak_target.

Sums go over d = e - max of every key but the first largest, so that a sharp row keeps its digits (docs/numerics.md).
"""

from __future__ import annotations

import math
import typing

import torch

from ._parameters import Parameters
from ._softmax import Gradients, log_partition, softmax_backward, through_beta
from ._visible import HIDDEN, Seen
from ._weighed import Weighed, dot, is_empty, poison_of, top_of

Tensor = torch.Tensor

MOST = 1e18  # of a temperature: times HIDDEN it is still finite in float32
# Probes of a search, by type. Newton's method needs 4 to 7; the rest is for rows on which it stalls, as near ties for
# the first place make it: every third probe then halves a bracket that is still wide.
_PROBES = {torch.float32: 20, torch.float64: 40}
_VANISHING = {torch.float32: 110.0, torch.float64: 800.0}  # exp of minus this is exactly 0


class Survey(typing.NamedTuple):
    """A row at one temperature; src/normalizer/softmax_map.h. All [batch, head, query, 1]."""

    tail: Tensor
    moment: Tensor
    square: Tensor

    def entropy(self) -> Tensor:
        return self.tail.log1p() - self.moment / (1.0 + self.tail)

    def variance(self) -> Tensor:
        """The variance of beta * e under the weights."""
        mean = self.moment / (1.0 + self.tail)
        return (self.square / (1.0 + self.tail) - mean * mean).clamp(min=0.0)


class Gaps:
    """Scores less the largest, without the first that is largest; and two arrays to compute in."""

    def __init__(self, scores: Tensor) -> None:
        self.top = top_of(scores)
        self.peak = scores.argmax(-1, keepdim=True)
        self.below = (scores - self.top).clamp_(min=HIDDEN)
        self.below.scatter_(-1, self.peak, HIDDEN)
        self._scaled, self._shares = torch.empty_like(scores), torch.empty_like(scores)

    def survey(self, beta: Tensor | float) -> Survey:
        scaled = torch.mul(self.below, beta, out=self._scaled)
        shares = torch.exp(scaled, out=self._shares)
        tail = shares.sum(-1, keepdim=True)
        moment = shares.mul_(scaled).sum(-1, keepdim=True)
        return Survey(tail, moment, shares.mul_(scaled).sum(-1, keepdim=True))

    def weights(self, beta: Tensor, seen: Seen) -> Tensor:
        """softmax at beta; if that is infinite, its limit: ties for the first place share alike."""
        finite = torch.where(beta.isinf(), MOST, beta)
        shares = torch.mul(self.below, finite).exp_()
        unreachable = beta.isinf()
        shares = torch.where(unreachable, (self.below == 0.0).to(shares.dtype), shares)
        whole = shares.sum(-1, keepdim=True) + 1.0
        shares.scatter_(-1, self.peak, torch.ones_like(whole))
        return seen.fill(shares.mul_(1.0 / whole + poison_of(self.top)), 0.0)

    def least(self) -> Tensor:
        """The smallest gap that is not 0; -HIDDEN if there is none."""
        return torch.where(self.below < 0.0, -self.below, -HIDDEN).amin(-1, keepdim=True)


class Probe(typing.NamedTuple):
    feasible: Tensor  # decided on the quantity itself
    excess: Tensor  # a function that falls through 0 at the target ...
    slope: Tensor  # ... and its derivative by beta


def least_temperature(gaps: Gaps, probe: typing.Callable[[Tensor], Probe], guess: Tensor, first: Probe) -> Tensor:
    """The least beta >= 1 that is feasible, and never one below it; inf where ties put the target out of reach.

    first: the probe at 1. As in src/normalizer/temperature_search.h, Newton's method inside a bracket; but every row
    takes as many steps as any other, so that nobody has to look whether one is done.
    """
    dtype = gaps.below.dtype
    high = (_VANISHING[dtype] / gaps.least()).clamp(max=MOST)
    reachable = probe(high).feasible & (high > 1.0)
    low, here = torch.ones_like(high), guess
    for step in range(_PROBES[dtype]):
        newton = (here > low) & (here < high)
        if step >= 6 and step % 3 == 2:
            newton &= high <= 2.0 * low
        here = torch.where(newton, here, torch.where(high > 2.0 * low, low.sqrt() * high.sqrt(), 0.5 * (low + high)))
        found = probe(here)
        low, high = torch.where(found.feasible, low, here), torch.where(found.feasible, here, high)
        move = -found.excess / found.slope
        # Newton comes from one side only; a step a little too far, by some roundings at least, lets both ends close in.
        nudge = torch.where(found.feasible, -here, here) * (torch.finfo(dtype).eps * 2.0 ** (1 + step // 2))
        here = here + torch.where(move.abs() < 1e-2 * here, move * (1.0 + 1e-3) + nudge, move)
    beta = torch.where(reachable, high, math.inf)
    return torch.where(first.feasible, torch.ones_like(beta), beta) + poison_of(gaps.top)


class _Target:
    """softmax at the least beta >= 1 that meets a target."""

    signed = False
    parameter = ""

    def __init__(self, parameters: Parameters) -> None:
        self.target = parameters[self.parameter]
        self._full = parameters["gradient"] == "full"

    def _probe(self, gaps: Gaps, beta: Tensor) -> tuple[Probe, Survey]:
        raise NotImplementedError

    def _guess(self, first: Survey, probe: Probe) -> Tensor:
        raise NotImplementedError

    def _search(self, gaps: Gaps, seen: Seen) -> Tensor:
        probe, first = self._probe(gaps, torch.ones_like(gaps.top))
        beta = least_temperature(gaps, lambda at: self._probe(gaps, at)[0], self._guess(first, probe), probe)
        return torch.where(is_empty(gaps.top), torch.ones_like(beta), beta) if seen.parts else beta

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        gaps = Gaps(scores)
        beta = self._search(gaps, seen) if temperature is None else temperature.nan_to_num(nan=1.0, posinf=math.inf)
        weights = gaps.weights(beta, seen)
        return Weighed(weights, beta, None, lambda: _partition(gaps.top, beta, weights))

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        beta = typing.cast(Tensor, weighed.temperature)
        reached = ~beta.isinf()
        beta = torch.where(reached, beta, 1.0)
        d_logits = softmax_backward(weighed.weights, d_weights)
        gaps = Gaps(scores) if self._full else None
        if gaps is None:
            return d_logits.mul_(torch.where(reached, beta, 0.0)), {}
        d_beta = through_beta(d_logits, scores, gaps.top, seen)
        d_scores = d_logits.mul_(beta)
        moves = reached & (beta != 1.0)
        d_target = self._through(gaps, beta, weighed.weights, torch.where(moves, d_beta, 0.0), d_scores, seen)
        return torch.where(reached, d_scores, 0.0), {self.parameter: torch.where(moves, d_target, 0.0)}

    def _through(
        self, gaps: Gaps, beta: Tensor, weights: Tensor, d_beta: Tensor, d_scores: Tensor, seen: Seen
    ) -> Tensor:
        """Add to d_scores what moves beta, and return the gradient of the target."""
        raise NotImplementedError


def _partition(top: Tensor, beta: Tensor, weights: Tensor) -> Tensor:
    return torch.where(beta.isinf(), math.nan, log_partition(top, beta, weights))


class EntropyTarget(_Target):
    parameter = "nats"

    def _probe(self, gaps: Gaps, beta: Tensor) -> tuple[Probe, Survey]:
        survey = gaps.survey(beta)
        entropy = survey.entropy()
        slope = -survey.variance() / (beta * entropy)
        return Probe(entropy <= self.target, (entropy / self.target).log(), slope), survey

    def _guess(self, first: Survey, probe: Probe) -> Tensor:
        """By beta squared, in which the entropy of normally distributed scores is straight."""
        return (1.0 + 2.0 * (first.entropy() - self.target) / first.variance()).clamp(min=1.0).sqrt()

    def _through(
        self, gaps: Gaps, beta: Tensor, weights: Tensor, d_beta: Tensor, d_scores: Tensor, seen: Seen
    ) -> Tensor:
        survey = gaps.survey(beta)
        variance = survey.variance() / (beta * beta)
        scale = torch.where(variance > 0.0, d_beta / variance, 0.0)
        log_weights = (gaps.below * beta).scatter_(-1, gaps.peak, 0.0).sub_(survey.tail.log1p() - survey.entropy())
        d_scores.sub_(log_weights.mul_(weights).mul_(scale))
        seen.fill(d_scores, 0.0)
        return -scale / beta


class PeakTarget(_Target):
    parameter = "weight"

    def _log_tail(self) -> typing.Any:
        weight = self.target
        if isinstance(weight, Tensor):
            return (-weight).log1p() - weight.log()
        return math.log1p(-weight) - math.log(weight)

    def _probe(self, gaps: Gaps, beta: Tensor) -> tuple[Probe, Survey]:
        survey = gaps.survey(beta)
        feasible = 1.0 / (1.0 + survey.tail) >= self.target
        return Probe(feasible, survey.tail.log() - self._log_tail(), survey.moment / (beta * survey.tail)), survey

    def _guess(self, first: Survey, probe: Probe) -> Tensor:
        return 1.0 - probe.excess / probe.slope

    def _through(
        self, gaps: Gaps, beta: Tensor, weights: Tensor, d_beta: Tensor, d_scores: Tensor, seen: Seen
    ) -> Tensor:
        survey = gaps.survey(beta)
        mean_gap = -survey.moment / (beta * (1.0 + survey.tail))
        scale = torch.where(mean_gap > 0.0, d_beta / mean_gap, 0.0)
        d_scores.add_(weights * (scale * beta))
        d_scores.scatter_add_(-1, gaps.peak, -scale * beta)
        seen.fill(d_scores, 0.0)
        return scale / self.target


class Adaptive:
    """beta = max(1, polynomial(H)) where the entropy at 1 is above a threshold."""

    signed = False

    def __init__(self, parameters: Parameters) -> None:
        self._coefficients = parameters["polynomial"]
        self._threshold = parameters["threshold"]
        self._full = parameters["gradient"] == "full"

    def _temperature(self, entropy: Tensor) -> tuple[Tensor, Tensor]:
        """And its slope by the entropy."""
        value, slope = torch.zeros_like(entropy), torch.zeros_like(entropy)
        for coefficient in self._coefficients:
            slope = slope * entropy + value
            value = value * entropy + coefficient
        sharper = (entropy > self._threshold) & (value > 1.0)
        return torch.where(sharper, value.clamp(max=MOST), 1.0), torch.where(sharper, slope, 0.0)

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        gaps = Gaps(scores)
        beta = self._temperature(gaps.survey(1.0).entropy())[0] + poison_of(gaps.top)
        weights = gaps.weights(beta, seen)
        return Weighed(weights, beta, None, lambda: log_partition(gaps.top, beta, weights))

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        beta = typing.cast(Tensor, weighed.temperature)
        d_logits = softmax_backward(weighed.weights, d_weights)
        if not self._full:
            return d_logits.mul_(beta), {}
        gaps = Gaps(scores)
        d_beta = through_beta(d_logits, scores, gaps.top, seen)
        plain = gaps.survey(1.0)
        entropy = plain.entropy()
        # dH/de_k = -q_k (ln q_k + H) with q the plain softmax.
        log_weights = gaps.below.scatter(-1, gaps.peak, 0.0).sub_(plain.tail.log1p())
        moved = log_weights.exp().mul_(log_weights.add_(entropy)).mul_(d_beta * self._temperature(entropy)[1])
        return seen.fill(d_logits.mul_(beta).sub_(moved), 0.0), {}


__all__ = ["Adaptive", "EntropyTarget", "PeakTarget", "dot"]
