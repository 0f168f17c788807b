"""The verbs: whole jobs of the command line as functions, and models to run."""

from ._audit import AnalysisResult, AuditResult, ProbeResult
from ._bound import BoundResult, ModelBoundResult
from ._fit import FitResult
from ._fix import FixResult
from ._generate import GenerateResult
from ._inspect import InspectResult
from ._model import Model, load_model
from ._perplexity import PerplexityResult
from ._result import Result, load_result, report
from ._retrieve import RetrievalResult
from ._status import RunStatus
from ._tables import Table
from ._tokenize import TokenizeResult
from ._train import TrainResult
from ._verbs import audit, bound, fit, fix, generate, inspect, perplexity, retrieve, tokenize, train

__all__ = [
    "AnalysisResult",
    "AuditResult",
    "BoundResult",
    "FitResult",
    "FixResult",
    "GenerateResult",
    "InspectResult",
    "Model",
    "ModelBoundResult",
    "PerplexityResult",
    "ProbeResult",
    "Result",
    "RetrievalResult",
    "RunStatus",
    "Table",
    "TokenizeResult",
    "TrainResult",
    "audit",
    "bound",
    "fit",
    "fix",
    "generate",
    "inspect",
    "load_model",
    "load_result",
    "perplexity",
    "report",
    "retrieve",
    "tokenize",
    "train",
]
