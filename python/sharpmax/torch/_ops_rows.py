"""sharpmax::normalize and sharpmax::normalize_backward as torch sees them."""

from __future__ import annotations

import typing

import torch

from . import _kernel, _path
from ._kernel import Rule, Wishes
from ._ops import library, no_setup, refuse_twice

Tensor = torch.Tensor

_INPUTS = "Tensor scores, Tensor? parameters, str normalizer, str names"

library.define(
    f"normalize({_INPUTS}, str statistics, int top, int map_rows, int map_columns, str gaps, int threads) "
    "-> (Tensor, Tensor[])"
)
library.define(f"normalize_backward(Tensor d_weights, {_INPUTS}, int threads) -> (Tensor, Tensor)")


def _weigh(
    scores: Tensor, parameters: Tensor | None, text: str, names: str, *rest: typing.Any
) -> tuple[Tensor, list[Tensor]]:
    weights, found = _path.weigh(scores, parameters, Rule(text, names), Wishes(*rest[:-1]), rest[-1])
    return weights, list(found.values())


def _weigh_fake(
    scores: Tensor, parameters: Tensor | None, text: str, names: str, *rest: typing.Any
) -> tuple[Tensor, list[Tensor]]:
    found = _path.empty_statistics(scores, _kernel.rows_of(scores), scores.shape[-1], Wishes(*rest[:-1]))
    return scores.new_empty(scores.shape), list(found.values())


def _weigh_backward(
    d_weights: Tensor, scores: Tensor, parameters: Tensor | None, text: str, names: str, threads: int
) -> tuple[Tensor, Tensor]:
    d_scores, d_parameters = _path.weigh_backward(d_weights, scores, parameters, Rule(text, names), threads)
    return d_scores, d_scores.new_empty(0) if d_parameters is None else d_parameters


def _weigh_backward_fake(
    d_weights: Tensor, scores: Tensor, parameters: Tensor | None, text: str, names: str, threads: int
) -> tuple[Tensor, Tensor]:
    return scores.new_empty(scores.shape), (
        scores.new_empty(0) if parameters is None else parameters.new_empty(parameters.shape)
    )


def setup(ctx: typing.Any, inputs: tuple[typing.Any, ...], output: typing.Any) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.settings, ctx.threads, ctx.arguments = inputs[2:4], inputs[-1], len(inputs)
    ctx.mark_non_differentiable(*output[1])
    ctx.set_materialize_grads(False)


def backward(call: typing.Callable[..., typing.Any], ctx: typing.Any, d_weights: typing.Any) -> tuple[typing.Any, ...]:
    """call: normalize_backward, or what stands for it."""
    nothing = (None,) * ctx.arguments
    if d_weights is None:
        return nothing
    scores, parameters = ctx.saved_tensors
    gradients = call(d_weights, scores, parameters, *ctx.settings, ctx.threads)
    found = tuple(gradient if needed else None for gradient, needed in zip(gradients, ctx.needs_input_grad))
    return (*found, *nothing[2:])


library.impl("normalize", _weigh, "CompositeExplicitAutograd")
library.impl("normalize_backward", _weigh_backward, "CompositeExplicitAutograd")
normalize = torch.ops.sharpmax.normalize.default
normalize_backward = torch.ops.sharpmax.normalize_backward.default
torch.library.register_fake("sharpmax::normalize", _weigh_fake, lib=library)
torch.library.register_fake("sharpmax::normalize_backward", _weigh_backward_fake, lib=library)
torch.library.register_autograd(
    "sharpmax::normalize",
    lambda ctx, d_weights, _: backward(normalize_backward, ctx, d_weights),
    setup_context=setup,
    lib=library,
)
torch.library.register_autograd("sharpmax::normalize_backward", refuse_twice, setup_context=no_setup, lib=library)
