#!/usr/bin/env python3
"""sharpmax beside its peers, each in a process of its own, in rounds; outputs are compared before anything is timed.

    bench/compare.py -o build/bench.json            every task, one thread, then two
    bench/compare.py --task decode --quick          one task, short
    bench/compare.py --check-only                   compare outputs, time nothing

docs/design/benchmarks.md says how it measures; bench/table.py makes the README's table from the result.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# The references are computed here, and a BLAS with one thread has no pool that spins into the turns of others.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import environment  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402
import process  # noqa: E402
import rounds  # noqa: E402
import tasks  # noqa: E402
from peers import remote as remote_peers  # noqa: E402
from tasks import memory, scale  # noqa: E402

SCHEMA = "sharpmax.bench/1"
TASKS = ("prefill", "decode", "backward", "normalizers", "statistics", "threads", "memory")


def say(text):
    print(text, file=sys.stderr, flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", action="append", choices=TASKS, help="repeatable; default: all")
    parser.add_argument("--threads", type=int, action="append", help="repeatable; default: 1, then 2")
    parser.add_argument(
        "--peer", action="append", choices=[name for name in peers.BY_NAME if name != "sharpmax"],
        help="only these beside sharpmax, by name; repeatable",
    )  # fmt: skip
    parser.add_argument("--case", action="append", help="only cases whose name contains this; repeatable")
    parser.add_argument("--quick", action="store_true", help="shorter sequences, fewer rounds")
    parser.add_argument("--tiny", action="store_true", help="sizes that say nothing: to try the harness itself")
    parser.add_argument("--check-only", action="store_true", help="compare outputs, time nothing")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="write the result as JSON here")
    arguments = parser.parse_args()
    arguments.task, arguments.case = arguments.task or list(TASKS), arguments.case or [""]
    arguments.threads = environment.checked_threads(arguments.threads, parser)
    return arguments


def wanted_cases(arguments, threads, started):
    size = scale.TINY if arguments.tiny else scale.QUICK if arguments.quick else scale.THOROUGH
    for name in arguments.task:
        if name == "memory" or (name == "threads" and threads == 1):
            continue
        for case in tasks.ALL[name].cases(started, size):
            if any(part in case.name for part in arguments.case):
                yield case


def wanted_peers(arguments):
    """sharpmax, and those asked for."""
    return [name for name in peers.BY_NAME if name == "sharpmax" or not arguments.peer or name in arguments.peer]


def run_threads(threads, arguments, save):
    """All that one number of threads is to measure. save(run): called whenever there is more."""
    say(f"== {threads} thread{'s' if threads > 1 else ''}")
    run = {"threads": threads, "processors": environment.processors(threads), "machine": environment.machine_facts(), "cases": []}
    with contextlib.ExitStack() as closing:
        started, run["skipped_peers"] = remote_peers.start(wanted_peers(arguments), threads, say, closing)
        limits = None if arguments.check_only else remote_peers.Limits(threads, closing)
        run["machine"] |= started["sharpmax"].machine()
        run["versions"] = environment.versions(started)
        effort = rounds.TINY if arguments.tiny else rounds.QUICK if arguments.quick else rounds.THOROUGH
        for planned in wanted_cases(arguments, threads, started):
            run["cases"].append(measure.run_case(planned.make(), effort, limits, say, arguments.check_only))
            for peer in started.values():
                peer.forget()
            run["lost_peers"] = {name: peer.failure for name, peer in started.items() if peer.failure}
            save(run)
    if "memory" in arguments.task and threads == 1 and not arguments.check_only:
        run["cases"].append(memory.run(say, arguments.tiny))
        save(run)
    return run


def main():
    arguments = parse_arguments()
    kind = "tiny" if arguments.tiny else "quick" if arguments.quick else "thorough"
    result = {"schema": SCHEMA, "date": environment.now(), "effort": kind, "runs": []}

    def save(run):
        if arguments.output:
            so_far = result | {"runs": [*result["runs"], run]}
            environment.write_atomically(arguments.output, json.dumps(so_far, indent=1) + "\n")

    try:
        for threads in arguments.threads:
            result["runs"].append(run_threads(threads, arguments, save))
    except process.Failed as reason:
        sys.exit(f"bench/compare.py: {reason}")
    wrong = [line for run in result["runs"] for line in measure.complaints(run)]
    for line in wrong:
        say(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
