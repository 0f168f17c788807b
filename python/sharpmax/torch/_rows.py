"""normalize(): the normalizer alone, over rows of scores, recorded by autograd."""

from __future__ import annotations

import typing

import torch

from .._attention import checked_threads
from .._rows import checked_axis, folded
from .._stats import gather_stats
from . import _route
from ._checks import check_floating, check_parameters
from ._kernel import Wishes, gaps_of
from ._rules import resolve
from ._statistics import wishes_of

Tensor = torch.Tensor


def normalize(
    scores: Tensor,
    normalizer: typing.Any = "softmax",
    axis: int = -1,
    *,
    return_stats: typing.Any = False,
    threads: int = 0,
) -> typing.Any:
    """Weights of scores along an axis; see sharpmax.normalize.

    Gradients reach scores and the tensors of a `Learnable` or `Parametrized` normalizer. 16-bit scores are
    computed in float32 and their weights and gradients rounded to their type.
    """
    check_floating(scores, "scores")
    axis = checked_axis(axis, scores.dim())
    rule, parameters = resolve(normalizer)
    if parameters is not None:
        check_parameters(parameters, rule.text, scores, "scores")
    wishes = Wishes() if return_stats is False else wishes_of(return_stats)
    rows = scores if axis == -1 else scores.swapaxes(axis, -1)
    weights, found = _route.weigh(folded(rows), parameters, rule, wishes, checked_threads(threads))
    weights = weights.reshape(rows.shape)
    if axis != -1:
        weights = weights.swapaxes(axis, -1)
    if return_stats is False:
        return weights
    return weights, gather_stats(found, gaps_of(wishes), tuple(rows.shape[:-2]))
