"""The library called on plain tensors in CPU memory: no autograd, no tracing, nothing but the arithmetic."""

from __future__ import annotations

import functools
import typing

import torch
from torch.utils.dlpack import to_dlpack  # type: ignore[attr-defined]  # torch forgets to export it

from .. import _core
from .._normalizers import as_normalizer, parameter_names

Tensor = torch.Tensor
Statistics = typing.Dict[str, Tensor]
Inputs = typing.Sequence[typing.Any]  # query, key, value, attn_mask, parameters

_CAUSAL = {"top-left": _core.Causal.top_left, "bottom-right": _core.Causal.bottom_right}
_INTEGERS = frozenset(("peak_key", "support", "top_keys", "gap_counts"))


class Rule(typing.NamedTuple):
    """A normalizer as the ops take it: text, and which of its parameters a tensor [parameter, head] holds."""

    text: str
    names: str = ""  # joined by commas


class Masks(typing.NamedTuple):
    """Settings of a call besides attn_mask: which keys a query sees, and how scores are changed."""

    causal: str = ""  # "top-left" or "bottom-right"
    left: int = -1  # of the window; -1: no limit
    right: int = -1
    scale: float | None = None
    soft_cap: float = 0.0


class Lengths(typing.NamedTuple):
    """Tensors of integers rather than numbers, so that a compiled graph does not depend on them."""

    key: Tensor | None = None
    query_offsets: Tensor | None = None
    key_offsets: Tensor | None = None


class Wishes(typing.NamedTuple):
    """Statistics by name, joined by commas, and the sizes of those that have one."""

    names: str = ""
    top: int = 0
    map_rows: int = 0
    map_columns: int = 0
    gaps: str = ""  # numbers joined by commas


SAVED = Wishes("log_partition,temperature")


def view(tensor: Tensor) -> typing.Any:
    """The tensor's memory as the library reads or writes it: a capsule of DLPack, made without Python's help.

    What the library reads has no graph, and is copied if its last dimension is strided.
    """
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    if tensor.dim() and tensor.stride(-1) != 1 and tensor.shape[-1] > 1:
        tensor = tensor.contiguous()
    if tensor.data_ptr() == 0 and tensor.numel():
        if not tensor._is_zerotensor():
            raise ValueError(f"a tensor of shape {list(tensor.shape)} has no memory; its storage was resized")
        tensor = torch.zeros(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    return to_dlpack(tensor)


@functools.lru_cache(maxsize=256)
def _fixed_part(rule: Rule) -> str:
    """The rule's text without the parameters that a tensor holds, ending where these go on."""
    name, _, settings = as_normalizer(rule.text).text.partition(":")
    learnt = rule.names.split(",")
    kept = [setting for setting in settings.split(",") if setting and setting.partition("=")[0] not in learnt]
    return ",".join([f"{name}:" + kept[0], *kept[1:], ""]) if kept else f"{name}:"


def normalizer_of(rule: Rule, parameters: Tensor | None) -> typing.Any:
    if parameters is None:
        return as_normalizer(rule.text)
    values = parameters.tolist()
    settings = (f"{name}={'/'.join(map(repr, row))}" for name, row in zip(rule.names.split(","), values))
    return _core.Normalizer(_fixed_part(rule) + ",".join(settings))


def _request(inputs: Inputs, masks: Masks, lengths: Lengths) -> typing.Any:
    request = _core.Request(view(inputs[0]), view(inputs[1]), view(inputs[2]))
    attn_mask = inputs[3]
    if attn_mask is not None:
        (request.set_mask if attn_mask.dtype == torch.bool else request.set_bias)(view(attn_mask))
    causal, left, right, scale, soft_cap = masks
    if causal:
        request.set_causal(_CAUSAL[causal])
    if left != -1 or right != -1:
        request.set_window(left, right)
    if scale is not None:
        request.set_scale(scale)
    if soft_cap:
        request.set_soft_cap(soft_cap)
    if lengths.key is not None:
        request.set_key_lengths(lengths.key.tolist())
    if lengths.query_offsets is not None and lengths.key_offsets is not None:
        request.set_offsets(lengths.query_offsets.tolist(), lengths.key_offsets.tolist())
    return request


def rows_of(tensor: Tensor) -> tuple[typing.Any, ...]:
    """(batch, head, query) of [.., query, feature]."""
    return (1, 1, 1, *tensor.shape[:-1])[-3:]


def empty_statistics(
    like: Tensor,
    rows: tuple[typing.Any, ...],
    keys: typing.Any,
    wishes: Wishes,
    dtype: torch.dtype = torch.float64,
) -> Statistics:
    wanted = {}
    for name in wishes.names.split(",") if wishes.names else ():
        if name in ("top_keys", "top_weights"):
            shape = (*rows, wishes.top)
        elif name == "gap_counts":
            shape = (*rows, wishes.gaps.count(",") + 1 if wishes.gaps else 0)
        elif name == "column_mass":
            shape = (*rows[:2], keys)
        elif name == "map":
            shape = (*rows[:2], wishes.map_rows, wishes.map_columns)
        else:
            shape = rows
        wanted[name] = like.new_empty(shape, dtype=torch.int64 if name in _INTEGERS else dtype)
    return wanted


def _views(wanted: Statistics) -> dict[str, typing.Any]:
    return {name: to_dlpack(tensor) for name, tensor in wanted.items()}


def gaps_of(wishes: Wishes) -> tuple[float, ...]:
    return tuple(float(gap) for gap in wishes.gaps.split(",")) if wishes.gaps else ()


def empty_out(query: Tensor, value: Tensor) -> Tensor:
    """[.., query, value_feature], with heads and positions in memory as query has them.

    Models project to [batch, position, head, feature] and turn that; their way back is then free, too.
    """
    shape = (*query.shape[:-1], value.shape[-1])
    if len(shape) == 4 and query.stride(1) < query.stride(2):
        return query.new_empty((shape[0], shape[2], shape[1], shape[3])).transpose(1, 2)
    return query.new_empty(shape)


def empty_gradient(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """With the memory layout of the tensor, if that can be written to."""
    if tensor.dim() and tensor.stride(-1) == 1:
        return torch.empty_like(tensor, dtype=dtype)
    return tensor.new_empty(tensor.shape, dtype=dtype)


def attend(
    inputs: Inputs, rule: Rule, masks: Masks, lengths: Lengths, wishes: Wishes, threads: int
) -> tuple[Tensor, dict[str, Tensor]]:
    query, key, value = inputs[:3]
    request = _request(inputs, masks, lengths)
    out = empty_out(query, value)
    wanted = empty_statistics(query, rows_of(query), key.shape[-2], wishes) if wishes.names else {}
    _core.attend(request, normalizer_of(rule, inputs[4]), to_dlpack(out), _views(wanted), gaps_of(wishes), threads)
    return out, wanted


class Gradients(typing.NamedTuple):
    """In the type of what they are gradients of; None if not asked for."""

    query: Tensor | None = None
    key: Tensor | None = None
    value: Tensor | None = None
    attn_mask: Tensor | None = None
    parameters: Tensor | None = None


_OUTPUTS = ("query", "key", "value", "bias")


def attend_backward(
    d_out: Tensor,
    inputs: Inputs,
    needs: typing.Sequence[bool],
    rule: Rule,
    masks: Masks,
    lengths: Lengths,
    saved: tuple[Tensor, Tensor, Tensor] | None,  # out, log_partition, temperature
    threads: int,
) -> Gradients:
    query, parameters = inputs[0], inputs[4]
    request = _request(inputs, masks, lengths)
    normalizer = normalizer_of(rule, parameters)
    exact = torch.float64 if query.dtype == torch.float64 else torch.float32
    wanted = {name: empty_gradient(tensor, exact) for name, tensor, needed in zip(_OUTPUTS, inputs, needs) if needed}
    if needs[4]:
        heads = query.shape[-3] if query.dim() > 2 else 1
        wanted["parameters"] = query.new_empty((len(parameter_names(normalizer.name)), heads), dtype=torch.float64)
    saved = None if saved is None else tuple(view(tensor) for tensor in saved)
    _core.attend_backward(request, normalizer, view(d_out), _views(wanted), saved, threads)
    found = [wanted[name].to(tensor.dtype) if needed else None for name, tensor, needed in zip(_OUTPUTS, inputs, needs)]
    d_parameters = None
    if needs[4]:
        d_parameters = _of_parameters(wanted["parameters"], normalizer.name, rule.names, parameters)
    return Gradients(found[0], found[1], found[2], found[3], d_parameters)


def _of_parameters(gradient: Tensor, member: str, names: str, parameters: Tensor) -> Tensor:
    """[every parameter, head] to the shape of `parameters`: a value that heads share has the sum of theirs."""
    every = parameter_names(member)
    gradient = gradient[[every.index(name) for name in names.split(",")]]
    if parameters.shape[1] == 1:
        gradient = gradient.sum(1, keepdim=True)
    return gradient.to(parameters.dtype)


def weigh(
    scores: Tensor, parameters: Tensor | None, rule: Rule, wishes: Wishes, threads: int
) -> tuple[Tensor, Statistics]:
    """Weights in the scores' type; 16-bit scores are computed in float32."""
    exact = scores if scores.dtype == torch.float64 else scores.to(torch.float32)
    weights = exact.new_empty(exact.shape)
    wanted = empty_statistics(exact, rows_of(exact), exact.shape[-1], wishes) if wishes.names else {}
    normalizer = normalizer_of(rule, parameters)
    _core.normalize(view(exact), normalizer, to_dlpack(weights), _views(wanted), gaps_of(wishes), threads)
    return weights.to(scores.dtype), wanted


def weigh_backward(
    d_weights: Tensor,
    scores: Tensor,
    parameters: Tensor | None,
    rule: Rule,
    threads: int,
) -> tuple[Tensor, Tensor | None]:
    exact = torch.float64 if scores.dtype == torch.float64 else torch.float32
    normalizer = normalizer_of(rule, parameters)
    d_scores = scores.new_empty(scores.shape, dtype=exact)
    heads = scores.shape[-3] if scores.dim() > 2 else 1
    d_parameters = scores.new_empty((len(parameter_names(normalizer.name)), heads), dtype=torch.float64)
    _core.normalize_backward(
        view(scores.to(exact)),
        normalizer,
        view(d_weights.to(exact)),
        to_dlpack(d_scores),
        to_dlpack(d_parameters),
        threads,
    )
    d_scores = d_scores.to(scores.dtype)
    if parameters is None:
        return d_scores, None
    return d_scores, _of_parameters(d_parameters, normalizer.name, rule.names, parameters)
