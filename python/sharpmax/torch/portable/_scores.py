"""From queries and keys to the scores of a block, and from their gradient back.

A score is scale * q.k, capped, plus the bias. linear has products of mapped features instead, and none of these.
"""

from __future__ import annotations

import typing

import torch

from .._kernel import Masks
from ._blocks import Block
from ._visible import HIDDEN, Seen, Visibility, cut

Tensor = torch.Tensor


def exact_type(tensor: Tensor) -> torch.dtype:
    """The type of the computation: float32, or float64 for float64."""
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def four(tensor: Tensor) -> Tensor:
    """With four dimensions."""
    return tensor.reshape((1,) * (4 - tensor.dim()) + tuple(tensor.shape))


def mapped(features: Tensor) -> Tensor:
    """elu + 1"""
    return torch.where(features > 0.0, features + 1.0, features.clamp(max=0.0).exp())


def mapped_slope(features: Tensor) -> Tensor:
    return features.clamp(max=0.0).exp()


class Scores(typing.NamedTuple):
    values: Tensor  # [batch, head, query, key]; hidden keys hold HIDDEN
    slopes: Tensor | None  # of the cap, where a gradient will pass through it
    seen: Seen


class ScoreMaker:
    """Makes the scores of any block of one call."""

    def __init__(
        self, query: Tensor, key: Tensor, bias: Tensor | None, masks: Masks, visibility: Visibility, linear: bool
    ) -> None:
        """query and key have four dimensions and the exact type; bias is None or floating."""
        self.linear, self._cap, self._bias, self.visibility = linear, masks.soft_cap, bias, visibility
        self.scale = 1.0 if linear else query.shape[-1] ** -0.5 if masks.scale is None else masks.scale
        self.query, self.key = query, key
        self.mapped_key = mapped(key) if linear else key
        self.group = query.shape[1] // max(key.shape[1], 1)

    def of(self, block: Block, slopes: bool = False, poison: Tensor | None = None) -> Scores:
        """poison: [batch, head, query, 1], NaN for rows to be poisoned and 0 for others."""
        seen = self.visibility.of(block.batch, block.heads, block.queries)
        queries = self.queries_of(block) if poison is None else self.queries_of(block) + poison
        scores = grouped(queries, self.group) @ self.keys_of(block, seen).mT
        scores = ungrouped(scores, self.group)
        cap_slopes = None
        if self._cap:
            scores = scores.div_(self._cap)
            if slopes:
                fall = scores.abs().mul_(-2.0).exp_()
                cap_slopes = fall.mul(4.0).div_(fall.add_(1.0).square_())
            scores = scores.tanh_().mul_(self._cap)
        if self._bias is not None:
            scores = scores.add_(cut(self._bias, block.batch, block.heads, block.queries, seen.keys))
        return Scores(seen.fill(scores, HIDDEN), cap_slopes, seen)

    def queries_of(self, block: Block) -> Tensor:
        """[batch, head, query, feature], scaled or mapped."""
        query = self.query[block.batch, block.heads, block.queries]
        return mapped(query) if self.linear else query * self.scale

    def keys_of(self, block: Block, seen: Seen) -> Tensor:
        """[batch, key head, key, feature]"""
        return self.mapped_key[block.batch, block.key_heads, seen.keys]


def grouped(rows: Tensor, group: int) -> Tensor:
    """[batch, key head * group, query, x] to [batch, key head, group * query, x]: what shares a key head, together."""
    if group == 1:
        return rows
    batch, heads, queries, width = rows.shape
    return rows.reshape(batch, heads // group, group * queries, width)


def ungrouped(rows: Tensor, group: int) -> Tensor:
    if group == 1:
        return rows
    batch, key_heads, many, width = rows.shape
    return rows.reshape(batch, key_heads * group, many // group, width)
