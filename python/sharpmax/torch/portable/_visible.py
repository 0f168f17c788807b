"""The keys that a query sees: the span of keys that a block needs, and those hidden within it.

Causality and windows without lengths are known from shapes alone: keys that no query of the block sees are never
touched, and only columns at the two edges have anything hidden. Lengths, documents, masks and biases hide by tensors.
"""

from __future__ import annotations

import dataclasses
import functools
import typing

import torch

from .._kernel import Lengths, Masks

Tensor = torch.Tensor

# The score of a hidden key: finite, so that 0 * score is 0, and so low that its weight is exactly 0. With
# temperatures up to _targets.MOST it never overflows float32.
HIDDEN = -1e20
_EDGES = 4  # masks kept for blocks to come: most calls need two


def lowest_bias(dtype: torch.dtype) -> float:
    """A bias at or below half the lowest finite value of its type is a mask."""
    return torch.finfo(dtype).min / 2


@dataclasses.dataclass
class Seen:
    """What one block sees."""

    keys: slice  # that any of its queries may see
    parts: list[tuple[slice, Tensor]]  # columns of the block, and what is hidden there: [batch, head, query, key] or 1
    interval: typing.Callable[[], Tensor] | None  # [1, 1, query, 1]: keys that a row sees, where shapes alone say it
    like: Tensor
    may_be_empty: bool = True  # some row may see no key

    def fill(self, row: Tensor, value: float) -> Tensor:
        """Put a value at hidden keys, in place."""
        for columns, hidden in self.parts:
            row[..., columns].masked_fill_(hidden, value)
        return row

    @functools.cached_property
    def count(self) -> Tensor:
        """[batch or 1, head or 1, query or 1, 1]: keys that a row sees, of at least 1."""
        return self.exact_count.clamp(min=1.0)

    @functools.cached_property
    def exact_count(self) -> Tensor:
        width = self.keys.stop - self.keys.start
        if self.interval is not None:
            return self.interval()
        if not self.parts:
            return self.like.new_full((1, 1, 1, 1), float(width))
        hidden = self.parts[0][1]
        hidden = hidden.expand(*hidden.shape[:-1], width)
        return width - hidden.sum(-1, keepdim=True, dtype=self.like.dtype)

    @property
    def all_of_them(self) -> bool:
        """Every row sees every key of the block."""
        return not self.parts


class Visibility:
    """What each block of one call sees."""

    def __init__(self, masks: Masks, lengths: Lengths, attn_mask: Tensor | None, shape: tuple[int, int], like: Tensor):
        """attn_mask has four dimensions. shape: queries, keys."""
        self._masks, self._mask, self._like = masks, attn_mask, like
        self._queries, self._keys = shape
        self._left = masks.left
        self._right = 0 if masks.causal else masks.right
        furthest = self._queries + self._keys  # a reach beyond every key does not limit
        self._left, self._right = (-1 if not 0 <= reach < furthest else reach for reach in (self._left, self._right))
        self._lengths = Lengths(*(None if part is None else part.to(like.device) for part in lengths))
        self.hides_nothing = (
            self._left < 0 and self._right < 0 and attn_mask is None and all(part is None for part in lengths)
        )
        self.by_shape = attn_mask is None and all(part is None for part in lengths)
        self._edges: dict[tuple[int, int, int], Tensor] = {}

    def of(self, batch: slice, heads: slice, queries: slice) -> Seen:
        by_length = self._lengths.key is not None or self._lengths.query_offsets is not None
        seen = self._by_tensors(batch, queries) if by_length else self._by_shape(queries)
        if self._mask is None:
            return seen
        hidden = _cut(self._mask, batch, heads, queries, seen.keys)
        hidden = hidden.logical_not() if hidden.dtype == torch.bool else hidden <= lowest_bias(hidden.dtype)
        if seen.parts:
            hidden = hidden | self._everywhere(seen)
        return Seen(seen.keys, [(slice(None), hidden)], None, self._like)

    def _everywhere(self, seen: Seen) -> Tensor:
        """The parts of one block as one mask [batch or 1, 1, query, key]."""
        if len(seen.parts) == 1 and seen.parts[0][0] == slice(None):
            return seen.parts[0][1]
        rows = seen.parts[0][1].shape[-2]
        whole = torch.zeros((1, 1, rows, seen.keys.stop - seen.keys.start), dtype=torch.bool, device=self._like.device)
        for columns, hidden in seen.parts:
            whole[..., columns] |= hidden
        return whole

    # Shapes alone.

    def _range(self, query: int) -> tuple[int, int]:
        own = query + (0 if self._masks.causal == "top-left" else self._keys - self._queries)
        begin = 0 if self._left < 0 else max(0, own - self._left)
        end = self._keys if self._right < 0 else min(self._keys, own + self._right + 1)
        return min(begin, self._keys), max(end, 0)

    def _by_shape(self, queries: slice) -> Seen:
        if self._left < 0 and self._right < 0:
            return Seen(slice(0, self._keys), [], None, self._like, self._keys == 0)
        (begin, first_end), (last_begin, end) = self._range(queries.start), self._range(queries.stop - 1)
        may_be_empty = first_end <= begin or end <= last_begin  # rows between these two see a key if both do
        end = max(begin, end)
        if last_begin > first_end:  # the edges overlap: a narrow window
            edges = [(begin, end)]
        else:
            edges = [(begin, min(last_begin, end)), (max(begin, first_end), end)]
        parts = [
            (slice(first - begin, last - begin), self._edge(queries, first, last))
            for first, last in edges
            if first < last
        ]
        return Seen(slice(begin, end), parts, lambda: self._interval(queries), self._like, may_be_empty)

    def _own(self, queries: slice) -> Tensor:
        """[1, 1, query, 1]: the key at which each query stands."""
        shift = 0 if self._masks.causal == "top-left" else self._keys - self._queries
        device = self._like.device
        return torch.arange(queries.start + shift, queries.stop + shift, device=device).reshape(1, 1, -1, 1)

    def bounds(self, queries: slice) -> tuple[Tensor, Tensor]:
        """[1, 1, query, 1]: the first key that each query sees, and one past the last."""
        own = self._own(queries)
        first = own * 0 if self._left < 0 else (own - self._left).clamp(0, self._keys)
        last = own * 0 + self._keys if self._right < 0 else (own + (self._right + 1)).clamp(0, self._keys)
        return first, torch.maximum(first, last)

    def _interval(self, queries: slice) -> Tensor:
        first, last = self.bounds(queries)
        return (last - first).to(self._like.dtype)

    def _edge(self, queries: slice, first: int, last: int) -> Tensor:
        """[1, 1, query, key]: which of these keys are hidden. Blocks that stand alike to their keys share it."""
        place = (queries.stop - queries.start, first - queries.start, last - first)
        if place not in self._edges:
            own = self._own(queries)
            key = torch.arange(first, last, device=self._like.device)
            hidden = [key < own - self._left] if self._left >= 0 else []
            hidden += [key >= own + (self._right + 1)] if self._right >= 0 else []
            if len(self._edges) >= _EDGES:
                self._edges.clear()
            self._edges[place] = functools.reduce(torch.logical_or, hidden)
        return self._edges[place]

    # Lengths and documents: tensors, whose values are never looked at.

    def _by_tensors(self, batch: slice, queries: slice) -> Seen:
        row = torch.arange(queries.start, queries.stop, device=self._like.device).reshape(1, 1, -1, 1)
        low, high, diagonal = self._lengths_of(batch) if self._lengths.key is not None else self._documents_of(row)
        own = row + diagonal
        if self._left >= 0:
            low = torch.maximum(low, own - self._left)
        if self._right >= 0:
            high = torch.minimum(high, own + self._right + 1)
        key = torch.arange(self._keys, device=self._like.device)
        return Seen(slice(0, self._keys), [(slice(None), (key < low) | (key >= high))], None, self._like)

    def _lengths_of(self, batch: slice) -> tuple[typing.Any, typing.Any, typing.Any]:
        """First key, one past the last, and how far queries stand from their own key."""
        lengths = typing.cast(Tensor, self._lengths.key)[batch].clamp(0, self._keys).reshape(-1, 1, 1, 1)
        diagonal = 0 if self._masks.causal == "top-left" else lengths - self._queries
        return torch.zeros_like(lengths), lengths, diagonal

    def _documents_of(self, row: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        starts = typing.cast(Tensor, self._lengths.query_offsets)
        keys = typing.cast(Tensor, self._lengths.key_offsets).clamp(0, self._keys)
        document = (row >= starts[1:]).sum(-1, keepdim=True)  # of queries past the last document: one too many
        outside = document == starts.shape[0] - 1
        document = document.clamp(max=max(starts.shape[0] - 2, 0))
        low, high = keys[document], keys[(document + 1).clamp(max=starts.shape[0] - 1)]
        high = torch.where(outside, low, high)
        begins, ends = starts[document], starts[(document + 1).clamp(max=starts.shape[0] - 1)]
        diagonal = low - begins if self._masks.causal == "top-left" else high - ends
        return low, high, diagonal


def _cut(mask: Tensor, batch: slice, heads: slice, queries: slice, keys: slice) -> Tensor:
    """The part of a broadcast mask [batch or 1, head or 1, query or 1, key or 1] that a block needs."""
    places = (batch, heads, queries, keys)
    return mask[tuple(place if size > 1 else slice(None) for place, size in zip(places, mask.shape))]


cut = _cut
