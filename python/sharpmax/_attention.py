"""attention() and its gradient, spelt like torch.nn.functional.scaled_dot_product_attention."""

import typing

from . import _core
from ._arrays import arrays_like
from ._normalizers import as_normalizer, parameter_names
from ._stats import gather_stats, plan_stats

_CAUSAL = {
    "top-left": _core.Causal.top_left,
    "bottom-right": _core.Causal.bottom_right,
}


class Gradients(typing.NamedTuple):
    """float32, or float64 for float64 inputs; None where the gradient was not wanted or cannot be."""

    query: typing.Any
    key: typing.Any
    value: typing.Any
    bias: typing.Any  # of a floating-point attn_mask
    parameters: dict  # name -> [head]; a parameter shared by the heads has their sum


def _set_causal(request, attn_mask, is_causal, causal):
    if is_causal:
        if attn_mask is not None:
            raise ValueError("is_causal is set and attn_mask too; for both say causal='top-left'")
        if causal is not None:
            raise ValueError("is_causal is set and causal too; is_causal=True is causal='top-left'")
        request.set_causal(_core.Causal.top_left)
    elif causal is not None:
        if causal not in _CAUSAL:
            raise ValueError(f"causal is {causal!r}; it must be 'top-left', 'bottom-right' or None")
        request.set_causal(_CAUSAL[causal])


def _offsets(documents):
    """(query offsets, key offsets) from one sequence for both, or from a pair of sequences."""
    documents = documents.tolist() if hasattr(documents, "tolist") else list(documents)
    if len(documents) == 2 and all(hasattr(part, "__len__") for part in documents):
        query, key = documents
    else:
        query = key = documents
    return [int(offset) for offset in query], [int(offset) for offset in key]


def _make_request(arrays, query, key, value, options):
    attn_mask, is_causal, scale, enable_gqa, causal, window, key_lengths, documents, soft_cap = options
    query, key, value = (
        arrays.readable(query, "query"),
        arrays.readable(key, "key"),
        arrays.readable(value, "value"),
    )
    request = _core.Request(query, key, value)
    if not enable_gqa and len(query.shape) > 2 and len(key.shape) > 2 and query.shape[-3] != key.shape[-3]:
        raise ValueError(
            f"query has {query.shape[-3]} heads, key has {key.shape[-3]}; they must agree unless enable_gqa is set"
        )
    if attn_mask is not None:
        attn_mask = arrays.readable(attn_mask, "attn_mask")
        (request.set_mask if arrays.is_bool(attn_mask) else request.set_bias)(attn_mask)
    _set_causal(request, attn_mask, is_causal, causal)
    if window is not None:
        request.set_window(*window)
    if scale is not None:
        request.set_scale(scale)
    request.set_soft_cap(soft_cap)
    if key_lengths is not None:
        request.set_key_lengths([int(length) for length in key_lengths])
    if documents is not None:
        request.set_offsets(*_offsets(documents))
    return request


def attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
    *,
    normalizer="softmax",
    causal=None,
    window=None,
    key_lengths=None,
    documents=None,
    soft_cap=0.0,
    return_stats=False,
    threads=0,
):
    """Attention under any normalizer: weights of scale * query @ key.T + attn_mask, times value.

    query [batch, head, query, feature], key and value [batch, kv_head, key, feature]; leading
    dimensions may be left out. NumPy arrays or torch tensors in CPU memory, float32, bfloat16,
    float16 (computed in float32) or float64 (the slow, exact specification); never written to, and
    not copied unless their last dimension is strided. The answer has query's type.

    attn_mask     bool (True: attend) or floating (added to the score), broadcast to [.., query, key]
    is_causal     the first query sees the first key; ``causal="bottom-right"``: the last sees the last
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
    if dropout_p != 0.0:
        raise NotImplementedError(f"dropout_p is {dropout_p}; attention has no dropout, it must be 0")
    arrays = arrays_like(query)
    options = (attn_mask, is_causal, scale, enable_gqa, causal, window, key_lengths, documents, soft_cap)
    request = _make_request(arrays, query, key, value, options)
    out = arrays.empty((*query.shape[:-1], value.shape[-1]), query)
    if return_stats is False:
        _core.attend(request, as_normalizer(normalizer), out, {}, (), threads)
        return out
    rows = (1, 1, 1, *query.shape[:-1])[-3:]
    wanted, gaps = plan_stats(return_stats, arrays, rows, key.shape[-2])
    _core.attend(request, as_normalizer(normalizer), out, wanted, gaps, threads)
    return out, gather_stats(wanted, gaps)


def _empty_gradients(arrays, query, key, value, attn_mask, needs):
    type_name = "float64" if arrays.is_double(query) else "float32"
    inputs = {"query": query, "key": key, "value": value, "bias": attn_mask}
    wanted = {}
    for name in needs:
        if name == "parameters":
            continue
        if name not in inputs:
            raise ValueError(f"needs has '{name}'; it may have query, key, value, bias and parameters")
        source = inputs[name]
        if source is not None and not (name == "bias" and arrays.is_bool(source)):
            wanted[name] = arrays.empty_of(tuple(source.shape), type_name)
    return wanted


def _saved_arrays(arrays, saved):
    if saved is None:
        return None
    out, rest = saved[0], saved[1:]
    if len(rest) == 1:  # (out, stats), as attention() returned them
        rest = (rest[0].log_partition, rest[0].temperature)
    if len(rest) != 2 or any(array is None for array in rest):
        raise ValueError("saved must be (out, stats) with log_partition and temperature, or (out, both of them)")
    return tuple(
        arrays.readable(array, name)
        for array, name in zip((out, *rest), ("saved out", "saved log_partition", "saved temperature"))
    )


def attention_backward(
    d_out,
    query,
    key,
    value,
    attn_mask=None,
    is_causal=False,
    scale=None,
    enable_gqa=False,
    *,
    normalizer="softmax",
    causal=None,
    window=None,
    key_lengths=None,
    documents=None,
    soft_cap=0.0,
    saved=None,
    needs=("query", "key", "value", "bias", "parameters"),
    threads=0,
):
    """Gradients of sum(d_out * attention(...)); arguments as attention() has them.

    saved   (out, stats) of the forward call, stats with log_partition and temperature, or (out,
            log_partition, temperature): spares computing them again
    needs   which gradients to compute
    """
    arrays = arrays_like(query)
    options = (attn_mask, is_causal, scale, enable_gqa, causal, window, key_lengths, documents, soft_cap)
    request = _make_request(arrays, query, key, value, options)
    normalizer = as_normalizer(normalizer)
    wanted = _empty_gradients(arrays, query, key, value, attn_mask, needs)
    names = parameter_names(normalizer.name)
    heads = query.shape[-3] if len(query.shape) > 2 else 1
    if "parameters" in needs and names:
        wanted["parameters"] = arrays.empty_of((len(names), heads), "float64")
    _core.attend_backward(
        request, normalizer, arrays.readable(d_out, "d_out"), wanted, _saved_arrays(arrays, saved), threads
    )
    parameters = wanted.pop("parameters", None)
    return Gradients(
        *(wanted.get(name) for name in ("query", "key", "value", "bias")),
        {} if parameters is None else dict(zip(names, parameters)),
    )
