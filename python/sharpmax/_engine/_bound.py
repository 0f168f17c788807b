"""Result of sharpmax.bound(): how sharp attention can be at all."""

from __future__ import annotations

import typing

from ._result import ReportedResult, results_of
from ._tables import Table


def _keys(n: float) -> typing.Union[int, float]:
    return int(n) if n < 2**63 else n


@results_of("sharpmax.bound.spread/1")
class BoundResult(ReportedResult):
    """Bounds of rows whose scores lie at most `spread` apart."""

    @property
    def spread(self) -> float:
        return self.data["spread"]

    @property
    def sizes(self) -> typing.List[typing.Union[int, float]]:
        return [_keys(row["n"]) for row in self.data["softmax"]]

    @property
    def highest(self) -> typing.Dict[str, typing.Dict[typing.Union[int, float], float]]:
        """{normalizer: {n: the largest weight that a row can have, of weights divided by their sum}}."""
        return self._ends("high")

    @property
    def lowest(self) -> typing.Dict[str, typing.Dict[typing.Union[int, float], float]]:
        """{normalizer: {n: the least that the largest weight of a row can be}}."""
        return self._ends("low")

    @property
    def lost_from(self) -> typing.Dict[str, typing.Optional[float]]:
        """{normalizer: the n from which no row can have the weight `peak`}; None: at none. Needs ``peak=``."""
        if self.data["peak"] is None:
            raise ValueError("no peak was given; bound(..., peak=0.5) says from which n it is lost")
        return {entry["normalizer"]: entry["loss"]["lost"] for entry in self._known()}

    @property
    def refused(self) -> typing.Dict[str, str]:
        """{normalizer: why there is no bound for it}."""
        return {entry["normalizer"]: entry["refused"] for entry in self.data["normalizers"] if "refused" in entry}

    def _known(self) -> typing.List[typing.Dict[str, typing.Any]]:
        return [entry for entry in self.data["normalizers"] if entry.get("ranges")]

    def _ends(self, end: str) -> typing.Dict[str, typing.Dict[typing.Union[int, float], float]]:
        return {
            entry["normalizer"]: {_keys(row["n"]): row["share"][end] for row in entry["ranges"]}
            for entry in self._known()
        }

    def headline(self) -> str:
        return f"Scores at most {self.spread:g} apart: the largest weight of a row, at best"

    def table(self) -> Table:
        sizes = self.sizes
        rows = [[name, *(by_size[n] for n in sizes)] for name, by_size in self.highest.items()]
        return Table(["normalizer", *(f"n = {n:,}" for n in sizes)], typing.cast(typing.Any, rows))


@results_of("sharpmax.bound.model/1")
class ModelBoundResult(ReportedResult):
    """Bounds of the heads of a model that its weights prove for every text."""

    @property
    def heads(self) -> typing.List[typing.Dict[str, typing.Any]]:
        """One dict per head, with layer, head, spread (the most that scores can lie apart), log10_length (from
        10**that tokens on no key has the weight `peak`) and more."""
        return self.data["heads"]

    def table(self) -> Table:
        heads = sorted(self.heads, key=lambda head: (head["log10_length"] is None, head["log10_length"]))
        rows = [
            [h["layer"], h["head"], h["spread"], h["log10_length"], "yes" if h["useful"] else ""] for h in heads[:10]
        ]
        return Table(["layer", "head", "spread at most", "log10 of the length", "useful"], rows, "The surest heads")
