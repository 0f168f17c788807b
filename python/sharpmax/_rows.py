"""normalize() and its gradient: the normalizer alone, over rows of scores."""

from __future__ import annotations

import typing

import numpy as np

from . import _core
from ._arrays import NumPyArrays, arrays_like, door_of, gradients_elsewhere
from ._attention import checked_threads
from ._normalizers import NormalizerLike, as_normalizer, parameter_names
from ._stats import StatsWish, gather_stats, plan_stats

Array = typing.Any


def normalize(
    scores: Array,
    normalizer: NormalizerLike = "softmax",
    axis: int = -1,
    *,
    return_stats: StatsWish = False,
    threads: int = 0,
) -> typing.Any:
    """Weights of each row of scores along `axis`; -inf is a masked key, a row of nothing else gives zeros.

    Parameters with one value per head go by the third dimension from the end, once `axis` is last. NumPy
    arrays, torch tensors (which record gradients), JAX arrays; float32 or float64; float16 and bfloat16
    are computed in float32 and come back in their type.
    """
    door = None if type(scores) is np.ndarray else door_of(scores)
    if door is not None:
        return door.normalize(scores, normalizer, axis, return_stats=return_stats, threads=threads)
    scores = NumPyArrays.readable(scores, "scores")
    return _normalize(scores, normalizer, axis, return_stats, checked_threads(threads))


def checked_axis(axis: int, rank: int) -> int:
    """As counted from the end."""
    if not isinstance(axis, (int, np.integer)) or isinstance(axis, bool):
        raise TypeError(f"axis is a {type(axis).__name__}; it must be a whole number")
    if rank < 1:
        raise ValueError("scores has no dimensions; it must have at least 1")
    if not -rank <= axis < rank:
        raise ValueError(f"axis is {axis}; scores has {rank} dimensions")
    return int(axis) - rank if axis >= 0 else int(axis)


def folded(scores: Array) -> Array:
    """At most four dimensions: the leading ones in one."""
    shape = tuple(scores.shape)
    if len(shape) <= 4:
        return scores
    batch = 1
    for size in shape[:-3]:
        batch *= size
    return scores.reshape((batch, *shape[-3:]))


def _normalize(
    scores: Array, normalizer: NormalizerLike, axis: int, return_stats: StatsWish, threads: int
) -> typing.Any:
    axis = checked_axis(axis, scores.ndim)
    rows = scores.astype(np.float32) if scores.dtype == np.float16 else scores
    if axis != -1:
        rows = NumPyArrays.readable(rows.swapaxes(axis, -1), "scores")
    flat = folded(rows)
    weights = np.empty(flat.shape, flat.dtype)
    wanted: typing.Dict[str, Array] = {}
    gaps: typing.Tuple[float, ...] = ()
    if return_stats is not False:
        wanted, gaps = plan_stats(return_stats, NumPyArrays, (1, 1, 1, *flat.shape[:-1])[-3:], flat.shape[-1])
    _core.normalize(flat, as_normalizer(normalizer), weights, wanted, gaps, threads)
    weights = weights.reshape(rows.shape).astype(scores.dtype, copy=False)
    if axis != -1:
        weights = weights.swapaxes(axis, -1)
    if return_stats is False:
        return weights
    return weights, gather_stats(wanted, gaps, rows.shape[:-2])


def normalize_backward(
    d_weights: Array, scores: Array, normalizer: NormalizerLike = "softmax", *, threads: int = 0
) -> tuple[Array, dict[str, Array]]:
    """(d_scores, d_parameters) of sum(d_weights * normalize(scores)); d_parameters: name -> [head].

    For NumPy arrays and detached torch tensors, on any device, of float32 or float64, four dimensions at most, rows along
    the last.
    """
    elsewhere = gradients_elsewhere(scores)
    if elsewhere is not None:
        checked_threads(threads)
        return elsewhere.normalize_backward(d_weights, scores, normalizer)
    arrays = arrays_like(scores)
    readable = arrays.readable(scores, "scores")
    normalizer = as_normalizer(normalizer)
    d_scores = arrays.empty(tuple(readable.shape), readable)
    names = parameter_names(normalizer.name)
    heads = readable.shape[-3] if len(readable.shape) > 2 else 1
    d_parameters = arrays.empty_of((len(names), heads), "float64")
    d_weights = arrays.readable(d_weights, "d_weights")
    _core.normalize_backward(readable, normalizer, d_weights, d_scores, d_parameters, checked_threads(threads))
    return d_scores, dict(zip(names, d_parameters))
