"""sharpmax: sharp attention at any size.

    out = sharpmax.attention(query, key, value, is_causal=True, normalizer="entropy_target:nats=0.5")
    out, stats = sharpmax.attention(query, key, value, return_stats=True)

Takes NumPy arrays, torch tensors and JAX arrays in CPU memory without copying them, and answers in kind.
sharpmax.torch, sharpmax.jax and sharpmax.hf (Transformers) have what only these libraries need; retrieve(),
audit(), bound(), fix() ... are the jobs of the command line, and load_model() opens a model to run.
"""

import typing

from . import _core
from ._attention import Gradients, attention, attention_backward
from ._core import Normalizer, current_target, default_threads, family, force_target, targets
from ._rows import normalize, normalize_backward
from ._stats import Stats

__version__ = version = _core.version

__all__ = [
    "Gradients",
    "Normalizer",
    "Stats",
    "attention",
    "attention_backward",
    "current_target",
    "default_threads",
    "family",
    "force_target",
    "normalize",
    "normalize_backward",
    "targets",
    "version",
]

# The verbs, which are imported when first asked for: who only attends need not wait for them.
_VERBS = (
    "Model",
    "audit",
    "bound",
    "fit",
    "fix",
    "inspect",
    "load_model",
    "load_result",
    "perplexity",
    "retrieve",
)
__all__ += _VERBS

if typing.TYPE_CHECKING:
    from ._engine import (  # isort: skip
        Model as Model,
        audit as audit,
        bound as bound,
        fit as fit,
        fix as fix,
        inspect as inspect,
        load_model as load_model,
        load_result as load_result,
        perplexity as perplexity,
        retrieve as retrieve,
    )


def __getattr__(name: str) -> typing.Any:
    if name not in _VERBS:
        raise AttributeError(f"module 'sharpmax' has no attribute '{name}'")
    from . import _engine

    return getattr(_engine, name)


def __dir__() -> typing.List[str]:
    return sorted([*globals(), *_VERBS])
