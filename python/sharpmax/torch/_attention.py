"""attention(): scaled_dot_product_attention under any normalizer, recorded by autograd."""

from __future__ import annotations

import typing

import torch

from .._attention import check_dropout, checked_threads
from .._request import Options, causal_word
from .._shapes import common_shapes, fit
from .._stats import gather_stats
from . import _route
from ._checks import FLOATING, check_inputs, check_lengths, check_mask, check_number, check_parameters, integers
from ._kernel import Lengths, Masks, Wishes, gaps_of
from ._rules import resolve
from ._statistics import wishes_of

Tensor = torch.Tensor

_NO_WISHES = Wishes()
_NO_LENGTHS = Lengths()
_PLAIN_MASKS = Masks()


def _window(window: typing.Any) -> tuple[int, int]:
    try:
        left, right = window
        if int(left) == left and int(right) == right and max(abs(left), abs(right)) < 1 << 62:
            return int(left), int(right)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    raise TypeError(f"window is {window!r}; it must be a pair of whole numbers (left, right)")


def masks_of(options: Options) -> Masks:
    is_causal, scale, causal, window, _, _, soft_cap = options
    left, right = (-1, -1) if window is None else _window(window)
    scale = None if scale is None else check_number(scale, "scale")
    return Masks(causal_word(is_causal, causal), left, right, scale, check_number(soft_cap, "soft_cap"))


def lengths_of(key_lengths: typing.Any, documents: typing.Any) -> Lengths:
    lengths = None if key_lengths is None else integers(key_lengths, "key_lengths")
    if documents is None:
        return Lengths(lengths)
    if isinstance(documents, torch.Tensor):
        paired = documents.dim() == 2 and documents.shape[0] == 2
    else:
        paired = hasattr(documents, "__len__") and len(documents) == 2 and hasattr(documents[0], "__len__")
    query, key = documents if paired else (documents, documents)
    return Lengths(lengths, integers(query, "documents"), integers(key, "documents"))


def _is_autocast(query: typing.Any) -> bool:
    if getattr(query, "is_cpu", True):
        return torch.is_autocast_enabled("cpu")
    kind = query.device.type
    return torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)


def _autocast(
    tensors: typing.Sequence[typing.Any],
) -> tuple[typing.Any, ...]:
    """As torch does it for scaled_dot_product_attention: to autocast's type, float64 left alone."""
    device = getattr(tensors[0], "device", None)
    dtype = torch.get_autocast_dtype("cpu" if device is None else device.type)
    return tuple(
        tensor.to(dtype)
        if isinstance(tensor, torch.Tensor) and tensor.dtype in FLOATING and tensor.dtype != torch.float64
        else tensor
        for tensor in tensors
    )


def _in_context(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, normalizer: typing.Any, options: Options,
    return_stats: typing.Any, group: typing.Any,
) -> tuple[Tensor, Tensor, Tensor | None, bool, str | None]:  # fmt: skip
    """Keys, values and mask of all ranks, as far as the queries of this one see them, and the causality that is left."""
    from . import _context

    is_causal, scale, causal, window, key_lengths, documents, soft_cap = options
    _context.check_group(group)
    if key_lengths is not None or documents is not None:
        raise ValueError("key_lengths and documents do not go with group; use attn_mask")
    word = causal_word(is_causal, causal)
    if window is not None and not word:
        raise ValueError("window goes with group only under a causal mask; give is_causal=True or causal=")
    wishes = _NO_WISHES if return_stats is False else wishes_of(return_stats)
    if wishes.map_rows or "column_mass" in wishes.names.split(","):
        raise ValueError("column_mass and map sum over queries of all ranks; with group, ask for statistics of rows")
    rule, _ = resolve(normalizer)
    settings = f"{rule.text}, scale {scale}, window {window}, soft_cap {soft_cap}"
    key, value, end = _context.gather_context(query, key, value, word, settings, group)
    if attn_mask is not None and attn_mask.shape[-1] != 1:
        attn_mask = attn_mask[..., :end]
    return key, value, attn_mask, False, "bottom-right" if word else None


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    normalizer: typing.Any = "softmax",
    causal: str | None = None,
    window: tuple[int, int] | None = None,
    key_lengths: typing.Any = None,
    documents: typing.Any = None,
    soft_cap: float = 0.0,
    return_stats: typing.Any = False,
    threads: int = 0,
    group: typing.Any = None,
) -> typing.Any:
    """Attention under any normalizer, spelt as torch's scaled_dot_product_attention; see sharpmax.attention.

    Gradients reach query, key, value, a floating attn_mask, and the tensors of a `Learnable` or
    `Parametrized` normalizer. They are computed in float32 and rounded to the type of what they belong
    to; out, which the backward pass reads again, is rounded to query's type. float64 runs the exact
    specification. A gradient has no gradient of its own. Statistics are never differentiated.

    Tensors in CPU memory go to the C++ kernels; those on any other device are computed by PyTorch operations on
    that device, a block of queries at a time, with statistics in float32 (docs/reference/devices.md). A tensor whose last
    dimension is strided is copied. Under autocast query, key, value and a floating attn_mask take autocast's type,
    as torch's own function has it.

    group: processes of torch.distributed that hold one sequence together. Each has a run of its queries and a run of its
    keys and values, in order of rank, and gets its own queries' output and gradients of its own shards. attn_mask has
    this rank's queries and all keys. Gradients of a normalizer's parameters and of attn_mask are those of this rank's rows:
    reduce them as you reduce those of a model's other parameters.
    """
    check_dropout(dropout_p)
    if _is_autocast(query):
        query, key, value, attn_mask = _autocast((query, key, value, attn_mask))
    check_inputs(query, key, value)
    if group is not None:
        key, value, attn_mask, is_causal, causal = _in_context(
            query, key, value, attn_mask, normalizer, Options(is_causal, scale, causal, window, key_lengths, documents, soft_cap),
            return_stats, group,
        )  # fmt: skip
    if attn_mask is not None:
        check_mask(attn_mask, query)
    rule, parameters = resolve(normalizer)
    if parameters is not None:
        check_parameters(parameters, rule.text, query)
    masks = _PLAIN_MASKS
    if is_causal or causal is not None or window is not None or scale is not None or soft_cap:
        masks = masks_of(Options(is_causal, scale, causal, window, None, None, soft_cap))
    lengths = _NO_LENGTHS
    if key_lengths is not None or documents is not None:
        lengths = lengths_of(key_lengths, documents)
        check_lengths(lengths, query)
    mask_shape = None if attn_mask is None else attn_mask.shape
    shapes = common_shapes(query.shape, key.shape, value.shape, mask_shape, enable_gqa)
    if shapes is not None:
        query, key, value, attn_mask = fit(shapes, query, key, value, attn_mask, torch.Tensor.expand)
    wishes = _NO_WISHES if return_stats is False else wishes_of(return_stats)
    inputs = (query, key, value, attn_mask, parameters)
    out, found = _route.attend(inputs, rule, masks, lengths, wishes, checked_threads(threads))
    if shapes is not None:
        out = out.reshape((*shapes.lead, *out.shape[-2:]))
    if return_stats is False:
        return out
    return out, gather_stats(found, gaps_of(wishes), tuple(out.shape[:-2]))
