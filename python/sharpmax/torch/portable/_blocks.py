"""Blocks computed together: a block is some batch entries, some heads that share no key head with others, some queries."""

from __future__ import annotations

import typing

# Scores of one block. A handful of arrays of this size live at a time. A block takes some eighty small operations beside
# its own, which on a CPU are a tenth of the time at this size and most of it at a sixteenth of it. The number for other
# devices nobody could tune: few launches count there.
_CPU_SCORES = 1 << 20
_DEVICE_SCORES = 1 << 23
_LEAST_ROWS = 64  # of a head: fewer would leave matrix products with too little to do
# For calls of few operations per block (_quick.py): two arrays of this size stay in the cache of a CPU's core, and
# products of fewer rows are slower. A bare loop of these operations at 2,048 keys: 64 rows 4 % slower, 256 rows 5 %.
_CACHED_SCORES = 1 << 18
_CACHED_ROWS = 128


class Block(typing.NamedTuple):
    batch: slice
    key_heads: slice
    heads: slice
    queries: slice


def _cuts(size: int, step: int) -> list[slice]:
    return [slice(begin, min(begin + step, size)) for begin in range(0, size, step)]


def _rows_at_a_time(keys: int, group: int, device_type: str, cached: bool) -> tuple[int, int]:
    """Return the most rows of a block over all heads, and the fewest of one head."""
    most = max(1, (_CPU_SCORES if device_type == "cpu" else _DEVICE_SCORES) // max(keys, 1))
    if not cached or device_type != "cpu":
        return most, min(_LEAST_ROWS, most)
    most = min(most, max(_CACHED_SCORES // max(keys, 1), _CACHED_ROWS))
    return most, max(1, min(_CACHED_ROWS, most) // group)


def blocks_of(
    batches: int, key_heads: int, group: int, queries: int, keys: int, device_type: str, cached: bool = False
) -> typing.Iterator[Block]:
    """All of them, those of the same keys next to each other. None if there is no row."""
    if not (batches and queries):
        return
    most, least = _rows_at_a_time(keys, group, device_type, cached)
    rows = min(queries, max(most // (batches * key_heads * group), least))
    head_step = min(key_heads, max(1, most // (rows * group)))
    batch_step = min(batches, max(1, most // (rows * group * key_heads))) if head_step == key_heads else 1
    for batch in _cuts(batches, batch_step):
        for part in _cuts(key_heads, head_step):
            for rows_of_block in _cuts(queries, rows):
                yield Block(batch, part, slice(part.start * group, part.stop * group), rows_of_block)
