"""Results of the verbs: the documented JSON, with its parts as attributes, tables and plots."""

from __future__ import annotations

import html
import json
import os
import typing

from .. import _core
from ._run import Outcome
from ._tables import Table
from ._values import Path

Json = typing.Dict[str, typing.Any]


def _check_output(path: Path, kind: str, overwrite: bool, source: bytes) -> None:
    _core.check_output("path", os.fsencode(path), kind, overwrite, source)


def _write_whole(path: Path, text: str) -> None:
    """By a rename, so that the file is written whole or not at all. Devices and pipes are written as they are."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
        return
    temporary = f"{target}.{os.getpid()}.partial"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


class Result:
    """Result of a verb.

    data   all of it: the documented JSON of the command, as a dict
    notes  what the command had to remark on the way
    ok     False where a check failed (which check, the class says)

    ``str(result)`` is what the command prints; of a result that was loaded, its headline and table.
    """

    def __init__(
        self, data: Json, text: typing.Optional[str] = None, notes: typing.Sequence[str] = (), ok: bool = True
    ) -> None:
        self.data = data
        self.notes = tuple(notes)
        self.ok = ok
        self._text = text
        self._source = b""  # the file that load_result() read

    @classmethod
    def of(cls, outcome: Outcome) -> "Result":
        return cls(outcome.data, outcome.text, outcome.notes, outcome.ok)

    @property
    def schema(self) -> str:
        return self.data["schema"]

    @property
    def command(self) -> str:
        """The command that asks the command line for the same; "" if the results do not name one."""
        return self.data.get("command", "")

    def headline(self) -> str:
        """In a sentence."""
        return str(self.data.get("verdict", ""))

    def table(self) -> Table:
        """The numbers that matter most, as rows."""
        raise NotImplementedError

    def save(self, path: Path, overwrite: bool = False) -> None:
        """Writes `data` as JSON; load_result() reads it, and so does whatever reads the command's --json.

        An existing file that is not a result of the same schema is replaced only with ``overwrite=True``.
        """
        _check_output(path, self.schema, overwrite, b"")
        _write_whole(path, json.dumps(self.data, indent=1, ensure_ascii=False) + "\n")

    def __str__(self) -> str:
        if self._text is None:
            self._text = f"{self.headline()}\n\n{self.table()}\n".lstrip()
        return self._text

    def __repr__(self) -> str:
        headline = self.headline()
        return f"<{type(self).__name__}{': ' if headline else ''}{headline}>"

    def _repr_html_(self) -> str:
        headline = self.headline()
        return (f"<p>{html.escape(headline)}</p>" if headline else "") + self.table()._repr_html_()


class ReportedResult(Result):
    """Results that have a page of their own."""

    def page(self) -> str:
        """The report: one self-contained HTML page."""
        return _core.report_page(json.dumps(self.data))

    def report(self, path: Path, overwrite: bool = False) -> None:
        """Writes the page. An existing file that is not a report page is replaced only with ``overwrite=True``; the
        file that the result was loaded from never is."""
        _check_output(path, "page", overwrite, self._source)
        _write_whole(path, self.page())

    def plot(self, chart: typing.Optional[str] = None, ax: typing.Any = None) -> typing.Any:
        """A chart of the report by matplotlib, on ``ax`` or axes of its own, which are returned.

        chart  the id that the chart has in the report; None: the first
        """
        from ._views import items_of, plot_chart, view_of

        charts = {item["id"]: item for item in items_of(view_of([self.data]), "chart")}
        if not charts:
            raise ValueError("these results hold no chart")
        if chart is not None and chart not in charts:
            raise ValueError(f"there is no chart {chart!r}; there is {', '.join(charts)}")
        return plot_chart(charts[chart] if chart is not None else next(iter(charts.values())), ax)

    def _repr_html_(self) -> str:
        """The summary, and the page in a frame that can run its own script and reach nothing else."""
        summary = super()._repr_html_()
        try:
            page = self.page()
        except NotImplementedError:  # a build without esbuild has no pages
            return summary
        frame = (
            '<iframe sandbox="allow-scripts" loading="lazy" style="width:100%;height:720px;border:1px solid #8884" '
            f'srcdoc="{html.escape(page, quote=True)}"></iframe>'
        )
        return f"{summary}<details><summary>Report</summary>{frame}</details>"


_CLASSES: typing.Dict[typing.Tuple[str, str], typing.Type[Result]] = {}
R = typing.TypeVar("R", bound=typing.Type[Result])


def results_of(schema: str, section: str = "") -> typing.Callable[[R], R]:
    """The class of results of this schema, recognized by a section that they have."""

    def register(kind: R) -> R:
        _CLASSES[schema, section] = kind
        return kind

    return register


def result_class(data: typing.Any) -> typing.Optional[typing.Type[Result]]:
    if not isinstance(data, dict):
        return None
    for (schema, section), kind in _CLASSES.items():
        if data.get("schema") == schema and (not section or section in data):
            return kind
    return None


def load_result(path: Path) -> Result:
    """The result in a file that ``.save(path)`` or the command line's ``--json`` wrote, as an object of the same class.

    >>> import sharpmax, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "bounds.json")
    >>> sharpmax.bound(spread=5.69, n=16384).save(path)
    >>> sharpmax.load_result(path).spread
    5.69
    """
    with open(path, encoding="utf-8") as file:
        try:
            data = json.load(file)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{os.fspath(path)} is not JSON: {error}") from None
    kind = result_class(data)
    if kind is None:
        known = ", ".join(sorted({schema for schema, _ in _CLASSES}))
        raise ValueError(f"{os.fspath(path)} holds no results; the schema must be one of {known}")
    result = kind(data)
    result._source = os.fsencode(path)
    try:
        str(result)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{os.fspath(path)} holds no finished results of {data['schema']}: {type(error).__name__} {error}"
        ) from None
    return result


def report(
    results: typing.Union[Result, Path, typing.Sequence[typing.Union[Result, Path]]],
    path: typing.Any,
    overwrite: bool = False,
) -> None:
    """Writes one page of one result or several, side by side if they are of one kind.

    results    results of jobs, or files that --json or .save() wrote
    path       a file for the page
    overwrite  replace an existing file that is not a report page; a file of results is never replaced
    """
    if isinstance(results, (Result, str, bytes, os.PathLike)):
        results = [results]
    loaded = [one if isinstance(one, Result) else load_result(one) for one in results]
    if not loaded:
        raise ValueError("results is empty; a page needs one at least")
    for one in loaded:
        _check_output(path, "page", overwrite, one._source)
    _write_whole(path, _core.report_page(json.dumps([one.data for one in loaded])))


__all__ = ["Json", "ReportedResult", "Result", "load_result", "report", "result_class", "results_of"]
