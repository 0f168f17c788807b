"""normalize() and its gradient: rows of scores that come as they are, -inf for a masked key."""

from __future__ import annotations

import torch

from .._kernel import Rule, Statistics, Wishes, gaps_of, rows_of
from ._blocks import Block, blocks_of
from ._check import check_gaps
from ._family import normalizer_of
from ._parameters import Parameters, ParameterSums
from ._scores import exact_type, four
from ._statistics import BlockStatistics, empty_statistics, record, record_empty
from ._visible import HIDDEN, Seen
from ._weighed import poison_of, top_of

Tensor = torch.Tensor


class _Call:
    def __init__(self, scores: Tensor, learned: Tensor | None, rule: Rule, door: str) -> None:
        self.scores = four(scores.detach())
        self._exact = exact_type(scores)
        like = self.scores.new_empty(0, dtype=self._exact)
        self.parameters = Parameters(rule, learned, self.scores.shape[1], like, door)
        if self.parameters.name == "linear":
            raise NotImplementedError(f"{door}: linear is not a function of the score; use attention")

    def blocks(self) -> list[Block]:
        batches, heads, queries, keys = self.scores.shape
        return list(blocks_of(batches, heads, 1, queries, keys, self.scores.device.type))

    def of(self, block: Block) -> tuple[Tensor, Seen]:
        rows = self.scores[block.batch, block.heads, block.queries].to(self._exact)
        hidden = rows == -torch.inf
        seen = Seen(slice(0, rows.shape[-1]), [(slice(None), hidden)], None, rows)
        return rows.masked_fill(hidden, HIDDEN), seen


def weigh(
    scores: Tensor, parameters: Tensor | None, rule: Rule, wishes: Wishes, threads: int
) -> tuple[Tensor, Statistics]:
    """Weights in the scores' type."""
    call = _Call(scores, parameters, rule, "normalize")
    check_gaps("normalize", gaps_of(wishes))
    weights = scores.new_empty(scores.shape)
    exact = weights.new_empty(0, dtype=exact_type(scores))
    wanted = empty_statistics(exact, rows_of(scores), scores.shape[-1], wishes)
    answer = four(weights)
    for block in call.blocks():
        rows, seen = call.of(block)
        if not rows.shape[-1]:
            record_empty(wanted, block)
            continue
        normalizer = normalizer_of(call.parameters.of_heads(block.heads))
        weighed = normalizer.weigh(rows, seen, None)
        answer[block.batch, block.heads, block.queries] = weighed.weights + poison_of(top_of(rows))
        if wanted:
            found = BlockStatistics(rows, weighed, seen, normalizer.signed, *call.scores.shape[-2:])
            record(wanted, wishes, block, found)
    return weights, wanted


def weigh_backward(
    d_weights: Tensor, scores: Tensor, parameters: Tensor | None, rule: Rule, threads: int
) -> tuple[Tensor, Tensor | None]:
    call = _Call(scores, parameters, rule, "normalize_backward")
    call.parameters.check_backward("normalize_backward")
    d_scores = scores.new_empty(scores.shape)
    answer, d_weights = four(d_scores), four(d_weights.detach())
    like = scores.new_empty(0, dtype=exact_type(scores))
    sums = ParameterSums(call.parameters, call.scores.shape[1], like)
    for block in call.blocks():
        place = (block.batch, block.heads, block.queries)
        rows, seen = call.of(block)
        if not rows.shape[-1]:
            continue
        normalizer = normalizer_of(call.parameters.of_heads(block.heads))
        weighed = normalizer.weigh(rows, seen, None)
        d_rows = seen.fill(d_weights[place].to(rows.dtype, copy=True), 0.0)
        found, d_parameters = normalizer.backward(rows, seen, weighed, d_rows)
        answer[place] = seen.fill(found, 0.0) + poison_of(top_of(rows))
        sums.add(block.heads, d_parameters)
    return d_scores, sums.gradient(parameters) if call.parameters.learned else None
