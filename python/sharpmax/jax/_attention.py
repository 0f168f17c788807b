"""attention() of JAX arrays."""

from __future__ import annotations

import functools
import typing

import jax
import jax.numpy as jnp
import numpy as np

from .. import _core
from .._arrays import NumPyArrays
from .._attention import attention_backward, check_dropout, checked_threads
from .._normalizers import Normalizer, NormalizerLike, as_normalizer
from .._request import Inputs, Options, make_request, static_options
from .._shapes import common_shapes, fit
from .._stats import Stats, StatsWish, gather_stats, plan_stats
from ._callback import (
    FLOATS,
    Parameters,
    call_back,
    checked,
    checked_parameters,
    in_kernel_type,
    is_traced,
    no_gradient,
    of_shape,
    with_values,
)

Array = typing.Any


# --- Arguments ------------------------------------------------------------------------------------------


class _Call(typing.NamedTuple):
    """Settings that are known when JAX traces: hashable, and not differentiated."""

    normalizer: str
    parameters: tuple[str, ...]  # learnable ones that come as arrays
    options: Options
    stats: tuple[tuple[str, typing.Any], ...]  # the arrays by name with shape and type, and the gaps
    threads: int

    def rule(self, parameters: typing.Sequence[Array]) -> Normalizer:
        return with_values(as_normalizer(self.normalizer), self.parameters, parameters)


def _flattened(stats: Stats) -> tuple[tuple[Array, ...], tuple[tuple[str, ...], typing.Any]]:
    names = tuple(stats.names())
    return tuple(getattr(stats, name) for name in names), (names, stats.gaps)


# So that a jitted function may return them.
jax.tree_util.register_pytree_node(
    Stats, _flattened, lambda known, arrays: Stats(**dict(zip(known[0], arrays)), gaps=known[1])
)


def _wish(return_stats: StatsWish, rows: tuple[int, ...], keys: int) -> tuple[tuple[str, typing.Any], ...]:
    """The names of the arrays that plan_stats would make, with their gaps and shapes: it is their check too."""
    if return_stats is False:
        return ()
    wanted, gaps = plan_stats(return_stats, NumPyArrays, rows, keys)
    arrays = [(name, (tuple(array.shape), array.dtype.name)) for name, array in wanted.items()]
    return (*arrays, ("gaps", gaps))


def _stats_arrays(call: _Call) -> tuple[dict[str, np.ndarray[typing.Any, typing.Any]], tuple[float, ...]]:
    options = dict(call.stats)
    gaps = options.pop("gaps", ())
    return {name: np.empty(shape, kind) for name, (shape, kind) in options.items()}, gaps


# --- The callbacks, over NumPy arrays -------------------------------------------------------------------


def _as_numpy(arrays: typing.Sequence[Array]) -> list[Array]:
    return [None if array is None else np.asarray(array) for array in arrays]


def _request_of(call: _Call, query: Array, key: Array, value: Array, mask: Array) -> _core.Request:
    query, key, value = (
        NumPyArrays.readable(array, name) for array, name in ((query, "query"), (key, "key"), (value, "value"))
    )
    mask = None if mask is None else NumPyArrays.readable(mask, "attn_mask")
    return make_request(NumPyArrays, Inputs(query, key, value, mask, None), call.options)


def _bits(rows: np.ndarray[typing.Any, typing.Any]) -> np.ndarray[typing.Any, typing.Any]:
    """float64 as pairs of uint32: JAX keeps no float64 by default."""
    return rows.reshape((*rows.shape, 1)).view(np.uint32)


def _from_bits(bits: Array) -> np.ndarray[typing.Any, typing.Any]:
    return np.ascontiguousarray(np.asarray(bits)).view(np.float64)[..., 0]


def _forward(
    call: _Call, keep: bool, query: Array, key: Array, value: Array, mask: Array, *parameters: Array
) -> typing.Any:
    """(out, statistics, values for the backward pass as bits)."""
    query, key, value, mask = _as_numpy((query, key, value, mask))
    wanted, gaps = _stats_arrays(call)
    filled = dict(wanted)
    rows = query.shape[:-1]
    for name in ("log_partition", "temperature") if keep else ():
        filled.setdefault(name, np.empty(rows, np.float64))
    out = np.empty((*rows, value.shape[-1]), query.dtype)
    request = _request_of(call, query, key, value, mask)
    _core.attend(request, call.rule(parameters), out, filled, gaps, call.threads)
    saved = tuple(_bits(filled[name]) for name in ("log_partition", "temperature")) if keep else ()
    return out, tuple(_narrowed(array) for array in wanted.values()), saved


def _narrowed(array: np.ndarray[typing.Any, typing.Any]) -> np.ndarray[typing.Any, typing.Any]:
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)


def _backward(call: _Call, d_out: Array, out: Array, saved: Array, *inputs: Array) -> typing.Any:
    """The gradients of query, key, value, a floating mask, and parameters, in the shapes of these."""
    query, key, value, mask = _as_numpy(inputs[:4])
    parameters = inputs[4:]
    needs = ["query", "key", "value"]
    if mask is not None and mask.dtype != np.bool_:
        needs.append("bias")
    if parameters:
        needs.append("parameters")
    options = call.options._asdict()
    found = attention_backward(
        np.asarray(d_out), query, key, value, mask, enable_gqa=True, needs=needs, threads=call.threads,
        normalizer=call.rule(parameters), saved=(np.asarray(out), *map(_from_bits, saved)), **options,
    )  # fmt: skip
    gradients = [found.query, found.key, found.value, found.bias]
    for name, value_of in zip(call.parameters, parameters):
        gradients.append(of_shape(found.parameters[name], value_of.shape))
    return tuple(gradients)


# --- As JAX sees them -----------------------------------------------------------------------------------


def _result_shapes(call: _Call, keep: bool, query: Array, value: Array) -> typing.Any:
    rows = query.shape[:-1]
    stats = tuple(
        jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(kind))
        for name, (shape, kind) in (entry for entry in call.stats if entry[0] != "gaps")
    )
    saved = (jax.ShapeDtypeStruct((*rows, 2), jnp.uint32),) * 2 if keep else ()
    return jax.ShapeDtypeStruct((*rows, value.shape[-1]), query.dtype), stats, saved


def _attend(call: _Call, inputs: typing.Any) -> typing.Any:
    results = _result_shapes(call, False, inputs[0], inputs[2])
    return call_back(functools.partial(_forward, call, False), results, *inputs)[:2]


def _attend_forward(call: _Call, inputs: typing.Any) -> typing.Any:
    results = _result_shapes(call, True, inputs[0], inputs[2])
    out, stats, saved = call_back(functools.partial(_forward, call, True), results, *inputs)
    return (out, stats), (inputs, out, saved)


def _attend_backward(call: _Call, kept: typing.Any, cotangents: typing.Any) -> typing.Any:
    inputs, out, saved = kept
    floating = [array is not None and array.dtype != np.bool_ for array in inputs]
    results = tuple(
        jax.ShapeDtypeStruct(array.shape, array.dtype) if differentiable else None
        for array, differentiable in zip(inputs, floating)
    )
    gradients = call_back(functools.partial(_backward, call), results, cotangents[0], out, saved, *inputs)
    zeros = (None if differentiable else no_gradient(array) for array, differentiable in zip(inputs, floating))
    return (tuple(zero if gradient is None else gradient for gradient, zero in zip(gradients, zeros)),)


_recorded = jax.custom_vjp(_attend, nondiff_argnums=(0,))
_recorded.defvjp(_attend_forward, _attend_backward)


def _check_now(call: _Call, inputs: typing.Any) -> None:
    """Refuse, before a traced program runs, what the kernel would refuse; no memory is read."""
    blank: list[Array] = [None if array is None else np.empty(array.shape, array.dtype) for array in inputs[:4]]
    parameters = inputs[4:]
    normalizer = as_normalizer(call.normalizer) if is_traced(*parameters) else call.rule(parameters)
    wanted, gaps = _stats_arrays(call)
    out = np.empty((*blank[0].shape[:-1], blank[2].shape[-1]), blank[0].dtype)
    _core.check_attend(_request_of(call, *blank), normalizer, out, wanted, gaps, call.threads)


def attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    normalizer: NormalizerLike = "softmax",
    causal: str | None = None,
    window: tuple[int, int] | None = None,
    key_lengths: typing.Sequence[int] | None = None,
    documents: typing.Any = None,
    soft_cap: float = 0.0,
    return_stats: StatsWish = False,
    threads: int = 0,
    parameters: Parameters | None = None,
) -> typing.Any:
    """sharpmax.attention() of JAX arrays; jit, grad, value_and_grad and vmap work.

    Gradients reach query, key, value, a floating attn_mask, and ``parameters={"s": array}``: learnable
    parameters of the normalizer, a number each or one for every head. All other arguments are part of the
    traced program. Statistics have no gradient.
    """
    check_dropout(dropout_p)
    rule = as_normalizer(normalizer)
    learned = checked_parameters(rule, parameters)
    query, key, value = (checked(name, array) for name, array in (("query", query), ("key", key), ("value", value)))
    if not query.dtype == key.dtype == value.dtype:
        raise TypeError(f"query, key and value are {query.dtype}, {key.dtype} and {value.dtype}; they must agree")
    given = query.dtype
    query, key, value = map(in_kernel_type, (query, key, value))
    if attn_mask is not None:
        attn_mask = in_kernel_type(checked("attn_mask", attn_mask, ("bool", *FLOATS)))
    mask_shape = None if attn_mask is None else attn_mask.shape
    shapes = common_shapes(query.shape, key.shape, value.shape, mask_shape, enable_gqa)
    lead = query.shape[:-2] if shapes is None else shapes.lead
    if shapes is not None:
        query, key, value, attn_mask = fit(shapes, query, key, value, attn_mask, jnp.broadcast_to)
    query, key, value = (array.reshape((1,) * (4 - array.ndim) + array.shape) for array in (query, key, value))
    options = static_options(Options(is_causal, scale, causal, window, key_lengths, documents, soft_cap))
    wish = _wish(return_stats, query.shape[:-1], key.shape[-2])
    call = _Call(rule.text, tuple(learned), options, wish, checked_threads(threads))
    inputs = (query, key, value, attn_mask, *learned.values())
    _check_now(call, inputs)
    # Arrays that are here are not differentiated: what is, is traced.
    out, stats = (_recorded if is_traced(*inputs) else _attend)(call, inputs)
    out = out.reshape((*lead, *out.shape[-2:])).astype(given)
    if return_stats is False:
        return out
    names = [name for name, _ in wish if name != "gaps"]
    return out, gather_stats(dict(zip(names, stats)), dict(wish)["gaps"], lead)
