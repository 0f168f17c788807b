"""What is computed together: a block is some batch entries, some heads that share no key head with others, some queries."""

from __future__ import annotations

import typing

# Scores of one block. A handful of arrays of this size live at a time. A block takes some eighty small operations beside
# its own, which on a CPU are a tenth of the time at this size and most of it at a sixteenth of it. The number for other
# devices nobody could tune: few launches count there.
_CPU_SCORES = 1 << 20
_DEVICE_SCORES = 1 << 23
_LEAST_ROWS = 64  # of a head: fewer would leave matrix products with too little to do


class Block(typing.NamedTuple):
    batch: slice
    key_heads: slice
    heads: slice
    queries: slice


def _cuts(size: int, step: int) -> list[slice]:
    return [slice(begin, min(begin + step, size)) for begin in range(0, size, step)]


def scores_at_a_time(device_type: str) -> int:
    return _CPU_SCORES if device_type == "cpu" else _DEVICE_SCORES


def blocks_of(
    batches: int, key_heads: int, group: int, queries: int, keys: int, device_type: str
) -> typing.Iterator[Block]:
    """All of them, those of the same keys next to each other. None where there is no row."""
    if not (batches and queries):
        return
    most = max(1, scores_at_a_time(device_type) // max(keys, 1))  # rows
    rows = min(queries, max(most // (batches * key_heads * group), min(_LEAST_ROWS, most)))
    head_step = min(key_heads, max(1, most // (rows * group)))
    batch_step = min(batches, max(1, most // (rows * group * key_heads))) if head_step == key_heads else 1
    for batch in _cuts(batches, batch_step):
        for part in _cuts(key_heads, head_step):
            for rows_of_block in _cuts(queries, rows):
                yield Block(batch, part, slice(part.start * group, part.stop * group), rows_of_block)
