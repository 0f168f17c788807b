#!/usr/bin/env python3
"""sharpmax beside its peers, each in a process of its own, in rounds; outputs are compared before anything is timed.

    bench/compare.py -o build/bench.json            every task, one thread, then two
    bench/compare.py --task decode --quick          one task, short
    bench/compare.py --check-only                   compare outputs, time nothing

docs/design/benchmarks.md says how it measures; bench/table.py makes the README's table from the result.
"""

import contextlib
import functools
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# The references are computed here, and a BLAS with one thread has no pool that spins into the turns of others.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import comparison  # noqa: E402
import environment  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402
import rounds  # noqa: E402
import tasks  # noqa: E402
from peers import remote as remote_peers  # noqa: E402
from tasks import memory, scale  # noqa: E402

SCHEMA = "sharpmax.bench/1"
TASKS = ("prefill", "decode", "backward", "normalizers", "statistics", "threads", "small", "memory")


def parse_arguments():
    parser = comparison.parser_of(__doc__)
    parser.add_argument("--task", action="append", choices=TASKS, help="repeatable; default: all")
    parser.add_argument(
        "--peer", action="append", choices=[name for name in peers.BY_NAME if name != "sharpmax"],
        help="only these beside sharpmax, by name; repeatable",
    )  # fmt: skip
    parser.add_argument("--case", action="append", help="only cases whose name contains this; repeatable")
    parser.add_argument("--tiny", action="store_true", help="sizes that say nothing: to try the harness itself")
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
    comparison.say(f"== {threads} thread{'s' if threads > 1 else ''}")
    run = {"threads": threads, "processors": environment.processors(threads), "machine": environment.machine_facts(), "cases": []}
    with contextlib.ExitStack() as closing:
        started, run["skipped_peers"] = remote_peers.start(wanted_peers(arguments), threads, comparison.say, closing)
        limits = None if arguments.check_only else remote_peers.Limits(threads, closing)
        run["machine"] |= started["sharpmax"].machine()
        run["versions"] = environment.versions(started)
        effort = rounds.TINY if arguments.tiny else rounds.QUICK if arguments.quick else rounds.THOROUGH
        for planned in wanted_cases(arguments, threads, started):
            run["cases"].append(measure.run_case(planned.make(), effort, limits, comparison.say, arguments.check_only))
            for peer in started.values():
                peer.forget()
            run["lost_peers"] = {name: peer.failure for name, peer in started.items() if peer.failure}
            save(run)
    if "memory" in arguments.task and threads == 1 and not arguments.check_only:
        run["cases"].append(memory.run(comparison.say, arguments.tiny))
        save(run)
    return run


def main():
    arguments = parse_arguments()
    result = comparison.begun(SCHEMA, arguments)

    def save(run):
        comparison.save(result | {"runs": [*result["runs"], run]}, arguments)

    run = functools.partial(run_threads, arguments=arguments, save=save)
    return comparison.run_all("bench/compare.py", result, arguments, run)


if __name__ == "__main__":
    sys.exit(main())
