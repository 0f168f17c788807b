"""Statistics of the rows of an attention."""

from __future__ import annotations

import dataclasses
import typing

from . import _core
from ._request import shortened

ROW_TYPES = dict(_core.row_statistics())  # one number per row: name and element type
_DEFAULT_TOP = 8
_DEFAULT_GAPS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_DEFAULT_MAP = (64, 64)

StatsWish = typing.Union[bool, str, typing.Sequence[str], typing.Mapping[str, typing.Any]]
Array = typing.Any


@dataclasses.dataclass(repr=False, eq=False)
class Stats:
    """Statistics of attention rows; what was not asked for is None.

    Ask with ``return_stats=``: True gives every field of one number per row; "all" adds the top 8
    keys and the gap counts; a sequence of names, or a mapping of names to options, picks:
    ``{"entropy": True, "top": 16, "gaps": [1, 2, 4], "column_mass": True, "map": (64, 64)}``.

    Arrays are of the kind that query was, with its leading dimensions. Where weights do not sum to one,
    entropy, peak and support are those of w / sum w.
    """

    log_partition: Array = None  # [.., head, query]: of beta * score; NaN if there is none
    entropy: Array = None  # nats
    peak_weight: Array = None
    peak_key: Array = None
    effective_support: Array = None  # exp(entropy)
    support: Array = None  # keys with weight > 0
    mass: Array = None  # sum of weights
    temperature: Array = None  # the beta used; NaN if there is none
    threshold: Array = None  # the tau used; NaN if there is none
    score_spread: Array = None  # largest less least score of the unmasked keys
    first_weight: Array = None  # of key 0; 0 where the row does not see it
    top_keys: Array = None  # [.., head, query, k]
    top_weights: Array = None
    gap_counts: Array = None  # [.., head, query, len(gaps)]: keys whose score is within the gap of the largest
    gaps: typing.Optional[typing.Tuple[float, ...]] = None
    column_mass: Array = None  # [.., head, key]: weights summed over queries
    map: Array = None  # [.., head, map_row, map_column]: weights summed over blocks

    def names(self) -> typing.List[str]:
        """Names of the statistics that were asked for."""
        names = (field.name for field in dataclasses.fields(self))
        return [name for name in names if name != "gaps" and getattr(self, name) is not None]

    def __repr__(self) -> str:
        lines = [f"  {name:17} {_described(getattr(self, name))}" for name in self.names()]
        return "\n".join(["Stats(", *lines, ")"]) if lines else "Stats()"

    def plot(self, what: typing.Optional[str] = None, ax: typing.Any = None) -> typing.Any:
        """One statistic against the query's position, one line per head, or `map` as a picture; matplotlib's axes.

        what  a field with one number per row, or "map"; None: the first of entropy, peak_weight, map ...
        """
        from ._plots import plot_stats

        return plot_stats(self, what, ax)


def _described(array: Array) -> str:
    import numpy as np

    values = np.asarray(array)
    words = f"{str(list(values.shape)):18} {values.dtype.name:8}"
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if not finite.size:
        return words.rstrip()
    return f"{words} median {np.median(finite):.6g}, from {finite.min():.6g} to {finite.max():.6g}"


def _wishes(return_stats: StatsWish) -> typing.Dict[str, typing.Any]:
    if return_stats is True:
        return dict.fromkeys(ROW_TYPES, True)
    if isinstance(return_stats, str):
        if return_stats == "all":
            return {**dict.fromkeys(ROW_TYPES, True), "top": True, "gaps": True}
        return {return_stats: True}
    try:
        if isinstance(return_stats, typing.Mapping):
            return dict(return_stats)
        return dict.fromkeys(typing.cast(typing.Sequence[str], return_stats), True)
    except TypeError:
        raise TypeError(
            f"return_stats is a {type(return_stats).__name__}; it must be True, 'all', names, or a mapping of names"
        ) from None


def _sizes(name: str, option: typing.Any, default: typing.Tuple[int, ...]) -> typing.Tuple[int, ...]:
    if option is True:
        return default
    try:
        sizes = tuple(int(size) for size in (option if len(default) > 1 else (option,)))
    except (TypeError, ValueError, OverflowError):
        sizes = ()
    if len(sizes) != len(default) or any(not 1 <= size <= 1 << 30 for size in sizes):
        wanted = "a positive whole number" if len(default) == 1 else f"{len(default)} positive whole numbers"
        raise ValueError(f"return_stats has {shortened(option)} for {name}; it must be {wanted}")
    return sizes


def _gaps(option: typing.Any) -> typing.Tuple[float, ...]:
    if option is True:
        return _DEFAULT_GAPS
    try:
        return tuple(float(gap) for gap in option)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"return_stats has {shortened(option)} for gaps; they must be ascending positive numbers"
        ) from None


def plan_stats(
    return_stats: StatsWish, arrays: typing.Any, rows: typing.Tuple[int, ...], keys: int
) -> typing.Tuple[typing.Dict[str, Array], typing.Tuple[float, ...]]:
    """Empty arrays for the statistics that were asked for, by name, and the gaps to count. rows: (batch, head, query)."""
    wanted: typing.Dict[str, Array] = {}
    gaps: typing.Tuple[float, ...] = ()
    for name, option in _wishes(return_stats).items():
        if option is False or option is None:
            continue
        if name in ROW_TYPES:
            wanted[name] = arrays.empty_of(rows, ROW_TYPES[name])
        elif name == "top":
            shape = (*rows, *_sizes(name, option, (_DEFAULT_TOP,)))
            wanted["top_keys"] = arrays.empty_of(shape, "int64")
            wanted["top_weights"] = arrays.empty_of(shape, "float64")
        elif name == "gaps":
            gaps = _gaps(option)
            wanted["gap_counts"] = arrays.empty_of((*rows, len(gaps)), "int64")
        elif name == "column_mass":
            wanted["column_mass"] = arrays.empty_of((*rows[:2], keys), "float64")
        elif name == "map":
            wanted["map"] = arrays.empty_of((*rows[:2], *_sizes(name, option, _DEFAULT_MAP)), "float64")
        else:
            known = ", ".join([*ROW_TYPES, "top", "gaps", "column_mass", "map"])
            raise ValueError(f"return_stats asks for {shortened(name)}; there is {known}")
    return wanted, gaps


def gather_stats(
    wanted: typing.Dict[str, Array],
    gaps: typing.Tuple[float, ...],
    lead: typing.Optional[typing.Tuple[int, ...]] = None,
) -> Stats:
    """Stats of filled arrays [batch, head, ..], with the leading dimensions `lead` in place of these two."""
    if lead is not None and len(lead) != 2:
        wanted = {name: array.reshape((*lead, *array.shape[2:])) for name, array in wanted.items()}
    stats = Stats(**wanted)
    if gaps:
        stats.gaps = gaps
    return stats
