"""attend() and its gradient over blocks of queries: what _kernel.py does for tensors in CPU memory."""

from __future__ import annotations

import typing

import torch

from .._kernel import (
    Gradients,
    Inputs,
    Lengths,
    Masks,
    Rule,
    Statistics,
    Wishes,
    empty_gradient,
    empty_out,
    gaps_of,
    rows_of,
)
from . import _fused, _quick
from ._blocks import Block, blocks_of
from ._check import check_call, check_gaps
from ._family import normalizer_of
from ._parameters import Parameters, ParameterSums
from ._scores import ScoreMaker, Scores, exact_type, four, grouped, mapped_slope, ungrouped
from ._statistics import BlockStatistics, empty_statistics, record, record_empty
from ._visible import Seen, Visibility, cut

Tensor = torch.Tensor


class Call:
    """Inputs with four dimensions, in the type that is computed in."""

    def __init__(self, inputs: Inputs, rule: Rule, masks: Masks, lengths: Lengths, door: str) -> None:
        exact = exact_type(inputs[0])
        self.query, self.key, self.value = (four(tensor.detach()).to(exact) for tensor in inputs[:3])
        self.mask = mask = None if inputs[3] is None else four(inputs[3].detach())
        self.parameters = Parameters(rule, inputs[4], self.query.shape[1], self.query, door)
        linear = self.parameters.name == "linear"
        self.is_softmax = self.parameters.name == "softmax"
        check_call(door, (self.query, self.key, self.value), mask, masks, lengths, linear)
        bias = None if mask is None or mask.dtype == torch.bool else mask.to(exact)
        shape = (self.query.shape[2], self.key.shape[2])
        visibility = Visibility(masks, lengths, mask, shape, self.query)
        self.scores = ScoreMaker(self.query, self.key, bias, masks, visibility, linear)
        self.hides, self.group = not visibility.hides_nothing, self.scores.group

    def blocks(self, cached: bool = False) -> typing.Iterator[Block]:
        batches, key_heads, keys = self.key.shape[:3]
        return blocks_of(batches, key_heads, self.group, self.query.shape[2], keys, self.query.device.type, cached)


def _poison(rows: Tensor) -> Tensor:
    """[.., 1]: NaN for a row with a number that is not finite, else 0."""
    return (rows * 0.0).sum(-1, keepdim=True)


def _finite(rows: Tensor) -> Tensor:
    return rows.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)


class Values:
    """Values as weights meet them: what a hidden one holds never matters, and a NaN that has weight is never lost."""

    def __init__(self, call: Call) -> None:
        self._value, self._group, self._visibility = call.value, call.group, call.scores.visibility
        self._bad: Tensor | None = None
        if call.hides:
            self._value, self._bad = _finite(call.value), _poison(call.value).isnan().to(call.value.dtype)

    def of(self, block: Block, seen: Seen) -> Tensor:
        return self._value[block.batch, block.key_heads, seen.keys]

    def of_heads(self, block: Block) -> Tensor:
        """[batch, key head, key, value feature]"""
        return self._value[block.batch, block.key_heads]

    def weighed(self, weights: Tensor, block: Block, seen: Seen) -> Tensor:
        product = ungrouped(grouped(weights, self._group) @ self.of(block, seen), self._group)
        return self.lose_nothing(product, weights, block, seen)

    def lose_nothing(self, rows: Tensor, weights: Tensor, block: Block, seen: Seen) -> Tensor:
        """Rows with weight on a value that is not finite become NaN, in place."""
        if self._bad is None:
            return rows
        bad = grouped(weights, self._group) @ self._bad[block.batch, block.key_heads, seen.keys]
        return rows.masked_fill_(ungrouped(bad, self._group) != 0.0, float("nan"))

    def lose_nothing_seen(self, rows: Tensor) -> None:
        """The same for all rows of a call whose keys are known by shape, without a product per block: whatever its weight."""
        if self._bad is None:
            return
        first, last = (bound.flatten() for bound in self._visibility.bounds(slice(0, rows.shape[2])))
        before = torch.nn.functional.pad(self._bad[..., 0].cumsum(-1), (1, 0))  # [batch, key head, key + 1]
        bad = (before[..., last] > before[..., first]).repeat_interleave(self._group, 1)
        rows.masked_fill_(bad.unsqueeze(-1), float("nan"))


def attend(
    inputs: Inputs, rule: Rule, masks: Masks, lengths: Lengths, wishes: Wishes, threads: int
) -> tuple[Tensor, Statistics]:
    """threads is the CPU kernels' affair."""
    query, value = inputs[0], inputs[2]
    call = Call(inputs, rule, masks, lengths, "attention")
    check_gaps("attention", gaps_of(wishes))
    out = empty_out(query, value)
    wanted = empty_statistics(call.query, rows_of(query), call.key.shape[2], wishes)
    answer = four(out)
    if _fused.takes(call, masks, lengths, wishes):
        answer[...], by_kernel = _fused.attend(call, masks, wishes)
        for name, rows in by_kernel.items():
            wanted[name].copy_(rows)
        return out, wanted
    values = Values(call)
    if _quick.takes(call, masks, wishes):
        for name, rows in _quick.attend(call, values, wishes, answer).items():
            wanted[name].copy_(rows)
        return out, wanted
    for block in call.blocks():
        place = (block.batch, block.heads, block.queries)
        scores, _, seen = call.scores.of(block)
        if scores.shape[-1] == 0:
            answer[place] = 0.0
            record_empty(wanted, block)
            continue
        normalizer = normalizer_of(call.parameters.of_heads(block.heads))
        weighed = normalizer.weigh(scores, seen, None)
        answer[place] = values.weighed(weighed.weights, block, seen)
        if wanted:
            found = BlockStatistics(scores, weighed, seen, normalizer.signed, call.query.shape[2], call.key.shape[2])
            record(wanted, wishes, block, found)
    return out, wanted


class _Sums:
    """Gradients as they gather, in the type that is computed in."""

    def __init__(self, call: Call, inputs: Inputs, needs: typing.Sequence[bool]) -> None:
        self._call = call
        exact = call.query.dtype
        self.query, self.key, self.value = (
            tensor.new_zeros(tensor.shape) if needed else None
            for tensor, needed in zip((call.query, call.key, call.value), needs)
        )
        self.bias = four(inputs[3]).new_zeros(four(inputs[3]).shape, dtype=exact) if needs[3] else None
        self.parameters = ParameterSums(call.parameters, call.query.shape[1], call.query) if needs[4] else None

    def add_value(self, weights: Tensor, d_out: Tensor, block: Block, seen: Seen) -> None:
        if self.value is not None:
            group = self._call.group
            self.value[block.batch, block.key_heads, seen.keys] += grouped(weights, group).mT @ grouped(d_out, group)

    def add_scores(self, d_scores: Tensor, scores: Scores, query: Tensor, key: Tensor, block: Block) -> None:
        """query and key as they made the scores; numbers that are not finite are 0."""
        seen = scores.seen
        if self.bias is not None:
            target = cut(self.bias, block.batch, block.heads, block.queries, seen.keys)
            target += d_scores.sum_to_size(target.shape)
        if scores.slopes is not None:
            d_scores = d_scores.mul_(scores.slopes)
        maker, group = self._call.scores, self._call.group
        together = grouped(d_scores, group)
        if self.query is not None:
            self.query[block.batch, block.heads, block.queries] = ungrouped(together @ key, group) * maker.scale
        if self.key is not None:
            self.key[block.batch, block.key_heads, seen.keys] += together.mT @ grouped(query, group)

    def found(self, inputs: Inputs) -> Gradients:
        if self._call.scores.linear:
            self.query, self.key = (
                None if sums is None else torch.where(sums == 0.0, sums, sums * mapped_slope(made_of))  # 0 * NaN is 0
                for sums, made_of in ((self.query, self._call.query), (self.key, self._call.key))
            )
        found = [
            None if gradient is None else empty_gradient(tensor, tensor.dtype).copy_(gradient.reshape(tensor.shape))
            for gradient, tensor in zip((self.query, self.key, self.value, self.bias), inputs)
        ]
        d_parameters = None if self.parameters is None else self.parameters.gradient(inputs[4])
        return Gradients(found[0], found[1], found[2], found[3], d_parameters)


def attend_backward(
    d_out: Tensor,
    inputs: Inputs,
    needs: typing.Sequence[bool],
    rule: Rule,
    masks: Masks,
    lengths: Lengths,
    temperature: Tensor | None,  # what a search of the forward pass found
    threads: int,
) -> Gradients:
    call = Call(inputs, rule, masks, lengths, "attention_backward")
    call.parameters.check_backward("attention_backward")
    sums, values = _Sums(call, inputs, needs), Values(call)
    d_out = four(d_out.detach()).to(call.query.dtype)
    temperature = None if temperature is None else temperature.to(call.query.dtype).unsqueeze(-1)
    for block in call.blocks():
        place = (block.batch, block.heads, block.queries)
        d_rows = d_out[place]
        scores = call.scores.of(block, slopes=True, poison=_poison(d_rows) if call.hides else None)
        if scores.values.shape[-1] == 0:
            continue
        seen = scores.seen
        d_rows, query, key = (
            _finite(rows) if call.hides else rows
            for rows in (d_rows, call.scores.queries_of(block), call.scores.keys_of(block, seen))
        )
        normalizer = normalizer_of(call.parameters.of_heads(block.heads))
        weighed = normalizer.weigh(scores.values, seen, None if temperature is None else temperature[place])
        sums.add_value(weighed.weights, d_rows, block, seen)
        d_weights = ungrouped(grouped(d_rows, call.group) @ values.of(block, seen).mT, call.group)
        d_scores, d_parameters = normalizer.backward(scores.values, seen, weighed, d_weights)
        d_scores = seen.fill(values.lose_nothing(d_scores, weighed.weights, block, seen), 0.0)
        if sums.parameters is not None:
            sums.parameters.add(block.heads, d_parameters)
        sums.add_scores(d_scores, scores, query, key, block)
    return sums.found(inputs)
