"""Views of results: the charts and tables of the report page, drawn by matplotlib and as HTML."""

from __future__ import annotations

import json
import typing

from .. import _core
from ._tables import Cell, Table

Json = typing.Dict[str, typing.Any]

# Hues of the page on white.
_PAINTS = {
    "vermillion": "#c24e00",
    "green": "#00805c",
    "purple": "#a8467f",
    "sky": "#2484bb",
    "amber": "#a87200",
    "blue": "#1f4fa8",
    "brown": "#7d5a3c",
    "grey": "#50585f",
    "ink": "#1c2024",
    "quiet": "#5b646d",
}


def view_of(results: typing.Sequence[Json]) -> Json:
    """Title, verdict, charts and tables of results; several are compared."""
    return json.loads(_core.report_view(json.dumps(list(results))))


def items_of(view: Json, kind: str) -> typing.List[Json]:
    """Every item of a kind, such as "chart" or "table"; of choices the one that is shown first."""

    def within(items: typing.Sequence[Json]) -> typing.Iterator[Json]:
        for item in items:
            if item["type"] == kind:
                yield item
            if item["type"] == "choice":
                yield from within(item["options"][item["shown"]]["items"])

    return [item for section in view["sections"] for item in within(section["items"])]


def table_of(item: Json) -> Table:
    """Numbers as they were found."""

    def plain(cell: typing.Any) -> Cell:
        return cell["value"] if isinstance(cell, dict) else cell

    kept = [i for i, column in enumerate(item["columns"]) if "bar" not in column and column.get("csv", True)]
    names = [item["columns"][i]["name"] for i in kept]
    return Table(names, [[plain(row[i]) for i in kept] for row in item["rows"]], item["title"])


def plot_chart(chart: Json, ax: typing.Any = None) -> typing.Any:
    """A matplotlib figure of a chart, with the curves that the page shows first. Returns its axes."""
    if ax is None:
        from ._plots import _pyplot

        _, ax = _pyplot().subplots(figsize=(7.2, 4.0), layout="constrained")
    drawn = {curve["name"] for curve in chart["curves"] if curve.get("first", True)}
    for curve in chart["curves"]:
        if curve.get("of", curve["name"]) in drawn and curve.get("first", True):
            _plot_curve(ax, curve)
    reference = chart.get("reference")
    if reference:
        at, value = zip(*((point[0], point[1]) for point in reference["points"]))
        ax.plot(at, value, color=_PAINTS["quiet"], linewidth=1, linestyle=":", label=reference["name"])
    for mark in chart.get("marks", ()):
        ax.axvline(mark["at"], color=_PAINTS["quiet"], linewidth=1, linestyle="--")
    for zone in chart.get("zones", ()):
        ax.fill_between(
            [zone["from"], zone["to"]], zone["low"], zone["high"], color=_PAINTS["grey"], alpha=0.16, linewidth=0
        )
    for name, axis in (("x", chart["across"]), ("y", chart["up"])):
        _set_axis(ax, name, axis)
    ax.set_title(chart["title"], fontsize="medium", loc="left", wrap=True)
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small", frameon=False)
    return ax


def _plot_curve(ax: typing.Any, curve: Json) -> None:
    color = _PAINTS[curve["look"]["paint"]]
    dash = curve["look"].get("dash")
    marker = {"dot": "o", "ring": "o", "large_dot": "o", "none": ""}[curve["marker"]]
    at, value = [point[0] for point in curve["points"]], [point[1] for point in curve["points"]]
    (line,) = ax.plot(at, value, color=color, marker=marker, markersize=7 if curve["marker"] == "large_dot" else 4)
    if dash:
        line.set_dashes([length / 2 for length in dash])
    if curve["marker"] == "ring":
        line.set_markerfacecolor("white")
    line.set_label("_" + curve["name"] if curve.get("unlisted") else curve["name"])
    band = [point for point in curve["points"] if len(point) == 4 and None not in point]
    if band:
        ax.fill_between(
            [p[0] for p in band], [p[2] for p in band], [p[3] for p in band], color=color, alpha=0.16, linewidth=0
        )


def _set_axis(ax: typing.Any, name: str, axis: Json) -> None:
    if axis["kind"] == "log":
        getattr(ax, f"set_{name}scale")("log")
    getattr(ax, f"set_{name}label")(axis["label"])
    if axis["low"] < axis["high"] and name == "y":
        ax.set_ylim(axis["low"], axis["high"])
    getattr(ax, f"set_{name}ticks")([at for at, _ in axis["ticks"]], [text for _, text in axis["ticks"]])
    getattr(ax, f"{name}axis").minorticks_off()
