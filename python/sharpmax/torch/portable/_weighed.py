"""What a normalizer gives for a block, and what all of them share."""

from __future__ import annotations

import typing

import torch

from ._visible import HIDDEN, Seen

Tensor = torch.Tensor
Rows = typing.Union[float, Tensor, None]  # a number, or [batch or 1, head or 1, query or 1, 1]; None: there is none


class Weighed(typing.NamedTuple):
    weights: Tensor  # [batch, head, query, key]; 0 at hidden keys
    temperature: Rows = None
    threshold: Rows = None
    log_partition: typing.Callable[[], Tensor] | None = None  # computed if asked for
    log_ratios: typing.Callable[[], Tensor] | None = None  # ln of weights over the row's largest; finite at hidden keys

    def partition(self) -> Tensor:
        assert self.log_partition is not None
        return self.log_partition()


class Normalizer(typing.Protocol):
    """One member of the family. Rows that see no key come out as zeros and rows with a NaN or +inf as NaN."""

    signed: bool  # weights may be below 0

    def weigh(self, scores: Tensor, seen: Seen, temperature: Tensor | None) -> Weighed:
        """temperature: what an earlier call settled on; spares the search for it. scores stay as they are."""
        ...

    def backward(
        self, scores: Tensor, seen: Seen, weighed: Weighed, d_weights: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Gradients of the scores, and of parameters by name, [batch, head, query, 1]. May write over d_weights."""
        ...


def top_of(scores: Tensor) -> Tensor:
    """The largest score of each row; HIDDEN if a row sees nothing, NaN or inf where it is poisoned."""
    return scores.amax(-1, keepdim=True)


def poison_of(top: Tensor) -> Tensor:
    """0, or NaN for a poisoned row: what is added to make all of it NaN."""
    return top - top


def is_empty(top: Tensor) -> Tensor:
    return top <= 0.5 * HIDDEN


def dot(one: Tensor, other: Tensor) -> Tensor:
    """[.., 1]: row by row."""
    return (one * other).sum(-1, keepdim=True)
