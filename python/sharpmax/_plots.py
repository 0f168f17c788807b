"""Pictures by matplotlib, which is imported when the first one is drawn."""

from __future__ import annotations

import typing

import numpy as np

from ._stats import ROW_TYPES

if typing.TYPE_CHECKING:
    from ._stats import Stats

_LABELS = {
    "entropy": "entropy (nats)",
    "peak_weight": "largest weight",
    "effective_support": "effective support, exp(entropy)",
    "support": "keys with weight",
    "mass": "sum of weights",
    "first_weight": "weight of the first key",
    "score_spread": "largest less least score",
    "log_partition": "log-partition",
}
_MOST_LINES = 12  # more heads than this are drawn as their median and quartiles


def axes(ax: typing.Any = None) -> typing.Any:
    """ax, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install 'sharpmax[plot]'") from None
    return pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")[1]


def _chosen(stats: Stats, what: typing.Optional[str]) -> str:
    drawable = [name for name in dict.fromkeys((*_LABELS, *ROW_TYPES, "map")) if name in stats.names()]
    if what is None:
        if not drawable:
            raise ValueError("these statistics hold nothing to draw; ask for entropy or peak_weight")
        return drawable[0]
    if what not in drawable:
        raise ValueError(f"there is no {what!r} to draw here; there is {', '.join(drawable) or 'nothing'}")
    return what


def plot_stats(stats: Stats, what: typing.Optional[str], ax: typing.Any) -> typing.Any:
    what = _chosen(stats, what)
    values = np.asarray(getattr(stats, what), dtype=float)
    ax = axes(ax)
    if what == "map":
        picture = values.reshape(-1, *values.shape[-2:]).mean(0)
        ax.imshow(picture, aspect="auto", cmap="viridis", interpolation="nearest")
        ax.set(xlabel="key (blocks)", ylabel="query (blocks)", title="weights, mean over heads")
        return ax
    rows = values.reshape(-1, values.shape[-1]) if values.size else values.reshape(0, 0)
    positions = np.arange(rows.shape[-1])
    if len(rows) <= _MOST_LINES:
        for index, row in enumerate(rows):
            ax.plot(positions, row, linewidth=1, label=f"head {index}")
        if 1 < len(rows):
            ax.legend(fontsize="small", ncols=2, frameon=False)
    else:
        low, middle, high = np.nanpercentile(rows, (25, 50, 75), axis=0)
        ax.fill_between(positions, low, high, alpha=0.25, linewidth=0, label="half of the heads")
        ax.plot(positions, middle, label=f"median of {len(rows)} heads")
        ax.legend(fontsize="small", frameon=False)
    ax.set(xlabel="query", ylabel=_LABELS.get(what, what))
    return ax
