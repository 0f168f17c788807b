"""attention() and its gradient, spelt like torch.nn.functional.scaled_dot_product_attention."""

from __future__ import annotations

import typing

import numpy as np

from . import _core
from ._arrays import NumPyArrays, arrays_like, door_of, gradients_elsewhere
from ._normalizers import NormalizerLike, as_normalizer, parameter_names
from ._request import Inputs, Options, make_request, read_inputs, shortened
from ._shapes import Shapes
from ._stats import StatsWish, gather_stats, plan_stats

Array = typing.Any  # a NumPy array, a torch tensor, a JAX array, or any other array that supports DLPack


class Gradients(typing.NamedTuple):
    """float32, or float64 for float64 inputs; None if the gradient is not needed or does not exist."""

    query: Array
    key: Array
    value: Array
    bias: Array  # of a floating-point attn_mask
    parameters: dict[str, Array]  # name -> [head]; a parameter shared by the heads has their sum


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
) -> typing.Any:
    """Attention under any normalizer: weights of scale * query @ key.T + attn_mask, times value.

    query [.., head, query, feature], key and value [.., kv_head, key, feature]; at least two dimensions,
    the leading ones broadcast as torch's function does it. NumPy arrays, torch tensors or JAX arrays in
    CPU memory, float32, bfloat16, float16 (computed in float32) or float64 (the slow, exact
    specification). They are never written to, and copied only where their last dimension is strided,
    their bytes are swapped, or several batch dimensions do not fold into one. The answer is of query's
    kind and type. torch tensors and JAX arrays record gradients; for NumPy there is attention_backward().

    attn_mask     bool (True: attend) or floating (added to the score), broadcast to [.., query, key]
    dropout_p     must be 0
    is_causal     the first query sees the first key; ``causal="bottom-right"``: the last sees the last
    scale         of the scores; None: 1 / sqrt(feature)
    enable_gqa    groups of query heads share a key and value head
    normalizer    text such as "entmax:alpha=1.5", or a Normalizer; see family()
    window        (left, right) keys around the query's own position; -1: no limit
    key_lengths   one length per batch entry
    documents     offsets of packed documents, or a pair (query offsets, key offsets)
    soft_cap      c > 0: a scaled score e becomes c * tanh(e / c) before attn_mask is added
    return_stats  also return Stats; see there what to ask for
    threads       0: what OpenMP would use; the result is bitwise the same for any number

    A row with every key masked gives 0.
    """
    door = None if type(query) is np.ndarray else door_of(query)
    if door is not None:
        return door.attention(
            query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, normalizer=normalizer,
            causal=causal, window=window, key_lengths=key_lengths, documents=documents, soft_cap=soft_cap,
            return_stats=return_stats, threads=threads,
        )  # fmt: skip
    check_dropout(dropout_p)
    inputs = read_inputs(NumPyArrays, query, key, value, attn_mask, enable_gqa)
    options = Options(is_causal, scale, causal, window, key_lengths, documents, soft_cap)
    return _attend(inputs, options, as_normalizer(normalizer), return_stats, checked_threads(threads))


def checked_threads(threads: int) -> int:
    if type(threads) is not int and not isinstance(threads, np.integer):
        raise TypeError(f"threads is a {type(threads).__name__}; it must be a whole number")
    if not 0 <= threads < 1 << 31:
        raise ValueError(f"threads is {threads}; it must be 0 or more")
    return int(threads)


def check_dropout(dropout_p: float) -> None:
    if dropout_p != 0.0:
        raise NotImplementedError(f"dropout_p is {shortened(dropout_p)}; attention has no dropout, it must be 0")


def _attend(
    inputs: Inputs, options: Options, normalizer: _core.Normalizer, return_stats: StatsWish, threads: int
) -> typing.Any:
    """The kernel over NumPy arrays: the answer, or the answer and Stats."""
    query, key, value, _, shapes = inputs
    request = make_request(NumPyArrays, inputs, options)
    rows = query.shape[:-1]
    out = np.empty((*rows, value.shape[-1]), query.dtype)
    if return_stats is False:
        _core.attend(request, normalizer, out, {}, (), threads)
        return out if shapes is None else _unfold(out, shapes)
    wanted, gaps = plan_stats(return_stats, NumPyArrays, (1, 1, 1, *rows)[-3:], key.shape[-2])
    _core.attend(request, normalizer, out, wanted, gaps, threads)
    lead = rows[:-1] if shapes is None else shapes.lead
    return (out if shapes is None else _unfold(out, shapes)), gather_stats(wanted, gaps, lead)


def _unfold(out: Array, shapes: Shapes) -> Array:
    return out.reshape((*shapes.lead, *out.shape[-2:]))


def checked_needs(needs: typing.Sequence[str]) -> typing.Sequence[str]:
    for name in needs:
        if name not in ("query", "key", "value", "bias", "parameters"):
            raise ValueError(f"needs has {shortened(name)}; it may have query, key, value, bias and parameters")
    return needs


def _empty_gradients(arrays: typing.Any, inputs: Inputs, needs: typing.Sequence[str]) -> dict[str, Array]:
    type_name = "float64" if arrays.is_double(inputs.query) else "float32"
    sources = {"query": inputs.query, "key": inputs.key, "value": inputs.value, "bias": inputs.attn_mask}
    wanted = {}
    for name in checked_needs(needs):
        if name == "parameters":
            continue
        source = sources[name]
        if source is not None and not (name == "bias" and arrays.is_bool(source)):
            wanted[name] = arrays.empty_of(tuple(source.shape), type_name)
    return wanted


def _saved_arrays(arrays: typing.Any, saved: typing.Any) -> typing.Any:
    if saved is None:
        return None
    out, rest = saved[0], saved[1:]
    if len(rest) == 1:  # (out, stats), as attention() returned them
        rest = (rest[0].log_partition, rest[0].temperature)
    if len(rest) != 2 or any(array is None for array in rest):
        raise ValueError("saved must be (out, stats) with log_partition and temperature, or (out, both of them)")
    names = ("saved out", "saved log_partition", "saved temperature")
    return tuple(arrays.readable(array, name) for array, name in zip((out, *rest), names))


def attention_backward(
    d_out: Array,
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array = None,
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
    saved: typing.Any = None,
    needs: typing.Sequence[str] = ("query", "key", "value", "bias", "parameters"),
    threads: int = 0,
) -> Gradients:
    """Gradients of sum(d_out * attention(...)); arguments as attention() has them.

    For NumPy arrays and detached torch tensors on any device, with equal leading dimensions, four dimensions at most.

    saved   (out, stats) of the forward call, stats with log_partition and temperature, or (out,
            log_partition, temperature): spares computing them again
    needs   which gradients to compute
    """
    options = Options(is_causal, scale, causal, window, key_lengths, documents, soft_cap)
    elsewhere = gradients_elsewhere(query)
    if elsewhere is not None:
        checked_threads(threads)
        return elsewhere.attention_backward(
            d_out, query, key, value, attn_mask, enable_gqa, options, normalizer, saved, needs
        )
    arrays = arrays_like(query)
    inputs = read_inputs(arrays, query, key, value, attn_mask, enable_gqa)
    if inputs.shapes is not None:
        raise ValueError(
            "query, key, value and attn_mask must have equal leading dimensions here, four dimensions at most; "
            "broadcast them first, and sum their gradients"
        )
    normalizer = as_normalizer(normalizer)
    wanted = _empty_gradients(arrays, inputs, needs)
    names = parameter_names(normalizer.name)
    if "parameters" in needs and names:
        heads = inputs.query.shape[-3] if len(inputs.query.shape) > 2 else 1
        wanted["parameters"] = arrays.empty_of((len(names), heads), "float64")
    request = make_request(arrays, inputs, options)
    d_out = arrays.readable(d_out, "d_out")
    _core.attend_backward(request, normalizer, d_out, wanted, _saved_arrays(arrays, saved), checked_threads(threads))
    parameters = wanted.pop("parameters", None)
    query, key, value, bias = (wanted.get(name) for name in ("query", "key", "value", "bias"))
    return Gradients(query, key, value, bias, {} if parameters is None else dict(zip(names, parameters)))
