#!/usr/bin/env python3
"""What short excerpts cost: processor time per token of `sharpmax perplexity` by the length of a chunk, on one thread.

    bench/model/excerpts.py            SmolLM2 on Shakespeare, what `make model` fetches
    bench/model/excerpts.py --page     and into docs/design/benchmarks.md

A layer's weights are unpacked once for all tokens that go through it together, at most 512. So reading several short
excerpts together could save at most the difference between a short chunk and a long one. Lengths take turns in every
round. Processor time does not count what other programs do. Opening the model is not counted: a call over few tokens is
subtracted from a call over more.
"""

import argparse
import datetime
import pathlib
import resource
import statistics
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH.parent / "scripts"), str(BENCH.parent / "tests/peer")]

import environment  # noqa: E402
import fetched  # noqa: E402
from generated_blocks import MODEL, TEXT, fill  # noqa: E402

LENGTHS = (16, 32, 64, 128, 256, 512)
FEW, MORE = 512, 1024  # tokens of the two calls; multiples of every length
BASE = 256  # the length that others are compared with: products have many tokens, attention is still short


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--page", action="store_true", help="fill the block of docs/design/benchmarks.md")
    parser.add_argument("--binary", type=pathlib.Path, default=environment.REPOSITORY / "build/sharpmax")
    return parser.parse_args()


def processor_seconds(binary, tokens, length):
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = spent()
    subprocess.run([binary, "perplexity", fetched.FOLDER / MODEL, "--text", fetched.FOLDER / TEXT, "--tokens", str(tokens),
                    "--length", str(length), "--threads", "1"], check=True, capture_output=True)  # fmt: skip
    return spent() - before


def measure(binary, rounds):
    """{length: (milliseconds per token, ratio to BASE)}, medians over rounds."""
    found = {length: [] for length in LENGTHS}
    for _ in range(rounds):
        for length in LENGTHS:
            more, few = (processor_seconds(binary, tokens, length) for tokens in (MORE, FEW))
            found[length].append(1e3 * (more - few) / (MORE - FEW))
    ratios = {length: [a / b for a, b in zip(found[length], found[BASE])] for length in LENGTHS}
    return {length: (statistics.median(found[length]), statistics.median(ratios[length])) for length in LENGTHS}


def main():
    arguments = parse_arguments()
    machine = environment.machine_facts()
    found = measure(arguments.binary, arguments.rounds)
    lines = [f"| tokens of a chunk | ms per token | of the time at {BASE} |", "|---:|---:|---:|"]
    lines += [f"| {length} | {milliseconds:.2f} | {ratio:.2f} |" for length, (milliseconds, ratio) in found.items()]
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    lines += ["", f"{MODEL}, one thread, processor time, medians of {arguments.rounds} rounds. Measured {date} on "
              f"{machine['processor']}, load {machine['load_average_before']:.1f} before."]  # fmt: skip
    print("\n".join(lines))
    if arguments.page:
        fill("docs/design/benchmarks.md", {"bench-excerpts": "\n".join(lines)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
