"""The normalizer of each head of a module, and the runs of heads that one kernel call can take."""

from __future__ import annotations

import typing

import torch

from ..torch import Parametrized
from ._state import HEADS

SOFTMAX = "softmax"
Piece = typing.Tuple[typing.Any, slice, slice]


class Heads:
    """One normalizer for all heads of a module, or one for each."""

    def __init__(self, everywhere: typing.Any = SOFTMAX, each: typing.Sequence[typing.Any] | None = None):
        self.everywhere = everywhere
        self.each = None if each is None else list(each)
        self._pieces: dict[tuple[int, int], list[Piece]] = {}

    def pieces(self, heads: int, kv_heads: int) -> list[Piece]:
        """(normalizer, query heads, key heads): slices, so that keys and values are never copied."""
        if self.each is None:
            return [(self.everywhere, slice(0, heads), slice(0, kv_heads))]
        found = self._pieces.get((heads, kv_heads))
        if found is None:
            if len(self.each) != heads:
                raise ValueError(f"there are {len(self.each)} normalizers for a layer of {heads} heads")
            found = self._pieces[heads, kv_heads] = list(_split(self.each, heads // kv_heads))
        return found

    def __getstate__(self) -> dict[str, typing.Any]:  # a copy's pieces are made of the copy's normalizers
        return {"everywhere": self.everywhere, "each": self.each, "_pieces": {}}


def _split(each: list[typing.Any], group: int) -> typing.Iterator[Piece]:
    """Runs of one normalizer, cut so that each has whole groups of heads or lies within one."""
    begin = 0
    while begin < len(each):
        end = begin
        while end < len(each) and (each[end] is each[begin] or each[end] == each[begin]):
            end += 1
        for first, last in _whole_groups(begin, end, group):
            yield each[begin], slice(first, last), slice(first // group, (last - 1) // group + 1)
        begin = end


def _whole_groups(begin: int, end: int, group: int) -> list[tuple[int, int]]:
    if begin // group == (end - 1) // group:
        return [(begin, end)]
    inner_begin, inner_end = -(-begin // group) * group, end // group * group
    cuts = sorted({begin, inner_begin, max(inner_begin, inner_end), end})
    return list(zip(cuts[:-1], cuts[1:]))


_PLAIN = Heads()


def pieces_of(module: torch.nn.Module, heads: int, kv_heads: int) -> list[Piece]:
    return module.__dict__.get(HEADS, _PLAIN).pieces(heads, kv_heads)


def with_sinks(pieces: list[Piece], sinks: torch.Tensor) -> list[Piece]:
    """Heads of plain softmax get the model's learned sinks, [head]; any other normalizer stands in their place, too."""
    weights = sinks.float().exp()
    return [
        (Parametrized("sink", c=weights[heads]) if normalizer == SOFTMAX else normalizer, heads, kv_heads)
        for normalizer, heads, kv_heads in pieces
    ]
