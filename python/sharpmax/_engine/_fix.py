"""sharpmax.fix(): normalizers tried on a real model."""

from __future__ import annotations

import typing

from ._progress import Progress
from ._result import ReportedResult, results_of
from ._run import run
from ._tables import Table
from ._verb import ModelLike, Path, model_operand, take_text
from ._words import Wording, given_of, keywords_of

_WORDING = Wording(
    "fix",
    flags=("chat", "no_search", "resume", "overwrite"),
    files=("task", "table", "json", "report", "figures"),
    repeated=("rule",),
)


@results_of("sharpmax.fix/1")
class FixResult(ReportedResult):
    """Which rule helps a model, or that none does."""

    @property
    def leave_it(self) -> bool:
        """True where nothing that was tried is shown to be better."""
        return self.data["answer"]["leave_it"]

    @property
    def use(self) -> str:
        """The rule to use; "nothing" where it is best left as it is."""
        return self.data["answer"]["use"]

    @property
    def normalizers(self) -> typing.Dict[str, typing.Any]:
        """The table of the rule to use, for `normalizers=` of other verbs and of a Model."""
        return next(trial["normalizers"] for trial in self.trials if trial["rule"] == self.use)

    @property
    def trials(self) -> typing.List[typing.Dict[str, typing.Any]]:
        """One dict a rule that was tried, the first of them nothing at all."""
        return self.data["trials"]

    def headline(self) -> str:
        return self.data["answer"]["verdict"]

    def table(self) -> Table:
        rows: typing.List[typing.List[typing.Any]] = []
        for trial in self.trials:
            rows.append([trial["rule"], trial["heads"], trial.get("score"), "use" if trial["rule"] == self.use else ""])
        return Table(["rule", "heads", "score", ""], rows, "What was tried, on the part to choose by")


def fix(
    model: ModelLike,
    text: typing.Optional[Path] = None,
    *,
    text_string: typing.Optional[str] = None,
    tokens: int = 4096,
    length: int = 2048,
    task: typing.Optional[Path] = None,
    lengths: typing.Sequence[int] = (512, 1024),
    questions: int = 40,
    chat: bool = False,
    seed: int = 0,
    rule: typing.Union[None, str, typing.Sequence[str]] = None,
    for_: str = "both",
    allow: float = 0.02,
    budget: int = 12,
    no_search: bool = False,
    context: typing.Optional[int] = None,
    rope_scaling: typing.Optional[str] = None,
    rope_base: typing.Optional[float] = None,
    cache: str = "float32",
    block: int = 512,
    threads: typing.Optional[int] = None,
    table: typing.Optional[Path] = None,
    json: typing.Optional[Path] = None,
    report: typing.Optional[Path] = None,
    figures: typing.Optional[Path] = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress = None,
) -> FixResult:
    """Tries normalizers on a real model, on one part of a text and of a task; the best is tested on the other part.

    model                    a path, or what load_model() returned
    text, text_string        the path of the text on which the loss is measured, or the text itself
    tokens, length           of the text to choose by (as many are held out); tokens that are read together
    task                     questions, a line each: {"prompt": ..., "answer": ...}; None: generated look-up
    lengths, questions       tokens of the generated questions; how many of each length (as many are held out)
    chat, seed               ask in the model's chat template; seed of the questions
    rule                     one or several, NORMALIZER[@HEADS][;rope=HOW]; None: a list
    for_                     choose by the loss on "text", by the "task", or "both"
    allow                    for both: how much the loss may rise, nats per token
    budget, no_search        trials of the greedy search over heads; none of it
    context, rope_scaling, rope_base, cache, block, threads   as perplexity() has them
    table                    a file for the table of the rule to use
    json, resume             a file to which every finished trial is saved at once, and from which a run goes on
    report                   a file for the HTML page
    figures                  a directory for its figures, SVG
    overwrite                replace existing files of another kind; an input is never replaced
    """
    given = given_of(fix, locals())
    for keyword in ("model", "progress"):
        given.pop(keyword, None)
    operand = model_operand(model, given)
    written = take_text(given)
    outcome = run(_WORDING.words(given, operand), KEYWORDS, progress, written)
    return typing.cast(FixResult, FixResult.of(outcome))


KEYWORDS = keywords_of(fix)
