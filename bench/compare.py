#!/usr/bin/env python3
"""sharpmax beside its peers, in one interleaved run; outputs are compared before anything is timed.

    bench/compare.py -o build/bench.json            every task, one thread, then two
    bench/compare.py --task decode --quick          one task, short
    bench/compare.py --check-only                   compare outputs, time nothing

docs/benchmarks.md says how it measures; bench/table.py makes the README's table from the result.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import environment  # noqa: E402

SCHEMA = "sharpmax.bench/1"
TASKS = ("prefill", "decode", "backward", "normalizers", "statistics", "threads", "memory")


def say(text):
    print(text, file=sys.stderr, flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", action="append", choices=TASKS, help="repeatable; default: all")
    parser.add_argument("--threads", type=int, action="append", help="repeatable; default: 1, then 2")
    parser.add_argument("--peer", action="append", help="only these beside sharpmax, by name; repeatable")
    parser.add_argument("--case", default="", help="only cases whose name contains this")
    parser.add_argument("--quick", action="store_true", help="shorter sequences, fewer rounds")
    parser.add_argument("--tiny", action="store_true", help="sizes that say nothing: to try the harness itself")
    parser.add_argument("--check-only", action="store_true", help="compare outputs, time nothing")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="write the result as JSON here")
    parser.add_argument("--child", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.task = arguments.task or list(TASKS)
    arguments.threads = arguments.threads or [n for n in (1, 2) if n <= len(os.sched_getaffinity(0))]
    return arguments


def wanted_cases(arguments, peers):
    import tasks
    from tasks import scale

    size = scale.TINY if arguments.tiny else scale.QUICK if arguments.quick else scale.THOROUGH
    threads = arguments.threads[0]
    for name in arguments.task:
        if name == "memory" or (name == "threads" and threads == 1):
            continue
        for case in tasks.ALL[name].cases(peers, size):
            if arguments.case in case.name:
                yield case


def run_child(arguments):
    """All that one number of threads is to measure, in this process."""
    threads = arguments.threads[0]
    processors = environment.pin(threads)
    import measure
    import peers as peer_list

    peers, skipped = peer_list.available(threads, say)
    if arguments.peer:
        peers = {name: peer for name, peer in peers.items() if name == "sharpmax" or name in arguments.peer}
    effort = measure.QUICK if arguments.quick or arguments.tiny else measure.THOROUGH
    limits = measure.Limits(threads) if "sharpmax" in peers and not arguments.check_only else None
    run = {"threads": threads, "processors": processors, "skipped_peers": skipped, "cases": []}
    run["machine"] = environment.describe_machine()
    run["versions"] = environment.versions(peers)
    for case in wanted_cases(arguments, peers):
        run["cases"].append(measure.run_case(case, effort, limits, say, arguments.check_only))
        arguments.child.write_text(json.dumps(run))
    if "memory" in arguments.task and threads == 1 and not arguments.check_only:
        from tasks import memory

        run["cases"].append(memory.run(say, arguments.tiny))
    arguments.child.write_text(json.dumps(run))


def start_child(threads, folder):
    """A process a number of threads: affinity and pools are settled before any library is loaded."""
    result = folder / f"threads-{threads}.json"
    say(f"== {threads} thread{'s' if threads > 1 else ''}")
    forwarded = [a for a in sys.argv[1:]]
    command = [sys.executable, str(HERE / "compare.py"), *_without_threads(forwarded)]
    command += ["--threads", str(threads), "--child", str(result)]
    subprocess.run(command, check=True, env=environment.pinned_environment(threads))
    return json.loads(result.read_text())


def _without_threads(words):
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word == "--threads":
            skip = True
        elif not word.startswith("--threads="):
            kept.append(word)
    return kept


def disagreements(result):
    return [
        f"{case['case']} ({run['threads']} threads): {line}"
        for run in result["runs"]
        for case in run["cases"]
        for line in case.get("skipped", [])
    ]


def write_atomically(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_text(text)
    os.replace(beside, path)


def main():
    arguments = parse_arguments()
    if arguments.child:
        run_child(arguments)
        return 0
    kind = "tiny" if arguments.tiny else "quick" if arguments.quick else "thorough"
    result = {"schema": SCHEMA, "date": environment.now(), "effort": kind, "runs": []}
    with tempfile.TemporaryDirectory() as folder:
        for threads in arguments.threads:
            result["runs"].append(start_child(threads, pathlib.Path(folder)))
            if arguments.output:
                write_atomically(arguments.output, json.dumps(result, indent=1) + "\n")
    wrong = disagreements(result)
    for line in wrong:
        say(f"disagrees: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
