"""Arguments of sharpmax.attention, made from a mask plan."""

from __future__ import annotations

import dataclasses
import typing

import torch

from ._mask import CompactMask, MaskPlan

Tensor = torch.Tensor


@dataclasses.dataclass
class Call:
    """One call of attention: keys cut to those in use, and the other arguments of sharpmax.attention."""

    query: Tensor
    key: Tensor
    value: Tensor
    plan: MaskPlan | None  # None: the mask came as numbers, or there is none
    options: dict[str, typing.Any]


def _plan_without_mask(
    module: torch.nn.Module, query: Tensor, key: Tensor, is_causal: bool | None, sliding_window: int | None
) -> MaskPlan:
    """Meaning of no mask in Transformers: with SDPA, causality from the first query and the first key on."""
    if is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    queries, keys = query.shape[2], key.shape[2]
    causal = bool(is_causal) and queries > 1
    window = None
    if sliding_window is not None and keys > sliding_window:
        window = (sliding_window - 1, -1 if causal else sliding_window - 1)
    return MaskPlan(causal=causal, shift=0 if causal else keys - queries, window=window)


def _merge_bias(bias: Tensor | None, mask: Tensor | None) -> Tensor | None:
    """position_bias with a mask over it; either may be None."""
    if bias is None or mask is None:
        return mask if bias is None else bias
    if mask.dtype == torch.bool:
        return torch.where(mask, bias, torch.finfo(bias.dtype).min)
    return bias + mask


def plan_of(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    attention_mask: Tensor | None,
    is_causal: bool | None,
    sliding_window: int | None,
) -> MaskPlan | None:
    """None: the mask came as numbers."""
    if attention_mask is None:
        return _plan_without_mask(module, query, key, is_causal, sliding_window)
    return attention_mask.plan if isinstance(attention_mask, CompactMask) else None


def with_documents(
    plan: MaskPlan | None, query: Tensor, key: Tensor, offsets: Tensor | None, key_offsets: Tensor | None
) -> MaskPlan:
    """Packed sequences by their offsets, as collators for flash attention give them."""
    given = [part.tolist() for part in (offsets, key_offsets) if part is not None]
    if plan is None or plan.written_out is not None or plan.padding is not None:
        raise ValueError("cu_seq_lens_q and an attention mask were both given; packed sequences want one of them")
    if given[0] != given[-1] or len(query) != 1 or not given[0][-1] == query.shape[2] == key.shape[2]:
        raise ValueError(
            f"cu_seq_lens_q ends at {given[0][-1]} and cu_seq_lens_k at {given[-1][-1]}, with {query.shape[2]} queries "
            f"and {key.shape[2]} keys in a batch of {len(query)}; they must be the same, for all of a batch of 1"
        )
    return dataclasses.replace(plan, documents=given[0])


def prepare(
    plan: MaskPlan | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    position_bias: Tensor | None,
) -> Call:
    if plan is None:
        return Call(query, key, value, None, {"attn_mask": _merge_bias(position_bias, attention_mask)})
    queries, keys = query.shape[2], key.shape[2]
    in_use = plan.keys_in_use(queries, keys)
    if in_use < keys:
        key, value = key[:, :, :in_use], value[:, :, :in_use]
    if position_bias is not None:
        position_bias = position_bias[..., :in_use]
    if plan.written_out is not None:
        return Call(query, key, value, plan, {"attn_mask": _merge_bias(position_bias, plan.written_out)})
    options: dict[str, typing.Any] = {"attn_mask": position_bias}
    causal = plan.causal and queries > 1
    if causal:
        options["causal"] = "bottom-right"
    if plan.window is not None:
        options["window"] = plan.window
    if plan.documents is not None:
        options["documents"] = plan.documents
    # Kernels place queries by the lengths of the keys, unless these start at the same token.
    placed = plan.shift == 0 if causal else plan.window is None
    if plan.key_lengths is not None and plan.documents is None and placed:
        options["key_lengths"] = [min(length, in_use) for length in plan.key_lengths]
        if causal:
            options["causal"] = "top-left"
    elif plan.padding is not None:
        options["attn_mask"] = _merge_bias(position_bias, plan.padding[:, None, None, :in_use])
    return Call(query, key, value, plan, options)
