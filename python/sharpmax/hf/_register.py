"""attn_implementation="sharpmax": the attention function, and the mask function without which masks would vanish."""

from __future__ import annotations

from transformers import AttentionInterface, AttentionMaskInterface

from ._attention import attention_forward
from ._mask import make_mask

NAME = "sharpmax"


def register() -> None:
    """Make ``attn_implementation="sharpmax"`` known to Transformers; importing sharpmax.hf has done it."""
    AttentionInterface.register(NAME, attention_forward)
    AttentionMaskInterface.register(NAME, make_mask)
