"""Softmax over whole sequences, full and causal, against every peer and the FMA peak."""

from measure import Case, planned
from problem import Problem

from .forward_contenders import contenders_for
from .scale import HEADS


def cases(peers, scale):
    for features, heads in HEADS.items():
        for n in scale.prefill(512, 2048, 8192):
            yield planned(_case, f"prefill/full/d{features}/n{n}", Problem(heads, n, n, features), peers)
    for n in scale.prefill(512, 2048, 8192):
        yield planned(_case, f"prefill/causal/d64/n{n}", Problem(HEADS[64], n, n, 64, causal=True), peers)


def _case(name, problem, peers):
    found = contenders_for(problem, "softmax", peers)
    return Case(name, found, problem.facts(), flops=problem.forward_flops(), after_checks=problem.forget)
