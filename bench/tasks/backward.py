"""Gradients of softmax attention, given what the forward pass saved."""

import numpy as np

import reference
from measure import Case, Contender, planned
from problem import Problem

from .scale import HEADS

CHECKED_COLUMNS = 4


def cases(peers, scale):
    for n in scale.prefill(512, 2048, 8192):
        yield planned(case, f"backward/full/d64/n{n}", Problem(HEADS[64], n, n, 64), peers)
    for n in scale.prefill(512, 2048):
        yield planned(case, f"backward/full/d128/n{n}", Problem(HEADS[128], n, n, 128), peers)
        yield planned(case, f"backward/causal/d64/n{n}", Problem(HEADS[64], n, n, 64, causal=True), peers)


class GradientCheck:
    """Queries on sampled rows; keys and values on sampled columns of one head."""

    def __init__(self, problem):
        self.problem = problem
        self.wanted = None
        random = np.random.default_rng(problem.seed + 3)
        self.head = int(random.integers(0, problem.heads))
        self.columns = random.integers(0, problem.keys, CHECKED_COLUMNS)

    def _gradients(self, dtype):
        keys_values = reference.key_value_gradients(self.problem, self.head, self.columns, dtype)
        return reference.query_gradient_rows(self.problem, dtype), *keys_values

    def error_over_allowed(self, found):
        if self.wanted is None:
            self.wanted = self._gradients(np.float64), self._gradients(np.float32)
        d_query, d_key, d_value = found
        rows = np.stack([d_query[0, head, row] for head, row in reference.sampled_rows(self.problem)])
        parts = rows, d_key[0, self.head, self.columns], d_value[0, self.head, self.columns]
        return max(
            reference.largest_error(part, exact) / reference.allowance(exact, plain)
            for part, exact, plain in zip(parts, *self.wanted)
        )


def _contender(peer, call, check):
    return Contender(peer.name, peer.name, call.seconds, lambda: check.error_over_allowed(call.output()))


def case(name, problem, peers):
    check = GradientCheck(problem)
    found = []
    for peer in peers.values():
        call = peer.backward(problem)
        if call is not None:
            found.append(_contender(peer, call, check))
    return Case(name, found, problem.facts(), flops=problem.backward_flops(), after_checks=problem.forget)
