"""sigmoid, relu, softpick, linear and stick_breaking: no temperature, no threshold."""

from __future__ import annotations

import torch

from ._parameters import Parameters
from ._softmax import Gradients
from ._visible import Seen
from ._weighed import Weighed, dot, poison_of, top_of

Tensor = torch.Tensor


class Sigmoid:
    """sigma(e + b); b = -ln n unless given."""

    signed = False

    def __init__(self, parameters: Parameters) -> None:
        self._offset, self._learned = parameters["b"], bool(parameters.learned)

    def _shifted(self, scores: Tensor, seen: Seen) -> Tensor:
        offset = -seen.count.log() if isinstance(self._offset, str) else self._offset
        return scores + (poison_of(top_of(scores)) + offset)

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        return Weighed(seen.fill(self._shifted(scores, seen).sigmoid_(), 0.0))

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        d_scores = self._shifted(scores, seen).neg_().sigmoid_().mul_(weighed.weights).mul_(d_weights)
        return d_scores, {"b": d_scores.sum(-1, keepdim=True)} if self._learned else {}


class Relu:
    """max(e, 0) / n"""

    signed = False

    def __init__(self, parameters: Parameters) -> None:
        pass

    @staticmethod
    def _share(scores: Tensor, seen: Seen) -> Tensor:
        return 1.0 / seen.count + poison_of(top_of(scores))

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        return Weighed(seen.fill(scores.clamp(min=0.0).mul_(self._share(scores, seen)), 0.0))

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        return torch.where(scores > 0.0, d_weights, 0.0).mul_(self._share(scores, seen)), {}


class Softpick:
    """max(exp(e) - 1, 0) / sum |exp(e) - 1|; 0 / 0 is 0."""

    signed = False

    def __init__(self, parameters: Parameters) -> None:
        pass

    @staticmethod
    def _sizes(scores: Tensor, seen: Seen) -> tuple[Tensor, Tensor]:
        """|exp(e) - 1| exp(-shift), shift = max(0, largest): no cancellation near 0, no overflow; and the shift."""
        shift = top_of(scores).clamp(min=0.0)
        sizes = scores.abs().neg_().expm1_().neg_().mul_((scores.clamp(min=0.0) - shift).exp_())
        return seen.fill(sizes, 0.0), shift

    @staticmethod
    def _inverse(total: Tensor) -> Tensor:
        return torch.where(total == 0.0, 0.0, 1.0 / total)

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        sizes, shift = self._sizes(scores, seen)
        share = self._inverse(sizes.sum(-1, keepdim=True)) + poison_of(shift)
        return Weighed(seen.fill(torch.where(scores > 0.0, sizes, 0.0).mul_(share), 0.0))

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        sizes, shift = self._sizes(scores, seen)
        mean = dot(weighed.weights, d_weights)
        slopes = (scores - shift).exp_().mul_(self._inverse(sizes.sum(-1, keepdim=True)))
        d_scores = torch.where(scores > 0.0, d_weights.sub_(mean), mean).mul_(slopes)
        return d_scores.masked_fill_(scores == 0.0, 0.0), {}  # a kink: between the two slopes


class Linear:
    """e / sum e, where a score is a product of mapped features and never below 0."""

    signed = False

    def __init__(self, parameters: Parameters) -> None:
        pass

    @staticmethod
    def _share(scores: Tensor) -> Tensor:
        total = scores.clamp(min=0.0).sum(-1, keepdim=True)
        return torch.where(total == 0.0, 0.0, 1.0 / total) + poison_of(top_of(scores))

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        return Weighed(seen.fill(scores.clamp(min=0.0).mul_(self._share(scores)), 0.0))

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        d_scores = d_weights.sub_(dot(weighed.weights, d_weights)).mul_(self._share(scores))
        return seen.fill(d_scores, 0.0), {}


class StickBreaking:
    """sigma(e_j) times what newer keys leave, prod (1 - sigma(e_k)) over k > j."""

    signed = False

    def __init__(self, parameters: Parameters) -> None:
        pass

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        scores = scores + poison_of(top_of(scores))
        broken_off = torch.nn.functional.softplus(scores, threshold=50.0)  # -ln of what each key leaves
        newer = torch.nn.functional.pad(broken_off.flip(-1).cumsum(-1).flip(-1)[..., 1:], (0, 1))
        weights = torch.nn.functional.logsigmoid(scores).sub_(newer).exp_()
        return Weighed(seen.fill(weights, 0.0))

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        own = d_weights.mul_(weighed.weights)
        older = torch.nn.functional.pad(own.cumsum(-1)[..., :-1], (1, 0))
        d_scores = own.mul_((-scores).sigmoid_()).sub_(older.mul_(scores.sigmoid()))
        return seen.fill(d_scores, 0.0), {}
