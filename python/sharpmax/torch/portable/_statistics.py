"""What the rows of a block say of themselves; src/attention/oracle_row.cc has the meaning of each.

Numbers are in the type that is computed in. Rows without a key: zeros, key -1, log-partition -inf, temperature and
threshold NaN. Poisoned rows: NaN, key -1, counts 0.
"""

from __future__ import annotations

import functools
import math
import typing

import torch

from .._kernel import Wishes, gaps_of
from ._blocks import Block
from ._visible import HIDDEN, Seen
from ._weighed import Rows, Weighed, is_empty, poison_of, top_of

Tensor = torch.Tensor

_INTEGERS = frozenset(("peak_key", "support", "top_keys", "gap_counts"))
_SUMS = frozenset(("column_mass", "map"))
_FEW = 32  # largest weights found one after the other; more of them by sorting
COUNTED = 1 << 24  # keys that float32 counts one by one, in a fourth of the time that truths take on a CPU


def empty_statistics(like: Tensor, rows: tuple[int, ...], keys: int, wishes: Wishes) -> dict[str, Tensor]:
    """like: of the type that is computed in."""
    shapes = {
        "top_keys": (*rows, wishes.top),
        "top_weights": (*rows, wishes.top),
        "gap_counts": (*rows, len(gaps_of(wishes))),
        "column_mass": (*rows[:2], keys),
        "map": (*rows[:2], wishes.map_rows, wishes.map_columns),
    }
    names = wishes.names.split(",") if wishes.names else []
    return {
        name: like.new_zeros(shapes.get(name, rows), dtype=torch.int64 if name in _INTEGERS else like.dtype)
        for name in names
    }


class BlockStatistics:
    """The statistics of one block, computed when they are asked for."""

    def __init__(self, scores: Tensor, weighed: Weighed, seen: Seen, signed: bool, queries: int, keys: int):
        self.scores, self.weighed, self.weights, self.seen = scores, weighed, weighed.weights, seen
        self._signed, self._shape = signed, (queries, keys)

    # Rows: [batch, head, query, 1].

    @functools.cached_property
    def top(self) -> Tensor:
        return top_of(self.scores)

    @functools.cached_property
    def empty(self) -> Tensor:
        return is_empty(self.top)

    def _known(self, value: Rows) -> Tensor:
        """What the rule settled on; NaN if there is none, in rows without a key, and in poisoned ones."""
        if value is None:
            return torch.full_like(self.top, math.nan)
        return torch.where(self.empty, math.nan, poison_of(self.top) + value)

    def temperature(self) -> Tensor:
        return self._known(self.weighed.temperature)

    def threshold(self) -> Tensor:
        return self._known(self.weighed.threshold)

    def log_partition(self) -> Tensor:
        partition = None if self.weighed.log_partition is None else self.weighed.log_partition()
        return torch.where(self.empty, -math.inf, self._known(partition))

    def mass(self) -> Tensor:
        return self._mass

    @functools.cached_property
    def _mass(self) -> Tensor:
        return self.weights.sum(-1, keepdim=True)

    @functools.cached_property
    def _upright(self) -> Tensor:
        """Weights such that their sum is not below 0, and hidden keys are below all others."""
        if not self._signed:
            return self.weights
        weights = self.weights * self._mass.sign()
        return self.seen.fill(weights, HIDDEN) if self.seen.parts else weights

    @functools.cached_property
    def _share(self) -> Tensor:
        """The largest w / sum w; 0 if there is no weight."""
        return torch.where(self._nothing, 0.0, self._upright.amax(-1, keepdim=True) / self._mass.abs())

    @functools.cached_property
    def _place(self) -> Tensor:
        """The largest weight's place within the block; -1 if there is none."""
        return torch.where(self._nothing | self._share.isnan(), -1, self._upright.argmax(-1, keepdim=True))

    @functools.cached_property
    def _nothing(self) -> Tensor:
        """No weight at all."""
        if self._signed:
            return (self.weights == 0.0).all(-1, keepdim=True)
        return self._mass == 0.0

    def peak_weight(self) -> Tensor:
        return self._share

    def peak_key(self) -> Tensor:
        return torch.where(self._place < 0, -1, self._place + self.seen.keys.start)

    def entropy(self) -> Tensor:
        return self._entropy

    @functools.cached_property
    def _entropy(self) -> Tensor:
        """A softmax has it by its scores, without a logarithm per weight; others with the peak apart: sharp rows keep digits."""
        share = self._share
        if self.weighed.log_ratios is not None:
            mean = torch.linalg.vecdot(self.weights, self.weighed.log_ratios()).unsqueeze(-1) / self._mass
            return torch.where(self._nothing, 0.0, (-share.log() - mean).clamp(min=0.0))
        others = self.weights.scatter(-1, self._place.clamp(min=0), 0.0)
        rest = others.sum(-1, keepdim=True)
        others = others.div_(self._mass)
        of_others = torch.xlogy(others, others).sum(-1, keepdim=True)
        return torch.where(self._nothing, 0.0, share * (rest / (share * self._mass)).log1p() - of_others)

    def effective_support(self) -> Tensor:
        return torch.where(self._nothing, 0.0, self._entropy.exp())

    def support(self) -> Tensor:
        weights = self.weights * self._mass.sign() if self._signed else self.weights
        return _count(torch.gt, weights, [0.0])

    def score_spread(self) -> Tensor:
        above = self.seen.fill(self.scores.clone(), -HIDDEN) if self.seen.parts else self.scores
        spread = self.top - above.amin(-1, keepdim=True)
        return torch.where(self.empty, 0.0, spread + poison_of(self.top))

    def first_weight(self) -> Tensor:
        if self.seen.keys.start > 0:
            return self._mass - self._mass  # 0, or NaN
        return torch.where(self._mass == 0.0, 0.0, self.weights[..., :1] / self._mass)

    # Several numbers a row.

    def gap_counts(self, gaps: typing.Sequence[float]) -> Tensor:
        return torch.where(self.empty, 0, _count(torch.le, self.top - self.scores, gaps))

    def top_keys_and_weights(self, count: int) -> tuple[Tensor, Tensor]:
        """The heaviest keys, of equal ones the lowest first; -1 and 0 if there are no more."""
        weights = self.seen.fill(self.weights.clone(), -math.inf)
        keys = weights.shape[-1]
        if count > _FEW:
            found, places = weights.sort(dim=-1, descending=True, stable=True)
            found, places = found[..., :count], places[..., :count]
        else:
            largest, indices = [], []
            for _ in range(min(count, keys)):
                value, place = weights.max(-1, keepdim=True)
                weights.scatter_(-1, place, -math.inf)
                largest.append(value)
                indices.append(place)
            found, places = torch.cat(largest, -1), torch.cat(indices, -1)
        missing = (0, count - found.shape[-1])
        found = torch.nn.functional.pad(found, missing, value=-math.inf)
        places = torch.nn.functional.pad(places, missing)
        poison = poison_of(self.top)
        none = (found == -math.inf) | poison.isnan()
        return torch.where(none, -1, places + self.seen.keys.start), torch.where(none, poison, found)

    # Sums over rows.

    def column_mass(self) -> Tensor:
        """[batch, head, key] of the keys that the block sees"""
        return self.weights.sum(-2)

    def map(self, first_row: int, rows: int, columns: int) -> Tensor:
        """[batch, head, map row, map column]: by products with the blocks that each query and key belongs to."""
        queries, keys = self._shape
        device, dtype = self.weights.device, self.weights.dtype
        query = torch.arange(first_row, first_row + self.weights.shape[-2], device=device)
        key = torch.arange(self.seen.keys.start, self.seen.keys.stop, device=device)
        in_row = (query * rows).div(queries, rounding_mode="floor") == torch.arange(rows, device=device)[:, None]
        in_column = (key * columns).div(keys, rounding_mode="floor")[:, None] == torch.arange(columns, device=device)
        return in_row.to(dtype) @ (self.weights @ in_column.to(dtype))


def _count(compare: typing.Callable[..., Tensor], row: Tensor, limits: typing.Sequence[float]) -> Tensor:
    """[.., limit]: how many of a row hold."""
    dtype = row.dtype if row.shape[-1] < COUNTED else torch.bool
    holds = torch.empty_like(row, dtype=dtype)
    counts = [compare(row, limit, out=holds).sum(-1, keepdim=True) for limit in limits]
    return torch.cat(counts, -1).to(torch.int64) if counts else row[..., :0].to(torch.int64)


def record(wanted: dict[str, Tensor], wishes: Wishes, block: Block, found: BlockStatistics) -> None:
    """Write what one block says to its place."""
    place = (block.batch, block.heads, block.queries)
    if "top_keys" in wanted or "top_weights" in wanted:
        keys, weights = found.top_keys_and_weights(wishes.top)
        for name, value in (("top_keys", keys), ("top_weights", weights)):
            if name in wanted:
                wanted[name][place] = value
    for name, tensor in wanted.items():
        if name == "gap_counts":
            tensor[place] = found.gap_counts(gaps_of(wishes))
        elif name == "column_mass":
            tensor[(*place[:2], found.seen.keys)] += found.column_mass()
        elif name == "map":
            tensor[place[:2]] += found.map(block.queries.start, wishes.map_rows, wishes.map_columns)
        elif name not in ("top_keys", "top_weights"):
            tensor[place] = getattr(found, name)()[..., 0]


def record_empty(wanted: dict[str, Tensor], block: Block) -> None:
    """A block whose queries see no key; what is 0 there is so already."""
    place = (block.batch, block.heads, block.queries)
    rows = {"log_partition": -math.inf, "temperature": math.nan, "threshold": math.nan, "peak_key": -1, "top_keys": -1}
    for name, value in rows.items():
        if name in wanted:
            wanted[name][place] = value
