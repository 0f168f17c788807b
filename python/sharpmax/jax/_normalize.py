"""normalize() of JAX arrays."""

from __future__ import annotations

import functools
import typing

import jax
import jax.numpy as jnp
import numpy as np

from .. import _core
from .._arrays import NumPyArrays
from .._attention import checked_threads
from .._normalizers import Normalizer, NormalizerLike, as_normalizer
from .._rows import checked_axis, folded, normalize_backward
from .._stats import StatsWish
from ._callback import Parameters, call_back, checked, checked_parameters, in_kernel_type, of_shape, with_values

Array = typing.Any


class _Call(typing.NamedTuple):
    normalizer: str
    parameters: tuple[str, ...]
    threads: int

    def rule(self, parameters: typing.Sequence[Array]) -> Normalizer:
        return with_values(as_normalizer(self.normalizer), self.parameters, parameters)


def _weights(call: _Call, scores: Array, *parameters: Array) -> Array:
    scores = NumPyArrays.readable(np.asarray(scores), "scores")
    weights = np.empty(scores.shape, scores.dtype)
    _core.normalize(scores, call.rule(parameters), weights, {}, (), call.threads)
    return weights


def _gradients(call: _Call, d_weights: Array, scores: Array, *parameters: Array) -> Array:
    rule = call.rule(parameters)
    d_scores, found = normalize_backward(np.asarray(d_weights), np.asarray(scores), rule, threads=call.threads)
    return d_scores, *(of_shape(found[name], value.shape) for name, value in zip(call.parameters, parameters))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _normalize(call: _Call, inputs: typing.Any) -> jax.Array:
    result = jax.ShapeDtypeStruct(inputs[0].shape, inputs[0].dtype)
    return call_back(functools.partial(_weights, call), result, *inputs)


def _backward(call: _Call, inputs: typing.Any, d_weights: jax.Array) -> typing.Any:
    results = tuple(jax.ShapeDtypeStruct(array.shape, array.dtype) for array in inputs)
    return (call_back(functools.partial(_gradients, call), results, d_weights, *inputs),)


_normalize.defvjp(lambda call, inputs: (_normalize(call, inputs), inputs), _backward)


def normalize(
    scores: Array,
    normalizer: NormalizerLike = "softmax",
    axis: int = -1,
    *,
    return_stats: StatsWish = False,
    threads: int = 0,
    parameters: Parameters | None = None,
) -> jax.Array:
    """sharpmax.normalize() of a JAX array; jit, grad and vmap work. Gradients reach scores and ``parameters``."""
    if return_stats is not False:
        raise NotImplementedError(
            "return_stats is set; for JAX arrays attention() has statistics, normalize() has none"
        )
    rule = as_normalizer(normalizer)
    learned = checked_parameters(rule, parameters)
    scores = checked("scores", scores)
    axis = checked_axis(axis, scores.ndim)
    rows = jnp.swapaxes(in_kernel_type(scores), axis, -1)
    call = _Call(rule.text, tuple(learned), checked_threads(threads))
    nothing = np.empty(
        (0, rows.shape[-1]), rows.dtype
    )  # what the kernel would refuse is refused now, not when a traced program runs
    _core.normalize(nothing, rule, nothing.copy(), {}, (), call.threads)
    weights = _normalize(call, (folded(rows), *learned.values()))
    return jnp.swapaxes(weights.reshape(rows.shape), axis, -1).astype(scores.dtype)
