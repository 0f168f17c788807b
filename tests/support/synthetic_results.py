"""Results of `sharpmax retrieve` that nobody measured: made by a formula, for testing what reads results.

Shapes and names are those of the schema sharpmax.retrieval/1; every number is invented.
"""
import math
import random

FAMILY = ["softmax", "adaptive", "entropy_target:nats=0.1", "peak_target", "ssmax", "log_length", "sparsemax",
          "entmax15", "entmax", "asentmax", "top_k", "hard", "softmax1", "softpick", "sigmoid", "stick_breaking",
          "self_adjust", "relu"]
FEW = ["softmax", "adaptive", "entropy_target:nats=0.1", "hard"]
TO_16K = [16 << i for i in range(11)]
# Score spreads that would fit the curves below.
SPREADS = {"paper": 8.4, "sharp": 21000.0, "sharp-mlp": 9100.0}
PUBLISHED = {"softmax": [0.986, None, 0.943, 0.897, 0.813, 0.701, 0.538, 0.357, 0.226, None, 0.124],
             "adaptive": [0.986, None, 0.945, 0.899, 0.821, 0.725, 0.577, 0.394, 0.249, None, 0.140]}
PRESETS = {
    "quick": dict(arms=["paper", "sharp"], seeds=1, sizes=TO_16K, normalizers=FAMILY),
    "paper": dict(arms=["paper"], seeds=10, sizes=TO_16K, normalizers=FEW),
    "sharp": dict(arms=["sharp", "sharp-mlp"], seeds=5, sizes=TO_16K + [131072, 1048576], normalizers=FEW),
    "both": dict(arms=["paper", "sharp"], seeds=3, sizes=TO_16K + [131072, 1048576], normalizers=FEW),
}


def sets_at(n):
    return 8192 if n <= 2048 else 2048 if n <= 16384 else 512 if n <= 131072 else 128


def falling(n, half, power):
    """From about 1 at small n to chance, half way at n = half."""
    return 0.1 + 0.9 / (1 + (n / half) ** power)


def invented_accuracy(arm, normalizer, n):
    """(of hard attention, of the rule)"""
    half_hard = {"paper": 2500, "sharp": 2.5e6, "sharp-mlp": 4e5}[arm]
    hard = falling(n, half_hard, 1.0 if arm == "paper" else 1.3)
    lag = {"softmax": 0.3, "adaptive": 0.6, "entropy_target": 0.97, "hard": 1.0, "peak_target": 0.9, "relu": 0.02,
           "sigmoid": 0.1, "softpick": 0.35, "top_k": 0.8}.get(normalizer.split(":")[0], 0.5)
    return hard, falling(n, half_hard * lag, 1.0 if arm == "paper" else 1.3)


def wilson(p, sets, z=1.959964):
    middle = (p + z * z / (2 * sets)) / (1 + z * z / sets)
    half = z / (1 + z * z / sets) * math.sqrt(p * (1 - p) / sets + z * z / (4 * sets * sets))
    return middle - half, middle + half


def result(arm, seed, normalizer, n, source):
    sets = sets_at(n)
    hard, rule = (min(1.0, max(0.0, p + source.gauss(0, 0.006))) for p in invented_accuracy(arm, normalizer, n))
    if normalizer.startswith("hard"):
        rule = hard
    right = round(rule * sets)
    hard_right = round(hard * sets)
    both = max(right - (sets - hard_right), min(right, round(0.985 * hard_right)))
    helped = right - both
    low, high = wilson(right / sets, sets)
    share = max(0.0, (rule - 0.1) / 0.9)
    bound = 1 / (1 + (n - 1) * math.exp(-SPREADS[arm])) if normalizer == "softmax" else None
    if normalizer.startswith("hard"):
        entropy, peak = 0.0, 1.0
    elif normalizer.startswith("entropy_target"):
        entropy, peak = min(0.1, 0.05 + 0.004 * math.log(n)), 0.97
    else:
        entropy = (1 - share) ** 1.5 * math.log(n) * 0.8
        peak = max(1.2 / n, share * 0.9)
    if bound is not None:
        peak = min(peak, bound)
    return {"arm": arm, "seed": seed, "normalizer": normalizer, "n": n, "sets": sets, "accuracy": right / sets,
            "accuracy_low": low, "accuracy_high": high, "entropy": entropy, "peak_weight": peak,
            "right_weight": peak * max(0.02, hard),
            "temperature": None if normalizer in ("hard", "relu") else 1 + 2 * (1 - share), "spread": SPREADS[arm] * 0.8,
            "ranked_first": max(0.0, (hard - 0.1) / 0.9), "hard_accuracy": hard_right / sets,
            "hard_right_rule_right": both, "hard_right_rule_wrong": hard_right - both, "hard_wrong_rule_right": helped,
            "hard_wrong_rule_wrong": sets - hard_right - helped,
            "largest_peak_weight": peak if bound is None else min(bound, peak * 1.1),
            "weight_bound": bound, "bound_violations": 0}


def heat_map(row, source):
    sharp, first = row["peak_weight"], row["ranked_first"]
    weights = []
    for _ in range(32):
        place = 15 if source.random() < first else source.choice([14, 14, 13, 12, 9])
        rest = [source.random() ** 3 for _ in range(16)]
        scale = (1 - sharp) * min(1.0, 30 / row["n"]) / sum(rest)
        line = [w * scale for w in rest]
        line[place] += sharp
        weights.append(line)
    return {key: row[key] for key in ("arm", "seed", "normalizer", "n")} | {"sets": 32, "items": 16, "weights": weights}


def summary_of(rows):
    seeds = len(rows)
    mean = {f: sum(r[f] for r in rows) / seeds for f in ("accuracy", "entropy", "peak_weight", "right_weight",
                                                         "ranked_first", "hard_accuracy")}
    if seeds == 1:
        low, high = rows[0]["accuracy_low"], rows[0]["accuracy_high"]
    else:
        spread = math.sqrt(sum((r["accuracy"] - mean["accuracy"]) ** 2 for r in rows) / (seeds - 1) / seeds)
        low, high = mean["accuracy"] - 2.3 * spread, mean["accuracy"] + 2.3 * spread
    return {key: rows[0][key] for key in ("arm", "normalizer", "n")} | {"seeds": seeds, **mean, "accuracy_low": low,
                                                                       "accuracy_high": high}


def training(arm):
    ours = arm != "paper"
    return {"encoder": "linear" if arm == "sharp" else "mlp", "width": 128, "classes": 10, "scale_scores": True,
            "normalizer": "softmax", "steps": 60000 if ours else 20000, "batch": 128, "least_size": 5, "largest_size": 16,
            "crowding": "top" if ours else "none", "crowded": 0.5, "least_width": 1e-6, "learning_rate": 1e-3,
            "schedule": "cosine" if ours else "constant", "final_learning_rate": 1e-6, "weight_decay": 1e-3, "beta1": 0.9,
            "beta2": 0.999, "epsilon": 1e-8, "clip": 1.0 if ours else 0, "precision": "float64" if ours else "float32"}


def synthetic_results(preset="quick", seed=7):
    source = random.Random(seed)
    plan = PRESETS[preset]
    seeds = list(range(plan["seeds"]))
    results, heat_maps, summary, tests = [], [], [], []
    for arm in plan["arms"]:
        for normalizer in plan["normalizers"]:
            for n in plan["sizes"]:
                rows = [result(arm, s, normalizer, n, source) for s in seeds]
                results += rows
                heat_maps += [heat_map(row, source) for row in rows]
                summary.append(summary_of(rows))
        if len(seeds) > 1:
            accuracy = {(r["normalizer"], r["n"]): r["accuracy"] for r in summary if r["arm"] == arm}
            tests += [{"arm": arm, "n": n, "first": "softmax", "second": "adaptive", "seeds": len(seeds),
                       "difference": accuracy["adaptive", n] - accuracy["softmax", n], "t": 2.5 + i,
                       "p": 0.4 * 0.3 ** i} for i, n in enumerate(plan["sizes"])]
    heads = [{"arm": arm, "seed": s, "file": f"heads/{arm}-{s}.safetensors", "loss": 0.03 / (s + 1),
              "loss_curve": [[0, 2.3], [1000, 0.2]], "normalizer": "softmax",
              "spread": {"certified": SPREADS[arm] + s, "attained": SPREADS[arm] + s - 0.01},
              "half_lost_from_log10": (SPREADS[arm] + s) / math.log(10)} for arm in plan["arms"] for s in seeds]
    return {"schema": "sharpmax.retrieval/1", "sharpmax": "0.0.0-synthetic", "command": f"synthetic_results {preset}",
            "created": "2026-01-01T00:00:00Z", "seconds": {"training": 41.5, "testing": 12.25}, "preset": preset,
            "settings": {"sizes": plan["sizes"], "normalizers": plan["normalizers"],
                         "sets": {str(n): sets_at(n) for n in plan["sizes"]}, "seeds": seeds},
            "arms": [{"name": arm, "training": training(arm)} for arm in plan["arms"]], "heads": heads,
            "results": results, "summary": summary, "tests": tests,
            "published": [{"normalizer": name, "n": n, "accuracy": a}
                          for name, accuracies in PUBLISHED.items() for n, a in zip(TO_16K, accuracies) if a is not None],
            "heat_maps": heat_maps}
