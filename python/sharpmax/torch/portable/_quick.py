"""Plain softmax in few operations per block, with the statistics that fall out of them.

A score counts in octaves, scale * beta * log2(e) * q.k, and a weight is 2^(score - top). On a CPU exp2 takes half the
time of exp, and no longer for weights that underflow. Weights stay undivided, the largest is exactly 1, and only the
answer is divided by their sum Z. So the peak weight is 1 / Z, and the entropy is ln Z less the mean of the logarithms,
which the block still holds. Statistics are put together once, for all rows of the call.
"""

from __future__ import annotations

import math
import typing

import torch

from .._kernel import Masks, Wishes, gaps_of
from ._blocks import Block
from ._statistics import COUNTED
from ._visible import HIDDEN, Seen

if typing.TYPE_CHECKING:
    from ._attend import Call, Values

Tensor = torch.Tensor

_STATISTICS = frozenset(
    (
        *("entropy", "effective_support", "log_partition", "peak_weight", "first_weight", "mass", "temperature"),
        *("support", "gap_counts"),
    )
)
_LN2 = math.log(2.0)
_MOST = 1024.0  # temperature: a score that it has raised must stay above HIDDEN


def takes(call: Call, masks: Masks, wishes: Wishes) -> bool:
    """A score must be nothing but scale * q.k: no cap, no bias."""
    beta = call.parameters["beta"] if call.is_softmax else None
    if not isinstance(beta, float) or not 0.0 < beta <= _MOST or masks.soft_cap or call.key.shape[2] >= COUNTED:
        return False
    if call.mask is not None and call.mask.dtype != torch.bool:
        return False
    return _names(wishes) <= _STATISTICS


def _names(wishes: Wishes) -> set[str]:
    return set(wishes.names.split(",") if wishes.names else ())


def attend(call: Call, values: Values, wishes: Wishes, out: Tensor) -> dict[str, Tensor]:
    """Writes the answer to out [batch, head, query, value feature]; statistics by name."""
    visibility = call.scores.visibility
    # Of values by weights that are not divided yet.
    sums = out if out.dtype == call.query.dtype and out.is_contiguous() else call.query.new_empty(out.shape)
    softmax = _Softmax(call, values, wishes, sums)
    for block in call.blocks(cached=True):
        place = (block.batch, block.heads, block.queries)
        seen = visibility.of(*place)
        if seen.keys.start == seen.keys.stop:
            sums[place] = 0.0
            continue
        weights = softmax.weigh(block, seen)
        if not visibility.by_shape:
            answer = sums[place]
            values.lose_nothing(answer, weights.view(*answer.shape[:3], weights.shape[2]), block, seen)
        softmax.record(weights)
    torch.div(sums, softmax.divisors(), out=out)
    if visibility.by_shape:
        values.lose_nothing_seen(out)
    return softmax.found()


class _Scratch:
    """Memory that every block writes again: of a fresh array a CPU would have to fetch each page."""

    def __init__(self, like: Tensor) -> None:
        self._memory = like.new_empty(0)

    def of(self, shape: tuple[int, ...], keys: int) -> Tensor:
        """keys: how many the last dimension may have in a later block."""
        if math.prod(shape) > self._memory.shape[0]:
            self._memory = self._memory.new_empty(math.prod(shape[:-1]) * keys)
        strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        return self._memory.as_strided(shape, strides)


class _Heads(typing.NamedTuple):
    """What the blocks of the same heads have in common, as [batch * head, query, ..]: on a CPU every small operation beside
    those on scores costs microseconds."""

    query: Tensor
    key: Tensor  # [batch * key head, feature, key]
    value: Tensor  # [batch * key head, key, feature]
    sums: Tensor
    top: Tensor
    sum: Tensor
    moment: Tensor
    first: Tensor
    support: Tensor
    counts: Tensor


def _flat_view(rows: Tensor) -> Tensor:
    """[batch * head, ..] in the same memory."""
    return rows.view(rows.shape[0] * rows.shape[1], *rows.shape[2:])


class _Softmax:
    """Weights of one block after the other, and numbers of all rows, [batch, head, query, 1].

    Reductions of a block write to their place among these.
    """

    def __init__(self, call: Call, values: Values, wishes: Wishes, sums: Tensor) -> None:
        self._call, self._values, self._names, self._sums = call, values, _names(wishes), sums
        self._gaps = gaps_of(wishes) if "gap_counts" in self._names else ()
        self._beta = typing.cast(float, call.parameters["beta"])
        octaves = self._beta / _LN2
        # Gaps are counted in nats: the factor comes before or after.
        self._before, self._after = (1.0, octaves) if self._gaps else (octaves, 1.0)
        self._query = call.query * (call.scores.scale * self._before)
        self._scores_memory, self._weights_memory = _Scratch(call.query), _Scratch(call.query)
        # What they are for a row that sees no key:
        rows = (*call.query.shape[:3], 1)
        self._top = call.query.new_zeros(rows)  # largest score, as it was made
        self._sum = call.query.new_zeros(rows)  # of weights, the largest of which is 1
        self._moment = call.query.new_zeros(rows)  # sum of weight * log2 weight
        self._first, self._support = call.query.new_zeros(rows), call.query.new_zeros(rows)
        self._counts = call.query.new_zeros((*rows[:3], len(self._gaps)))
        self._at: tuple[slice, slice] | None = None

    def _enter(self, block: Block) -> None:
        """Take the heads of a block, which has those of the block before it or later ones."""
        if self._at == (block.batch, block.heads):
            return
        self._at = (block.batch, block.heads)
        key = self._call.scores.key[block.batch, block.key_heads]
        given = (self._query[self._at], key.mT, self._values.of_heads(block))
        written = (self._sums, self._top, self._sum, self._moment, self._first, self._support, self._counts)
        self._heads = _Heads(
            *(tensor.flatten(0, 1) for tensor in given),  # may be a copy
            *(_flat_view(tensor[self._at]) for tensor in written),
        )

    def weigh(self, block: Block, seen: Seen) -> Tensor:
        """Weights of a block [batch * head, query, key], of which the largest is 1; their sums of values are written."""
        self._enter(block)
        self._queries, heads = block.queries, self._heads
        scores = self._products(block, seen)
        top = torch.amax(scores, -1, keepdim=True, out=heads.top[:, block.queries])
        self._scores = scores.sub_(top)
        weights = self._weights_memory.of(scores.shape, self._call.key.shape[2])
        for i, gap in enumerate(self._gaps):
            heads.counts[:, block.queries, i] = torch.ge(scores, -gap, out=weights).sum(-1)
        if self._gaps:
            scores.mul_(self._after)
        torch.exp2(scores, out=weights)
        if seen.may_be_empty:
            self._fill(weights, block, seen, 0.0)
        torch.sum(weights, -1, keepdim=True, out=heads.sum[:, block.queries])
        if "first_weight" in self._names and seen.keys.start == 0:
            heads.first[:, block.queries] = weights[..., :1]
        self._weigh_values(weights, seen)
        return weights

    def _products(self, block: Block, seen: Seen) -> Tensor:
        rows, key = self._heads.query[:, block.queries], self._heads.key
        heads, queries, keys = rows.shape[0], rows.shape[1], seen.keys.stop - seen.keys.start
        products = self._scores_memory.of((heads, queries, keys), self._call.key.shape[2])
        together = (key.shape[0], heads // key.shape[0] * queries)  # what shares a key head
        torch.bmm(rows.reshape(*together, -1), key[:, :, seen.keys], out=products.view(*together, keys))
        return self._fill(products, block, seen, HIDDEN)

    def _fill(self, rows: Tensor, block: Block, seen: Seen, value: float) -> Tensor:
        if seen.parts:
            seen.fill(rows.view(block.batch.stop - block.batch.start, -1, *rows.shape[1:]), value)
        return rows

    def _weigh_values(self, weights: Tensor, seen: Seen) -> None:
        value, sums = self._heads.value[:, seen.keys], self._heads.sums[:, self._queries]
        rows = weights.view(value.shape[0], -1, weights.shape[2])
        if sums.is_contiguous():
            torch.bmm(rows, value, out=sums.view(*rows.shape[:2], value.shape[2]))
        else:
            sums.copy_(torch.bmm(rows, value).view(sums.shape))

    def divisors(self) -> Tensor:
        """[batch, head, query, 1]: of every row, 1 of one that sees no key."""
        return self._sum.clamp(min=1.0)

    def record(self, weights: Tensor) -> None:
        """Writes over the weights and scores of the block."""
        if not self._names.isdisjoint(("entropy", "effective_support")):
            # A score of -inf has weight 0, and their product is NaN; a poisoned row is known by its sum.
            torch.nansum(self._scores.mul_(weights), -1, keepdim=True, out=self._heads.moment[:, self._queries])
        if "support" in self._names:
            torch.sum(weights.gt_(0.0), -1, keepdim=True, out=self._heads.support[:, self._queries])

    def found(self) -> dict[str, Tensor]:
        """Rows that see no key and poisoned ones as _statistics.py has them."""
        empty = self._sum == 0.0
        total = torch.where(empty, 1.0, self._sum)
        poison = total - total
        entropy = (total.log() - self._moment * _LN2 / total).clamp(min=0.0)
        to_nats = self._beta / self._before
        rows = {
            "mass": (0.0, poison + 1.0),
            "peak_weight": (0.0, total.reciprocal()),
            "first_weight": (0.0, self._first / total),
            "entropy": (0.0, entropy),
            "effective_support": (0.0, entropy.exp()),
            "temperature": (math.nan, poison + self._beta),
            "log_partition": (-math.inf, self._top * to_nats + total.log()),
        }
        found = {name: torch.where(empty, *rows[name])[..., 0] for name in rows if name in self._names}
        counted = {"support": self._support[..., 0], "gap_counts": torch.where(empty, 0.0, self._counts)}
        return {**found, **{name: counted[name].to(torch.int64) for name in counted if name in self._names}}
