"""Signatures, docstrings and stubs of the verbs, made from the fields that ``_core.fields()`` lists.

The build loads this file without the package around it, so it imports nothing but the standard library.
"""

from __future__ import annotations

import inspect
import textwrap
import typing

Field = typing.Dict[str, typing.Any]  # name, option, shape, group, meaning, dash, domain, type, list, operand, default

_TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "path": "Path",
    "normalizer": "NormalizerLike",
    "table": "NormalizerTable",
    "model": "ModelLike",
}


class Verb(typing.NamedTuple):
    """Facts about a verb that its fields do not have."""

    name: str
    job: str  # as _core knows it
    result: str  # classes of what it returns
    positional: typing.Tuple[str, ...]
    required: typing.Tuple[str, ...]
    intro: str


VERBS = (
    Verb("retrieve", "retrieve", "typing.Union[RetrievalResult, RunStatus]", (), (), """\
        Trains one attention head to name the class of the largest of at most 16 items, tests it on many more under
        every normalizer, and reports why it fails or holds.

        Everything is kept in the directory of the run as it comes. A run that was interrupted goes on with
        ``resume=True`` to the same results, and a finished one is read back. Any number of processes may work on one
        run with ``join=True``; ``status=True`` returns a RunStatus, which says who works on what.

        >>> import sharpmax, tempfile
        >>> run = sharpmax.retrieve(arms="paper", steps=50, sizes=[16, 64], sets_scale=0.01,
        ...                         normalizers=["softmax", "hard"], directory=tempfile.mkdtemp())
        >>> sorted(run.accuracy["paper"]["softmax"])
        [16, 64]
        """),
    Verb("fit", "fit", "FitResult", ("head",), ("head",), """\
        Refits adaptive temperature to a head that retrieve() trained (`head_files` of its result).

        Over sets that the head gets wrong under softmax, the temperature of least loss is fitted as a polynomial of
        the entropy. The polynomial is then compared with the published one and with entropy_target on other sets.
        """),
    Verb("audit", "audit", "typing.Union[AuditResult, AnalysisResult, ProbeResult, RunStatus]", ("model", "text"), (), """\
        Reports what every head of a model does on a text, and where it goes blunt: an AuditResult.

        With ``analysis=`` it returns paper B's analyses instead (an AnalysisResult), with ``probe=`` the answers to
        questions of known answer (a ProbeResult).

        Any number of processes share an audit that is kept in a ``directory=``, with ``join=True``. ``status=True``
        returns a RunStatus, which says who works on what.
        """),
    Verb("bound", "bound", "typing.Union[BoundResult, ModelBoundResult, RunStatus]", ("model",), (), """\
        Computes how sharp attention can be at all: bounds, not measurements.

        With ``spread=`` it returns a BoundResult, about rows whose scores differ by at most that much. With a model it
        returns a ModelBoundResult: what the weights prove about every head. `peak` is then 0.5 unless it is given. With
        a ``directory=`` any number of processes share the heads of a model.

        >>> import sharpmax
        >>> found = sharpmax.bound(spread=5.69, n=[16, 16384], normalizer=["softmax", "top_k:k=4"], peak=0.5)
        >>> round(found.highest["softmax"][16384], 4)
        0.0177
        >>> found.lost_from["softmax"]
        297.0
        """),
    Verb("fix", "fix", "typing.Union[FixResult, RunStatus]", ("model", "text"), (), """\
        Tries normalizers on a real model, on one part of a text and of a task; the best is tested on the other part.
        With a ``directory=`` any number of processes share the trials.
        """),
    Verb("perplexity", "perplexity", "typing.Union[PerplexityResult, RunStatus]", ("model", "text"), (), """\
        Measures a model's loss on a text, by position. The text is cut into chunks, each read from an empty cache.
        With a ``directory=`` any number of processes share the chunks.
        """),
    Verb("inspect", "inspect", "InspectResult", ("model",), ("model",), """\
        Shows what is in a model file: architecture, shape, tokenizer, types, tensors and metadata, and whether it runs
        here. `ok` of the result is False if ``check=True`` found a weight that is NaN or infinite.
        """),
    Verb("tokenize", "tokenize", "TokenizeResult", ("model", "text_string"), ("model",), """\
        Splits a text into the tokens of a model, or turns tokens back into text. The model need not run here.

        `Model.tokenize()` and `Model.detokenize()` return the bare numbers and the bare text.
        """),
    Verb("generate", "run", "GenerateResult", ("model", "prompt"), ("model",), """\
        Lets a model continue a prompt, under any normalizer. `Model.stream()` returns the text as it comes.
        """),
    Verb("train", "train", "typing.Union[TrainResult, RunStatus]", ("task",), ("task",), """\
        Trains small transformers on a task that grows, on at most 16 items, and tests the same weights on many more
        under every normalizer.

        Everything is kept in the directory of the run as it comes. A run that was interrupted goes on with
        ``resume=True`` to the same results. Any number of processes may work on one run with ``join=True``;
        ``status=True`` returns a RunStatus, which says who works on what.

        >>> import sharpmax, tempfile
        >>> run = sharpmax.train("lookup", arms="softmax", keys=80, values=4, width=16, head_width=8, steps=20,
        ...                      batch=4, sizes=[16, 64], answers=64, directory=tempfile.mkdtemp())
        >>> sorted(run.accuracy["softmax"]["own"])
        [16, 64]
        """),
)  # fmt: skip


def annotation_of(field: Field) -> str:
    """The type of a keyword, as a stub has it."""
    one = _TYPES[field["type"]]
    kinds = [one, f"typing.Sequence[{one}]"] if field["list"] else [one]
    if field["default"] is None:
        kinds = ["None", *kinds]
    if len(kinds) == 1:
        return one
    return f"typing.Optional[{one}]" if kinds == ["None", one] else f"typing.Union[{', '.join(kinds)}]"


def parameters_of(verb: Verb, fields: typing.Sequence[Field]) -> typing.List[inspect.Parameter]:
    """Operands and the text first, by position; then keywords in the order of the fields; then progress."""
    by_name = {field["name"]: field for field in fields}
    places = [*verb.positional, *(name for name in by_name if name not in verb.positional)]
    parameters = []
    for name in places:
        field = dict(by_name[name])
        by_position = name in verb.positional
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if by_position else inspect.Parameter.KEYWORD_ONLY
        default = field["default"]
        if name in verb.required:
            default, field["default"] = inspect.Parameter.empty, ...
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation_of(field)))
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [*parameters, inspect.Parameter("progress", keyword, default=None, annotation="Progress")]


def signature_of(verb: Verb, fields: typing.Sequence[Field]) -> inspect.Signature:
    return inspect.Signature(parameters_of(verb, fields), return_annotation=verb.result)


def _described(field: Field, width: int) -> str:
    known = field["domain"]
    meaning = field["meaning"] + (f" [{known}]" if known and "or" not in known.split() else "")
    indent = " " * (width + 2)
    return textwrap.fill(
        meaning, 100, initial_indent=field["name"].ljust(width) + "  ", subsequent_indent=indent, break_on_hyphens=False
    )


def docstring_of(verb: Verb, fields: typing.Sequence[Field]) -> str:
    """The introduction, then the fields below their headings."""
    groups: typing.Dict[str, typing.List[Field]] = {}
    for field in fields:
        groups.setdefault(field["group"] or "Arguments", []).append(field)
    width = max(len(field["name"]) for field in fields)
    parts = [textwrap.dedent(verb.intro).strip()]
    for group, members in groups.items():
        parts.append("\n".join([f"{group}:", *(textwrap.indent(_described(f, width), "    ") for f in members)]))
    parts.append("progress: True shows where it is, a function is called with each line, None is silent.")
    return "\n\n".join(parts) + "\n"


_STUB_HEADER = '''"""The verbs; the build makes this from the fields of their jobs."""

import typing

from ._audit import AnalysisResult, AuditResult, ProbeResult
from ._bound import BoundResult, ModelBoundResult
from ._fit import FitResult
from ._fix import FixResult
from ._generate import GenerateResult
from ._inspect import InspectResult
from ._perplexity import PerplexityResult
from ._progress import Progress
from ._retrieve import RetrievalResult
from ._status import RunStatus
from ._tokenize import TokenizeResult
from ._train import TrainResult
from ._verb import ModelLike, NormalizerLike, NormalizerTable, Path
'''


def stub_of(verb: Verb, fields: typing.Sequence[Field]) -> str:
    lines, star = [], False
    for parameter in parameters_of(verb, fields):
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            star = True
            lines.append("*")
        default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
        lines.append(f"{parameter.name}: {parameter.annotation}{default}")
    body = textwrap.indent(f'"""{docstring_of(verb, fields)}"""', "    ").replace("\\", "\\\\")
    arguments = "".join(f"    {line},\n" for line in lines)
    return f"def {verb.name}(\n{arguments}) -> {verb.result}:\n{body}\n"


def stubs(fields: typing.Callable[[str], typing.Sequence[Field]]) -> str:
    """The module of all verbs as a stub. fields: as _core.fields."""
    return "\n".join([_STUB_HEADER, *(stub_of(verb, fields(verb.job)) for verb in VERBS)])
