"""The verbs: whole jobs of the command line as functions, and models to run."""

from ._audit import AnalysisResult, AuditResult, ProbeResult, audit
from ._bound import BoundResult, ModelBoundResult, bound
from ._fit import FitResult, fit
from ._fix import FixResult, fix
from ._inspect import InspectResult, inspect
from ._model import Model, load_model
from ._perplexity import PerplexityResult, perplexity
from ._result import Result, load_result, report
from ._retrieve import RetrievalResult, retrieve
from ._tables import Table

__all__ = [
    "AnalysisResult",
    "AuditResult",
    "BoundResult",
    "FitResult",
    "FixResult",
    "InspectResult",
    "Model",
    "ModelBoundResult",
    "PerplexityResult",
    "ProbeResult",
    "Result",
    "RetrievalResult",
    "Table",
    "audit",
    "bound",
    "fit",
    "fix",
    "inspect",
    "load_model",
    "load_result",
    "perplexity",
    "report",
    "retrieve",
]
