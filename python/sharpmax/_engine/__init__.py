"""The verbs: whole jobs of the command line as functions, and models to run."""

from ._bound import bound
from ._inspect import inspect
from ._model import Model, load_model
from ._result import Result, load_result

__all__ = ["Model", "Result", "bound", "inspect", "load_model", "load_result"]
