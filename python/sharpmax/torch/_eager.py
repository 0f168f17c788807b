"""Autograd without the dispatcher: the ops, for tensors that are not traced."""

from __future__ import annotations

import typing

import torch

from . import _kernel, _ops, _ops_rows, _path
from ._kernel import Lengths, Masks, Rule, Wishes
from ._plain import is_plain_gradient

Tensor = torch.Tensor


class Attend(torch.autograd.Function):
    """apply(query, key, value, attn_mask, parameters, (rule, masks, lengths, wishes, threads), found)."""

    @staticmethod
    def forward(ctx: typing.Any, *arguments: typing.Any) -> Tensor:
        *inputs, (rule, masks, lengths, wishes, threads), found = arguments
        wanted = _path.with_saved(wishes, rule, inputs[0])
        out, statistics = _path.attend(inputs, rule, masks, lengths, wanted, threads)
        ctx.save_for_backward(*inputs, out, statistics.get("log_partition"), statistics.get("temperature"))
        ctx.call = (rule, masks, lengths, threads)
        if wishes.names:
            found.update((name, statistics[name]) for name in wishes.names.split(","))
        return out

    @staticmethod
    def backward(ctx: typing.Any, d_out: Tensor) -> tuple[typing.Any, ...]:
        kept = ctx.saved_tensors  # once: checkpointing computes them again for each look
        inputs, saved = kept[:5], kept[5:]
        rule, masks, lengths, threads = ctx.call
        needs = ctx.needs_input_grad[:5]
        if is_plain_gradient(d_out, inputs):
            gradients = _path.attend_backward(d_out, inputs, needs, rule, masks, lengths, saved, threads)
        else:
            flat = _ops.flat(inputs, lengths, rule, masks)
            every = _ops.attention_backward(d_out, *flat, *saved, list(needs), threads)
            gradients = _kernel.Gradients(*(gradient if needed else None for gradient, needed in zip(every, needs)))
        return (*gradients, None, None)


def attend(
    inputs: typing.Sequence[typing.Any],
    rule: Rule,
    masks: Masks,
    lengths: Lengths,
    wishes: Wishes,
    threads: int,
) -> tuple[Tensor, dict[str, Tensor]]:
    if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in inputs):
        found: dict[str, Tensor] = {}
        return Attend.apply(*inputs, (rule, masks, lengths, wishes, threads), found), found
    return _path.attend(inputs, rule, masks, lengths, wishes, threads)


class Weigh(torch.autograd.Function):
    """apply(scores, parameters, (rule, wishes, threads), found)."""

    @staticmethod
    def forward(ctx: typing.Any, *arguments: typing.Any) -> Tensor:
        scores, parameters, (rule, wishes, threads), found = arguments
        weights, statistics = _path.weigh(scores, parameters, rule, wishes, threads)
        found.update(statistics)
        ctx.save_for_backward(scores, parameters)
        ctx.call = (rule, threads)
        return weights

    @staticmethod
    def backward(ctx: typing.Any, d_weights: Tensor) -> tuple[typing.Any, ...]:
        scores, parameters = ctx.saved_tensors
        rule, threads = ctx.call
        if is_plain_gradient(d_weights, (scores, parameters)):
            gradients = _path.weigh_backward(d_weights, scores, parameters, rule, threads)
        else:
            gradients = _ops_rows.normalize_backward(d_weights, scores, parameters, *rule, threads)
        needs = ctx.needs_input_grad
        return (*(gradient if needed else None for gradient, needed in zip(gradients, needs)), None, None)


def weigh(
    scores: Tensor, parameters: Tensor | None, rule: Rule, wishes: Wishes, threads: int
) -> tuple[Tensor, dict[str, Tensor]]:
    needed = scores.requires_grad or (parameters is not None and parameters.requires_grad)
    if torch.is_grad_enabled() and needed:
        found: dict[str, Tensor] = {}
        return Weigh.apply(scores, parameters, (rule, wishes, threads), found), found
    return _path.weigh(scores, parameters, rule, wishes, threads)
