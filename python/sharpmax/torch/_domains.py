"""Parameters kept in their domain: an unbounded number, raw, which is trained, and the value it stands for.

Values are computed in float64, whatever type raw is kept in; in float32 where a device has no float64. No map here is steeper than 1, so a raw that was
rounded to float32 gives a value within a few roundings of float32.
"""

from __future__ import annotations

import math
import typing

import torch

Tensor = torch.Tensor


class Domain(typing.NamedTuple):
    value: typing.Callable[[Tensor], Tensor]
    raw: typing.Callable[[float], float]
    least: float  # both excluded
    most: float
    words: str


def _same(raw: Tensor) -> Tensor:
    return raw


# A raw number far out must not round to an end that the domain does not have.
_LEAST = {torch.float64: 1e-300, torch.float32: 1e-37}
_MARGIN = {torch.float64: 2.0**-52, torch.float32: 2.0**-23}


def _positive(raw: Tensor) -> Tensor:
    return torch.nn.functional.softplus(raw).clamp(min=_LEAST[raw.dtype])


def _fraction(raw: Tensor) -> Tensor:
    return torch.sigmoid(raw).clamp(_MARGIN[raw.dtype], 1.0 - _MARGIN[raw.dtype])


def _softplus_inverse(value: float) -> float:
    return value + math.log(-math.expm1(-value))


def _above_one(raw: Tensor) -> Tensor:
    return 1.0 + torch.sigmoid(raw)


def _logit(value: float) -> float:
    return math.log(value) - math.log1p(-value)


def _logit_above_one(value: float) -> float:
    return _logit(value - 1.0)


_ANY = Domain(_same, float, -math.inf, math.inf, "at a finite number")
_POSITIVE = Domain(_positive, _softplus_inverse, 0.0, math.inf, "above 0")
_FRACTION = Domain(_fraction, _logit, 0.0, 1.0, "between 0 and 1, both excluded")
# Up to 2, not 16: above 2 the slope is unbounded at the edge of the support, and there is no gradient.
_ALPHA = Domain(_above_one, _logit_above_one, 1.0, 2.0, "between 1 and 2, both excluded")

# By what family() says of a parameter; every learnable one is here, and a test looks.
_DOMAINS = {
    "a finite number": _ANY,
    "a finite number, or auto": _ANY,
    "a number above 0": _POSITIVE,
    "a number of at least 0": _POSITIVE,
    "a number between 0 and 1, both excluded": _FRACTION,
    "a number in [1, 16]": _ALPHA,
}


def domain_of(words: str) -> Domain:
    return _DOMAINS[words]


def raw_of(domain: Domain, value: typing.Any, what: str) -> float:
    """what: the parameter, for the message."""
    if isinstance(value, str):
        raise ValueError(f"{what} is {value}, which cannot be learnt; start it at a number")
    if not domain.least < value < domain.most:
        raise ValueError(f"{what} is {value:g}; a learnable one starts {domain.words}")
    return domain.raw(float(value))
