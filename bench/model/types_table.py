#!/usr/bin/env python3
"""One table of several results of bench/model/compare.py, one for each type of weights.

    bench/model/types_table.py build/bench-model-Q4_1.json build/bench-model-Q8_0.json          print it
    bench/model/types_table.py --page build/bench-model-*.json                                  into docs/design/benchmarks.md
"""

import argparse
import json
import pathlib
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH.parent / "scripts")]

from generated_blocks import fill  # noqa: E402
from table import markdown, number, words_of  # noqa: E402

FLOATS, WHOLE, PEER = "sharpmax", "sharpmax, int16 products", "llama.cpp, best build for the processor"
CASES = {"model/prompt/n512": "prompt of 512", "model/generate/n512": "generating after 512",
         "model/generate/n4096": "generating after 4,096"}  # fmt: skip


def ratio(case, slower, faster):
    spread = case["ratios"][slower][faster]
    return f"{number(spread['median'])} [{number(spread['q1'])}, {number(spread['q3'])}]"


def rows(results, threads):
    for result in results:
        cases = {case["case"]: case for run in result["runs"] if run["threads"] == threads for case in run["cases"]}
        for name, words in CASES.items():
            case = cases.get(name)
            if case is None or any(label not in case["seconds"] for label in (FLOATS, WHOLE, PEER)):
                continue
            rates = [f"{case['facts']['tokens'] / case['seconds'][label]['median']:.1f}" for label in (FLOATS, WHOLE, PEER)]
            yield (result["model"], words, *rates, ratio(case, PEER, FLOATS), ratio(case, PEER, WHOLE), ratio(case, FLOATS, WHOLE))


def render(results):
    parts = []
    for threads in sorted({run["threads"] for result in results for run in result["runs"]}):
        parts.append(f"Tokens per second, {words_of(threads)}, and ratios of times, medians [quartiles]:")
        header = ("file", "what", "float", "int16", "llama.cpp", "llama.cpp / float", "llama.cpp / int16", "float / int16")
        parts.append(markdown(header, list(rows(results, threads))))
    losses = []
    for result in results:
        found = result["runs"][0]["predictions"]
        losses.append(f"{result['model']} " + " / ".join(f"{found[label]['loss']:.4f}" for label in (FLOATS, WHOLE, PEER)))
    parts.append("Losses of float / int16 / llama.cpp over 1,024 tokens: " + "; ".join(losses) + ".")
    first = results[0]["runs"][0]
    versions = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
    parts.append(f"Measured {results[0]['date'][:10]} ({results[0]['effort']} runs) on {first['machine']['processor']}, "
                 f"{first['machine']['target']}; {versions}.")  # fmt: skip
    return "\n\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--page", action="store_true", help="fill the block of docs/design/benchmarks.md")
    arguments = parser.parse_args()
    text = render([json.loads(path.read_text()) for path in arguments.results])
    print(text)
    if arguments.page:
        fill("docs/design/benchmarks.md", {"bench-model-types": text})


if __name__ == "__main__":
    main()
