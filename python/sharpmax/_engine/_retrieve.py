"""sharpmax.retrieve(): see softmax disperse, and see it fixed."""

from __future__ import annotations

import os
import typing

from ._progress import Progress
from ._result import ReportedResult, results_of
from ._run import run
from ._tables import Table
from ._verb import NormalizerLike, Path
from ._words import Wording, given_of, keywords_of

_WORDING = Wording(
    "retrieve",
    flags=("resume", "overwrite"),
    files=("directory", "head", "json", "csv", "report", "figures"),
    repeated=("normalizers",),
)


@results_of("sharpmax.retrieval/1")
class RetrievalResult(ReportedResult):
    """How trained heads do on sets larger than those they were trained on, under every normalizer.

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
        """Accuracy against size, a line a normalizer, a panel an arm: matplotlib's axes, one an arm."""
        from ._plots import plot_retrieval

        return plot_retrieval(self, axes)


def retrieve(
    *,
    preset: str = "quick",
    arms: typing.Union[None, str, typing.Sequence[str]] = None,
    seeds: typing.Optional[int] = None,
    seed_list: typing.Optional[typing.Sequence[int]] = None,
    threads: typing.Optional[int] = None,
    directory: typing.Optional[Path] = None,
    resume: bool = False,
    overwrite: bool = False,
    checkpoint_seconds: float = 10.0,
    head: typing.Optional[Path] = None,
    encoder: typing.Optional[str] = None,
    width: typing.Optional[int] = None,
    classes: typing.Optional[int] = None,
    scale_scores: typing.Optional[bool] = None,
    train_normalizer: typing.Optional[NormalizerLike] = None,
    steps: typing.Optional[int] = None,
    batch: typing.Optional[int] = None,
    least_size: typing.Optional[int] = None,
    largest_size: typing.Optional[int] = None,
    crowding: typing.Optional[str] = None,
    crowded: typing.Optional[float] = None,
    least_width: typing.Optional[float] = None,
    learning_rate: typing.Optional[float] = None,
    schedule: typing.Optional[str] = None,
    final_learning_rate: typing.Optional[float] = None,
    weight_decay: typing.Optional[float] = None,
    beta1: typing.Optional[float] = None,
    beta2: typing.Optional[float] = None,
    epsilon: typing.Optional[float] = None,
    clip: typing.Optional[float] = None,
    precision: typing.Optional[str] = None,
    sizes: typing.Union[None, int, typing.Sequence[int]] = None,
    normalizers: typing.Union[None, NormalizerLike, typing.Sequence[NormalizerLike]] = None,
    sets_scale: typing.Optional[float] = None,
    heat_map_sets: int = 32,
    heat_map_items: int = 16,
    json: typing.Optional[Path] = None,
    csv: typing.Optional[Path] = None,
    report: typing.Optional[Path] = None,
    figures: typing.Optional[Path] = None,
    progress: Progress = None,
) -> RetrievalResult:
    """Trains one attention head to name the class of the largest of at most 16 items, tests it on many more under every
    normalizer, and says why it fails or holds.

    The run: everything is kept in its directory as it comes, so one that was interrupted goes on with ``resume=True``
    to the same results, and a finished one is read back.

    preset              "quick", "paper" or "sharp"
    arms                ways of training, of "paper", "sharp", "sharp-mlp", "crowded-softmax"; None: the preset's
    seeds, seed_list    how many heads of each arm (seeds 0, 1, ...), or which seeds
    threads             None: OpenMP's; the results do not depend on it
    directory           where the run is kept; None: ./retrieve-PRESET
    resume, overwrite   go on with, or begin again, the run that is in the directory; overwrite also replaces existing
                        files of another kind, but never an input
    checkpoint_seconds  between checkpoints
    head                train nothing: test this head again

    Training, None being the arm's own: encoder ("mlp", "linear"), width, classes, scale_scores, train_normalizer,
    steps, batch, least_size, largest_size, crowding ("none", "anywhere", "top"), crowded, least_width, learning_rate,
    schedule ("constant", "cosine", "geometric"), final_learning_rate, weight_decay, beta1, beta2, epsilon, clip,
    precision ("float32", "float64").

    Testing: sizes (items in a set), normalizers (one or several, over the same scores), sets_scale (how many sets),
    heat_map_sets and heat_map_items (whose weights are kept).

    json, csv, report   files to write besides
    figures             a directory for the figures of the report, SVG

    >>> import sharpmax, tempfile
    >>> run = sharpmax.retrieve(arms="paper", steps=50, sizes=[16, 64], sets_scale=0.01,
    ...                         normalizers=["softmax", "hard"], directory=tempfile.mkdtemp())
    >>> sorted(run.accuracy["paper"]["softmax"])
    [16, 64]
    """
    given = given_of(retrieve, locals())
    given.pop("progress", None)
    if isinstance(given.get("scale_scores"), bool):
        given["scale_scores"] = "true" if scale_scores else "false"
    result = typing.cast(RetrievalResult, RetrievalResult.of(run(_WORDING.words(given), KEYWORDS, progress)))
    if head is None:
        result.directory = os.path.abspath(os.fsdecode(directory) if directory is not None else f"retrieve-{preset}")
    return result


KEYWORDS = keywords_of(retrieve)
