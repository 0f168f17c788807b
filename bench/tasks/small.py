"""Short rows of many heads, as small transformers are trained: 64 sequences of 4 heads of 32, causal."""

from measure import Case, planned
from problem import Problem

from . import backward
from .forward_contenders import ForwardCheck, contender, contenders_for

SEQUENCES, HEADS, FEATURES = 64, 4, 32
LENGTHS = (32, 64, 128, 256)
RULES = ("entropy_target", "entmax15")


def cases(peers, scale):
    for n in scale.prefill(*LENGTHS):
        problem = Problem(SEQUENCES * HEADS, n, n, FEATURES, causal=True)  # sequences are heads: nothing tells them apart
        yield planned(_forward, f"small/forward/n{n}", problem, peers)
        yield planned(backward.case, f"small/backward/n{n}", problem, peers)


def _forward(name, problem, peers):
    check = ForwardCheck(problem)
    found = contenders_for(problem, "softmax", peers, check)
    if "sharpmax" in peers:
        ours = peers["sharpmax"]
        for rule in RULES:
            found += contender(rule, ours, ours.forward(problem, rule), check, rule)
    return Case(name, found, problem.facts(), flops=problem.forward_flops(), after_checks=problem.forget)
