"""One query against a long past: bound by reading keys and values once."""

from measure import Case, planned
from problem import Problem, sharpened_spread

from .forward_contenders import ForwardCheck, contender, contenders_for
from .scale import HEADS

GROUPED_HEADS, GROUPED_KV_HEADS = 32, 8


def cases(peers, scale):
    for features, heads in HEADS.items():
        for n in scale.decode(16384, 131072):
            problem = Problem(heads, 1, n, features)
            yield planned(_softmax, f"decode/d{features}/n{n}", problem, peers)
    for n in scale.decode(16384):
        yield planned(_grouped, f"decode/grouped/d128/n{n}", n, peers)
    if "sharpmax" in peers:
        for features, heads in HEADS.items():
            for n in scale.decode(16384, 131072):
                problem = Problem(heads, 1, n, features, score_spread=sharpened_spread(n))
                yield planned(_rules, f"decode/rules/d{features}/n{n}", problem, peers)
        for n in scale.decode(16384, 65536):
            yield planned(_caches, f"decode/cache/d128/n{n}", Problem(HEADS[128], 1, n, 128, rounded=True), peers)


def _reading_case(name, found, problem):
    return Case(name, found, problem.facts(), bytes=problem.key_value_bytes(), after_checks=problem.forget)


def _softmax(name, problem, peers):
    return _reading_case(name, contenders_for(problem, "softmax", peers), problem)


def _grouped(name, n, peers):
    problem = Problem(GROUPED_HEADS, 1, n, 128, kv_heads=GROUPED_KV_HEADS)
    check = ForwardCheck(problem)
    found = contenders_for(problem, "softmax", peers, check)
    if "torch SDPA" in peers:
        sdpa = peers["torch SDPA"]
        found += contender("torch SDPA, enable_gqa", sdpa, sdpa.forward_enable_gqa(problem), check, "softmax")
    return _reading_case(name, found, problem)


def _rules(name, problem, peers):
    """Our other rules beside our softmax, on rows that adaptive sharpens, every one."""
    check, ours = ForwardCheck(problem), peers["sharpmax"]
    found = []
    for rule in ("softmax", "adaptive", "entropy_target"):
        found += contender(rule, ours, ours.forward(problem, rule), check, rule)
    return _reading_case(name, found, problem)


def _caches(name, problem, peers):
    """Keys and values of 16 bits beside the same in float32."""
    check, ours = ForwardCheck(problem), peers["sharpmax"]
    found = []
    for cache in ("float32", "float16"):
        found += contender(f"{cache} cache", ours, ours.forward(problem, "softmax", cache=cache), check, "softmax")
    return Case(name, found, problem.facts(), after_checks=problem.forget)
