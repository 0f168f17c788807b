"""Small tables, as text and as HTML. Cells may hold anything: token texts and file names are not ours."""

from __future__ import annotations

import dataclasses
import html
import typing

Cell = typing.Union[None, str, int, float]


def _shown(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.4g}"
    text = f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


@dataclasses.dataclass
class Table:
    """Rows of cells below their names; numbers are as they were found, and rounded only where they are shown."""

    columns: typing.List[str]
    rows: typing.List[typing.List[Cell]]
    title: str = ""

    def __str__(self) -> str:
        lines = [self.columns, *([_shown(cell) for cell in row] for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        text = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines]
        return "\n".join([*([self.title] if self.title else []), *text])

    def _repr_html_(self) -> str:
        def line(cells: typing.Iterable[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        title = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        body = "".join(line((_shown(cell) for cell in row), "td") for row in self.rows)
        return f"<table>{title}<thead>{line(self.columns, 'th')}</thead><tbody>{body}</tbody></table>"
