"""Result of sharpmax.train(): small transformers trained on few items and tested on many."""

from __future__ import annotations

import os
import typing

from ._result import ReportedResult, results_of
from ._tables import Table


def _panel(row: typing.Dict[str, typing.Any]) -> str:
    return f"{row['arm']}, {row['subtask']}" if row["subtask"] else row["arm"]


@results_of("sharpmax.train/1")
class TrainResult(ReportedResult):
    """Accuracy of trained transformers on sequences longer than those of their training, under every normalizer."""

    directory: typing.Optional[str] = None  # where the run is kept; None for a result that was loaded

    @property
    def task(self) -> str:
        return self.data["settings"]["task"]["task"]

    @property
    def arms(self) -> typing.List[str]:
        """The ways of training."""
        return [arm["name"] for arm in self.data["settings"]["arms"]]

    @property
    def sizes(self) -> typing.List[int]:
        return self.data["settings"]["test"]["sizes"]

    @property
    def steps(self) -> typing.Dict[str, int]:
        """{arm: steps of its training}. An accuracy means little without them."""
        return {model["arm"]: model["steps"] for model in self.data["models"]}

    @property
    def accuracy(self) -> typing.Dict[str, typing.Dict[str, typing.Dict[int, float]]]:
        """{arm: {normalizer: {size: share of right answers}}}, means over the seeds.

        The normalizer of the training, with what it learned, is called "own", and a table chosen by ``per_head=True``
        "per-head". The arms of a mixture are named with each of its tasks: "softmax, member".
        """
        return self.summary("accuracy")

    def summary(self, what: str) -> typing.Dict[str, typing.Dict[str, typing.Dict[int, float]]]:
        """As `accuracy`, of another column of ``data["summary"]``: dispersion, ranking, binding, right_weight ..."""
        found: typing.Dict[str, typing.Dict[str, typing.Dict[int, float]]] = {}
        for row in self.data["summary"]:
            if what not in row:
                raise ValueError(f"there is no {what!r} in the summary; there is {', '.join(row)}")
            name = "own" if row["own"] else row["normalizer"]
            found.setdefault(_panel(row), {}).setdefault(name, {})[row["n"]] = row[what]
        return found

    @property
    def tables(self) -> typing.Dict[typing.Tuple[str, int], typing.Dict[typing.Tuple[int, int], str]]:
        """{(arm, seed): {(layer, head): normalizer}} that ``per_head=True`` chose. Heads that see a window do not count."""
        return {
            (table["arm"], table["seed"]): {
                (head["layer"], head["head"]): head["normalizer"] for head in table["heads"]
            }
            for table in self.data["tables"]
        }

    @property
    def model_files(self) -> typing.Dict[typing.Tuple[str, int], str]:
        """{(arm, seed): path of the trained model}; empty for a result that was loaded."""
        if self.directory is None:
            return {}
        return {(m["arm"], m["seed"]): os.path.join(self.directory, m["file"]) for m in self.data["models"]}

    def headline(self) -> str:
        largest = self.sizes[-1]
        scores = [
            (by_size[largest], arm, name)
            for arm, rules in self.accuracy.items()
            for name, by_size in rules.items()
            if name != "hard"
        ]
        best = max(scores, key=lambda entry: entry[0])
        return (
            f"{self.task}, best at {largest:,} items: arm {best[1]} under {best[2]}, {100 * best[0]:.1f} % right "
            f"after {self.steps[best[1].partition(',')[0]]:,} steps"
        )

    def table(self) -> Table:
        rows = [
            [arm, name, self.steps[arm.partition(",")[0]], *(by_size.get(n) for n in self.sizes)]
            for arm, rules in self.accuracy.items()
            for name, by_size in rules.items()
        ]
        columns = ["arm", "normalizer", "steps", *(f"n = {n:,}" for n in self.sizes)]
        return Table(columns, typing.cast(typing.Any, rows), "Accuracy against size")
