#!/usr/bin/env python3
"""The tables of docs, made from a result of bench/compare.py, bench/retrieval/compare.py, bench/train/compare.py
or bench/model/compare.py.

    bench/table.py build/bench.json [--part bars|peers]
    bench/table.py build/bench-retrieval.json [--part bars|peers]
    bench/table.py build/bench-train.json [--part bars|peers]
    bench/table.py build/bench-model.json
"""

import argparse
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bars import BARS, RETRIEVAL_BARS, TRAIN_BARS  # noqa: E402

PEER_COLUMNS = ("torch SDPA", "torch written out", "FlexAttention", "onnxruntime", "JAX")
RETRIEVAL_COLUMNS = ("torch", "torch.compile", "JAX", "JAX, folded")
PEER_CASES = r"(prefill|decode|backward)/(full/|causal/|grouped/)?d\d+/n\d+"


def number(value):
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def cell(bar, run):
    """Measured value with its quartiles, and at which case if there were several; and whether the bar stands."""
    measured = bar.measured(run) if run else None
    if measured is None:
        return "not measured", None
    spread, case = measured
    value, q1, q3 = (spread[key] * bar.scale for key in ("median", "q1", "q3"))
    text = number(value) + bar.unit
    if q1 != q3:
        text += f" [{number(q1)}, {number(q3)}]"
    matching = [c for c in run["cases"] if re.fullmatch(bar.cases, c["case"])]
    if len(matching) > 1:
        text += f", at {case.split('/', 1)[1]}"
    return text, bar.reached(value)


def threshold(bar, value):
    if value is None:
        return ""
    return f"{'≥' if bar.at_least else '≤'} {value:g}{bar.unit}"


def bar_rows(runs, bars):
    """Rows of the table, and the sentences about what was missed."""
    rows, missed, unmeasured = [], [], []
    for bar in bars:
        cells = []
        for threads in (1, 2):
            if threads not in bar.threads:
                cells.append("")
                continue
            text, reached = cell(bar, runs.get(threads))
            cells.append(f"**{text}**" if reached is False else text)
            words = "one thread" if threads == 1 else "two threads"
            if reached is False:
                missed.append(f"{bar.what}, {words} ({text}; expected {threshold(bar, bar.bar)})")
            elif reached is None:
                unmeasured.append(f"{bar.what}, {words}")
        rows.append((bar.what, threshold(bar, bar.bar), threshold(bar, bar.aim), *cells))
    return rows, missed, unmeasured


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def peer_rows(run):
    rows = []
    for case in run["cases"]:
        if not re.fullmatch(PEER_CASES, case["case"]) or "sharpmax" not in case.get("seconds", {}):
            continue
        ours = case["seconds"]["sharpmax"]
        row = [case["case"], f"{1e3 * ours['median']:.2f} ms"]
        for peer in PEER_COLUMNS:
            spread = case["ratios"].get(peer, {}).get("sharpmax")
            row.append(number(spread["median"]) + "×" if spread else "")
        rows.append(row)
    return rows


def closing_words(missed, unmeasured):
    words = []
    if missed:
        words.append(f"Bars missed ({len(missed)}, bold above): " + "; ".join(missed) + ".")
    elif not unmeasured:
        words.append("Every bar is reached.")
    if unmeasured:
        words.append(f"Not measured in this run ({len(unmeasured)}): " + "; ".join(unmeasured) + ".")
    return "\n\n".join(words)


def provenance(result):
    run = result["runs"][0]
    machine, versions = run["machine"], run["versions"]
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"Measured {result['date'][:10]} ({result['effort']} run) on {machine['processor']}, {machine['processors']} "
        f"processors, {machine['target']}; {listed}. Median of paired ratios [quartiles]; where a row stands for "
        "several cases, the worst is shown."
    )


def bar_table(result, bars):
    rows, missed, unmeasured = bar_rows({run["threads"]: run for run in result["runs"]}, bars)
    header = ("what", "bar", "aim", "one thread", "two threads")
    if not any(bar.aim for bar in bars):
        header, rows = header[:2] + header[3:], [row[:2] + row[3:] for row in rows]
    return [markdown(header, rows), closing_words(missed, unmeasured), provenance(result)]


def attention_peers(result):
    first = result["runs"][0]
    return [
        f"Time of each peer over ours, {words_of(first['threads'])}:",
        markdown(("case", "sharpmax", *PEER_COLUMNS), peer_rows(first)),
        provenance(result),
    ]


def words_of(threads):
    return "one thread" if threads == 1 else f"{threads} threads"


def retrieval_rows(result):
    """Our rate, and the time of each peer over ours."""
    for run in result["runs"]:
        for case in run["cases"]:
            ours = case.get("seconds", {}).get("sharpmax")
            if ours is None:
                continue
            facts, rate = case["facts"], 1.0 / ours["median"]
            if case["case"] == "retrieval/train":
                what, text = "training", f"{facts['steps'] * rate:,.0f} steps/s"
            else:
                items = 1e-6 * facts["n"] * facts["sets"] * rate
                what, text = f"testing at {facts['n']:,} items", f"{number(items)} million items/s"
            spreads = (case["ratios"].get(peer, {}).get("sharpmax") for peer in RETRIEVAL_COLUMNS)
            yield (f"{what}, {words_of(run['threads'])}", text, *(f"{number(s['median'])}×" if s else "" for s in spreads))


def left_out(result):
    found = {f"{peer} ({reason})": None for run in result["runs"] for peer, reason in run["skipped_peers"].items()}
    return f"Left out: {'; '.join(found)}." if found else ""


def retrieval_peers(result):
    return [
        "Our rate, and the time of each peer over ours:",
        markdown(("case", "sharpmax", *RETRIEVAL_COLUMNS), list(retrieval_rows(result))),
        left_out(result),
        provenance(result),
    ]


TRAIN_COLUMNS = ("torch", "torch.compile")


def train_rows(run):
    """Tokens a second; of the others also their time over ours."""
    for case in run["cases"]:
        if "sharpmax" not in case.get("seconds", {}):
            continue
        facts = case["facts"]
        row = [f"`{facts['task']}`, {facts['n']} items ({facts['length']} places)", f"`{facts['normalizer']}`"]
        for label in ("sharpmax", *TRAIN_COLUMNS):
            seconds, spread = case["seconds"].get(label), case["ratios"].get(label, {}).get("sharpmax")
            text = f"{facts['tokens'] / seconds['median']:,.0f}/s" if seconds else ""
            row.append(text + (f" ({number(spread['median'])}× [{number(spread['q1'])}, {number(spread['q3'])}])" if spread else ""))
        yield row


def train_peers(result):
    parts = []
    for run in result["runs"]:
        parts.append(f"Places per second of whole training steps, batch 32, {words_of(run['threads'])}; in brackets the time over ours:")
        parts.append(markdown(("task", "normalizer", "sharpmax", *TRAIN_COLUMNS), list(train_rows(run))))
    return [*parts, left_out(result), provenance(result)]


MODEL_COLUMNS = ("sharpmax, int16 products", "llama.cpp", "llama.cpp, best build for the processor", "llama.cpp, without flash attention", "sharpmax, float32 cache", "sharpmax, adaptive")


def model_rows(run):
    """Tokens a second; of the others also their time over ours."""
    for case in run["cases"]:
        ours = case.get("seconds", {}).get("sharpmax")
        if ours is None:
            continue
        facts = case["facts"]
        kind = case["case"].split("/")[1]
        what = {"prompt": "prompt of {tokens:,}", "generate": "generating after {context:,}", "start": "from opening the file to the first token"}
        row = [what[kind].format(**facts)]
        for label in ("sharpmax", *MODEL_COLUMNS):
            seconds = case["seconds"].get(label)
            if seconds is None:
                row.append("")
                continue
            text = f"{seconds['median']:.2f} s" if kind == "start" else f"{facts['tokens'] / seconds['median']:.1f}/s"
            if label != "sharpmax":
                spread = case["ratios"][label]["sharpmax"]
                text += f" ({number(spread['median'])}× [{number(spread['q1'])}, {number(spread['q3'])}])"
            row.append(text)
        yield row


def model_words(result):
    """Predictions and memory, in sentences."""
    run = result["runs"][0]
    parts = [
        f"{label}: loss {found['loss']:.4f}, llama.cpp's likeliest token first for {100 * found['same_first']:.1f} %"
        for label, found in run["predictions"].items()
    ]
    words = ["Predictions, compared before anything is timed: " + "; ".join(parts) + "."]
    for case in run["cases"]:
        if "bytes" in case:
            grown = ", ".join(f"{label} {number(size / 2**20)} MiB" for label, size in case["bytes"].items())
            words.append(f"Peak memory beyond the process before it opened the model, {case['facts']['context']:,} tokens in the cache: {grown}.")
    return words


def render_model(result):
    parts = []
    for run in result["runs"]:
        parts.append(f"{result['model']}, {words_of(run['threads'])}; in brackets the time over ours:")
        parts.append(markdown(("what", "sharpmax", *MODEL_COLUMNS), list(model_rows(run))))
    return [*parts, *model_words(result), provenance(result)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=pathlib.Path, help="what a compare.py wrote by -o")
    parser.add_argument("--part", choices=("bars", "peers"), help="targets, or times of the peers (default: both)")
    arguments = parser.parse_args()
    result = json.loads(arguments.result.read_text())
    kinds = {
        "sharpmax.bench/1": {"bars": lambda: bar_table(result, BARS), "peers": lambda: attention_peers(result)},
        "sharpmax.bench.retrieval/1": {
            "bars": lambda: bar_table(result, RETRIEVAL_BARS),
            "peers": lambda: retrieval_peers(result),
        },
        "sharpmax.bench.train/1": {"bars": lambda: bar_table(result, TRAIN_BARS), "peers": lambda: train_peers(result)},
        "sharpmax.bench.model/1": {"peers": lambda: render_model(result)},
    }
    schema = result.get("schema")
    if schema not in kinds:
        sys.exit(f"table.py: schema is {schema!r}; expected one of {', '.join(map(repr, kinds))}")
    makers = [make for name, make in kinds[schema].items() if arguments.part in (None, name)]
    print("\n\n".join(part for make in makers for part in make() if part))


if __name__ == "__main__":
    main()
