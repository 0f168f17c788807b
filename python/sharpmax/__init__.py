"""sharpmax: sharp attention at any size.

    out = sharpmax.attention(query, key, value, is_causal=True, normalizer="entropy_target:nats=0.5")
    out, stats = sharpmax.attention(query, key, value, return_stats=True)

Takes NumPy arrays and torch tensors in CPU memory without copying them, and answers in kind.
"""

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
