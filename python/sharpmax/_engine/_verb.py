"""Types of the arguments that several verbs take."""

from __future__ import annotations

import os
import typing

from .._normalizers import NormalizerLike
from ._model import Model
from ._values import Path

ModelLike = typing.Union[str, "os.PathLike[str]", Model]
NormalizerTable = typing.Union[str, "os.PathLike[str]", typing.Mapping[str, typing.Any]]

__all__ = ["Model", "ModelLike", "NormalizerLike", "NormalizerTable", "Path"]
