"""Result of sharpmax.perplexity(): a model's loss on a text, by position."""

from __future__ import annotations

import math
import typing

import numpy as np

from ._result import ReportedResult, results_of
from ._tables import Table


@results_of("sharpmax.perplexity/1")
class PerplexityResult(ReportedResult):
    """Loss of a model on a text, by the number of tokens that it has seen."""

    @property
    def loss(self) -> float:
        """Mean over all tokens, in nats."""
        return self.data["all"]["loss"]

    @property
    def perplexity(self) -> float:
        return math.exp(self.loss)

    @property
    def by_position(self) -> typing.List[typing.Dict[str, typing.Any]]:
        """One dict per range of positions: from, to, tokens, loss, low, high (95 %), perplexity."""
        return self.data["buckets"]

    @property
    def losses(self) -> typing.List[np.ndarray]:
        """For every chunk of the text, a float32 array with the loss of each token but the first."""
        return [np.array(chunk["losses"], np.float32) for chunk in self.data["chunks"]]

    def headline(self) -> str:
        return f"{self.loss:.4f} nats per token, perplexity {self.perplexity:.2f}"

    def table(self) -> Table:
        columns = ["from", "to", "tokens", "loss", "low", "high", "perplexity"]
        return Table(columns, [[row[name] for name in columns] for row in self.by_position], "Loss by tokens before")
