"""The 19 members by name."""

from __future__ import annotations

import typing

from ._parameters import Parameters
from ._pointwise import Linear, Relu, Sigmoid, Softpick, StickBreaking
from ._softmax import Exponential, Hard, LogLength, SelfAdjust, Sink, Ssmax, TopK
from ._targets import Adaptive, EntropyTarget, PeakTarget
from ._threshold import Asentmax, Entmax, Entmax15, Sparsemax
from ._weighed import Normalizer

_MEMBERS: dict[str, typing.Callable[[Parameters], Normalizer]] = {
    "softmax": Exponential,
    "adaptive": Adaptive,
    "entropy_target": EntropyTarget,
    "peak_target": PeakTarget,
    "ssmax": Ssmax,
    "log_length": LogLength,
    "sparsemax": Sparsemax,
    "entmax15": Entmax15,
    "entmax": Entmax,
    "asentmax": Asentmax,
    "top_k": TopK,
    "hard": Hard,
    "sink": Sink,
    "softpick": Softpick,
    "sigmoid": Sigmoid,
    "stick_breaking": StickBreaking,
    "self_adjust": SelfAdjust,
    "relu": Relu,
    "linear": Linear,
}

# Whose temperature is searched for: the backward pass wants to find it again.
SEARCHES = frozenset(("entropy_target", "peak_target"))


def normalizer_of(parameters: Parameters) -> Normalizer:
    if parameters.name not in _MEMBERS:
        raise NotImplementedError(
            f"{parameters.name} has no form in PyTorch operations; tensors in CPU memory can be normalized with it"
        )
    return _MEMBERS[parameters.name](parameters)
