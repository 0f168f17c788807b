"""normalize(): the normalizer alone, over rows of scores, recorded by autograd."""

from __future__ import annotations

import typing

import torch

from . import _eager, _ops_rows
from ._checks import check_floating
from ._kernel import Wishes
from ._rules import resolve
from ._statistics import stats_of, wishes_of
from ._tracing import is_plain

Tensor = torch.Tensor


def _last(scores: Tensor, axis: typing.Any) -> int:
    rank = scores.dim()
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise TypeError(f"axis is {axis!r}; it must be a whole number")
    if not -rank <= axis < rank:
        raise ValueError(f"axis is {axis}; scores have {rank} dimensions, it must be in [{-rank}, {rank - 1}]")
    return axis % rank


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
    if scores.dim() == 0:
        raise ValueError("scores have 0 dimensions; they must have at least 1")
    axis = _last(scores, axis)
    rule, parameters = resolve(normalizer)
    rows = scores if axis == scores.dim() - 1 else scores.movedim(axis, -1)
    lead = tuple(rows.shape[:-2])
    if len(lead) > 2:
        batch = 1
        for size in lead[:-1]:
            batch *= size
        rows = rows.reshape((batch, *rows.shape[-3:]))
    wishes = Wishes() if return_stats is False else wishes_of(return_stats)
    if is_plain((rows, parameters)):
        weights, found = _eager.weigh(rows, parameters, rule, wishes, threads)
    else:
        weights, values = _ops_rows.normalize(rows, parameters, *rule, *wishes, threads)
        found = dict(zip(wishes.names.split(","), values)) if wishes.names else {}
    if len(lead) > 2:
        weights = weights.reshape((*lead, *weights.shape[-2:]))
    if axis != scores.dim() - 1:
        weights = weights.movedim(-1, axis)
    return weights if return_stats is False else (weights, stats_of(found, wishes, lead))
