"""What the peers share."""

import importlib
import importlib.metadata

import numpy as np


class BasePeer:
    name = ""
    module = ""  # what must be importable

    def __init__(self, threads):
        self.threads = threads

    def missing(self):
        try:
            importlib.import_module(self.module)
        except ImportError as error:
            return f"not installed ({error})"
        return None

    def version(self):
        return importlib.metadata.version(self.module)

    def forward(self, problem, normalizer):
        return None

    def backward(self, problem):
        return None

    def as_array(self, result):
        return np.asarray(result)

    def as_arrays(self, result):
        """Three for gradients, one for a forward. What comes beside the latter is the peer's own affair: as_array drops it."""
        if isinstance(result, (tuple, list)) and len(result) == 3:
            return tuple(self.as_array(part) for part in result)
        return (self.as_array(result),)
