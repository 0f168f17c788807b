"""Results of `sharpmax audit` that nobody measured: made by a formula, for testing what reads results.

Shapes and names are those of the schema sharpmax.audit/1; every number is invented.
"""
import base64
import math
import random

FIELDS = ["keys", "entropy", "peak", "first", "peak_outside", "entropy_outside", "support", "spread",
          "distance_outside", "near_outside"]
KINDS = ["sink", "local", "sharp", "dispersing", "mixed"]
LENGTHS = [64, 256, 1024, 4096]
TRAINED = 2048
READINGS = ["sum", "norm"]


def six(value):
    return float(f"{value:.6g}")


def head(layer, index, lengths, source):
    power = source.uniform(0.02, 0.6)
    first = source.uniform(0, 0.9)
    peaks = [min(0.97, source.uniform(0.5, 0.9) * (16 / n) ** power) for n in lengths]
    values = {
        "keys": [0.875 * n for n in lengths],
        "entropy": [power * math.log(n) * 1.3 for n in lengths],
        "peak": [max(first, p) for p in peaks],
        "first": [first] * len(lengths),
        "peak_outside": peaks,
        "entropy_outside": [power * math.log(n) * 1.4 for n in lengths],
        "support": [0.875 * n for n in lengths],
        "spread": [5 + math.log(n) for n in lengths],
        "distance_outside": [source.uniform(1, 40) for _ in lengths],
        "near_outside": [source.uniform(0, 1) for _ in lengths],
    }
    blunt = next((n for n, p in zip(lengths, peaks) if p < 0.1), None)
    how = "not foreseen" if blunt is None else "from the start" if blunt == lengths[0] else "measured"
    made = {"layer": layer, "head": index, "kind": "sink" if first > 0.6 else source.choice(KINDS[1:]),
            "entropy_slope": six(1.3 * power), "entropy_slope_outside": six(1.4 * power), "peak_slope": six(-power),
            "blunting": {"how": how, "length": blunt}}
    for name in FIELDS:
        made[name] = {"median": [six(v) for v in values[name]],
                      # Too few rows for an interval at the shortest length.
                      "low": [None] + [six(0.9 * v) for v in values[name][1:]],
                      "high": [None] + [six(1.1 * v) for v in values[name][1:]],
                      "lower_quartile": [six(0.8 * v) for v in values[name]],
                      "upper_quartile": [six(1.2 * v) for v in values[name]]}
    made["peak_bound"] = [six(min(1.0, 1.15 * p + 0.02)) for p in peaks]
    made["gap_counts"] = [[float(n // (1 << k)) for k in range(8)] for n in lengths]
    return made


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def attention_section(layers, heads, lengths, source):
    made = [head(layer, index, lengths, source) for layer in range(layers) for index in range(heads)]
    over = {name: [six(median([h[name]["median"][i] for h in made])) for i in range(len(lengths))] for name in FIELDS}
    factor = lambda: {"median": six(source.uniform(1, 1.4)), "ninetieth": six(source.uniform(1.4, 2))}
    return {"lengths": [float(n) for n in lengths], "trained_context": TRAINED, "excerpts": 2,
            "thresholds": {"blunt": 0.1, "sink": 0.5, "local": 0.5, "sharp": 0.3, "dispersing": 0.5},
            "median_over_heads": over,
            "blunt_heads": [sum(h["peak_outside"]["median"][i] < 0.1 for h in made) for i in range(len(lengths))],
            "kinds": {kind: sum(h["kind"] == kind for h in made) for kind in KINDS},
            "forecast": {"damping": 0.25, "errors": [
                {"from": a, "to": b, "heads": len(made), "damping": 0.25, "ours": factor(), "no_change": factor(),
                 "power_law": factor()} for i, a in enumerate(lengths[1:]) for b in lengths[i + 2:]]},
            "gaps": [2.0 ** k for k in range(-2, 6)], "heads": made}


def over_heads(value):
    return {"mean": six(1.05 * value), "lower_quartile": six(0.8 * value), "median": six(value),
            "upper_quartile": six(1.3 * value), "highest": six(4 * value)}


def distance_point(length, top, reading):
    value = (length * 0.8 if reading == "sum" else 2.0) / math.sqrt(top)
    return {"length": length, "top": top, "chosen": over_heads(value), "drawn": over_heads(0.2 * value),
            "drawn_bound": over_heads(0.4 * value),
            "chosen_bound": over_heads(1.5 * value) if reading == "sum" else dict.fromkeys(over_heads(1.0))}


def critical_line(length, reading):
    tops = list(range(1, min(length, 41)))
    share = 0.2 if reading == "sum" else 0.9
    statistic = [six(max(0.02, 0.95 - length / 1000 - top / (share * length))) for top in tops]
    critical = next((top for top, d in zip(tops, statistic) if d < 0.2), None)
    return {"length": length, "critical": critical, "largest_tried": tops[-1],
            "subsets": {"heads": 6, "tops": [critical] * 3, "median": critical, "lowest": critical, "highest": None},
            "tops": tops, "statistic": statistic, "p": [six(math.exp(-40 * d)) for d in statistic]}


def analysis_section(heads):
    lengths, tops, temperatures, steps = [32, 64, 128], [1, 5, 20], [0.01, 0.1, 1.0, 10.0], [0.001, 10.0]
    gradient = [{"step": step, "temperature": t, "g": over_heads(0.2 / (t + 0.1) / (1 + step)),
                 "bound": six(min(0.5 / t, math.sqrt(2) / step)), "published_bound": six(min(0.25 / t, math.sqrt(2)))}
                for step in steps for t in temperatures]
    every = {"layer": 0, "head": 0}
    return {"vectors": "values", "distance": "sum", "length": 128, "chunks": 1, "heads": heads, "draws": 1, "seed": 1,
            "notes": ["a note of the run"],
            "findings": [{"name": "a", "claim": "the distance grows", "holds": True, "found": "L^0.98", "rule": "0.9 to 1.1",
                          "figures": {"exponent": 0.98}},
                         {"name": "b", "claim": "it has a plateau", "holds": False, "found": "none", "rule": "beyond 20",
                          "figures": {}},
                         {"name": "c", "claim": "it ends", "holds": None, "found": "not tried", "rule": "at all",
                          "figures": {}}],
            "distance_length": {"top": 5, "lengths": lengths, "heads": [every], "points": {
                r: [distance_point(n, 5, r) for n in lengths] for r in READINGS}},
            "distance_top": {"length": 128, "tops": tops, "heads": [every], "same_rows_from": 20, **{part: {
                r: [distance_point(128, top, r) for top in tops] for r in READINGS} for part in ("points", "same_rows")}},
            "critical_top": {"level": 0.01, "test": "two-sample", "tops": tops, "heads": [every], **{r: {
                part: [critical_line(n, r) for n in lengths] for part in ("against_drawn", "against_drawn_bound")}
                for r in READINGS}},
            "separability": {"length": 128, "tops": tops, "heads": [every], "points": [
                {"top": top, "share": over_heads(0.7 / top ** 0.1), "bound": over_heads(0.3 - 0.1 * top),
                 "counted_bound": over_heads(0.4 / top ** 0.2)} for top in tops]},
            "gradient": {"length": 128, "temperatures": temperatures, "steps": steps, "points": gradient, "heads": [every]}}


def probe_section(layers, heads):
    def at(i, length):
        weights = [six(0.9 / (k + 2 + i)) for k in range(layers * heads)]
        weights[3 % len(weights)] = six(0.8 - 0.1 * i)
        best = sorted(range(len(weights)), key=lambda k: -weights[k])[:10]
        right = 38 - 9 * i
        return {"length": length, "tokens": float(length), "questions": 40, "right": right, "share": right / 40,
                "low": right / 40 - 0.05, "high": min(1.0, right / 40 + 0.05), "asking_weight": weights,
                "asking_first": weights, "answering_weight": weights, "wrong": [f"answer {i}"],
                "best_heads": [{"layer": k // heads, "head": k % heads, "asking_weight": weights[k],
                                "asking_first": weights[k], "answering_weight": weights[k]} for k in best]}
    return {"kind": "lookup", "chat": False, "seed": 0, "heads": heads,
            "lengths": [at(i, length) for i, length in enumerate([128, 256, 512, 1024])]}


WORDS = ["The", " cat", " sat", "\n", "\ton", " the", " mat", ",", " h", "\ufffd", " \u0301", "  "]


def map_cells(weights):
    """As the command writes them: a byte for each cell of the lower triangle, the root of its weight."""
    return base64.b64encode(bytes(round(255 * math.sqrt(w)) for row in weights for w in row)).decode()


def sketch(layer, index, rows, size, source):
    near = source.uniform(0.1, 0.9)
    weights = []
    for row in range(size):
        local = source.uniform(0.05, 0.95)
        raw = [local * math.exp(column - row) + (1 - local) * (column == 0) for column in range(row + 1)]
        weights.append([w / sum(raw) for w in raw])
    top = []
    for row in rows:
        keys = source.sample(range(row + 1), min(5, row + 1))
        top.append({"keys": keys, "weights": [six(0.7 * near ** (i + 1)) for i in range(len(keys))]})
    return {"layer": layer, "head": index, "map": {"scale": 1.0, "cells": map_cells(weights)}, "top": top,
            "scores": {"n": rows[-1] + 1, "quantiles": [six(-8 + 10 * (i / 64) ** 2 + near) for i in range(65)]}}


def sketch_section(layers, heads, source, tokens=100):
    rows = [max(1, tokens * eighths // 8) - 1 for eighths in (1, 2, 4, 6, 7, 8)]
    size = min(48, tokens)
    return {"tokens": [WORDS[i % len(WORDS)] for i in range(tokens)], "map_size": size, "rows": rows,
            "heads": [sketch(layer, index, rows, size, source) for layer in range(layers) for index in range(heads)]}


def synthetic_audit(sections=("attention", "sketches", "analysis", "probe"), layers=4, heads=3, lengths=LENGTHS):
    source = random.Random(7)
    results = {"schema": "sharpmax.audit/1", "sharpmax": "0.0.0", "command": "sharpmax audit made-up.gguf",
               "settings": {"model": {"file": "models/made-up.gguf", "architecture": "llama", "layers": layers,
                                      "heads": heads, "trained_context": TRAINED, "normalizer": "softmax",
                                      "rope_base": None},
                            "text": "texts/book.txt", "tokens": 123456},
               "complete": True, "seconds": 12.5}
    if "attention" in sections:
        results["verdict"] = "Invented heads go blunt. These numbers mean nothing."
        results["attention"] = attention_section(layers, heads, lengths, source)
    if "sketches" in sections:
        results["sketches"] = sketch_section(layers, heads, random.Random(11))
    if "analysis" in sections:
        results["analysis"] = analysis_section(layers * heads)
    if "probe" in sections:
        results["probe"] = probe_section(layers, heads)
    return results
