"""The ops under torch.func's transforms, which want an autograd.Function with a vmap rule of its own.

torch.library's autograd registration does not answer to torch.func.grad; these functions do.
"""

from __future__ import annotations

import functools
import typing

import torch

from . import _ops, _ops_rows, _vmap

Tensor = torch.Tensor


class _Transformed(torch.autograd.Function):
    @staticmethod
    def jvp(ctx: typing.Any, *tangents: typing.Any) -> typing.NoReturn:
        _ops.refuse_forward_mode()


class _Attention(_Transformed):
    @staticmethod
    def forward(*arguments: typing.Any) -> tuple[Tensor, ...]:
        out, found = _ops.attention(*arguments)
        return (out, *found)

    @staticmethod
    def setup_context(ctx: typing.Any, inputs: typing.Any, output: typing.Any) -> None:
        _ops.setup(ctx, inputs, (output[0], output[1:]))

    @staticmethod
    def backward(ctx: typing.Any, d_out: Tensor | None, *_: typing.Any) -> tuple[typing.Any, ...]:
        return _ops.backward(_AttentionBackward.apply, ctx, d_out)

    @staticmethod
    def vmap(info: typing.Any, in_dims: typing.Any, *arguments: typing.Any) -> typing.Any:
        (out, found), (out_dim, found_dims) = _vmap.attention(attention, info, in_dims, *arguments)
        return (out, *found), (out_dim, *found_dims)


class _AttentionBackward(_Transformed):
    @staticmethod
    def forward(*arguments: typing.Any) -> tuple[Tensor, ...]:
        return _ops.attention_backward(*arguments)

    @staticmethod
    def setup_context(ctx: typing.Any, inputs: typing.Any, output: typing.Any) -> None:
        pass

    @staticmethod
    def backward(ctx: typing.Any, *_: typing.Any) -> typing.NoReturn:
        _ops.refuse_twice()

    @staticmethod
    def vmap(info: typing.Any, in_dims: typing.Any, *arguments: typing.Any) -> typing.Any:
        return _vmap.attention_backward(_AttentionBackward.apply, info, in_dims, *arguments)


class _Normalize(_Transformed):
    @staticmethod
    def forward(*arguments: typing.Any) -> tuple[Tensor, ...]:
        weights, found = _ops_rows.normalize(*arguments)
        return (weights, *found)

    @staticmethod
    def setup_context(ctx: typing.Any, inputs: typing.Any, output: typing.Any) -> None:
        _ops_rows.setup(ctx, inputs, (output[0], output[1:]))

    @staticmethod
    def backward(ctx: typing.Any, d_weights: Tensor | None, *_: typing.Any) -> tuple[typing.Any, ...]:
        return _ops_rows.backward(_NormalizeBackward.apply, ctx, d_weights)

    @staticmethod
    def vmap(info: typing.Any, in_dims: typing.Any, *arguments: typing.Any) -> typing.Any:
        (weights, found), (dim, found_dims) = _vmap.normalize(normalize, info, in_dims, *arguments)
        return (weights, *found), (dim, *found_dims)


class _NormalizeBackward(_Transformed):
    @staticmethod
    def forward(*arguments: typing.Any) -> tuple[Tensor, ...]:
        return _ops_rows.normalize_backward(*arguments)

    @staticmethod
    def setup_context(ctx: typing.Any, inputs: typing.Any, output: typing.Any) -> None:
        pass

    @staticmethod
    def backward(ctx: typing.Any, *_: typing.Any) -> typing.NoReturn:
        _ops.refuse_twice()

    @staticmethod
    def vmap(info: typing.Any, in_dims: typing.Any, *arguments: typing.Any) -> typing.Any:
        return _vmap.normalize_backward(_NormalizeBackward.apply, info, in_dims, *arguments)


def attention(*arguments: typing.Any) -> tuple[Tensor, tuple[Tensor, ...]]:
    """As the op: out, statistics."""
    out, *found = _Attention.apply(*arguments)
    return out, tuple(found)


def normalize(*arguments: typing.Any) -> tuple[Tensor, tuple[Tensor, ...]]:
    weights, *found = _Normalize.apply(*arguments)
    return weights, tuple(found)


# For code that calls torch.ops.sharpmax itself.
for _name, _rule, _op in (
    ("attention", _vmap.attention, _ops.attention),
    ("attention_backward", _vmap.attention_backward, _ops.attention_backward),
    ("normalize", _vmap.normalize, _ops_rows.normalize),
    ("normalize_backward", _vmap.normalize_backward, _ops_rows.normalize_backward),
):
    torch.library.register_vmap(f"sharpmax::{_name}", functools.partial(_rule, _op), lib=_ops.library)
