"""sharpmax.inspect(): what a model file holds."""

from __future__ import annotations

import typing

from ._progress import Progress
from ._result import ReportedResult, results_of
from ._run import run
from ._tables import Table
from ._verb import ModelLike, Path, model_operand
from ._words import Wording, given_of, keywords_of

_WORDING = Wording("inspect", flags=("tensors", "check", "overwrite"), files=("json", "report", "figures"))


@results_of("sharpmax.inspect/1")
class InspectResult(ReportedResult):
    """What is in a model file. `ok` is False where ``check=True`` found weights that are NaN or infinite."""

    @property
    def architecture(self) -> str:
        return self.data["architecture"]["name"]

    @property
    def runs_here(self) -> bool:
        return self.data["architecture"]["runs_here"]

    @property
    def shape(self) -> typing.Dict[str, int]:
        """layers, width, query_heads, kv_heads, head_width, feed_forward, context, vocabulary."""
        return self.data["shape"]

    @property
    def tensors(self) -> typing.List[typing.Dict[str, typing.Any]]:
        """One dict a tensor: name, type, shape, elements, bytes, offset."""
        return self.data["tensors"]

    @property
    def metadata(self) -> typing.Dict[str, typing.Any]:
        return {entry["key"]: entry["value"] for entry in self.data["metadata"]}

    @property
    def bad_weights(self) -> typing.List[typing.Dict[str, typing.Any]]:
        """Tensors with NaN or infinite weights; needs ``check=True``."""
        if "check" not in self.data:
            raise ValueError("weights were not looked at; inspect(model, check=True) does")
        return self.data["check"]["bad"]

    def headline(self) -> str:
        return f"{self.data['path']}: {self.data['format']['name']}, architecture {self.architecture}"

    def table(self) -> Table:
        rows: typing.List[typing.List[typing.Any]] = [[name, value] for name, value in (self.shape or {}).items()]
        rows += [[f"type {entry['type']}", entry["tensors"]] for entry in self.data["types"]]
        return Table(["", "number"], rows)


def inspect(
    model: ModelLike,
    *,
    tensors: bool = False,
    check: bool = False,
    threads: typing.Optional[int] = None,
    json: typing.Optional[Path] = None,
    report: typing.Optional[Path] = None,
    figures: typing.Optional[Path] = None,
    overwrite: bool = False,
    progress: Progress = None,
) -> InspectResult:
    """What is in a model file: architecture, shape, tokenizer, types, tensors and metadata, and whether it runs here.

    model    a GGUF file, a .safetensors file, the index of its shards, or a folder as Hugging Face saves it
    tensors  str() of the result names every tensor, not one line for those that differ in the layer alone
    check    look at every weight; `ok` is then False if one is NaN or infinite
    threads  for the check; None: OpenMP's
    json     a file to write the results to
    report, figures   a file for the HTML page; a directory for its figures, SVG
    overwrite         replace an existing file of another kind, never an input
    """
    given = given_of(inspect, locals())
    for keyword in ("model", "progress"):
        given.pop(keyword, None)
    operand = model_operand(model, {})
    return typing.cast(InspectResult, InspectResult.of(run(_WORDING.words(given, operand), KEYWORDS, progress)))


KEYWORDS = keywords_of(inspect)
