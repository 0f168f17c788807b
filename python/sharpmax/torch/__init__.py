"""sharpmax for PyTorch: attention under any normalizer, with gradients, as ops that torch.compile takes whole.

attention, normalize  what sharpmax.attention and sharpmax.normalize do with tensors
Attention             a layer with projections
Learnable             a normalizer whose parameters are trained
Parametrized          a normalizer whose parameters are tensors of one's own
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as _missing:
    raise ImportError("sharpmax.torch needs PyTorch: pip install 'sharpmax[torch]'") from _missing

from ._attention import attention
from ._learnable import Learnable
from ._module import Attention
from ._rows import normalize
from ._rules import Parametrized

__all__ = ["Attention", "Learnable", "Parametrized", "attention", "normalize"]
