"""attention_backward() and normalize_backward() of tensors that PyTorch operations compute with: detached, nothing recorded."""

from __future__ import annotations

import typing

import torch

from .._attention import Gradients, checked_needs
from .._normalizers import as_normalizer, parameter_names
from .._request import Options
from .._shapes import common_shapes
from . import _path
from ._attention import lengths_of, masks_of
from ._checks import check_device, check_floating, check_inputs, check_lengths, check_mask
from ._kernel import Rule
from ._rules import learnable_names
from .portable._scores import exact_type

Tensor = torch.Tensor


def _unrecorded(tensor: Tensor, name: str) -> Tensor:
    if tensor.requires_grad and torch.is_grad_enabled():
        raise TypeError(f"{name} requires grad, which this function does not record: pass {name}.detach()")
    return tensor.detach()


def _rule_of(normalizer: typing.Any) -> Rule:
    """Asks for the gradient of every parameter that is a number and has one; their values stay in the text."""
    normalizer = as_normalizer(normalizer)
    numbers = (name for name in learnable_names(normalizer.name) if not isinstance(normalizer.parameters[name], str))
    return Rule(normalizer.text, ",".join(numbers))


def _by_name(rule: Rule, found: Tensor | None, heads: int, like: Tensor) -> dict[str, Tensor]:
    """name -> [head], 0 for a parameter without a gradient."""
    rows = {} if found is None else dict(zip(rule.names.split(","), found))
    return {name: rows.get(name, like.new_zeros(heads)) for name in parameter_names(as_normalizer(rule.text).name)}


def _heads_of(tensor: Tensor) -> int:
    return tensor.shape[-3] if tensor.dim() > 2 else 1


def _saved_temperature(saved: typing.Any) -> Tensor | None:
    """What (out, stats) or (out, log_partition, temperature) hold of it."""
    if saved is None:
        return None
    found: Tensor | None = saved[2] if len(saved) == 3 else getattr(saved[-1], "temperature", None)
    if found is None:
        raise ValueError("saved must be (out, stats) with log_partition and temperature, or (out, both of them)")
    return found.reshape((1,) * (3 - found.dim()) + tuple(found.shape))


def attention_backward(
    d_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    enable_gqa: bool,
    options: Options,
    normalizer: typing.Any,
    saved: typing.Any,
    needs: typing.Sequence[str],
) -> Gradients:
    check_inputs(query, key, value)
    check_floating(d_out, "d_out")
    check_device(d_out, "d_out", query)
    if attn_mask is not None:
        check_mask(attn_mask, query)
        attn_mask = _unrecorded(attn_mask, "attn_mask")
    shape = None if attn_mask is None else attn_mask.shape
    if common_shapes(query.shape, key.shape, value.shape, shape, enable_gqa) is not None:
        raise ValueError(
            "query, key, value and attn_mask must have equal leading dimensions here, four dimensions at most; "
            "broadcast them first, and sum their gradients"
        )
    if d_out.shape != (*query.shape[:-1], value.shape[-1]):
        raise ValueError(f"d_out has shape {list(d_out.shape)}; it must have that of the answer, "
                         f"{[*query.shape[:-1], value.shape[-1]]}")  # fmt: skip
    lengths = lengths_of(options.key_lengths, options.documents)
    check_lengths(lengths, query)
    rule, exact = _rule_of(normalizer), exact_type(query)
    named = zip(("query", "key", "value"), (query, key, value))
    inputs: list[typing.Any] = [_unrecorded(tensor, name).to(exact) for name, tensor in named]
    biased = attn_mask is not None and attn_mask.dtype != torch.bool
    inputs += [attn_mask.to(exact) if attn_mask is not None and biased else attn_mask, None]
    wanted = checked_needs(needs)
    of_parameters = "parameters" in wanted and bool(rule.names)
    needed = [*(name in wanted for name in ("query", "key", "value")), "bias" in wanted and biased, of_parameters]
    found = _path.attend_backward(
        _unrecorded(d_out, "d_out"), inputs, needed, rule, masks_of(options), lengths,
        (None, None, _saved_temperature(saved)), 0,
    )  # fmt: skip
    parameters = _by_name(rule, found.parameters, _heads_of(query), inputs[0]) if "parameters" in wanted else {}
    return Gradients(*found[:4], parameters)


def normalize_backward(d_weights: Tensor, scores: Tensor, normalizer: typing.Any) -> tuple[Tensor, dict[str, Tensor]]:
    check_floating(scores, "scores")
    check_floating(d_weights, "d_weights")
    check_device(d_weights, "d_weights", scores, "scores")
    if d_weights.shape != scores.shape or scores.dim() > 4:
        raise ValueError(f"d_weights has shape {list(d_weights.shape)} and scores {list(scores.shape)}; they must be equal, "
                         "of four dimensions at most")  # fmt: skip
    rule, scores = _rule_of(normalizer), _unrecorded(scores, "scores")
    d_scores, found = _path.weigh_backward(_unrecorded(d_weights, "d_weights"), scores, None, rule, 0)
    return d_scores, _by_name(rule, found, _heads_of(scores), scores)
