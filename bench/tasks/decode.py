"""One query against a long past: bound by reading keys and values once."""

from measure import Case
from problem import Problem, sharpened_spread

from .forward_contenders import ForwardCheck, contender, contenders_for
from .scale import HEADS

GROUPED_HEADS, GROUPED_KV_HEADS = 32, 8


def cases(peers, scale):
    for features, heads in HEADS.items():
        for n in scale.decode(16384, 131072):
            problem = Problem(heads, 1, n, features)
            found = contenders_for(problem, "softmax", peers)
            yield Case(f"decode/d{features}/n{n}", found, problem.facts(), bytes=problem.key_value_bytes())
    for n in scale.decode(16384):
        yield _grouped(n, peers)
    if "sharpmax" in peers:
        for features, heads in HEADS.items():
            for n in scale.decode(16384, 131072):
                yield _rules(features, heads, n, peers)


def _grouped(n, peers):
    problem = Problem(GROUPED_HEADS, 1, n, 128, kv_heads=GROUPED_KV_HEADS)
    check = ForwardCheck(problem)
    found = contenders_for(problem, "softmax", peers, check)
    if "torch SDPA" in peers:
        sdpa = peers["torch SDPA"]
        run = sdpa.forward_enable_gqa(problem)
        found.append(contender("torch SDPA, enable_gqa", sdpa, run, check, "softmax"))
    return Case(f"decode/grouped/d128/n{n}", found, problem.facts(), bytes=problem.key_value_bytes())


def _rules(features, heads, n, peers):
    """Our other rules beside our softmax, on rows that adaptive sharpens, every one."""
    problem = Problem(heads, 1, n, features, score_spread=sharpened_spread(n))
    check, ours = ForwardCheck(problem), peers["sharpmax"]
    found = [
        contender(rule, ours, ours.forward(problem, rule), check, rule)
        for rule in ("softmax", "adaptive", "entropy_target")
    ]
    return Case(f"decode/rules/d{features}/n{n}", found, problem.facts(), bytes=problem.key_value_bytes())
