#!/usr/bin/env python3
"""Training and testing of max retrieval beside its peers, each in a process of its own, in rounds; outputs are compared first.

    bench/retrieval/compare.py -o build/bench-retrieval.json     one thread, then two
    bench/retrieval/compare.py --quick --threads 1               shorter
    bench/retrieval/compare.py --check-only                      compare outputs, time nothing

docs/design/benchmarks.md says how it measures; bench/table.py makes the tables from the result.
"""

import functools
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import comparison  # noqa: E402
import environment  # noqa: E402
import measure  # noqa: E402
import process  # noqa: E402
import rounds  # noqa: E402
from retrieval import cases, contender, peers  # noqa: E402

SCHEMA = "sharpmax.bench.retrieval/1"
THOROUGH = rounds.Effort(seconds=40.0, least_rounds=7, most_rounds=101, slow_seconds=10.0)
QUICK = rounds.Effort(seconds=5.0, least_rounds=3, most_rounds=25, slow_seconds=10.0)
TINY = rounds.Effort(seconds=0.1, least_rounds=2, most_rounds=2, slow_seconds=10.0)


def parse_arguments():
    parser = comparison.parser_of(__doc__)
    parser.add_argument("--peer", action="append", choices=peers.ALL, help="only these; repeatable")
    parser.add_argument("--tiny", action="store_true", help="sizes that say nothing: to try the harness itself")
    arguments = parser.parse_args()
    arguments.threads = environment.checked_threads(arguments.threads, parser)
    # Checks hold everyone against torch's own float32.
    arguments.peer = [name for name in peers.ALL if name == "torch_eager" or name in (arguments.peer or peers.ALL)]
    return arguments


def start_peers(names, threads):
    """label -> contender, and why the others are left out. torch itself has to start."""
    started, skipped = {}, {}
    for name in names:
        try:
            started[peers.ALL[name]] = contender.peer(name, threads)
        except process.Failed as reason:
            if name == "torch_eager":
                raise
            skipped[peers.ALL[name]] = str(reason)
            comparison.say(f"{peers.ALL[name]} is left out: {reason}")
    return started, skipped


def run_threads(threads, arguments, folder):
    comparison.say(f"== {threads} thread{'s' if threads > 1 else ''}")
    effort = TINY if arguments.tiny else QUICK if arguments.quick else THOROUGH
    everyone, skipped = start_peers(arguments.peer, threads)
    us = contender.ours(threads, heads=threads)
    run = {"threads": threads, "machine": environment.machine_facts() | {"target": us.version}, "cases": []}
    run["versions"] = {"python": sys.version.split()[0]} | {label: peer.version for label, peer in everyone.items()}
    stage = cases.Stage(us, everyone, threads, pathlib.Path(folder), skipped, comparison.say)
    size = cases.TINY if arguments.tiny else cases.FULL
    try:
        for case in (cases.training(stage, size), cases.testing(stage, size)):
            run["cases"].append(measure.run_case(case, effort, None, comparison.say, arguments.check_only))
    finally:
        for process in (us, *stage.peers.values()):
            process.close()
    run["skipped_peers"] = stage.skipped
    return run


def main():
    arguments = parse_arguments()
    result = comparison.begun(SCHEMA, arguments)
    with tempfile.TemporaryDirectory() as folder:
        run = functools.partial(run_threads, arguments=arguments, folder=folder)
        return comparison.run_all("bench/retrieval/compare.py", result, arguments, run)


if __name__ == "__main__":
    sys.exit(main())
