"""Shapes, lengths and settings that no computation can answer: one sentence each, as the C++ library has them.

Lengths and offsets that are already on another device are not looked at, for that would wait for it; they are cut to
what there is.
"""

from __future__ import annotations

import math
import typing

import torch

from .._kernel import Lengths, Masks

Tensor = torch.Tensor


def _want(condition: bool, door: str, words: str) -> None:
    if not condition:
        raise ValueError(f"{door}: {words}")


def check_call(
    door: str, inputs: tuple[Tensor, Tensor, Tensor], mask: Tensor | None, masks: Masks, lengths: Lengths, linear: bool
) -> None:
    """inputs: query, key, value with four dimensions."""
    _check_shapes(door, *(tuple(tensor.shape) for tensor in inputs))
    query, key, _ = inputs
    if mask is not None:
        whole = (*query.shape[:3], key.shape[2])
        _want(
            all(size in (1, wanted) for size, wanted in zip(mask.shape, whole)),
            door,
            f"attn_mask has shape {list(mask.shape)}; it must have {list(whole)} or 1 in each place (batch, query head, "
            "query, key)",
        )
    _check_lengths(door, lengths, query.shape[0], query.shape[2], key.shape[2])
    _want(masks.scale is None or math.isfinite(masks.scale), door, f"scale is {masks.scale}; expected a finite number")
    _want(
        math.isfinite(masks.soft_cap) and masks.soft_cap >= 0.0,
        door,
        f"soft_cap is {masks.soft_cap:g}; expected a finite number from 0 on (0: none)",
    )
    if linear:
        _refuse_scores(door, mask, masks)


def check_gaps(door: str, gaps: typing.Sequence[float]) -> None:
    for i, gap in enumerate(gaps):
        before = gaps[i - 1] if i else 0.0
        words = f"statistics.gaps[{i}] is {gap:g} after {before:g}; gaps must be positive and ascending"
        _want(gap > before, door, words)


def _check_shapes(door: str, q: typing.Sequence[int], k: typing.Sequence[int], v: typing.Sequence[int]) -> None:
    _want(k[0] == q[0], door, f"keys have {k[0]} batch entries, queries have {q[0]}; they must agree")
    _want(v[0] == k[0], door, f"values have {v[0]} batch entries, keys have {k[0]}; they must agree")
    _want(q[1] > 0, door, "queries have 0 heads; expected at least 1")
    _want(k[1] > 0, door, "keys have 0 heads; expected at least 1")
    _want(v[1] == k[1], door, f"values have {v[1]} heads, keys have {k[1]}; they must agree")
    _want(q[1] % k[1] == 0, door, f"keys have {k[1]} heads, queries have {q[1]}; the former must divide the latter")
    _want(v[2] == k[2], door, f"there are {v[2]} values for {k[2]} keys; expected one each")
    _want(k[3] == q[3], door, f"keys have {k[3]} features, queries have {q[3]}; they must agree")
    _want(q[3] > 0, door, "queries have 0 features; expected at least 1")
    _want(v[3] > 0, door, "values have 0 features; expected at least 1")


def _refuse_scores(door: str, mask: Tensor | None, masks: Masks) -> None:
    for refused, words in (
        (mask is not None and mask.dtype != torch.bool, "to add a bias to"),
        (masks.scale is not None, "to scale"),
        (masks.soft_cap != 0.0, "to cap"),
    ):
        if refused:
            raise NotImplementedError(f"{door}: linear has no scores {words}")


def _check_lengths(door: str, lengths: Lengths, batches: int, queries: int, keys: int) -> None:
    if lengths.key is not None:
        count = lengths.key.shape[0]
        _want(
            count == batches, door, f"key_lengths holds {count} lengths for {batches} batch entries; expected one each"
        )
        for i, length in enumerate(_values(lengths.key)):
            _want(0 <= length <= keys, door, f"key_lengths[{i}] is {length}; there are {keys} keys")
    query, key = lengths.query_offsets, lengths.key_offsets
    if query is None or key is None:
        return
    _want(
        query.shape[0] == key.shape[0],
        door,
        f"query_offsets holds {query.shape[0]} offsets and key_offsets {key.shape[0]}; documents need as many of each",
    )
    _want(lengths.key is None, door, "lengths and document offsets were both given; expected one or the other")
    for name, offsets, most, what in (("query", query, queries, "queries"), ("key", key, keys, "keys")):
        values = _values(offsets)
        if not values:
            continue
        _want(values[0] == 0, door, f"{name}_offsets starts at {values[0]}; the first document starts at 0")
        for i in range(1, len(values)):
            ascends = values[i - 1] <= values[i]
            _want(ascends, door, f"{name}_offsets[{i}] is {values[i]} after {values[i - 1]}; offsets must ascend")
        _want(values[-1] <= most, door, f"{name}_offsets ends at {values[-1]}; there are {most} {what}")


def _values(numbers: Tensor) -> list[int]:
    """Those that can be looked at: in CPU memory, and not only thought of by a tracer."""
    return numbers.tolist() if type(numbers) is Tensor and numbers.is_cpu else []
