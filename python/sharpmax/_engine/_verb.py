"""What the verbs on a model have in common."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import typing

from .._normalizers import NormalizerLike
from ._model import Model
from ._words import Path, path_text, utf8

ModelLike = typing.Union[str, "os.PathLike[str]", Model]
NormalizerTable = typing.Union[str, "os.PathLike[str]", typing.Mapping[str, typing.Any]]

MODEL_FILES = ("normalizers",)


def model_operand(model: ModelLike, given: typing.Dict[str, typing.Any]) -> str:
    """The path of a model; what a loaded one was told of positions is said again where `given` does not."""
    if not isinstance(model, Model):
        return path_text("model", model)
    for keyword, value in model.opened_with.items():
        if value is not None and keyword in ("context", "rope_scaling", "rope_base"):
            given.setdefault(keyword, value)
    return path_text("model", model.path)


def take_text(given: typing.Dict[str, typing.Any]) -> bytes:
    """text_string goes in as the command's standard input; returns it."""
    text_string = given.pop("text_string", None)
    if text_string is None:
        if "text" in given:
            given["text"] = path_text("text", given["text"], ", and the text itself goes into text_string")
        return b""
    if "text" in given:
        raise ValueError("text and text_string were both given; one was expected")
    given["text"] = "-"
    return utf8("text_string", text_string)


@contextlib.contextmanager
def table_as_file(given: typing.Dict[str, typing.Any]) -> typing.Iterator[None]:
    """A table of normalizers that is a dict goes to the command as a file."""
    table = given.get("normalizers")
    if not isinstance(table, typing.Mapping):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="sharpmax-") as folder:
        given["normalizers"] = os.path.join(folder, "normalizers.json")
        with open(given["normalizers"], "w", encoding="utf-8") as file:
            json.dump(table, file)
        yield


__all__ = [
    "MODEL_FILES",
    "ModelLike",
    "NormalizerLike",
    "NormalizerTable",
    "Path",
    "model_operand",
    "table_as_file",
    "take_text",
]
