"""What the library is to reach, and where in a result to read it off."""

import dataclasses
import re
import typing


@dataclasses.dataclass(frozen=True)
class Bar:
    """cases: a pattern of case names; the worst of those decides. read: (case entry) -> spread or None."""

    what: str
    cases: str
    read: typing.Callable
    bar: float
    aim: float = None
    at_least: bool = True
    unit: str = "×"
    scale: float = 1.0
    threads: tuple = (1, 2)  # runs it is meant for

    def reached(self, value):
        return value >= self.bar if self.at_least else value <= self.bar

    def measured(self, run):
        """(spread, case) of the worst case of a run, or None."""
        found = [
            (spread, case["case"])
            for case in run["cases"]
            if re.fullmatch(self.cases, case["case"]) and (spread := self.read(case)) is not None
        ]
        if not found:
            return None
        worst = min if self.at_least else max
        return worst(found, key=lambda pair: pair[0]["median"])


def ratio(slow, fast):
    """Time of `slow` over time of `fast`."""
    return lambda case: case.get("ratios", {}).get(slow, {}).get(fast)


def fraction(key):
    return lambda case: case.get("seconds", {}).get("sharpmax", {}).get(key)


def memory(case):
    grown = case["bytes_beyond_inputs"]
    return {"median": grown, "q1": grown, "q3": grown}


SDPA = ratio("torch SDPA", "sharpmax")


def speedup(what, cases, bar, aim):
    return Bar(what, cases, SDPA, bar, aim)


def cost(what, cases, rule, bar, aim, base="softmax"):
    return Bar(what, cases, ratio(rule, base), bar, aim, at_least=False)


def limit(what, cases, key, bar, aim):
    return Bar(what, cases, fraction(key), bar, aim, unit="")


BARS = (
    speedup("prefill, softmax, d 64, against torch SDPA", r"prefill/full/d64/.*", 1.20, 1.30),
    speedup("prefill, softmax, d 128, against torch SDPA", r"prefill/full/d128/.*", 1.12, 1.20),
    speedup("prefill, causal, n 512, against torch SDPA", r"prefill/causal/d64/n512", 2.1, 2.4),
    speedup("prefill, causal, n 2048, against torch SDPA", r"prefill/causal/d64/n2048", 1.4, 1.5),
    speedup("prefill, causal, n 8192, against torch SDPA", r"prefill/causal/d64/n8192", 1.2, 1.3),
    limit("prefill, n ≥ 2048, d 64, of the FMA peak", r"prefill/full/d64/n(2048|8192)", "of_fma_peak", 0.78, 0.87),
    limit("prefill, n ≥ 2048, d 128, of the FMA peak", r"prefill/full/d128/n(2048|8192)", "of_fma_peak", 0.83, 0.92),
    cost("adaptive / our softmax, every row sharpened, d 64", r"normalizers/adaptive/d64/.*", "adaptive", 1.16, 1.10),
    cost("adaptive / our softmax, every row sharpened, d 128", r"normalizers/adaptive/d128/.*", "adaptive", 1.10, 1.05),
    cost("entropy_target / our softmax, d 64", r"normalizers/entropy_target/d64/.*", "entropy_target", 1.45, 1.25),
    cost("entropy_target / our softmax, d 128", r"normalizers/entropy_target/d128/.*", "entropy_target", 1.25, 1.15),
    cost("entmax15 / our softmax, dense data", r"normalizers/sparse_dense/.*", "entmax15", 1.20, 1.00),
    cost("sparsemax / our softmax, dense data", r"normalizers/sparse_dense/.*", "sparsemax", 1.20, 1.00),
    Bar("entmax15, against deep-spin/entmax", r"normalizers/sparse_.*",
        ratio("entmax15, deep-spin/entmax", "entmax15"), 8.0, 15.0),
    Bar("sparsemax, against deep-spin/entmax", r"normalizers/sparse_.*",
        ratio("sparsemax, deep-spin/entmax", "sparsemax"), 8.0, 15.0),
    limit("decode, softmax, n 16,384 and 131,072, of the read bandwidth", r"decode/d\d+/n.*", "of_read_bandwidth",
          0.85, 0.95),
    speedup("decode, softmax, n 16,384 and 131,072, against torch SDPA", r"decode/d\d+/n.*", 1.5, 1.7),
    speedup("decode, 32 query on 8 kv heads, d 128, against torch's best form", r"decode/grouped/.*", 2.1, 2.7),
    cost("decode, adaptive / our softmax", r"decode/rules/.*", "adaptive", 1.05, 1.00),
    cost("decode, entropy_target / our softmax", r"decode/rules/.*", "entropy_target", 1.15, 1.05),
    cost("decode, float16 cache / float32 cache, d 128", r"decode/cache/.*", "float16 cache", 0.60, 0.53,
         base="float32 cache"),
    cost("statistics on / off: entropy and peak, prefill", r"statistics/prefill/.*", "entropy and peak", 1.06, 1.03,
         base="off"),
    cost("statistics on / off: all, prefill, d 64", r"statistics/prefill/d64/.*", "all", 1.25, 1.12, base="off"),
    cost("statistics on / off: all, prefill, d 128", r"statistics/prefill/d128/.*", "all", 1.15, 1.08, base="off"),
    cost("statistics on / off: all, decode", r"statistics/decode/.*", "all", 1.05, 1.02, base="off"),
    speedup("backward, softmax, n 512 to 8192, against torch SDPA", r"backward/full/.*", 1.15, 1.35),
    speedup("short rows as small models have them, n 64, forward, against torch SDPA", r"small/forward/n64", 1.5, 2.5),
    speedup("short rows as small models have them, n 64, backward, against torch SDPA", r"small/backward/n64", 1.5, 2.5),
    Bar("two threads / one, prefill, n ≥ 2048", r"threads/(prefill|causal)/.*",
        ratio("sharpmax, one thread", "sharpmax, 2 threads"), 1.8, 1.95, threads=(2,)),
    Bar("memory beyond inputs, n 1,048,576, decode, all statistics", r"memory/.*", memory, 64.0, None, at_least=False,
        unit=" MB", scale=1e-6, threads=(1,)),
)  # fmt: skip

RETRIEVAL_BARS = (
    Bar("training steps, against torch", r"retrieval/train", ratio("torch", "sharpmax"), 8.0),
    Bar("training steps, against JAX", r"retrieval/train", ratio("JAX", "sharpmax"), 8.0),
    Bar("training steps, against JAX with our folding", r"retrieval/train", ratio("JAX, folded", "sharpmax"), 1.5),
    Bar("testing at 16,384 items, against torch", r"retrieval/test/n16384", ratio("torch", "sharpmax"), 20.0),
)

TRAIN_BARS = tuple(
    Bar(f"training step, {what}, against {peer}", rf"train/.*/({rules})", ratio(peer, "sharpmax"), bar, aim)
    for what, rules, bar, aim in (("softmax", "softmax", 1.5, 2.5), ("entmax15 and entropy_target", "entmax15|entropy_target", 3.0, 5.0))
    for peer in ("torch", "torch.compile")
)
