"""sharpmax.perplexity(): a model's loss on a text, by position."""

from __future__ import annotations

import math
import typing

import numpy as np

from ._progress import Progress
from ._result import ReportedResult, results_of
from ._run import run
from ._tables import Table
from ._verb import (
    MODEL_FILES,
    ModelLike,
    NormalizerLike,
    NormalizerTable,
    Path,
    model_operand,
    table_as_file,
    take_text,
)
from ._words import Wording, given_of, keywords_of

_WORDING = Wording(
    "perplexity", flags=("special", "resume", "overwrite"), files=(*MODEL_FILES, "json", "report", "figures")
)


@results_of("sharpmax.perplexity/1")
class PerplexityResult(ReportedResult):
    """How well a model predicts a text, by how much of it it has seen."""

    @property
    def loss(self) -> float:
        """Mean over all tokens, in nats."""
        return self.data["all"]["loss"]

    @property
    def perplexity(self) -> float:
        return math.exp(self.loss)

    @property
    def by_position(self) -> typing.List[typing.Dict[str, typing.Any]]:
        """One dict a range of positions: from, to, tokens, loss, low, high (95 %), perplexity."""
        return self.data["buckets"]

    @property
    def losses(self) -> typing.List[np.ndarray]:
        """Of every chunk of the text, a float32 array with the loss of each token but the first."""
        return [np.array(chunk["losses"], np.float32) for chunk in self.data["chunks"]]

    def headline(self) -> str:
        return f"{self.loss:.4f} nats per token, perplexity {self.perplexity:.2f}"

    def table(self) -> Table:
        columns = ["from", "to", "tokens", "loss", "low", "high", "perplexity"]
        return Table(columns, [[row[name] for name in columns] for row in self.by_position], "Loss by tokens before")


def perplexity(
    model: ModelLike,
    text: typing.Optional[Path] = None,
    *,
    text_string: typing.Optional[str] = None,
    tokens: typing.Optional[int] = None,
    special: bool = False,
    length: typing.Optional[int] = None,
    normalizer: typing.Optional[NormalizerLike] = None,
    normalizers: typing.Optional[NormalizerTable] = None,
    context: typing.Optional[int] = None,
    rope_scaling: typing.Optional[str] = None,
    rope_base: typing.Optional[float] = None,
    cache: str = "float32",
    block: int = 512,
    threads: typing.Optional[int] = None,
    json: typing.Optional[Path] = None,
    report: typing.Optional[Path] = None,
    figures: typing.Optional[Path] = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress = None,
) -> PerplexityResult:
    """A model's loss on a text, by position. The text is cut into chunks, each read from an empty cache.

    model                    a path, or what load_model() returned
    text, text_string        the path of the text, or the text itself
    tokens                   read only so many of the text; None: all
    special                  <|special|> words in the text are the tokens that they name
    length                   tokens of a chunk; None: the context
    normalizer               of every head; None: softmax
    normalizers              a table by layer and head, schema sharpmax.normalizers/1: a path or a dict
    context                  tokens that fit; None: what the model was trained on
    rope_scaling, rope_base  "none", "linear:FACTOR", "ntk:FACTOR", "yarn:FACTOR"; of the frequencies
    cache                    keys and values in "float32" or "float16"
    block, threads           tokens that go through a layer together; how many threads, None: OpenMP's
    json, resume             a file to which every finished chunk is saved at once, and from which a run goes on
    report                   a file for the HTML page
    figures                  a directory for its figures, SVG
    overwrite                replace existing files of another kind; an input is never replaced
    """
    given = given_of(perplexity, locals())
    for keyword in ("model", "progress"):
        given.pop(keyword, None)
    operand = model_operand(model, given)
    written = take_text(given)
    with table_as_file(given):
        outcome = run(_WORDING.words(given, operand), KEYWORDS, progress, written)
    return typing.cast(PerplexityResult, PerplexityResult.of(outcome))


KEYWORDS = keywords_of(perplexity)
