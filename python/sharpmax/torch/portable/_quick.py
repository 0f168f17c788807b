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
from ._scores import grouped
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
    softmax = _Softmax(call, wishes)
    by_shape = call.scores.visibility.by_shape
    sums = (
        out if out.dtype == call.query.dtype else call.query.new_empty(out.shape)
    )  # of weights that are not divided yet
    for block in call.blocks(cached=True):
        place = (block.batch, block.heads, block.queries)
        seen = call.scores.visibility.of(*place)
        if seen.keys.start == seen.keys.stop:
            sums[place] = 0.0
            continue
        weights = softmax.weigh(block, seen)
        values.product(weights, block, seen, sums[place])
        if not by_shape:
            values.lose_nothing(sums[place], weights, block, seen)
        softmax.record(weights)
    torch.div(sums, softmax.divisors(), out=sums)
    if sums is not out:
        out.copy_(sums)
    if by_shape:
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


class _Softmax:
    """Weights of one block after the other, and numbers of all rows, [batch, head, query, 1].

    Reductions of a block write to their place among these: on a CPU every small operation beside costs microseconds.
    """

    def __init__(self, call: Call, wishes: Wishes) -> None:
        self._call, self._names = call, _names(wishes)
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

    def weigh(self, block: Block, seen: Seen) -> Tensor:
        """Weights of a block, of which the largest is 1."""
        self._place = place = (block.batch, block.heads, block.queries)
        scores = seen.fill(self._products(block, seen), HIDDEN)
        top = torch.amax(scores, -1, keepdim=True, out=self._top[place])
        self._scores = scores.sub_(top)
        weights = self._weights_memory.of(scores.shape, self._call.key.shape[2])
        for i, gap in enumerate(self._gaps):
            self._counts[(*place, i)] = torch.ge(scores, -gap, out=weights).sum(-1)
        if self._gaps:
            scores.mul_(self._after)
        torch.exp2(scores, out=weights)
        if seen.may_be_empty:
            seen.fill(weights, 0.0)
        torch.sum(weights, -1, keepdim=True, out=self._sum[place])
        if "first_weight" in self._names and seen.keys.start == 0:
            self._first[place] = weights[..., :1]
        return weights

    def divisors(self) -> Tensor:
        """[batch, head, query, 1]: of every row, 1 of one that sees no key."""
        return self._sum.clamp(min=1.0)

    def _products(self, block: Block, seen: Seen) -> Tensor:
        """[batch, head, query, key]"""
        query = self._query[self._place]
        rows = grouped(query, self._call.group).flatten(0, 1)
        keys = self._call.scores.keys_of(block, seen).flatten(0, 1).mT
        products = self._scores_memory.of((*rows.shape[:2], keys.shape[2]), self._call.key.shape[2])
        return torch.bmm(rows, keys, out=products).view(*query.shape[:3], keys.shape[2])

    def record(self, weights: Tensor) -> None:
        """Writes over the weights and scores of the block."""
        if not self._names.isdisjoint(("entropy", "effective_support")):
            # A score of -inf has weight 0, and their product is no number; a poisoned row is known by its sum.
            torch.nansum(self._scores.mul_(weights), -1, keepdim=True, out=self._moment[self._place])
        if "support" in self._names:
            torch.sum(weights.gt_(0.0), -1, keepdim=True, out=self._support[self._place])

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
