"""Result of sharpmax.audit(): every head of a model, and where it goes blunt."""

from __future__ import annotations

import typing

import numpy as np

from ._result import ReportedResult, results_of
from ._tables import Table


class _OfAModel(ReportedResult):
    @property
    def model(self) -> typing.Dict[str, typing.Any]:
        """The model that was read: file, architecture, layers, heads ..."""
        return self.data["settings"]["model"]

    def _grid(self, values: typing.Sequence[typing.Any], dtype: typing.Any) -> np.ndarray:
        return np.array(values, dtype).reshape(self.model["layers"], self.model["heads"])


@results_of("sharpmax.audit/1", "attention")
class AuditResult(_OfAModel):
    """Every head of a model at every length of a text."""

    @property
    def lengths(self) -> typing.List[int]:
        """Tokens, ascending."""
        return [int(length) for length in self.data["attention"]["lengths"]]

    @property
    def heads(self) -> typing.List[typing.Dict[str, typing.Any]]:
        """One dict per head, by layer: layer, head, kind, entropy_slope, blunting, and for each statistic (entropy, peak,
        first, support, spread ...) its median and quartiles at every length."""
        return self.data["attention"]["heads"]

    @property
    def kinds(self) -> np.ndarray:
        """[layer, head]: "sink", "local", "sharp", "dispersing" or "mixed"."""
        return self._grid([head["kind"] for head in self.heads], object)

    def median(self, statistic: str = "peak") -> np.ndarray:
        """[layer, head, length]: the median of a statistic: peak, entropy, first, support, spread, peak_outside ..."""
        if statistic not in self.data["attention"]["median_over_heads"]:
            known = ", ".join(self.data["attention"]["median_over_heads"])
            raise ValueError(f"there is no statistic {statistic!r}; there is {known}")
        values = np.array([head[statistic]["median"] for head in self.heads], float)  # None: NaN
        return values.reshape(self.model["layers"], self.model["heads"], len(self.lengths))

    @property
    def peaks(self) -> typing.Dict[int, np.ndarray]:
        """{length: [layer, head] of the median peak weight}."""
        peaks = self.median("peak")
        return {length: peaks[..., i] for i, length in enumerate(self.lengths)}

    def table(self) -> Table:
        peaks = self.median("peak")
        order = np.argsort(peaks[..., -1], axis=None, kind="stable")[:10]
        rows: typing.List[typing.List[typing.Any]] = []
        for place in order:
            layer, head = divmod(int(place), self.model["heads"])
            rows.append([f"{layer}.{head}", str(self.kinds[layer, head]), *(float(p) for p in peaks[layer, head])])
        return Table(
            ["head", "kind", *(f"{n:,}" for n in self.lengths)], rows, "Median peak weight, bluntest heads first"
        )

    def plot(  # type: ignore[override]
        self, length: typing.Optional[int] = None, statistic: str = "peak", ax: typing.Any = None
    ) -> typing.Any:
        """The grid of heads, shaded by the median of a statistic at a length (None: the longest): matplotlib's axes."""
        from ._plots import plot_audit

        return plot_audit(self, length, statistic, ax)


@results_of("sharpmax.audit/1", "analysis")
class AnalysisResult(_OfAModel):
    """Analyses of arXiv 2508.17821."""

    @property
    def findings(self) -> typing.List[typing.Dict[str, typing.Any]]:
        """One dict per claim of the paper: name, claim, holds (None: undecided), found, rule, figures."""
        return self.data["analysis"]["findings"]

    @property
    def analyses(self) -> typing.Dict[str, typing.Dict[str, typing.Any]]:
        """{name: what was measured}, of distance_length, distance_top, critical_top, separability, gradient."""
        names = ("distance_length", "distance_top", "critical_top", "separability", "gradient")
        return {name: self.data["analysis"][name] for name in names if name in self.data["analysis"]}

    def table(self) -> Table:
        words = {True: "holds", False: "does not hold", None: "undecided"}
        rows = [[f["name"], words[f["holds"]], f["found"]] for f in self.findings]
        return Table(["claim", "", "found"], typing.cast(typing.Any, rows), "What the paper claims, on this model")


@results_of("sharpmax.audit/1", "probe")
class ProbeResult(_OfAModel):
    """Questions whose answer is known, and the heads that look at the right item."""

    @property
    def accuracy(self) -> typing.Dict[int, float]:
        """{length: share of questions that were answered right}."""
        return {row["length"]: row["share"] for row in self.data["probe"]["lengths"]}

    def weight(self, when: str = "answering") -> typing.Dict[int, np.ndarray]:
        """{length: [layer, head] of the mean weight on the right item} while "answering" or while "asking"."""
        if when not in ("answering", "asking"):
            raise ValueError(f"when is {when!r}; it must be answering or asking")
        return {row["length"]: self._grid(row[f"{when}_weight"], float) for row in self.data["probe"]["lengths"]}

    def headline(self) -> str:
        shares = ", ".join(f"{share:.2f} at {length:,} tokens" for length, share in self.accuracy.items())
        return f"Probe {self.data['probe']['kind']}: share right {shares}"

    def table(self) -> Table:
        rows = [[r["length"], r["questions"], r["share"], r["low"], r["high"]] for r in self.data["probe"]["lengths"]]
        return Table(["length", "questions", "right", "low", "high"], rows)
