#!/usr/bin/env python3
"""Whether a ratio depends on who else takes part: sharpmax against one peer, in a run with every peer and in a run with that one alone.

    bench/same_ratio.py -o build/bench-agreement.json          measures both runs, about three minutes
    bench/same_ratio.py --table build/bench-agreement.json     the table of docs/design/benchmarks.md
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import environment  # noqa: E402

SCHEMA = "sharpmax.bench-agreement/1"
PEER = "torch SDPA"
CASES = ("prefill/full/d64/n2048", "decode/d64/n16384")
BAR = 0.03


def measured(*options):
    """The result of a run of compare.py."""
    script = pathlib.Path(__file__).resolve().parent / "compare.py"
    words = [word for case in CASES for word in ("--task", case.split("/")[0], "--case", case)]
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "result.json"
        subprocess.run([sys.executable, script, *words, "--threads", "1", *options, "-o", output], check=True)
        return json.loads(output.read_text())


def ratios(result):
    """The spread of the peer's seconds over ours, by threads and case."""
    return {(run["threads"], case["case"]): case["ratios"][PEER]["sharpmax"] for run in result["runs"] for case in run["cases"]}


def shown(spread):
    return f"{spread['median']:.2f} [{spread['q1']:.2f}, {spread['q3']:.2f}]"


def table(found):
    every, alone = ratios(found["every"]), ratios(found["alone"])
    lines = [f"| case | threads | every peer | {PEER} alone | apart |", "|---|---:|---:|---:|---:|"]
    apart = []
    for key in every:
        apart.append(abs(every[key]["median"] / alone[key]["median"] - 1))
        lines.append(f"| {key[1]} | {key[0]} | {shown(every[key])} | {shown(alone[key])} | {100 * apart[-1]:.1f} % |")
    wide = sum(one > BAR for one in apart)
    kept = f"{wide} of {len(apart)} do not agree" if wide else "All agree"
    machine, date = found["every"]["runs"][0]["machine"], found["every"]["date"][:10]
    lines += ["", f"{kept} within {100 * BAR:.0f} %. Median [quartiles] of the rounds, by the clock."]
    lines += [f"{machine['processor']}, {machine['processors']} processors, {date}."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, help="measure, and write both results as JSON here")
    parser.add_argument("--table", type=pathlib.Path, help="print the table of such a file")
    arguments = parser.parse_args()
    if arguments.output:
        found = {"schema": SCHEMA, "every": measured(), "alone": measured("--peer", PEER)}
        environment.write_atomically(arguments.output, json.dumps(found, indent=1) + "\n")
    if arguments.table:
        print(table(json.loads(arguments.table.read_text())))


if __name__ == "__main__":
    main()
