"""What the doors need of NumPy and of torch: new arrays in kind, and inputs the library can read."""

import sys

import numpy as np

_NUMPY_TYPES = {"float64": np.float64, "float32": np.float32, "int64": np.int64}


class NumPyArrays:
    """Answers as NumPy arrays: for NumPy inputs, and for any other that speaks DLPack."""

    @staticmethod
    def empty(shape, like):
        return np.empty(shape, np.asarray(like).dtype)

    @staticmethod
    def empty_of(shape, type_name):
        return np.empty(shape, _NUMPY_TYPES[type_name])

    @staticmethod
    def is_bool(array):
        return getattr(array, "dtype", None) == np.bool_

    @staticmethod
    def is_double(array):
        return getattr(array, "dtype", None) == np.float64

    @staticmethod
    def readable(array, name):
        if isinstance(array, np.ndarray):
            strides = array.strides
            if strides and array.shape[-1] > 1 and strides[-1] != array.itemsize:
                return np.ascontiguousarray(array)
            if any(stride % array.itemsize for stride in strides):  # a field of a structured array
                return np.ascontiguousarray(array)
        return array


class TorchArrays:
    """Answers as torch tensors in CPU memory."""

    def __init__(self, torch):
        self.torch = torch
        self.types = {"float64": torch.float64, "float32": torch.float32, "int64": torch.int64}

    def empty(self, shape, like):
        return self.torch.empty(shape, dtype=like.dtype)

    def empty_of(self, shape, type_name):
        return self.torch.empty(shape, dtype=self.types[type_name])

    def is_bool(self, array):
        return array.dtype == self.torch.bool

    def is_double(self, array):
        return array.dtype == self.torch.float64

    def readable(self, array, name):
        if not isinstance(array, self.torch.Tensor):
            raise TypeError(f"{name} is a {type(array).__name__}; query is a torch tensor, so it must be one too")
        if array.device.type != "cpu":
            raise TypeError(f"{name} is on {array.device}; it must be in CPU memory")
        if array.requires_grad:
            if self.torch.is_grad_enabled():
                raise TypeError(
                    f"{name} requires grad, which this function does not record: pass {name}.detach(), "
                    "and get gradients from the _backward function of the same name"
                )
            array = array.detach()
        if array.dim() and array.shape[-1] > 1 and array.stride(-1) != 1:
            return array.contiguous()
        return array


_torch_arrays = None


def arrays_like(array):
    """NumPyArrays or TorchArrays. torch is never imported here: a tensor's owner has done it."""
    global _torch_arrays
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        if _torch_arrays is None:
            _torch_arrays = TorchArrays(torch)
        return _torch_arrays
    return NumPyArrays
