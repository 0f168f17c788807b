"""return_stats= as the ops take it, and what they found as Stats."""

from __future__ import annotations

import typing

import torch

from .._stats import Stats, gather_stats, plan_stats
from ._kernel import Wishes, gaps_of


class _Shapes:
    """Stands for an array library: arrays are their shapes."""

    @staticmethod
    def empty_of(shape: typing.Tuple[int, ...], type_name: str) -> typing.Tuple[int, ...]:
        return shape


def wishes_of(return_stats: typing.Any) -> Wishes:
    shapes, gaps = plan_stats(return_stats, _Shapes, (1, 1, 1), 1)
    top = shapes["top_keys"][-1] if "top_keys" in shapes else 0
    rows, columns = shapes["map"][-2:] if "map" in shapes else (0, 0)
    return Wishes(",".join(shapes), top, rows, columns, ",".join(repr(gap) for gap in gaps))


def stats_of(
    found: typing.Dict[str, torch.Tensor], wishes: Wishes, lead: typing.Optional[typing.Tuple[int, ...]]
) -> Stats:
    """lead: the leading dimensions of the answer where the kernel saw these folded into [batch, head]."""
    if lead is not None and len(lead) > 2:
        found = {name: array.reshape((*lead, *array.shape[2:])) for name, array in found.items()}
    return gather_stats(found, gaps_of(wishes))
