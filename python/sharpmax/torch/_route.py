"""Three ways to the kernel: a direct call, an op for tracers, a function that torch.func can transform."""

from __future__ import annotations

import typing

import torch
from torch.autograd import forward_ad

from . import _eager, _func, _ops, _ops_rows, _path
from ._kernel import Lengths, Masks, Rule, Wishes
from ._plain import functorch_level, is_plain

Tensor = torch.Tensor
Tensors = typing.Sequence[typing.Optional[Tensor]]
Found = dict[str, Tensor]


def _is_transformed(tensors: Tensors) -> bool:
    if torch.compiler.is_compiling():
        return False
    if functorch_level() is not None:
        return True
    if forward_ad._current_level >= 0:
        if any(tensor is not None and forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors):
            _ops.refuse_forward_mode()
    return False


def _is_recorded(tensors: Tensors) -> bool:
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


def _named(wishes: Wishes, found: typing.Sequence[Tensor]) -> Found:
    return dict(zip(wishes.names.split(","), found)) if wishes.names else {}


def attend(
    inputs: Tensors, rule: Rule, masks: Masks, lengths: Lengths, wishes: Wishes, threads: int
) -> tuple[Tensor, Found]:
    """inputs: query, key, value, attn_mask, parameters. Values for the backward pass are kept only if one may come."""
    if is_plain(inputs):
        return _eager.attend(inputs, rule, masks, lengths, wishes, threads)
    call = _func.attention if _is_transformed(inputs) else _ops.attention
    wanted = _path.with_saved(wishes, rule, typing.cast(torch.Tensor, inputs[0])) if _is_recorded(inputs) else wishes
    out, found = call(*_ops.flat(inputs, lengths, rule, masks), *wanted, threads)
    return out, _named(wishes, found)


def weigh(scores: Tensor, parameters: Tensor | None, rule: Rule, wishes: Wishes, threads: int) -> tuple[Tensor, Found]:
    if is_plain((scores, parameters)):
        return _eager.weigh(scores, parameters, rule, wishes, threads)
    call = _func.normalize if _is_transformed((scores, parameters)) else _ops_rows.normalize
    weights, found = call(scores, parameters, *rule, *wishes, threads)
    return weights, _named(wishes, found)
