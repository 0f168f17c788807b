"""What the rows of an attention can tell of themselves."""

import dataclasses
import typing

# Per row, [batch, head, query]: name and element type.
_ROW_TYPES = {
    "log_partition": "float64",
    "entropy": "float64",
    "peak_weight": "float64",
    "peak_key": "int64",
    "effective_support": "float64",
    "support": "int64",
    "mass": "float64",
    "temperature": "float64",
    "threshold": "float64",
    "score_spread": "float64",
    "first_weight": "float64",
}
_DEFAULT_TOP = 8
_DEFAULT_GAPS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_DEFAULT_MAP = (64, 64)


@dataclasses.dataclass
class Stats:
    """Statistics of attention rows; what was not asked for is None.

    Ask with ``return_stats=``: True gives every field of one number per row; "all" adds the top 8
    keys and the gap counts; a sequence of names, or a mapping of names to options, picks:
    ``{"entropy": True, "top": 16, "gaps": [1, 2, 4], "column_mass": True, "map": (64, 64)}``.

    Where weights do not sum to one, entropy, peak and support are those of w / sum w.
    """

    log_partition: typing.Any = None  # [batch, head, query]: of beta * score; NaN where there is none
    entropy: typing.Any = None  # nats
    peak_weight: typing.Any = None
    peak_key: typing.Any = None
    effective_support: typing.Any = None  # exp(entropy)
    support: typing.Any = None  # keys with weight > 0
    mass: typing.Any = None  # sum of weights
    temperature: typing.Any = None  # the beta used; NaN where there is none
    threshold: typing.Any = None  # the tau used; NaN where there is none
    score_spread: typing.Any = None  # largest less least score of the unmasked keys
    first_weight: typing.Any = None  # of key 0; 0 where the row does not see it
    top_keys: typing.Any = None  # [batch, head, query, k]
    top_weights: typing.Any = None
    gap_counts: typing.Any = None  # [batch, head, query, len(gaps)]
    gaps: typing.Any = None
    column_mass: typing.Any = None  # [batch, head, key]
    map: typing.Any = None  # [batch, head, map_row, map_column]


def _wishes(return_stats):
    if return_stats is True:
        return dict.fromkeys(_ROW_TYPES, True)
    if isinstance(return_stats, str):
        if return_stats == "all":
            return {**dict.fromkeys(_ROW_TYPES, True), "top": True, "gaps": True}
        return {return_stats: True}
    if hasattr(return_stats, "items"):
        return dict(return_stats)
    return dict.fromkeys(return_stats, True)


def plan_stats(return_stats, arrays, rows, keys):
    """Empty arrays for what is wanted, by name, and the gaps to count. rows: (batch, head, query)."""
    wanted, gaps = {}, ()
    for name, option in _wishes(return_stats).items():
        if option is False or option is None:
            continue
        if name in _ROW_TYPES:
            wanted[name] = arrays.empty_of(rows, _ROW_TYPES[name])
        elif name == "top":
            shape = (*rows, _DEFAULT_TOP if option is True else int(option))
            wanted["top_keys"] = arrays.empty_of(shape, "int64")
            wanted["top_weights"] = arrays.empty_of(shape, "float64")
        elif name == "gaps":
            gaps = _DEFAULT_GAPS if option is True else tuple(float(gap) for gap in option)
            wanted["gap_counts"] = arrays.empty_of((*rows, len(gaps)), "int64")
        elif name == "column_mass":
            wanted["column_mass"] = arrays.empty_of((*rows[:2], keys), "float64")
        elif name == "map":
            shape = _DEFAULT_MAP if option is True else tuple(int(size) for size in option)
            wanted["map"] = arrays.empty_of((*rows[:2], *shape), "float64")
        else:
            known = ", ".join([*_ROW_TYPES, "top", "gaps", "column_mass", "map"])
            raise ValueError(f"return_stats asks for '{name}'; there is {known}")
    return wanted, gaps


def gather_stats(wanted, gaps):
    stats = Stats(**wanted)
    if gaps:
        stats.gaps = gaps
    return stats
