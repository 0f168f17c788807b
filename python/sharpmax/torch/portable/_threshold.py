"""sparsemax, entmax15, entmax and asentmax: [(alpha - 1) beta e - tau]+^(1 / (alpha - 1)), tau such that they sum to 1.

With z = (alpha - 1) beta (e - max) <= 0 the threshold lies in [-1, 0). Newton's method from -1 on never passes it,
for the sum is convex up to alpha = 2; a bracket guards the rest. The last step is exact on the support it found,
and dividing by the sum takes out what rounding is common to all weights.
"""

from __future__ import annotations

import math
import typing

import torch

from ._parameters import Number, Parameters
from ._softmax import Gradients, heaviest, log_partition, may_be_negative, softmax_at, through_beta
from ._visible import HIDDEN, Seen
from ._weighed import Weighed, dot, poison_of

Tensor = torch.Tensor

# Steps of a search. Closed powers: each halves what is left of the way at least, then converges quadratically.
_STEPS = {torch.float32: 14, torch.float64: 20}
_POWER_STEPS = {torch.float32: 20, torch.float64: 48}
_LEAST_POWER = {torch.float32: 1e-7, torch.float64: 1e-14}  # of alpha - 1: as good as 0, and divides


class _Threshold:
    signed = False

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def alpha(self) -> Number:
        raise NotImplementedError

    def beta(self, seen: Seen) -> Number:
        return 1.0

    def through(self, d_alpha: Tensor, d_beta: Tensor, seen: Seen) -> dict[str, Tensor]:
        return {"alpha": d_alpha}

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        alpha, beta = self.alpha(), self.beta(seen)
        top = heaviest(beta, scores, seen)
        if not isinstance(alpha, Tensor) and alpha == 1.0:
            weights = softmax_at(beta, scores, seen)
            return Weighed(weights, beta, None, lambda: log_partition(top, beta, weights))
        if not isinstance(alpha, Tensor) and alpha in (1.5, 2.0):
            weights, tau = _closed(int(1.0 / (alpha - 1.0)), self._z(alpha - 1.0, beta, scores, top, seen))
        else:
            weights, tau = _power(
                alpha,
                (top - scores).mul_(beta) if not may_be_negative(beta) else seen.fill((top - scores) * beta, -HIDDEN),
            )
        weights = seen.fill(weights.add_(poison_of(top)), 0.0)
        return Weighed(weights, beta, (alpha - 1.0) * beta * top + tau)

    def _z(self, a: float, beta: Number, scores: Tensor, top: Tensor, seen: Seen) -> Tensor:
        z = (scores - top).mul_(beta * a)
        return seen.fill(z, HIDDEN) if may_be_negative(beta) else z

    def backward(self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor) -> Gradients:
        alpha, beta, weights = self.alpha(), self.beta(seen), weighed.weights
        slopes = _slopes(alpha, weights)
        mean = dot(slopes, d_weights) / slopes.sum(-1, keepdim=True)
        mean = torch.where(slopes.sum(-1, keepdim=True) == 0.0, 0.0, mean)  # rows without a key
        found = {}
        if self.parameters.learned:
            bends = _bends(alpha, weights)
            d_alpha = mean * bends.sum(-1, keepdim=True) - dot(bends, d_weights)
            d_logits = slopes.mul_(d_weights.sub_(mean))
            d_beta = through_beta(d_logits, scores, heaviest(beta, scores, seen), seen)
            found = self.through(d_alpha, d_beta, seen)
        else:
            d_logits = slopes.mul_(d_weights.sub_(mean))
        return d_logits.mul_(beta), found


class Sparsemax(_Threshold):
    def alpha(self) -> Number:
        return 2.0


class Entmax15(_Threshold):
    def alpha(self) -> Number:
        return 1.5


class Entmax(_Threshold):
    def alpha(self) -> Number:
        return typing.cast(Number, self.parameters["alpha"])


class Asentmax(Entmax):
    def beta(self, seen: Seen) -> Number:
        own = self.parameters
        return typing.cast(Number, own["delta"] + own["beta"] * seen.count.log1p() ** own["gamma"])

    def through(self, d_alpha: Tensor, d_beta: Tensor, seen: Seen) -> dict[str, Tensor]:
        length = seen.count.log1p()
        growth = length ** self.parameters["gamma"]
        d_gamma = d_beta * self.parameters["beta"] * growth * length.log()
        return {"alpha": d_alpha, "delta": d_beta, "beta": d_beta * growth, "gamma": d_gamma}


def _closed(power: int, z: Tensor) -> tuple[Tensor, Tensor]:
    """Weights and threshold of alpha = 2 (power 1) and 1.5 (power 2), z shifted by its largest. Writes over nothing."""
    tau = torch.full_like(z[..., :1], -1.0)
    lifts = torch.empty_like(z)
    for _ in range(_STEPS[z.dtype]):
        torch.sub(z, tau, out=lifts).clamp_(min=0.0)
        if power == 1:
            tau = tau + (lifts.sum(-1, keepdim=True) - 1.0) / (lifts > 0.0).sum(-1, keepdim=True)
        else:
            squares = torch.linalg.vector_norm(lifts, 2, -1, keepdim=True).square()
            tau = tau + 0.5 * (squares - 1.0) / lifts.sum(-1, keepdim=True)
    torch.sub(z, tau, out=lifts).clamp_(min=0.0)
    weights = lifts if power == 1 else lifts.square_()
    return weights.div_(weights.sum(-1, keepdim=True)), tau


def _power(alpha: Number, gaps: Tensor) -> tuple[Tensor, Tensor]:
    """Any alpha in (1, 16], by L = -ln of the largest weight, in [0, ln n]: src/normalizer/softmax_map.h."""
    least = _LEAST_POWER[gaps.dtype]
    a = (alpha - 1.0).clamp(min=least) if isinstance(alpha, Tensor) else max(alpha - 1.0, least)
    gaps = gaps * a
    low = torch.zeros_like(gaps[..., :1])
    high = torch.full_like(low, math.log(gaps.shape[-1]) * (1.0 + 4.0 * torch.finfo(gaps.dtype).eps))
    here = low
    for step in range(_POWER_STEPS[gaps.dtype]):
        left, weights = _weights_at(a, gaps, here)
        total = weights.sum(-1, keepdim=True)
        above = total >= 1.0
        low, high = torch.where(above, here, low), torch.where(above, high, here)
        slope = weights.div_(left).sum(-1, keepdim=True)
        move = total.log() * total / slope
        here = here + torch.where(move.abs() < 1e-2, move * (1.0 + 1e-3), move)
        inside = (here > low) & (here < high) if step % 3 < 2 else torch.zeros_like(above)
        here = torch.where(inside, here, 0.5 * (low + high))
    _, weights = _weights_at(a, gaps, here)
    weights = weights.div_(weights.sum(-1, keepdim=True))
    return weights, -(-a * here).exp()


def _weights_at(a: typing.Any, gaps: Tensor, here: Tensor) -> tuple[Tensor, Tensor]:
    """1 - u, of at least a little, and exp(log1p(-u) / a - L) with u = a gap exp(a L); 0 where u is 1 or more."""
    u = gaps * (a * here).exp()
    weights = u.neg().clamp_(min=-1.0).log1p_().div_(a).sub_(here).exp_()
    return u.neg_().add_(1.0).clamp_(min=torch.finfo(gaps.dtype).tiny), weights


def _slopes(alpha: Number, weights: Tensor) -> Tensor:
    """w^(2 - alpha) on the support."""
    if isinstance(alpha, Tensor):
        return torch.where(weights == 0.0, 0.0, weights.log().mul_(2.0 - alpha).exp_())
    if alpha == 2.0:
        return (weights != 0.0).to(weights.dtype).add_(weights * 0.0)  # NaN stays
    if alpha == 1.5:
        return weights.sqrt()
    return weights.clone() if alpha == 1.0 else weights.pow(2.0 - alpha)


def _bends(alpha: Number, weights: Tensor) -> Tensor:
    """p l^2 s(a l), l = ln p and s(x) = (exp(-x) - 1 + x) / x^2, which is 1/2 at 0."""
    logs = torch.where(weights == 0.0, -1.0, weights.log())
    x = logs * (alpha - 1.0)
    series = torch.zeros_like(x)
    terms = 11 if weights.dtype == torch.float32 else 17
    for k in range(terms, 1, -1):  # sum of (-x)^(k - 2) / k!
        series = series * -x + 1.0 / math.factorial(k)
    far = x < -0.5
    safe = torch.where(far, x, -1.0)
    second = torch.where(far, (torch.expm1(-safe) + safe) / (safe * safe), series)
    return second.mul_(logs).mul_(logs).mul_(weights)
