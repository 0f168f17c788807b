"""All threads of the run against one, in the same rounds."""

from measure import Case, planned
from problem import Problem

from .forward_contenders import ForwardCheck, contender
from .scale import HEADS


def cases(peers, scale):
    for features, heads in HEADS.items():
        for n in scale.prefill(2048, 8192):
            yield planned(_case, f"threads/prefill/d{features}/n{n}", Problem(heads, n, n, features), peers)
    for n in scale.prefill(2048):
        yield planned(_case, f"threads/causal/d64/n{n}", Problem(HEADS[64], n, n, 64, causal=True), peers)
    for n in scale.decode(131072):
        yield planned(_case, f"threads/decode/d128/n{n}", Problem(HEADS[128], 1, n, 128), peers)


def _case(name, problem, peers):
    check = ForwardCheck(problem)
    found = []
    for name_of_peer in ("sharpmax", "torch SDPA"):
        peer = peers.get(name_of_peer)
        if peer is None:
            continue
        for threads in (peer.threads, 1):
            call = peer.forward(problem, "softmax", threads=threads)
            label = f"{peer.name}, {threads} threads" if threads > 1 else f"{peer.name}, one thread"
            found += contender(label, peer, call, check, "softmax")
    return Case(name, found, problem.facts(), after_checks=problem.forget)
