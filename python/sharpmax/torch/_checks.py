"""Errors for tensors that the library cannot read, one sentence each."""

from __future__ import annotations

import typing

import torch

Tensor = torch.Tensor

FLOATING = frozenset((torch.float32, torch.bfloat16, torch.float16, torch.float64))
_WORDS = "float32, bfloat16, float16 or float64"


def _is_readable(tensor: Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.is_nested


def check_tensor(tensor: typing.Any, name: str) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} is a {type(tensor).__name__}; it must be a torch tensor")
    if tensor.is_nested:
        raise TypeError(f"{name} is a nested tensor; pad it and give key_lengths, or pack it and give documents")
    if tensor.layout is not torch.strided:
        raise TypeError(f"{name} has layout {tensor.layout}; it must be torch.strided")


def check_device(tensor: Tensor, name: str, query: Tensor, query_name: str = "query") -> None:
    """A tensor that is computed with must be where the others are: nothing is copied between devices unasked."""
    if query.is_cpu and tensor.is_cpu:
        return
    if tensor.device != query.device:
        raise TypeError(
            f"{name} is on {tensor.device} and {query_name} on {query.device}; they must be on one device, so pass "
            f"{name}.to('{query.device}')"
        )


def check_parameters(parameters: Tensor, rule: str, query: Tensor, query_name: str = "query") -> None:
    """Those of a Learnable, which is moved as a whole, or of a Parametrized, whose tensors are."""
    if parameters.device != query.device:
        raise TypeError(
            f"the parameters of {rule} are on {parameters.device} and {query_name} on {query.device}; they must be on one "
            f"device, so move them by .to('{query.device}')"
        )


def check_lengths(lengths: typing.Sequence[Tensor | None], query: Tensor) -> None:
    """Whole numbers may stay in CPU memory, where they can be looked at."""
    for name, tensor in zip(("key_lengths", "documents", "documents"), lengths):
        if tensor is not None and not tensor.is_cpu:
            check_device(tensor, name, query)


def check_floating(tensor: typing.Any, name: str) -> None:
    if type(tensor) is torch.Tensor and tensor.dtype in FLOATING and _is_readable(tensor):
        return
    check_tensor(tensor, name)
    if tensor.dtype not in FLOATING:
        raise TypeError(f"{name} is {tensor.dtype}; it must be {_WORDS}")


def check_inputs(query: typing.Any, key: typing.Any, value: typing.Any) -> None:
    check_floating(query, "query")
    check_floating(key, "key")
    check_floating(value, "value")
    check_device(key, "key", query)
    check_device(value, "value", query)
    if not query.dtype == key.dtype == value.dtype:
        cached = query.dtype == torch.float32 and key.dtype == value.dtype and key.dtype != torch.float64
        if not cached:
            raise TypeError(
                f"query is {query.dtype}, key is {key.dtype} and value is {value.dtype}; they must have one type, "
                "or query float32 and both others one 16-bit type"
            )


def check_mask(attn_mask: typing.Any, query: Tensor) -> None:
    check_tensor(attn_mask, "attn_mask")
    check_device(attn_mask, "attn_mask", query)
    if attn_mask.dtype not in (torch.bool, torch.float32, query.dtype):
        raise TypeError(
            f"attn_mask is {attn_mask.dtype}; it must be torch.bool, torch.float32 or query's {query.dtype}"
        )


def check_number(number: typing.Any, name: str) -> float:
    if isinstance(number, torch.Tensor):
        raise TypeError(f"{name} is a tensor; it must be a number, for it gets no gradient")
    if isinstance(number, str):
        raise TypeError(f"{name} is {number!r}; it must be a number")
    try:
        return float(number)
    except TypeError:
        raise TypeError(f"{name} is a {type(number).__name__}; it must be a number") from None


def integers(sequence: typing.Any, name: str) -> Tensor:
    """A tensor of int64 of one dimension."""
    if not isinstance(sequence, torch.Tensor):
        try:
            sequence = torch.tensor(list(sequence), dtype=None if len(sequence) else torch.int64, device="cpu")
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"{name} is {sequence!r}; it must be a sequence of whole numbers") from None
    check_tensor(sequence, name)
    if sequence.is_floating_point() or sequence.is_complex() or sequence.dtype == torch.bool or sequence.dim() != 1:
        raise TypeError(
            f"{name} is {sequence.dtype} of shape {list(sequence.shape)}; it must be whole numbers in one dimension"
        )
    return sequence.to(torch.int64)
