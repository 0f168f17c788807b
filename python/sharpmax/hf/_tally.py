"""Memory of a watch for one layer: sums by length, and a thinned sample of rows for medians."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import torch

from .._stats import Stats
from ._rows import Rows

_SAMPLE = 4096  # rows kept for medians before every second one is dropped
_OCTAVES = 40  # lengths below 2^40
_FEW = 16  # rows of a call that waits
_WAITING = 64  # calls that may wait


def _join(calls: list[tuple[Stats, Rows]], names: list[str]) -> tuple[Stats, Rows]:
    """Calls of one batch and as many heads, as if they were one call of more queries."""
    batch = getattr(calls[0][0], names[0]).shape[0]
    arrays = {name: torch.cat([getattr(stats, name) for stats, _ in calls], dim=2) for name in names}
    gaps = calls[0][0].gaps

    def joined(parts: list[torch.Tensor]) -> torch.Tensor:
        return torch.cat([part.expand(batch, -1) for part in parts], dim=1)

    padding = None
    if any(rows.padding is not None for _, rows in calls):
        nowhere = torch.zeros((), dtype=torch.bool)
        padding = joined(
            [nowhere.expand(rows.lengths.shape) if rows.padding is None else rows.padding for _, rows in calls]
        )
    rows = Rows(joined([rows.lengths for _, rows in calls]), padding, joined([rows.sees_first for _, rows in calls]))
    return Stats(**arrays, gaps=gaps), rows


class Tally:
    """Columns are the statistics of a row, gap counts last; sums are in double."""

    def __init__(self, names: tuple[str, ...], gaps: tuple[float, ...], cross: bool):
        self.names, self.gaps, self.cross = names, gaps, cross
        self.first = names.index("first_weight") if "first_weight" in names else None
        self.counts = torch.zeros(_OCTAVES, dtype=torch.int64)  # [octave]: rows of a length from 2^octave on
        self.seeing_first = torch.zeros_like(self.counts)  # of them, those that first_weight counts
        self.sums: torch.Tensor | None = None  # [octave, column, head]
        self.sample: list[torch.Tensor] = []  # [row, column, head]
        self.sampled, self.stride, self.phase = 0, 1, 0
        self._waiting: list[tuple[Stats, Rows]] = []
        self._elsewhere: list[torch.Tensor] = []  # sums of calls on another device, which nobody has waited for

    @property
    def columns(self) -> int:
        return len(self.names) + len(self.gaps)

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    def add(self, stats: Stats, rows: Rows) -> None:
        """One call's statistics [batch, head, query]; rows of padding and rows without keys are left out.

        Few rows wait for more of them: a decoding step has one, and torch charges by the call.
        """
        if self.gaps and stats.gaps is not None and stats.gaps != self.gaps:  # another watch counts other gaps
            columns = [stats.gaps.index(gap) for gap in self.gaps]
            stats = dataclasses.replace(stats, gap_counts=stats.gap_counts[..., columns], gaps=self.gaps)
        batch, heads, queries = self._first(stats).shape[:3]
        if self._waiting and self._first(self._waiting[0][0]).shape[:2] != (batch, heads):
            self.settle()
        if batch * queries > _FEW:
            self._count(stats, rows)
            return
        self._waiting.append((stats, rows))
        if len(self._waiting) >= _WAITING:
            self.settle()

    def settle(self) -> None:
        """Count the rows that wait, and fetch sums from other devices; whoever reads this tally does so first."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._count(*_join(waiting, [*self.names, *(["gap_counts"] if self.gaps else [])]))
        self._fetch()

    def _fetch(self) -> None:
        parts, self._elsewhere = self._elsewhere, []
        if parts and self.sums is not None:
            self.sums += torch.stack(parts).cpu().to(torch.float64).sum(0)

    def _first(self, stats: Stats) -> torch.Tensor:
        return getattr(stats, self.names[0]) if self.names else stats.gap_counts

    def _count(self, stats: Stats, rows: Rows) -> None:
        """Statistics stay on the device they come from: which rows count is known in CPU memory, so nobody waits."""
        batch, heads, queries = self._first(stats).shape[:3]
        device = self._first(stats).device
        block = torch.empty(batch, queries, self.columns, heads, dtype=torch.float32, device=device)
        for column, name in enumerate(self.names):
            block[:, :, column] = getattr(stats, name).transpose(1, 2)
        if self.gaps:
            block[:, :, len(self.names) :] = stats.gap_counts.permute(0, 2, 3, 1)
        block = block.reshape(batch * queries, self.columns, heads)
        lengths = rows.lengths.expand(batch, queries).reshape(-1)
        kept = lengths > 0
        if rows.padding is not None and not self.cross:
            kept &= ~rows.padding.expand(batch, queries).reshape(-1)
        sees_first = rows.sees_first.expand(batch, queries).reshape(-1)
        if not kept.all():
            block = block[kept.nonzero()[:, 0].to(device)]
            lengths, sees_first = lengths[kept], sees_first[kept]
        if len(lengths):
            self._sum(block, lengths, sees_first)
            self._thin(block)

    def _sum(self, block: torch.Tensor, lengths: torch.Tensor, sees_first: torch.Tensor) -> None:
        octaves = torch.frexp(lengths.to(torch.float64)).exponent.to(torch.int64) - 1
        if self.sums is None:
            self.sums = torch.zeros(_OCTAVES, *block.shape[1:], dtype=torch.float64)
        blind = (~sees_first).nonzero()[:, 0].to(block.device)
        if self.first is not None:
            block[blind, self.first] = 0.0
        if block.is_cpu:
            self.sums.index_add_(0, octaves, block.to(torch.float64))
        else:  # some devices have no float64: one call in float32, calls together in float64
            self._elsewhere.append(block.new_zeros(self.sums.shape).index_add_(0, octaves.to(block.device), block))
            if len(self._elsewhere) >= _WAITING:
                self._fetch()
        self.counts += torch.bincount(octaves, minlength=_OCTAVES)
        self.seeing_first += torch.bincount(octaves[sees_first], minlength=_OCTAVES)
        if self.first is not None:
            block[blind, self.first] = float("nan")

    def _thin(self, block: torch.Tensor) -> None:
        picked = block[-self.phase % self.stride :: self.stride].clone()
        if self.sample and self.sample[0].device != picked.device:  # the model was moved
            self.sample, picked = [part.cpu() for part in self.sample], picked.cpu()
        self.phase += len(block)
        self.sample.append(picked)
        self.sampled += len(picked)
        while self.sampled > 2 * _SAMPLE:
            whole = torch.cat(self.sample)[::2]
            self.stride *= 2
            self.sample, self.sampled = [whole], len(whole)

    def _divide(self, sums: torch.Tensor, rows: torch.Tensor, seeing_first: torch.Tensor) -> np.ndarray:
        """sums [.., column, head] over the rows that each column counts."""
        counts = rows[..., None].repeat_interleave(self.columns, -1)
        if self.first is not None:
            counts[..., self.first] = seeing_first
        return (sums / counts[..., None]).numpy()

    def mean(self) -> np.ndarray | None:
        """[column, head]"""
        if self.sums is None:
            return None
        return self._divide(self.sums.sum(0), self.counts.sum(), self.seeing_first.sum())

    def median(self) -> np.ndarray | None:
        """[column, head]: exact up to 8192 rows, of an even sample beyond."""
        if self.sums is None:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column of nothing but NaN is NaN
            return np.nanmedian(torch.cat(self.sample).cpu().numpy(), axis=0).astype(np.float64)

    def by_octave(self) -> np.ndarray | None:
        """[octave, column, head]: means; NaN if there was no row."""
        return None if self.sums is None else self._divide(self.sums, self.counts, self.seeing_first)
