"""Contenders of a forward problem, each held against the reference on sampled rows."""

import numpy as np

import reference
from measure import Contender


class ForwardCheck:
    """Errors over what is allowed; the reference of each rule is computed once."""

    def __init__(self, problem):
        self.problem = problem
        self.wanted = {}

    def _wanted(self, rule):
        if rule not in self.wanted:
            exact = reference.forward_rows(self.problem, rule)
            plain = reference.forward_rows(self.problem, rule, np.float32)
            self.wanted[rule] = exact, reference.allowance(exact, plain)
        return self.wanted[rule]

    def error_over_allowed(self, out, rule):
        exact, allowed = self._wanted(rule)
        found = np.stack([out[0, head, row] for head, row in reference.sampled_rows(self.problem)])
        return reference.largest_error(found, exact) / allowed


def contender(label, peer, call, check, rule):
    """A list of one, empty if the peer has no such call."""
    if call is None:
        return []
    return [Contender(label, peer.name, call.seconds, lambda: check.error_over_allowed(call.output()[0], rule))]


def contenders_for(problem, normalizer, peers, check=None):
    """Every peer that can do it, ours first; labels are the peers' names."""
    check = check or ForwardCheck(problem)
    found = []
    for peer in peers.values():
        rule = peer.references.get(normalizer, normalizer)
        found += contender(peer.name, peer, peer.forward(problem, normalizer), check, rule)
    return found
