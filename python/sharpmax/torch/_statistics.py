"""return_stats= as the ops take it."""

from __future__ import annotations

import typing

from .._stats import plan_stats
from ._kernel import Wishes


class _Shapes:
    """Stands for an array library: arrays are their shapes."""

    @staticmethod
    def empty_of(shape: tuple[int, ...], type_name: str) -> tuple[int, ...]:
        return shape


def wishes_of(return_stats: typing.Any) -> Wishes:
    shapes, gaps = plan_stats(return_stats, _Shapes, (1, 1, 1), 1)
    top = shapes["top_keys"][-1] if "top_keys" in shapes else 0
    rows, columns = shapes["map"][-2:] if "map" in shapes else (0, 0)
    return Wishes(",".join(shapes), top, rows, columns, ",".join(repr(gap) for gap in gaps))
