"""Plain softmax by the device's own fused attention: the answer, the entropy and more without a block of scores.

A score is scale * q.k, so the mean score sum w e is scale * q.(sum w k). With the keys as further values one call gives the
answer, the mean score and ln Z, and the entropy is ln Z less the mean score. That holds only where a score is nothing but
scale * q.k (no cap, no bias), and only in float32: rounded to bfloat16, sum w k would cost the entropy 0.004 |e|.
A fused kernel does not hand out the largest score. Where that is asked for, products of queries and keys are made once
more, block by block, without exponentials.
"""

from __future__ import annotations

import typing

import torch

from .._kernel import Lengths, Masks, Wishes

if typing.TYPE_CHECKING:
    from ._attend import Call

Tensor = torch.Tensor
Kernel = typing.Callable[[Tensor, Tensor, Tensor, bool, float], tuple[Tensor, Tensor]]


def _efficient(query: Tensor, key: Tensor, value: Tensor, causal: bool, scale: float) -> tuple[Tensor, Tensor]:
    """CUDA's and ROCm's memory-efficient kernel: float32, values of any width, ln Z padded to 32 rows."""
    out, partition, *_ = torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, None, True, 0.0, causal, scale=scale
    )
    return out, partition[..., : query.shape[2]]


# By type of device: query, key, value [batch, head, .., feature], causal from the first key on, scale -> answer, ln Z.
KERNELS: dict[str, Kernel] = {"cuda": _efficient}

_STATISTICS = frozenset(
    ("entropy", "effective_support", "log_partition", "peak_weight", "first_weight", "mass", "temperature")
)
_ALIGNED = 4  # features of values: kernels read 16 bytes at a time


def takes(call: Call, masks: Masks, lengths: Lengths, wishes: Wishes) -> bool:
    """Whether the device has such a kernel, and the call is one that it can answer."""
    query, keys, beta = call.query, call.key.shape[2], call.parameters["beta"] if call.is_softmax else None
    if query.device.type not in KERNELS or query.dtype != torch.float32 or not isinstance(beta, float):
        return False
    if not (query.numel() and keys and beta * call.scores.scale > 0.0):
        return False
    if (
        call.mask is not None
        or masks.soft_cap
        or masks.left >= 0
        or masks.right >= 0
        or any(x is not None for x in lengths)
    ):
        return False
    if masks.causal == "bottom-right" and query.shape[2] != keys:
        return False
    return set(wishes.names.split(",") if wishes.names else ()) <= _STATISTICS


def attend(call: Call, masks: Masks, wishes: Wishes) -> tuple[Tensor, dict[str, Tensor]]:
    """The answer [batch, head, query, value feature] and statistics [batch, head, query] by name."""
    names = wishes.names.split(",") if wishes.names else []
    causal, scale = bool(masks.causal), call.scores.scale * call.parameters["beta"]
    key, value = call.key, call.value
    parts = [value.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0), _is_bad(value)] if causal else [value]
    counts_entropy = "entropy" in names or "effective_support" in names
    if counts_entropy:
        parts.append(key.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0) if causal else key)
    width = sum(part.shape[-1] for part in parts)
    values = torch.nn.functional.pad(torch.cat(parts, -1), (0, -width % _ALIGNED))
    kernel = KERNELS[call.query.device.type]
    sums, partition = kernel(call.query, _for_all(key, call.group), _for_all(values, call.group), causal, scale)
    out = sums[..., : value.shape[-1]]
    if causal:  # a hidden value never matters, and one with weight that is not finite is not lost
        out = out.masked_fill(sums[..., value.shape[-1] : value.shape[-1] + 1] != 0.0, float("nan"))
    poison = partition - partition
    found = {"log_partition": partition, "mass": poison + 1.0, "temperature": poison + call.parameters["beta"]}
    if counts_entropy:
        mean = (call.query * sums[..., width - key.shape[-1] : width]).sum(-1) * scale
        found["entropy"] = (partition - mean).clamp(min=0.0)
        found["effective_support"] = found["entropy"].exp()
    if "first_weight" in names:
        first = (call.query * _for_all(key[:, :, :1], call.group)).sum(-1) * scale
        found["first_weight"] = (first - partition).exp()
    if "peak_weight" in names:
        found["peak_weight"] = (_largest_scores(call) * call.parameters["beta"] - partition).exp().clamp(max=1.0)
    return out, {name: found[name] for name in names}


def _is_bad(value: Tensor) -> Tensor:
    return (value * 0.0).sum(-1, keepdim=True).isnan().to(value.dtype)


def _for_all(rows: Tensor, group: int) -> Tensor:
    """[batch, key head, ..] for every query head: these kernels want as many of both."""
    return rows if group == 1 else rows.repeat_interleave(group, 1)


def _largest_scores(call: Call) -> Tensor:
    """[batch, head, query]"""
    largest = call.query.new_empty(call.query.shape[:3])
    for block in call.blocks():
        largest[block.batch, block.heads, block.queries] = call.scores.of(block).values.amax(-1)
    return largest
