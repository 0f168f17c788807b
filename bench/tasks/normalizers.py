"""What the other rules cost beside our softmax, and beside how one gets them today."""

from measure import Case, planned
from problem import Problem, sharpened_spread

from .forward_contenders import ForwardCheck, contender
from .scale import HEADS

# Scores so close that every key keeps weight under sparsemax and entmax: sum (e - min) < 1. The hard
# case for maps that live off zeros.
DENSE = 0.05


def cases(peers, scale):
    if "sharpmax" not in peers:
        return
    for features, heads in HEADS.items():
        for n in scale.prefill(512, 2048):
            sharpened = Problem(heads, n, n, features, score_spread=sharpened_spread(n))
            yield planned(_case, f"normalizers/adaptive/d{features}/n{n}", sharpened, ("adaptive",), peers)
            plain = Problem(heads, n, n, features)
            yield planned(_case, f"normalizers/entropy_target/d{features}/n{n}", plain, ("entropy_target",), peers)
            dense = Problem(heads, n, n, features, score_spread=DENSE / n)
            rules = ("entmax15", "sparsemax")
            yield planned(_case, f"normalizers/sparse_dense/d{features}/n{n}", dense, rules, peers)
            yield planned(_case, f"normalizers/sparse_normal/d{features}/n{n}", plain, rules, peers)


# The search for a temperature, written out in torch, takes half a minute per call beyond this many keys.
WRITTEN_OUT_SEARCH = 512


def _case(name, problem, rules, peers):
    check, ours = ForwardCheck(problem), peers["sharpmax"]
    found = contender("softmax", ours, ours.forward(problem, "softmax"), check, "softmax")
    for rule in rules:
        found += contender(rule, ours, ours.forward(problem, rule), check, rule)
        for name_of_peer in ("torch written out", "deep-spin/entmax"):
            peer = peers.get(name_of_peer)
            if peer is None or (rule == "entropy_target" and problem.keys > WRITTEN_OUT_SEARCH):
                continue
            call = peer.forward(problem, rule)
            found += contender(f"{rule}, {peer.name}", peer, call, check, peer.references.get(rule, rule))
    facts = {**problem.facts(), "rows": {rule: ours.row_facts(problem, rule) for rule in rules}}
    return Case(name, found, facts, flops=problem.forward_flops(), after_checks=problem.forget)
