"""sharpmax under Hugging Face models, without a line of model code.

import sharpmax.hf                                       # registers attn_implementation="sharpmax"
sharpmax.hf.patch(model, "entropy_target:nats=0.5")      # another normalizer, for all heads or for some
with sharpmax.hf.watch(model) as stats:                  # how sharp each head is, while the model runs
    model.generate(**inputs)
print(stats)
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
    import transformers as _transformers  # noqa: F401
except ImportError as _missing:
    raise ImportError(f"sharpmax.hf needs {_missing.name}: pip install 'sharpmax[hf]'") from _missing

from ._patch import Patch, patch, unpatch
from ._register import register
from ._watch import Watch, watch

register()

__all__ = ["Patch", "Watch", "patch", "register", "unpatch", "watch"]
