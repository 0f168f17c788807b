"""watch(): statistics of the heads of a Hugging Face model, gathered while it runs."""

from __future__ import annotations

import dataclasses
import threading
import typing

import numpy as np
import torch

from .._stats import ROW_TYPES, Stats
from . import _show
from ._find import configs_of, find_layers, unwrap
from ._patch import Patch, patch
from ._rows import Rows
from ._state import add_watcher, remove_watcher
from ._tally import Tally

STATISTICS = ("entropy", "peak_weight", "support", "effective_support", "first_weight")
GAPS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_POSSIBLE = (*STATISTICS, *(name for name in ROW_TYPES if name not in (*STATISTICS, "peak_key")))  # those with a mean


@dataclasses.dataclass
class WatchedCall:
    """One call of one layer's attention, as ``keep="all"`` has it."""

    layer: int  # place in Watch.names
    stats: Stats  # NumPy arrays [batch, head, query]
    lengths: np.ndarray  # [batch, query]: keys that the row sees
    padding: np.ndarray  # [batch, query]: True where the row was left out of summaries


class ByLength(typing.NamedTuple):
    """Means of a statistic by the number of keys that a row sees."""

    lengths: np.ndarray  # [octave]: rows of this many keys up to the next
    rows: np.ndarray  # [layer, octave]
    values: np.ndarray  # [layer, head, octave]; NaN where there was no row


class Watch:
    """Statistics of every layer and head; see watch().

    entropy, peak_weight, support, effective_support, first_weight are means over rows, [layer, head];
    gap_counts [layer, head, gap]. ``median(name)``, ``by_length(name)``, ``calls`` (with keep="all") have more.
    A layer without rows, and a head that its layer does not have, is NaN.
    """

    def __init__(
        self, model: typing.Any, statistics: tuple[str, ...], gaps: tuple[float, ...], keep: str, every: int
    ) -> None:
        model = unwrap(model)
        self.model_name = type(model).__name__
        self.statistics, self.gaps, self.keep, self.every = statistics, gaps, keep, every
        self.calls: list[WatchedCall] = []
        self._model = model
        self._layers = find_layers(model)
        self._places = {id(layer.module): place for place, layer in enumerate(self._layers)}
        self._counted = [Tally(statistics, gaps, layer.cross) for layer in self._layers]
        self._seen = [0] * len(self._layers)
        self._wishes: dict[str, typing.Any] = dict.fromkeys(statistics, True)
        if gaps:
            self._wishes["gaps"] = gaps
        self._patch: Patch | None = None
        self._on = False
        self._lock = threading.Lock()

    # While it runs.

    def __enter__(self) -> Watch:
        if self._on:
            raise RuntimeError("this watch is on already; make another with sharpmax.hf.watch(model)")
        if any(config._attn_implementation != "sharpmax" for config in configs_of(self._model, self._layers)):
            self._patch = patch(self._model, "softmax")
        for layer in self._layers:
            add_watcher(layer.module, self)
        self._on = True
        return self

    def __exit__(self, *error: object) -> None:
        for layer in self._layers:
            remove_watcher(layer.module, self)
        if self._patch is not None:
            self._patch.remove()
            self._patch = None
        self._on = False

    def wishes(self, module: torch.nn.Module) -> dict[str, typing.Any]:
        """Statistics to ask of the call that this module makes now; none for calls that ``every`` skips."""
        place = self._places[id(module)]
        self._seen[place] += 1
        return self._wishes if (self._seen[place] - 1) % self.every == 0 else {}

    def record(self, module: torch.nn.Module, stats: Stats, rows: Rows) -> None:
        place = self._places[id(module)]
        tally = self._counted[place]
        with self._lock:  # a model may run in several threads
            tally.add(stats, rows)
        if self.keep == "all":
            self.calls.append(_call(place, stats, rows, tally, self))

    # What was found.

    @property
    def _tallies(self) -> list[Tally]:
        with self._lock:
            for tally in self._counted:
                tally.settle()
        return self._counted

    @property
    def names(self) -> list[str]:
        """The attention modules' names, as model.named_modules() has them."""
        return [layer.name for layer in self._layers]

    @property
    def rows(self) -> np.ndarray:
        """[layer]: rows that were counted."""
        return np.array([tally.rows for tally in self._tallies])

    def mean(self, name: str) -> np.ndarray:
        """[layer, head]: of one statistic; [layer, head, gap] for "gap_counts"."""
        return self._pick(name, [tally.mean() for tally in self._tallies])

    def median(self, name: str) -> np.ndarray:
        """As mean(); exact up to 8192 rows per layer, from an even sample beyond."""
        return self._pick(name, [tally.median() for tally in self._tallies])

    def by_length(self, name: str) -> ByLength:
        """Means by the number of keys that a row sees, in octaves: whether a head disperses as its input grows."""
        counts = np.stack([tally.counts.numpy() for tally in self._tallies])
        used = np.flatnonzero(counts.any(0))
        span = np.arange(used[0], used[-1] + 1) if len(used) else np.arange(0)
        octaves = [tally.by_octave() for tally in self._tallies]
        picked = [self._pick(name, [None if o is None else o[octave] for o in octaves]) for octave in span]
        heads = self._pick(name, [None] * len(octaves)).shape[1:]
        values = np.stack(picked, axis=2) if picked else np.empty((len(octaves), *heads[:1], 0, *heads[1:]))
        return ByLength(2**span, counts[:, span], values)

    def __getattr__(self, name: str) -> np.ndarray:
        known = () if name.startswith("_") else self._known()
        if name in known:
            return self.mean(name)
        raise AttributeError(f"a Watch has no '{name}'; this one has {', '.join(known)}")

    def _known(self) -> tuple[str, ...]:
        statistics, gaps = self.__dict__.get("statistics", ()), self.__dict__.get("gaps", ())
        return (*statistics, "gap_counts") if gaps else statistics

    def _heads(self) -> int:
        seen = [tally.sums.shape[2] for tally in self._tallies if tally.sums is not None]
        return max(seen or [layer.heads or 0 for layer in self._layers])

    def _pick(self, name: str, found: list[np.ndarray | None]) -> np.ndarray:
        """From [column, head] of each layer to [layer, head], or [layer, head, gap]."""
        if name not in self._known():
            raise ValueError(f"there is no statistic '{name}' in this watch; it has {', '.join(self._known())}")
        gaps = name == "gap_counts"
        columns = slice(len(self.statistics), None) if gaps else slice(*2 * [self.statistics.index(name)])
        columns = columns if gaps else slice(columns.start, columns.start + 1)
        table = np.full((len(found), self._heads(), len(self.gaps) if gaps else 1), np.nan)
        for place, layer in enumerate(found):
            if layer is not None:
                table[place, : layer.shape[1]] = layer[columns].T
        return table if gaps else table[..., 0]

    def to_dict(self) -> dict[str, typing.Any]:
        """Plain numbers, for JSON; None for a missing one."""
        return _show.as_dict(self)

    def table(self, heads: bool = False) -> str:
        """As text: one line per layer (means over its heads), or one line per head."""
        return _show.as_text(self, heads)

    def plot(self, name: str = "entropy", by: str = "head", ax: typing.Any = None) -> typing.Any:
        """by="head": a grid of layers and heads; by="length": one line per layer. Returns matplotlib's axes."""
        return _show.plot(self, name, by, ax)

    def __repr__(self) -> str:
        return f"{_show.title(self)}\n{self.table()}"

    def _repr_html_(self) -> str:
        return _show.as_html(self)


def _call(place: int, stats: Stats, rows: Rows, tally: Tally, watch_: Watch) -> WatchedCall:
    arrays = {name: getattr(stats, name).cpu().numpy() for name in watch_.statistics}
    if watch_.gaps and stats.gaps is not None:
        columns = [stats.gaps.index(gap) for gap in watch_.gaps]
        arrays.update(gap_counts=stats.gap_counts.cpu().numpy()[..., columns], gaps=watch_.gaps)
    batch, _, queries = next(iter(arrays.values())).shape[:3]
    lengths = rows.lengths.expand(batch, queries)
    left_out = lengths == 0
    if rows.padding is not None and not tally.cross:
        left_out = left_out | rows.padding
    return WatchedCall(place, Stats(**arrays), lengths.numpy().copy(), left_out.numpy().copy())


def watch(
    model: typing.Any,
    *,
    statistics: typing.Sequence[str] = STATISTICS,
    gaps: typing.Sequence[float] = GAPS,
    keep: str = "summary",
    every: int = 1,
) -> Watch:
    """Gather statistics of every layer and head of a model while the block runs.

        with sharpmax.hf.watch(model) as stats:
            model.generate(**inputs)
        stats.entropy        # [layer, head], nats: mean over every row that was computed
        stats.plot()

    A patched model is watched with the normalizers it has; any other runs softmax under sharpmax for the
    duration, which is its own to rounding. Rows of padding are left out. Memory grows with the number of rows at
    most, never with its square. Forwards accumulate; watches may be nested.

    statistics  which of entropy, peak_weight, support, effective_support (exp of the entropy), first_weight (of the
                first token, over the rows whose key 0 it is and that see it: not where padding stands before it),
                log_partition, mass, temperature, threshold, score_spread. Outside CPU memory softmax has entropy and
                peak_weight, without gaps, for the least time (docs/reference/devices.md)
    gaps        count the keys within so much of the row's largest score; () for none
    keep        "all": every row of every call too, in ``calls``
    every       look at one call in so many of each layer: for long generations
    """
    statistics = (statistics,) if isinstance(statistics, str) else tuple(statistics)
    for name in statistics:
        if name not in _POSSIBLE:
            raise ValueError(f"statistics has '{name}'; it may have {', '.join(_POSSIBLE)}")
    gaps = tuple(sorted(float(gap) for gap in gaps))
    if not all(0.0 < gap < float("inf") for gap in gaps):
        raise ValueError(f"gaps has {gaps}; a gap must be finite and above 0")
    if not statistics and not gaps:
        raise ValueError("statistics and gaps are both empty; there is nothing to watch")
    if keep not in ("summary", "all"):
        raise ValueError(f"keep is {keep!r}; it must be 'summary' or 'all'")
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ValueError(f"every is {every!r}; it must be a whole number from 1 on")
    return Watch(model, statistics, gaps, keep, every)
