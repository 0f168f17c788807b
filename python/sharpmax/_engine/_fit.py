"""Result of sharpmax.fit(): adaptive temperature refitted to a trained head."""

from __future__ import annotations

import typing

from ._result import Result, results_of
from ._tables import Table


@results_of("sharpmax.fit/1")
class FitResult(Result):
    """The polynomial that fits a head, and how it does on other sets than those it was fitted to."""

    @property
    def normalizer(self) -> str:
        """The refitted rule, to be used wherever a normalizer is."""
        return self.data["refitted"]["normalizer"]

    @property
    def polynomial(self) -> typing.List[float]:
        """Coefficients of 1 / temperature as a function of the entropy, as `adaptive` has them."""
        return self.data["refitted"]["polynomial"]

    @property
    def explained(self) -> float:
        """Share of the variance of the best temperatures."""
        return self.data["explained"]

    @property
    def accuracy(self) -> typing.Dict[str, typing.Dict[int, float]]:
        """{rule: {size: share of right answers}} of the comparison."""
        found: typing.Dict[str, typing.Dict[int, float]] = {}
        for row in self.data["comparison"]:
            found.setdefault(row["rule"], {})[row["n"]] = row["accuracy"]
        return found

    def headline(self) -> str:
        return f"Refitted to {self.data['head']['file']}: {self.normalizer}"

    def table(self) -> Table:
        sizes = sorted({row["n"] for row in self.data["comparison"]})
        rows = [[rule, *(by_size.get(n) for n in sizes)] for rule, by_size in self.accuracy.items()]
        return Table(["rule", *(f"n = {n:,}" for n in sizes)], typing.cast(typing.Any, rows), "Accuracy on other sets")
