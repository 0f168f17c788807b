"""Figures of results, by matplotlib."""

from __future__ import annotations

import typing


def _pyplot() -> typing.Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'sharpmax[plot]'") from None
    return pyplot


def plot_retrieval(result: typing.Any, axes: typing.Any = None) -> typing.Any:
    arms = result.arms
    if axes is None:
        _, axes = _pyplot().subplots(
            1, len(arms), figsize=(5 * len(arms), 3.6), sharey=True, squeeze=False, layout="constrained"
        )
        axes = axes[0]
    axes = [axes] if not hasattr(axes, "__len__") else list(axes)
    if len(axes) != len(arms):
        raise ValueError(f"there are {len(axes)} axes; the result has {len(arms)} arms, and each wants one")
    for ax, arm in zip(axes, arms):
        for name, by_size in result.accuracy[arm].items():
            ax.plot(list(by_size), list(by_size.values()), marker="o", markersize=3, label=name)
        ax.set(xscale="log", xlabel="items", ylim=(0, 1.02), title=arm)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("accuracy")
    axes[-1].legend(fontsize="small", frameon=False)
    return axes


def plot_audit(result: typing.Any, length: typing.Optional[int], statistic: str, ax: typing.Any) -> typing.Any:
    lengths = result.lengths
    length = lengths[-1] if length is None else length
    if length not in lengths:
        raise ValueError(f"there is no length {length}; there is {', '.join(map(str, lengths))}")
    grid = result.median(statistic)[..., lengths.index(length)]
    if ax is None:
        layers, heads = grid.shape
        _, ax = _pyplot().subplots(figsize=(1.8 + 0.3 * heads, 1.2 + 0.25 * layers), layout="constrained")
    limits = {"vmin": 0.0, "vmax": 1.0} if statistic in ("peak", "first", "peak_outside") else {}
    image = ax.imshow(grid, aspect="auto", cmap="viridis", **limits)
    ax.figure.colorbar(image, ax=ax, label=f"median {statistic.replace('_', ' ')}")
    ax.set(xlabel="head", ylabel="layer", title=f"{result.model['file']}, {length:,} tokens")
    return ax
