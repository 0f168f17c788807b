"""From the arguments of attention() to a request of the kernel."""

from __future__ import annotations

import typing

import numpy as np

from . import _core
from ._shapes import Shapes, common_shapes, fit

_CAUSAL = {
    "top-left": _core.Causal.top_left,
    "bottom-right": _core.Causal.bottom_right,
}


class Options(typing.NamedTuple):
    """The arguments that say which keys a query sees, and how scores are made."""

    is_causal: bool = False
    scale: typing.Optional[float] = None
    causal: typing.Optional[str] = None
    window: typing.Optional[typing.Tuple[int, int]] = None
    key_lengths: typing.Optional[typing.Sequence[int]] = None
    documents: typing.Any = None
    soft_cap: float = 0.0


class Inputs(typing.NamedTuple):
    """Arrays that the kernel can read, and what they were broadcast to; None: as they were given."""

    query: typing.Any
    key: typing.Any
    value: typing.Any
    attn_mask: typing.Any
    shapes: typing.Optional[Shapes]


def read_inputs(
    arrays: typing.Any,
    query: typing.Any,
    key: typing.Any,
    value: typing.Any,
    attn_mask: typing.Any,
    enable_gqa: bool,
) -> Inputs:
    query, key, value = (
        arrays.readable(query, "query"),
        arrays.readable(key, "key"),
        arrays.readable(value, "value"),
    )
    mask_shape = None
    if attn_mask is not None:
        attn_mask = arrays.readable(attn_mask, "attn_mask")
        mask_shape = attn_mask.shape
    shapes = common_shapes(query.shape, key.shape, value.shape, mask_shape, enable_gqa)
    if shapes is not None:
        query, key, value, attn_mask = fit(shapes, query, key, value, attn_mask, arrays.expand)
    return Inputs(query, key, value, attn_mask, shapes)


def make_request(arrays: typing.Any, inputs: Inputs, options: Options) -> _core.Request:
    request = _core.Request(inputs.query, inputs.key, inputs.value)
    if inputs.attn_mask is not None:
        (request.set_mask if arrays.is_bool(inputs.attn_mask) else request.set_bias)(inputs.attn_mask)
    is_causal, scale, causal, window, key_lengths, documents, soft_cap = options
    if word := causal_word(is_causal, causal):
        request.set_causal(_CAUSAL[word])
    if window is not None:
        request.set_window(*_window_of(window))
    if scale is not None:
        request.set_scale(_number("scale", scale))
    if soft_cap != 0.0:
        request.set_soft_cap(_number("soft_cap", soft_cap))
    if key_lengths is not None:
        request.set_key_lengths(_whole_numbers("key_lengths", key_lengths))
    if documents is not None:
        request.set_offsets(*_offsets(documents))
    return request


def causal_word(is_causal: bool, causal: typing.Optional[str]) -> str:
    """'top-left', 'bottom-right', or nothing."""
    if not isinstance(is_causal, (bool, np.bool_)):
        raise TypeError(f"is_causal is {shortened(is_causal)}; it must be True or False")
    if is_causal:
        if causal is not None:
            raise ValueError("is_causal is set and causal too; is_causal=True is causal='top-left'")
        return "top-left"
    if causal is None:
        return ""
    if not isinstance(causal, str) or causal not in _CAUSAL:
        raise ValueError(f"causal is {shortened(causal)}; it must be 'top-left', 'bottom-right' or None")
    return causal


def _number(name: str, value: typing.Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be a number") from None


def _whole_numbers(name: str, values: typing.Any) -> typing.List[int]:
    try:
        values = values.tolist() if hasattr(values, "tolist") else values
        whole = [int(value) for value in values]
        if all(a == b for a, b in zip(whole, values)) and all(-(2**63) <= value < 2**63 for value in whole):
            return whole
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    raise TypeError(f"{name} is {shortened(values)}; it must be a sequence of whole numbers")


def shortened(value: typing.Any) -> str:
    """Its repr, fit to stand in a sentence."""
    words = " ".join(repr(value).split())
    return words if len(words) <= 60 else words[:57] + "..."


def _window_of(window: typing.Any) -> typing.List[int]:
    sides = _whole_numbers("window", window)
    if len(sides) != 2:
        raise ValueError(f"window has {len(sides)} numbers; it must be a pair (left, right)")
    return sides


def _offsets(documents: typing.Any) -> typing.Tuple[typing.List[int], typing.List[int]]:
    """(query offsets, key offsets) from one sequence for both, or from a pair of sequences."""
    if hasattr(documents, "__len__") and len(documents) == 2 and all(hasattr(part, "__len__") for part in documents):
        return _whole_numbers("documents", documents[0]), _whole_numbers("documents", documents[1])
    offsets = _whole_numbers("documents", documents)
    return offsets, offsets


def static_options(options: Options) -> Options:
    """The same as plain, hashable values, checked: for doors that trace first and call later."""
    causal_word(options.is_causal, options.causal)
    offsets = None if options.documents is None else tuple(map(tuple, _offsets(options.documents)))
    return Options(
        bool(options.is_causal),
        None if options.scale is None else _number("scale", options.scale),
        options.causal,
        None if options.window is None else typing.cast("tuple[int, int]", tuple(_window_of(options.window))),
        None if options.key_lengths is None else tuple(_whole_numbers("key_lengths", options.key_lengths)),
        offsets,
        _number("soft_cap", options.soft_cap),
    )
