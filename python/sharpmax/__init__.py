"""sharpmax: sharp attention at any size.

    out = sharpmax.attention(query, key, value, is_causal=True, normalizer="entropy_target:nats=0.5")
    out, stats = sharpmax.attention(query, key, value, return_stats=True)

Takes NumPy arrays, torch tensors and JAX arrays in CPU memory without copying them, and answers in kind. Torch
tensors on other devices are computed there, by PyTorch operations.
sharpmax.torch, sharpmax.jax and sharpmax.hf (Transformers) have what only these libraries need; retrieve(),
audit(), bound(), fix(), train() ... are the jobs of the command line, and load_model() opens a model to run.
"""

import typing

from . import _core
from ._attention import Gradients, attention, attention_backward
from ._core import Normalizer, current_target, default_threads, family, force_target, targets
from ._rows import normalize, normalize_backward
from ._stats import Stats

if typing.TYPE_CHECKING:
    from ._engine import (
        Model,
        audit,
        bound,
        fit,
        fix,
        generate,
        inspect,
        load_model,
        load_result,
        perplexity,
        report,
        retrieve,
        tokenize,
        train,
    )

__version__ = version = _core.version

__all__ = [
    "Gradients",
    "Model",
    "Normalizer",
    "Stats",
    "attention",
    "attention_backward",
    "audit",
    "bound",
    "current_target",
    "default_threads",
    "family",
    "fit",
    "fix",
    "force_target",
    "generate",
    "inspect",
    "load_model",
    "load_result",
    "normalize",
    "normalize_backward",
    "perplexity",
    "report",
    "retrieve",
    "targets",
    "tokenize",
    "train",
    "version",
]


def __getattr__(name: str) -> object:
    """Import jobs when they are first used, so that `import sharpmax` stays fast."""
    if name not in __all__:
        raise AttributeError(f"module 'sharpmax' has no attribute '{name}'")
    from . import _engine

    return getattr(_engine, name)


def __dir__() -> typing.List[str]:
    return sorted({*globals(), *__all__})
