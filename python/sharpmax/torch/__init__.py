"""sharpmax for PyTorch: attention under any normalizer, with gradients, as ops that torch.compile takes whole.

    out = sharpmax.torch.attention(query, key, value, is_causal=True, normalizer="entmax:alpha=1.5")
    out.sum().backward()

    layer = sharpmax.torch.Attention(64, 4, normalizer="ssmax", learnable=True)
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
