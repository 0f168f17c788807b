"""sharpmax::attention and sharpmax::attention_backward as torch sees them: schema, fake tensors, autograd, vmap.

Text and numbers are joined into strings because autograd takes lists of anything but tensors apart.
"""

from __future__ import annotations

import typing

import torch

from . import _kernel, _path
from ._kernel import Lengths, Masks, Rule, Wishes

Tensor = torch.Tensor

_INPUTS = (
    "Tensor query, Tensor key, Tensor value, Tensor? attn_mask, Tensor? parameters, "
    "Tensor? key_lengths, Tensor? query_offsets, Tensor? key_offsets, "
    "str normalizer, str names, str causal, int left, int right, float? scale, float soft_cap"
)
_TENSORS = 8  # the first of _INPUTS
_SETTINGS = 7  # the rest

library = torch.library.Library("sharpmax", "DEF")
library.define(
    f"attention({_INPUTS}, str statistics, int top, int map_rows, int map_columns, str gaps, int threads) "
    "-> (Tensor, Tensor[])"
)
library.define(
    f"attention_backward(Tensor d_out, {_INPUTS}, Tensor? out, Tensor? log_partition, Tensor? temperature, "
    "bool[] needs, int threads) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)


def flat(inputs: typing.Sequence[Tensor | None], lengths: Lengths, rule: Rule, masks: Masks) -> tuple[typing.Any, ...]:
    """The arguments of _INPUTS in their order."""
    return (*inputs, *lengths, *rule, *masks)


def _grouped(arguments: typing.Sequence[typing.Any]) -> tuple[typing.Any, Lengths, Rule, Masks]:
    inputs, lengths = tuple(arguments[:5]), Lengths(*arguments[5:_TENSORS])
    settings = arguments[_TENSORS : _TENSORS + _SETTINGS]
    return inputs, lengths, Rule(*settings[:2]), Masks(*settings[2:])


def _attend(*arguments: typing.Any) -> tuple[Tensor, list[Tensor]]:
    inputs, lengths, rule, masks = _grouped(arguments)
    *wishes, threads = arguments[_TENSORS + _SETTINGS :]
    out, found = _path.attend(inputs, rule, masks, lengths, Wishes(*wishes), threads)
    return out, list(found.values())


def _attend_fake(*arguments: typing.Any) -> tuple[Tensor, list[Tensor]]:
    query, key, value = arguments[:3]
    wishes = Wishes(*arguments[_TENSORS + _SETTINGS : -1])
    out = _kernel.empty_out(query, value)
    return out, list(_path.empty_statistics(query, _kernel.rows_of(query), key.shape[-2], wishes).values())


def _attend_backward(d_out: Tensor, *arguments: typing.Any) -> tuple[Tensor, ...]:
    inputs, lengths, rule, masks = _grouped(arguments)
    *saved, needs, threads = arguments[_TENSORS + _SETTINGS :]
    found = _path.attend_backward(d_out, inputs, needs, rule, masks, lengths, saved, threads)
    return tuple(d_out.new_empty(0) if gradient is None else gradient for gradient in found)


def _attend_backward_fake(d_out: Tensor, *arguments: typing.Any) -> tuple[Tensor, ...]:
    needs = arguments[-2]
    return tuple(
        _kernel.empty_gradient(tensor, tensor.dtype) if needed else d_out.new_empty(0)
        for tensor, needed in zip(arguments[:5], needs)
    )


def setup(ctx: typing.Any, inputs: tuple[typing.Any, ...], output: typing.Any) -> None:
    out, found = output
    settings, (names, *_, threads) = inputs[_TENSORS : _TENSORS + _SETTINGS], inputs[_TENSORS + _SETTINGS :]
    by_name = dict(zip(names.split(","), found))
    saved = (out, by_name.get("log_partition"), by_name.get("temperature"))
    if saved[2] is None:
        saved = (None, None, None)  # computed again
    ctx.save_for_backward(*inputs[:_TENSORS], *saved)
    ctx.settings, ctx.threads, ctx.arguments = settings, threads, len(inputs)
    ctx.mark_non_differentiable(*found)
    ctx.set_materialize_grads(False)


def backward(call: typing.Callable[..., typing.Any], ctx: typing.Any, d_out: typing.Any) -> tuple[typing.Any, ...]:
    """call: attention_backward, or what stands for it."""
    nothing = (None,) * ctx.arguments
    if d_out is None:
        return nothing
    kept = ctx.saved_tensors  # once: checkpointing computes them again for each look
    tensors, saved = kept[:_TENSORS], kept[_TENSORS:]
    needs = list(ctx.needs_input_grad[:5])
    gradients = call(d_out, *tensors, *ctx.settings, *saved, needs, ctx.threads)
    return (*(gradient if needed else None for gradient, needed in zip(gradients, needs)), *nothing[5:])


def refuse_twice(*_: typing.Any) -> typing.NoReturn:
    raise NotImplementedError(
        "a gradient of sharpmax's attention or normalize was differentiated; it has no derivative of its own"
    )


def refuse_forward_mode() -> typing.NoReturn:
    raise NotImplementedError(
        "sharpmax's attention and normalize have no forward-mode derivative; use reverse mode (grad, vjp, jacrev)"
    )


def no_setup(ctx: typing.Any, inputs: typing.Any, output: typing.Any) -> None:
    pass


library.impl("attention", _attend, "CompositeExplicitAutograd")  # of any device
library.impl("attention_backward", _attend_backward, "CompositeExplicitAutograd")
attention = torch.ops.sharpmax.attention.default
attention_backward = torch.ops.sharpmax.attention_backward.default
torch.library.register_fake("sharpmax::attention", _attend_fake, lib=library)
torch.library.register_fake("sharpmax::attention_backward", _attend_backward_fake, lib=library)
torch.library.register_autograd(
    "sharpmax::attention",
    lambda ctx, d_out, _: backward(attention_backward, ctx, d_out),
    setup_context=setup,
    lib=library,
)
torch.library.register_autograd("sharpmax::attention_backward", refuse_twice, setup_context=no_setup, lib=library)
