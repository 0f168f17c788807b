"""torch.func.vmap over the ops: the mapped dimension becomes more heads.

Heads, not batch entries: they alone may differ in everything, parameters included, while lengths and
documents stay as they are. Query head h of copy v reads key head h // group of copy v, as it should.
"""

from __future__ import annotations

import typing

import torch

Tensor = torch.Tensor
Call = typing.Callable[..., typing.Any]
Dim = typing.Optional[int]


def _mapped(tensor: Tensor, dim: Dim, size: int) -> Tensor:
    """[mapped, ...]"""
    return tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def _four(tensor: Tensor) -> Tensor:
    """[mapped, batch, head, row, column] of a mapped tensor with up to four dimensions of its own."""
    missing = 5 - tensor.dim()
    return tensor.reshape((tensor.shape[0],) + (1,) * missing + tuple(tensor.shape[1:]))


def _fold(tensor: Tensor) -> Tensor:
    """[mapped, batch, head, ...] to [batch, mapped * head, ...]"""
    return tensor.movedim(0, 1).flatten(1, 2)


def _unfold(tensor: Tensor, size: int, shape: typing.Sequence[int]) -> Tensor:
    """[batch, mapped * head, ...] to [mapped, *shape]"""
    return tensor.unflatten(1, (size, tensor.shape[1] // size)).movedim(1, 0).reshape((size, *shape))


def _own_shape(tensor: Tensor, dim: Dim) -> tuple[int, ...]:
    shape = tuple(tensor.shape)
    return shape if dim is None else shape[: dim % len(shape)] + shape[dim % len(shape) + 1 :]


def _fold_mask(mask: Tensor, dim: Dim, size: int, heads: int, apart: bool) -> Tensor:
    """apart: every head has its own, because its gradient is asked for."""
    if dim is None and not apart and (mask.dim() < 3 or mask.shape[-3] == 1):
        return mask
    folded = _four(_mapped(mask, dim, size))
    return _fold(folded.expand(-1, -1, heads, -1, -1))


def _fold_parameters(parameters: Tensor, dim: Dim, size: int, heads: int, apart: bool) -> Tensor:
    if dim is None and not apart and parameters.shape[-1] == 1:
        return parameters
    mapped = _mapped(parameters, dim, size).expand(-1, -1, heads)  # [mapped, parameter, head]
    return mapped.movedim(0, 1).flatten(1, 2)


def _inputs(
    tensors: typing.Sequence[typing.Any], dims: typing.Sequence[Dim], size: int, needs: typing.Sequence[bool]
) -> tuple[typing.Any, ...]:
    if any(dim is not None for dim in dims[5:8]):
        raise NotImplementedError("key_lengths or documents differ along vmap's dimension; they must not be mapped")
    query, key, value = (_fold(_four(_mapped(*pair, size))) for pair in zip(tensors[:3], dims[:3]))
    heads = query.shape[1] // size
    mask, parameters = tensors[3:5]
    if mask is not None:
        mask = _fold_mask(mask, dims[3], size, heads, needs[3])
    if parameters is not None:
        parameters = _fold_parameters(parameters, dims[4], size, heads, needs[4])
    return query, key, value, mask, parameters, *tensors[5:8]


def attention(call: Call, info: typing.Any, in_dims: typing.Any, *arguments: typing.Any) -> typing.Any:
    size = info.batch_size
    tensors, dims = arguments[:8], in_dims[:8]
    out, found = call(*_inputs(tensors, dims, size, (False,) * 5), *arguments[8:])
    shape = (*_own_shape(tensors[0], dims[0])[:-1], out.shape[-1])
    out = _unfold(out, size, shape)
    found = [_unfold(f, size, (f.shape[0], f.shape[1] // size, *f.shape[2:])) for f in found]
    return (out, found), (0, [0] * len(found))


def _sum_to(gradient: Tensor, shape: typing.Sequence[int]) -> Tensor:
    """[mapped, batch, head, row, column], summed over the heads that share."""
    shared = len(shape) < 3 or shape[-3] == 1
    return (gradient.sum(2, keepdim=True) if shared else gradient).reshape((gradient.shape[0], *shape))


def attention_backward(
    call: Call, info: typing.Any, in_dims: typing.Any, d_out: Tensor, *arguments: typing.Any
) -> typing.Any:
    size = info.batch_size
    tensors, dims = arguments[:8], in_dims[1:9]
    saved, saved_dims = arguments[15:18], in_dims[16:19]
    needs = arguments[18]
    inputs = _inputs(tensors, dims, size, needs)
    folded = tuple(
        None if tensor is None else _fold(_four(_mapped(tensor, dim, size)) if i == 0 else _mapped(tensor, dim, size))
        for i, (tensor, dim) in enumerate(zip(saved, saved_dims))
    )
    d_out = _fold(_four(_mapped(d_out, in_dims[0], size)))
    found = list(call(d_out, *inputs, *arguments[8:15], *folded, *arguments[18:]))
    for i, needed in enumerate(needs):
        if not needed:
            found[i] = found[i].expand(size, 0)
            continue
        shape = _own_shape(tensors[i], dims[i])
        if i < 3:
            found[i] = _unfold(found[i], size, shape)
        elif i == 3:
            apart = found[i].unflatten(1, (size, found[i].shape[1] // size)).movedim(1, 0)
            found[i] = _sum_to(apart, shape)
        else:
            found[i] = _parameters_apart(found[i], size, shape)
    return tuple(found), (0,) * 5


def _parameters_apart(gradient: Tensor, size: int, shape: typing.Sequence[int]) -> Tensor:
    """[parameter, mapped * head] to [mapped, *shape]"""
    apart = gradient.unflatten(1, (size, gradient.shape[1] // size)).movedim(1, 0)
    return apart.sum(2, keepdim=True) if shape[-1] == 1 else apart


def _rows(
    scores: Tensor, parameters: Tensor | None, dims: typing.Sequence[Dim], size: int, apart: bool
) -> tuple[Tensor, Tensor | None]:
    folded = _fold(_four(_mapped(scores, dims[0], size)))
    if parameters is not None:
        parameters = _fold_parameters(parameters, dims[1], size, folded.shape[1] // size, apart)
    return folded, parameters


def normalize(
    call: Call, info: typing.Any, in_dims: typing.Any, scores: Tensor, parameters: typing.Any, *rest: typing.Any
) -> typing.Any:
    size = info.batch_size
    weights, found = call(*_rows(scores, parameters, in_dims, size, False), *rest)
    weights = _unfold(weights, size, _own_shape(scores, in_dims[0]))
    found = [_unfold(f, size, (f.shape[0], f.shape[1] // size, *f.shape[2:])) for f in found]
    return (weights, found), (0, [0] * len(found))


def normalize_backward(
    call: Call,
    info: typing.Any,
    in_dims: typing.Any,
    d_weights: Tensor,
    scores: Tensor,
    parameters: typing.Any,
    *rest: typing.Any,
) -> typing.Any:
    size = info.batch_size
    folded, folded_parameters = _rows(scores, parameters, in_dims[1:], size, True)
    d_weights = _fold(_four(_mapped(d_weights, in_dims[0], size)))
    d_scores, d_parameters = call(d_weights, folded, folded_parameters, *rest)
    d_scores = _unfold(d_scores, size, _own_shape(scores, in_dims[1]))
    if parameters is None:
        return (d_scores, d_parameters.expand(size, 0)), (0, 0)
    shape = _own_shape(parameters, in_dims[2])
    return (d_scores, _parameters_apart(d_parameters, size, shape)), (0, 0)
