"""Every normalizer in plain PyTorch operations: for tensors on any device that PyTorch works on.

A block of queries at a time: scores, then survey, resolve and weigh, then the weighted sum of values. Memory grows
with the number of keys, never with its square. No operation here waits for the device (no .item(), no sizes that
depend on data), every search takes a fixed number of steps, nothing is float64 unless the inputs are, and no tensor
has more than four dimensions. The gradient computes each block again.

_blocks      what is computed together      _parameters  numbers of a normalizer as tensors
_visible     which keys a query sees        _softmax, _targets, _threshold, _pointwise  the normalizers
_scores      from queries and keys to scores and back
_statistics  what rows say of themselves
_fused, _quick  plain softmax: by the device's own kernel, or in few operations per block
_attend, _rows  the functions that torch/_path.py calls where the C++ kernels cannot
"""

from __future__ import annotations

from ._attend import attend, attend_backward
from ._rows import weigh, weigh_backward

__all__ = ["attend", "attend_backward", "weigh", "weigh_backward"]
