"""A watch as text, HTML, a figure and plain numbers."""

from __future__ import annotations

import html
import typing

import numpy as np

if typing.TYPE_CHECKING:
    from ._watch import Watch


def title(watch: Watch) -> str:
    rows = watch.rows
    counted = f"{rows.max(initial=0):,} rows per layer" if len(set(rows)) <= 1 else f"{rows.sum():,} rows in all"
    return f"Watch of {watch.model_name}: {len(watch.names)} layers, {watch._heads()} heads, {counted}"


# Columns of tables have room for a word.
_SHORT = {"peak_weight": "peak", "effective_support": "effective", "first_weight": "first"}
_TERMINAL = 80


def _labels(watch: Watch) -> list[str]:
    """The part of a module's name that distinguishes it from the others."""
    parts = [name.split(".") for name in watch.names]
    shortest = min(map(len, parts), default=0)
    before = after = 0
    while before < shortest - 1 and len({part[before] for part in parts}) == 1:
        before += 1
    while before + after < shortest - 1 and len({part[-1 - after] for part in parts}) == 1:
        after += 1
    return [".".join(part[before : len(part) - after]) or "(the model)" for part in parts]


def _number(value: float) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


def _lines(watch: Watch, heads: bool) -> list[list[str]]:
    means = [watch.mean(name) for name in watch.statistics]
    gap_counts = watch.mean("gap_counts") if watch.gaps else None
    words = [_SHORT.get(name, name) for name in watch.statistics]
    header = ["layer", *(["head"] if heads else []), "rows", *words, *(f"N({gap:g})" for gap in watch.gaps)]
    lines = [header]
    for place, label in enumerate(_labels(watch)):
        columns = [mean[place] for mean in means]
        if gap_counts is not None:
            columns += list(gap_counts[place].T)
        start = [label, str(watch.rows[place])]
        if not heads:
            lines.append(start + [_number(_mean(column)) for column in columns])
            continue
        for head in range(len(columns[0])):
            if not all(np.isnan(column[head]) for column in columns):
                lines.append([label, str(head), start[1], *(_number(column[head]) for column in columns)])
    return lines


def _mean(values: np.ndarray) -> float:
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def _fitting(widths: list[int], gaps: int) -> list[int]:
    """Columns that a terminal has room for: of the gaps, which come last, as many as fit, evenly chosen."""
    first = len(widths) - gaps
    for step in range(1, gaps + 2):
        columns = [*range(first), *(range(first + (step - 1) // 2, len(widths), step) if step <= gaps else ())]
        if sum(widths[column] + 2 for column in columns) - 2 <= _TERMINAL:
            break
    return columns


def as_text(watch: Watch, heads: bool) -> str:
    """At most 80 columns wide, if need be with fewer gaps than there are: gap_counts has them all."""
    lines = _lines(watch, heads)
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    columns = _fitting(widths, len(watch.gaps))
    widths = [widths[column] for column in columns]
    lines = [[line[column] for column in columns] for line in lines]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))])
        for line in lines
    )


def as_html(watch: Watch) -> str:
    header, *lines = _lines(watch, heads=False)
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
    return (
        f"<table><caption>{html.escape(title(watch))}; means over rows and heads</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _plain(array: np.ndarray) -> typing.Any:
    plain = array.astype(object)
    plain[np.isnan(array)] = None
    return plain.tolist()


def as_dict(watch: Watch) -> dict[str, typing.Any]:
    names = watch._known()
    by_length = {name: watch.by_length(name) for name in names}
    first = by_length[names[0]]
    return {
        "model": watch.model_name,
        "layers": watch.names,
        "rows": watch.rows.tolist(),
        "gaps": list(watch.gaps),
        "mean": {name: _plain(watch.mean(name)) for name in names},
        "median": {name: _plain(watch.median(name)) for name in names},
        "by_length": {
            "lengths": first.lengths.tolist(),
            "rows": first.rows.tolist(),
            **{name: _plain(found.values) for name, found in by_length.items()},
        },
    }


def plot(watch: Watch, name: str, by: str, ax: typing.Any) -> typing.Any:
    if by not in ("head", "length"):
        raise ValueError(f"by is {by!r}; it must be 'head' or 'length'")
    if name not in watch.statistics:
        raise ValueError(f"there is no statistic '{name}' to plot; this watch has {', '.join(watch.statistics)}")
    try:
        from matplotlib import pyplot
    except ImportError as missing:
        raise ImportError("plot() needs matplotlib: pip install 'sharpmax[plot]'") from missing
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    (_plot_heads if by == "head" else _plot_lengths)(watch, name, ax)
    return ax


def _plot_heads(watch: Watch, name: str, ax: typing.Any) -> None:
    image = ax.imshow(watch.mean(name), aspect="auto", interpolation="nearest", origin="lower")
    ax.figure.colorbar(image, ax=ax, label=name.replace("_", " "))
    ax.set_xlabel("head")
    ax.set_ylabel("layer")
    ax.set_title(f"{watch.model_name}: mean {name.replace('_', ' ')}")


def _plot_lengths(watch: Watch, name: str, ax: typing.Any) -> None:
    found = watch.by_length(name)
    for place, label in enumerate(_labels(watch)):
        values = np.array([_mean(column) for column in found.values[place].T])
        if not np.isnan(values).all():
            ax.plot(found.lengths, values, marker="o", markersize=3, label=label)
    ax.set_xscale("log", base=2)
    ax.set_xlabel("keys that a row sees (from)")
    ax.set_ylabel(name.replace("_", " "))
    ax.set_title(f"{watch.model_name}: mean {name.replace('_', ' ')} by length")
    if len(watch.names) <= 12 and ax.lines:
        ax.legend(fontsize="small")
