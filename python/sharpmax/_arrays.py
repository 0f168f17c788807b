"""NumPy and torch arrays: new ones of the same kind, and inputs that the library can read."""

from __future__ import annotations

import importlib
import sys
import typing

import numpy as np

_NUMPY_TYPES: dict[str, typing.Any] = {"float64": np.float64, "float32": np.float32, "int64": np.int64}
_READ_AS_THEY_ARE = frozenset((np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), np.dtype(np.bool_)))


class NumPyArrays:
    """Answers as NumPy arrays: for NumPy inputs, and for any other that supports DLPack."""

    expand = staticmethod(np.broadcast_to)

    @staticmethod
    def empty(shape: tuple[int, ...], like: typing.Any) -> typing.Any:
        return np.empty(shape, like.dtype)

    @staticmethod
    def empty_of(shape: tuple[int, ...], type_name: str) -> typing.Any:
        return np.empty(shape, _NUMPY_TYPES[type_name])

    @staticmethod
    def is_bool(array: typing.Any) -> bool:
        return getattr(array, "dtype", None) == np.bool_

    @staticmethod
    def is_double(array: typing.Any) -> bool:
        return getattr(array, "dtype", None) == np.float64

    @staticmethod
    def readable(array: typing.Any, name: str) -> typing.Any:
        """The array as the kernel can read it: itself, or a copy if strides or byte order need one."""
        if type(array) is not np.ndarray:
            array = _as_numpy(array, name)
        if array.dtype not in _READ_AS_THEY_ARE:
            array = _of_native_type(array, name)
        strides = array.strides
        if strides and array.shape[-1] > 1 and strides[-1] != array.itemsize:
            return np.ascontiguousarray(array)
        if not array.flags.aligned:  # a field of a structured array, bytes read from a file
            return array.copy()
        return array


def _is_in_cpu_memory(array: typing.Any) -> bool:
    try:
        return bool(array.__dlpack_device__()[0] == 1)  # kDLCPU
    except ValueError:  # torch, of a device that DLPack has no number for
        return False


def _as_numpy(array: typing.Any, name: str) -> np.ndarray[typing.Any, typing.Any]:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be lost; pass the array and an attn_mask")
    if isinstance(array, np.ndarray):
        return array.view(np.ndarray)  # np.matrix, np.memmap, ...
    if isinstance(array, np.generic) or not hasattr(array, "__dlpack__"):
        raise TypeError(f"{name} is a {type(array).__name__}; it must be an array in CPU memory")
    if getattr(array, "requires_grad", False):
        raise TypeError(f"{name} requires grad, which no one records here; pass {name}.detach(), or a torch query")
    if not _is_in_cpu_memory(array):
        where = getattr(array, "device", "a device")
        raise TypeError(f"{name} is on {where}; it must be in CPU memory, or query a torch tensor on that device")
    try:
        return np.from_dlpack(array)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise TypeError(f"{name} is a {type(array).__name__} that NumPy cannot look into: {error}") from error


def _of_native_type(array: np.ndarray[typing.Any, typing.Any], name: str) -> np.ndarray[typing.Any, typing.Any]:
    if array.dtype.newbyteorder("=") in _READ_AS_THEY_ARE:
        return array.astype(array.dtype.newbyteorder("="))
    wanted = "bool, or float32, float16 or float64" if name == "attn_mask" else "float32, float16 or float64"
    raise TypeError(f"{name} is an array of {array.dtype}; it must be {wanted}")


class TorchArrays:
    """Answers as torch tensors in CPU memory."""

    def __init__(self, torch: typing.Any) -> None:
        self.torch = torch
        self.types = {"float64": torch.float64, "float32": torch.float32, "int64": torch.int64}

    @staticmethod
    def expand(array: typing.Any, shape: tuple[int, ...]) -> typing.Any:
        return array.expand(shape)

    def empty(self, shape: tuple[int, ...], like: typing.Any) -> typing.Any:
        return self.torch.empty(shape, dtype=like.dtype)

    def empty_of(self, shape: tuple[int, ...], type_name: str) -> typing.Any:
        return self.torch.empty(shape, dtype=self.types[type_name])

    def is_bool(self, array: typing.Any) -> bool:
        return bool(array.dtype == self.torch.bool)

    def is_double(self, array: typing.Any) -> bool:
        return bool(array.dtype == self.torch.float64)

    def readable(self, array: typing.Any, name: str) -> typing.Any:
        if not isinstance(array, self.torch.Tensor):
            raise TypeError(f"{name} is a {type(array).__name__}; query is a torch tensor, so it must be one too")
        if array.device.type != "cpu":
            raise TypeError(
                f"{name} is on {array.device} and others in CPU memory; they must be on one device, so pass {name}.cpu()"
            )
        if array.layout is not self.torch.strided:
            raise TypeError(f"{name} is {array.layout}; it must be a dense tensor")
        if array.requires_grad:
            if self.torch.is_grad_enabled():
                raise TypeError(
                    f"{name} requires grad, which this function does not record: pass {name}.detach(), "
                    "and get gradients from the _backward function of the same name"
                )
            array = array.detach()
        if array.is_neg():
            array = array.resolve_neg()
        if array.dim() and array.shape[-1] > 1 and array.stride(-1) != 1:
            return array.contiguous()
        return array


_torch_arrays: typing.Optional[TorchArrays] = None


def is_torch(array: typing.Any) -> bool:
    """torch is never imported here: a tensor's owner has done it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, getattr(torch, "Tensor", ()))


def is_jax(array: typing.Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(array, getattr(jax, "Array", ()))


def door_of(array: typing.Any) -> typing.Any:
    """The submodule that takes arrays of this kind and records their gradients; None: NumPy's."""
    name = f"{__package__}.torch" if is_torch(array) else f"{__package__}.jax" if is_jax(array) else None
    return None if name is None else sys.modules.get(name) or importlib.import_module(name)


def gradients_elsewhere(array: typing.Any) -> typing.Any:
    """The functions for explicit gradients of a tensor that the kernels do not compute with; None: they do."""
    if not is_torch(array) or not importlib.import_module(f"{__package__}.torch._path").is_portable(array):
        return None
    return importlib.import_module(f"{__package__}.torch._backward")


def arrays_like(array: typing.Any) -> typing.Any:
    """NumPyArrays or TorchArrays."""
    global _torch_arrays
    if type(array) is not np.ndarray and is_torch(array):
        if _torch_arrays is None:
            _torch_arrays = TorchArrays(sys.modules["torch"])
        return _torch_arrays
    return NumPyArrays
