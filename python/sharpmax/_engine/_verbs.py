"""The verbs: whole jobs as functions, made from the fields of their requests. The build writes their stub beside this."""

from __future__ import annotations

import difflib
import os
import pathlib
import typing
from inspect import Signature

from .. import _core
from ._audit import AnalysisResult, AuditResult, ProbeResult  # noqa: F401  annotations name these
from ._bound import BoundResult, ModelBoundResult  # noqa: F401
from ._fields import VERBS, Verb, docstring_of, signature_of
from ._fit import FitResult  # noqa: F401
from ._fix import FixResult  # noqa: F401
from ._generate import GenerateResult  # noqa: F401
from ._inspect import InspectResult  # noqa: F401
from ._perplexity import PerplexityResult  # noqa: F401
from ._progress import Progress  # noqa: F401
from ._result import result_class
from ._retrieve import RetrievalResult
from ._run import run
from ._status import RunStatus  # noqa: F401
from ._tokenize import TokenizeResult  # noqa: F401
from ._train import TrainResult
from ._verb import Model, ModelLike, NormalizerLike, NormalizerTable, Path  # noqa: F401

# Keywords of other libraries, and ours.
_ELSEWHERE = {"max_new_tokens": "tokens", "max_tokens": "tokens"}


def _suggestion(keywords: typing.Mapping[str, typing.Any], signature: Signature) -> str:
    """For the first keyword that does not exist: "; did you mean lengths?", or nothing."""
    known = list(signature.parameters)
    unknown = next((name for name in keywords if name not in known), None)
    if unknown is None:
        return ""
    meant = _ELSEWHERE.get(unknown)
    close = [meant] if meant in known else difflib.get_close_matches(unknown, known, 1)
    return f"; did you mean {close[0]}?" if close else ""


def _made(verb: Verb) -> typing.Callable[..., typing.Any]:
    fields = _core.fields(verb.job)
    signature = signature_of(verb, fields)

    def call(*arguments: typing.Any, **keywords: typing.Any) -> typing.Any:
        try:
            given = signature.bind(*arguments, **keywords).arguments
        except TypeError as error:
            raise TypeError(f"{verb.name}() {error}{_suggestion(keywords, signature)}") from None
        progress = given.pop("progress", None)
        model = given.get("model")
        if isinstance(model, Model):
            given["model"] = model._core
        outcome = run(verb.job, {name: value for name, value in given.items() if value is not None}, progress)
        kind = result_class(outcome.data)
        result = kind.of(outcome) if kind else None
        if isinstance(result, RetrievalResult) and given.get("head") is None:
            directory = given.get("directory") or f"retrieve-{given.get('preset') or 'quick'}"
            result.directory = os.path.abspath(os.fsdecode(directory))
        if isinstance(result, TrainResult):
            result.directory = os.path.abspath(
                os.fsdecode(given.get("directory") or f"train-{pathlib.PurePath(result.task).stem}".replace(":", "-"))
            )
        return result

    call.__name__ = call.__qualname__ = verb.name
    call.__module__ = __name__
    call.__doc__ = docstring_of(verb, fields)
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {name: p.annotation for name, p in signature.parameters.items()}
    call.__annotations__["return"] = signature.return_annotation
    return call


globals().update({verb.name: _made(verb) for verb in VERBS})
