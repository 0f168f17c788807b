"""sharpmax.fit(): adaptive temperature refitted to a trained head."""

from __future__ import annotations

import typing

from ._progress import Progress
from ._result import Result, results_of
from ._run import run
from ._tables import Table
from ._verb import Path
from ._words import Wording, given_of, keywords_of, path_text

_WORDING = Wording("fit", flags=("overwrite",), files=("json", "csv"))


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


def fit(
    head: Path,
    *,
    degree: int = 4,
    sizes: typing.Union[None, int, typing.Sequence[int]] = None,
    only: str = "wrong",
    least_beta: float = 0.25,
    largest_beta: float = 16.0,
    test_sizes: typing.Union[None, int, typing.Sequence[int]] = None,
    sets_scale: typing.Optional[float] = None,
    threads: typing.Optional[int] = None,
    json: typing.Optional[Path] = None,
    csv: typing.Optional[Path] = None,
    overwrite: bool = False,
    progress: Progress = None,
) -> FitResult:
    """Refits adaptive temperature to a head that retrieve() trained (`head_files` of its result).

    Over sets that the head gets wrong under softmax, the temperature of least loss is fitted as a polynomial of the
    entropy; it is then compared with the published one and with entropy_target on other sets.

    degree                    of the polynomial, 0 to 8
    sizes                     items in a set that is fitted; None: 16 to 1,024, doubling
    only                      "wrong": all sets that softmax gets wrong; "mended": those that are right at their best
                              temperature
    least_beta, largest_beta  where best temperatures are looked for
    test_sizes                items in a set of the comparison; None: 16 to 16,384, by fours
    sets_scale                times 1,024 sets of every size; None: 1
    threads                   None: OpenMP's; the results do not depend on it
    json, csv                 files to write besides
    overwrite                 replace existing files of another kind; an input is never replaced
    """
    given = given_of(fit, locals())
    for keyword in ("head", "progress"):
        given.pop(keyword, None)
    return typing.cast(FitResult, FitResult.of(run(_WORDING.words(given, path_text("head", head)), KEYWORDS, progress)))


KEYWORDS = keywords_of(fit)
