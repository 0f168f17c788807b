"""What statistics cost: the same attention with them and without."""

from measure import Case, planned
from problem import Problem

from .forward_contenders import ForwardCheck, contender
from .scale import HEADS

WISHES = {"entropy and peak": ("entropy", "peak_weight", "peak_key"), "all": "all"}


def cases(peers, scale):
    if "sharpmax" not in peers:
        return
    for features, heads in HEADS.items():
        for n in scale.prefill(2048):
            yield planned(_case, f"statistics/prefill/d{features}/n{n}", Problem(heads, n, n, features), peers)
    for features, heads in HEADS.items():
        for n in scale.decode(16384):
            yield planned(_case, f"statistics/decode/d{features}/n{n}", Problem(heads, 1, n, features), peers)


def _case(name, problem, peers):
    check, ours = ForwardCheck(problem), peers["sharpmax"]
    found = contender("off", ours, ours.forward(problem, "softmax"), check, "softmax")
    for label, wishes in WISHES.items():
        found += contender(label, ours, ours.forward(problem, "softmax", return_stats=wishes), check, "softmax")
    return Case(name, found, problem.facts(), after_checks=problem.forget)
