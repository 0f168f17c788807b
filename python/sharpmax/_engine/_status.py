"""Results of jobs with status=True: progress of the run in a directory, and the processes at work."""

from __future__ import annotations

import typing

from ._result import Result, results_of
from ._tables import Table


@results_of("sharpmax.run-status/1")
class RunStatus(Result):
    """Pieces of a run that any number of processes share."""

    @property
    def finished(self) -> bool:
        """Whether the results are written."""
        return self.data["finished"]

    @property
    def pieces(self) -> typing.Dict[str, typing.Dict[str, int]]:
        """{kind: {"total": ..., "done": ..., "at_work": ...}}; kinds are such as heads, tests, excerpts."""
        return {one["kind"]: {name: one[name] for name in ("total", "done", "at_work")} for one in self.data["pieces"]}

    @property
    def at_work(self) -> typing.List[typing.Dict[str, typing.Any]]:
        """Pieces that processes work on now: piece, host, process, since."""
        return self.data["at_work"]

    def headline(self) -> str:
        counts = ", ".join(f"{one['done']} of {one['total']} {kind} done" for kind, one in self.pieces.items())
        return f"{self.data['directory']}: {counts}, {len(self.at_work)} being worked on"

    def table(self) -> Table:
        rows = [[one["piece"], one["host"], one["process"], one["since"]] for one in self.at_work]
        return Table(["piece", "host", "process", "since"], typing.cast(typing.Any, rows), "Being worked on")
