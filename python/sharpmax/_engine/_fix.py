"""Result of sharpmax.fix(): normalizers tried on a real model."""

from __future__ import annotations

import typing

from ._result import ReportedResult, results_of
from ._tables import Table


@results_of("sharpmax.fix/1")
class FixResult(ReportedResult):
    """The candidate that helps a model, or the finding that none does."""

    @property
    def leave_it(self) -> bool:
        """True if no candidate is shown to be better."""
        return self.data["answer"]["leave_it"]

    @property
    def use(self) -> str:
        """The rule to use; "nothing" if the model is best left as it is."""
        return self.data["answer"]["use"]

    @property
    def normalizers(self) -> typing.Dict[str, typing.Any]:
        """The table of the rule to use, for `normalizers=` of other verbs and of a Model."""
        return next(trial["normalizers"] for trial in self.trials if trial["rule"] == self.use)

    @property
    def trials(self) -> typing.List[typing.Dict[str, typing.Any]]:
        """One dict per candidate that was tried; the first is doing nothing."""
        return self.data["trials"]

    def headline(self) -> str:
        return self.data["answer"]["verdict"]

    def table(self) -> Table:
        rows: typing.List[typing.List[typing.Any]] = []
        for trial in self.trials:
            rows.append([trial["rule"], trial["heads"], trial.get("score"), "use" if trial["rule"] == self.use else ""])
        return Table(["rule", "heads", "score", ""], rows, "What was tried, on the part to choose by")
