"""Results of the smaller kinds that nobody measured, for testing what reads results; and any results with hostile strings
in every place where a string is."""
import itertools

from page_in_browser import HOSTILE

PLACES = ["the list", "the search"]


def of_a_command(schema, **more):
    return {"schema": schema, "sharpmax": "0.0.0", "command": "sharpmax made up", "created": "2026-01-01T00:00:00Z", **more}


def demo(normalizers=("softmax", "entropy_target:nats=0.1"), sizes=(16, 256, 4096)):
    rows = [{"normalizer": name, "n": n, "peak_weight": 0.9, "peak_key": n // 2, "needle_key": n // 2, "needle_weight": 0.9,
             "needle_share": 0.95 / (1 + k * n / 1000), "entropy": 0.1 + k * i, "effective_support": 1.5, "support": n,
             "mass": 1.0, "temperature": 1.0, "threshold": None}
            for k, name in enumerate(reversed(normalizers)) for i, n in enumerate(sizes)]
    return of_a_command("sharpmax.attend.demo/1", gap=8.0, seed=1, features=64, rows=rows)


def spread(sizes=(16.0, 1024.0, 1e20)):
    def ranges(high):
        return [{"n": n, "share": {"low": 1 / n, "high": high / (1 + i)}, "untied_low": 1 / n, "ceiling": high,
                 "weight": {"low": 1 / n, "high": high}, "found_by": "search", "sums_to_one": True, "moves_with_level": True}
                for i, n in enumerate(sizes)]

    return of_a_command(
        "sharpmax.bound.spread/1", spread=5.0, beta=2.0, scores=[-5.0, 5.0], peak=0.5,
        softmax=[{"n": n, "published": {"low": 0.0, "high": 9.0}, "tight": {"low": 0.1 / n, "high": 0.9}} for n in sizes],
        softmax_lost={"peak": 0.5, "log10_n": 2.5, "log10_n_published": 3.5},
        normalizers=[{"normalizer": "softmax", "ranges": ranges(0.9), "loss": {"lost": 99.0, "regained": 1e6, "sure": 2.0}},
                     {"normalizer": "entmax15", "ranges": ranges(1.0), "loss": {"lost": None, "regained": None, "sure": None}},
                     {"normalizer": "linear", "ranges": [], "refused": "its weights do not depend on scores alone"}])


def model_bounds(layers=3, heads=4):
    def attained(i):
        return {"length": 8192, "spread": 9.0 + i, "peak": 0.4 + 0.1 * i, "query": {"token": 1, "text": " query"},
                "high": {"token": 2, "text": "high", "offset": 1}, "low": {"token": 3, "text": "", "offset": 2}}

    return of_a_command(
        "sharpmax.bound.model/1", verdict="Nothing is proved of invented heads.", peak=0.5, beta=1.0, rope_scaling=None,
        rope_base=None, horizon=1e6, seconds=1.5,
        model={"file": "models/made-up.gguf", "architecture": "llama", "trained_context": 2048, "sha256": "ab" * 32},
        heads=[{"layer": i, "head": j, "window": None, "norm_spread": 100.0 * (i + 1) + j, "norm_reached": 50.0 + j,
                "vocabulary_spread": 20.0 + j if i == 0 else None, "spread": 20.0 + j if i == 0 else 100.0 * (i + 1) + j,
                "log10_length": 4.0 + j + 100 * i, "useful": i == 0 and j < 2, "attained": attained(j) if i == 0 else None}
               for i in range(layers) for j in range(heads)])


def losses():
    def bucket(start, end, loss):
        return {"from": start, "to": end, "tokens": 100, "loss": loss, "low": loss - 0.1, "high": loss + 0.1, "perplexity": 2.7 ** loss}

    return of_a_command(
        "sharpmax.perplexity/1", complete=True, seconds=3.0, likeliest_right=0.25,
        settings={"model": {"file": "models/made-up.gguf", "normalizer": "softmax", "sha256": "cd" * 32}, "text": "texts/book.txt",
                  "tokens": 6, "length": 3},
        all=bucket(0, 2048, 3.5), buckets=[bucket(0, 128, 4.0), bucket(128, 512, 3.5), bucket(512, 2048, 3.0)],
        chunks=[{"first": 3 * i, "likeliest": i, "losses": [1.0 + i, 2.0 + i]} for i in range(2)])


def comparison(change, up):
    def part(start, end, scale=1.0):
        return {"from": start, "to": end, "tokens": 100, "plain": 3.5, "change": scale * change, "low": scale * change - 0.01,
                "high": scale * change + 0.01}

    def flips(questions):
        return {"questions": questions, "plain": 10, "rule": 10 + up, "up": up + 1, "down": 1, "p": 0.04}

    return {"text": part(0, 512), "by_position": [part(0, 128), part(128, 512, 2.0)], "task": flips(40),
            "by_length": [{"length": n, **flips(20)} for n in (512, 128)]}


def fix(helps=True, layers=2, heads=3):
    def table(name):
        return {"schema": "sharpmax.normalizers/1", "model": {"layers": layers, "heads": heads}, "default": "softmax",
                "heads": [{"layer": 1, "head": 2, "normalizer": name}] if name else []}

    def trial(rule, i, **more):
        return {"rule": rule, "searched": i == 3, "heads": min(1, i), "rope_scaling": None,
                "normalizers": table(f"softmax:beta=1.{i}" if i else None), "tuning": {}, "held_out": None, **more}

    def judged(rule, i):
        part = comparison(-0.1 * i if helps else 0.1 * i, i)
        against = {"tuning": part} if i == 3 else {"tuning": part, "held_out": part}
        return trial(rule, i, score=0.1 * i if i < 3 else None, llama_cpp=None, against_nothing=against)

    rules = ["beta=1.1", "beta=1.2", "beta=1.3, found"]
    use = "beta=1.2" if helps else "nothing"
    answer = {"verdict": "An invented answer.", "leave_it": not helps, "chosen": "beta=1.2", "use": use, "rope_scaling": "ntk:2",
              "llama_cpp": "--yarn-attn-factor 1.1" if helps else None}
    return of_a_command(
        "sharpmax.fix/1", complete=True, answer=answer,
        settings={"model": {"file": "my models/made-up.gguf", "layers": layers, "heads": heads, "sha256": "ef" * 32},
                  "text": "texts/book.txt", "task": None, "for": "both", "tokens": 100, "length": 100, "seed": 7, "allow": 0.02,
                  "budget": 1, "rule": rules},
        survey={"kind": ["mixed"] * (layers * heads), "entropy_slope": [0.5] * (layers * heads)},
        trials=[trial("nothing", 0), *(judged(rule, i + 1) for i, rule in enumerate(rules))])


def refit(sizes=(16, 256, 4096)):
    rules = {"softmax": 1.0, "published": 1.1, "refitted": 1.3, "entropy_target": 1.2}

    def measured(rule, factor, i, n):
        right = min(1.0, factor * 0.75 / (i + 1))
        return {"rule": rule, "normalizer": rule, "n": n, "sets": 128, "accuracy": right, "accuracy_low": 0.9 * right, "accuracy_high": min(1.0, 1.1 * right),
                "entropy": 0.5 * i, "peak_weight": 0.5, "right_weight": 0.4, "temperature": factor, "ranked_first": 0.9, "hard_accuracy": 0.9}

    def polynomial(name):
        return {"normalizer": f"adaptive:polynomial={name}", "polynomial": [1.0, 0.5], "threshold": 0.5, "rms_residual": 0.25, "above_one": [[0.5, 3.0]]}

    bins = [{"entropy": [0.5 * i, 0.5 * i + 0.5], "points": 10 * i, "mean_beta": 1.0 + 0.3 * i if i else None, "mean_residual": 0.01 if i else None,
             "rms_residual": 0.2 if i else None, "refitted": 1.0 + 0.31 * i, "published": 1.2} for i in range(5)]
    return of_a_command(
        "sharpmax.fit/1", seconds=2.5, head={"file": "heads/paper-0.safetensors", "arm": "paper", "seed": 0, "normalizer": "softmax", "classes": 10, "largest_size": 16},
        settings={"degree": 4, "sizes": list(sizes), "sets": 128, "only": "wrong", "least_beta": 0.25, "largest_beta": 16.0, "test_sizes": list(sizes), "test_sets": 128},
        counts=[{"n": n, "sets": 128, "wrong": 40, "mended": 30} for n in sizes], points=100, at_least_beta=3, at_largest_beta=4, entropy=[0.1, 2.4],
        explained=0.4, looked_at=[0.0, 12.0], refitted=polynomial("own"), published=polynomial("theirs"), bins=bins,
        comparison=[measured(rule, factor, i, n) for i, n in enumerate(sizes) for rule, factor in rules.items()])


EVERY_KIND = {"demo": demo, "spread": spread, "model": model_bounds, "losses": losses, "fix": fix}


def hostile(results):
    """Every string of it, and every name under settings, replaced; what was the same stays the same."""
    numbers, known = itertools.count(), {}

    def evil(text):
        if text not in known:
            i = next(numbers)
            known[text] = HOSTILE[i % len(HOSTILE)] + (str(i) if i >= len(HOSTILE) else "")
        return known[text]

    def walk(value, path):
        if isinstance(value, dict):
            made = {key: walk(item, (*path, key)) for key, item in value.items()}
            if path in (("settings",), ("settings", "model"), ("model",)):
                made.update({evil(name): evil(name) for name in PLACES})
            return made
        if isinstance(value, list):
            return [walk(item, path) for item in value]
        return evil(value) if isinstance(value, str) and path != ("schema",) else value

    return walk(results, ())
