"""Result of sharpmax.retrieve(): how softmax disperses, and what keeps attention sharp."""

from __future__ import annotations

import os
import typing

from ._result import ReportedResult, results_of
from ._tables import Table


@results_of("sharpmax.retrieval/1")
class RetrievalResult(ReportedResult):
    """Accuracy of trained heads on sets larger than those of their training, under every normalizer.

    `ok` is False where a measured row breaks the bound that was proved of its head.
    """

    directory: typing.Optional[str] = None  # where the run is kept; None for a result that was loaded, or of a head

    @property
    def arms(self) -> typing.List[str]:
        """The ways of training."""
        return [arm["name"] for arm in self.data["arms"]]

    @property
    def normalizers(self) -> typing.List[str]:
        return self.data["settings"]["normalizers"]

    @property
    def sizes(self) -> typing.List[int]:
        return self.data["settings"]["sizes"]

    @property
    def accuracy(self) -> typing.Dict[str, typing.Dict[str, typing.Dict[int, float]]]:
        """{arm: {normalizer: {size: share of right answers}}}, means over the seeds."""
        return self.summary("accuracy")

    def summary(self, what: str) -> typing.Dict[str, typing.Dict[str, typing.Dict[int, float]]]:
        """As `accuracy`, of another column of ``data["summary"]``: entropy, peak_weight, hard_accuracy ..."""
        found: typing.Dict[str, typing.Dict[str, typing.Dict[int, float]]] = {}
        for row in self.data["summary"]:
            if what not in row:
                raise ValueError(f"there is no {what!r} in the summary; there is {', '.join(row)}")
            found.setdefault(row["arm"], {}).setdefault(row["normalizer"], {})[row["n"]] = row[what]
        return found

    @property
    def head_files(self) -> typing.Dict[typing.Tuple[str, int], str]:
        """{(arm, seed): path of the trained head}, for fit() and retrieve(head=...); empty where none was trained."""
        if self.directory is None:
            return {}
        heads = self.data["heads"]
        return {(h["arm"], h["seed"]): os.path.join(self.directory, h["file"]) for h in heads if h["file"]}

    def headline(self) -> str:
        largest = self.sizes[-1]
        best = max(
            ((by_size[largest], arm, name) for arm, rules in self.accuracy.items() for name, by_size in rules.items()),
            key=lambda entry: entry[0],
        )
        return f"Best at {largest:,} items: arm {best[1]} under {best[2]}, {100 * best[0]:.1f} % right"

    def table(self) -> Table:
        rows = [
            [arm, name, *(by_size.get(n) for n in self.sizes)]
            for arm, rules in self.accuracy.items()
            for name, by_size in rules.items()
        ]
        columns = ["arm", "normalizer", *(f"n = {n:,}" for n in self.sizes)]
        return Table(columns, typing.cast(typing.Any, rows), "Accuracy against size")

    def plot(self, axes: typing.Any = None) -> typing.Any:  # type: ignore[override]
        """Accuracy against size, one line per normalizer, one panel per arm: matplotlib's axes, one per arm."""
        from ._plots import plot_retrieval

        return plot_retrieval(self, axes)
