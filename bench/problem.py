"""One attention to be computed by every contender: shapes, data, and how much work it is."""

import dataclasses
import functools

import numpy as np


@dataclasses.dataclass(frozen=True)
class Problem:
    heads: int
    queries: int
    keys: int
    features: int
    kv_heads: int = 0  # 0: as many as heads
    causal: bool = False
    # Standard deviation of the scores: queries and keys are normal, queries scaled by it.
    score_spread: float = 1.0
    seed: int = 1
    # Keys and values that float16 holds exactly, so that a cache of either width has the same answer.
    rounded: bool = False

    @property
    def key_heads(self):
        return self.kv_heads or self.heads

    @functools.cached_property
    def arrays(self):
        """query, key, value: float32, [1, head, length, feature]."""
        random = np.random.default_rng(self.seed)
        query = random.standard_normal((1, self.heads, self.queries, self.features), dtype=np.float32)
        key = random.standard_normal((1, self.key_heads, self.keys, self.features), dtype=np.float32)
        value = random.standard_normal((1, self.key_heads, self.keys, self.features), dtype=np.float32)
        query *= np.float32(self.score_spread)
        if self.rounded:
            key, value = (array.astype(np.float16).astype(np.float32) for array in (key, value))
        return query, key, value

    @functools.cached_property
    def d_out(self):
        random = np.random.default_rng(self.seed + 1)
        return random.standard_normal((1, self.heads, self.queries, self.features), dtype=np.float32)

    def forget(self):
        """Drops the arrays. They are made again if asked for."""
        for name in ("arrays", "d_out"):
            self.__dict__.pop(name, None)

    def pairs(self):
        """Query-key pairs that are not masked. Causal problems here are square."""
        if self.causal:
            return self.heads * self.queries * (self.queries + 1) // 2
        return self.heads * self.queries * self.keys

    def forward_flops(self):
        return 4 * self.features * self.pairs()

    def backward_flops(self):
        """Five products of queries x keys x features: scores, dP, dV, dQ, dK."""
        return 10 * self.features * self.pairs()

    def key_value_bytes(self):
        return 2 * 4 * self.key_heads * self.keys * self.features

    def facts(self):
        return {**dataclasses.asdict(self), "kv_heads": self.key_heads}


def sharpened_spread(keys):
    """The spread at which rows of normal scores have about 4.4 nats, where the published polynomial
    is largest: normal scores of spread s have ln n - s^2 / 2 nats, as long as that is well above 0."""
    return float(np.sqrt(2 * max(np.log(keys) - 4.4, 0.05)))
