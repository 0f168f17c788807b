"""What the comparisons with peers have in common: options, and runs by number of threads."""

import argparse
import json
import pathlib
import sys

import environment
import measure
import process


def say(text):
    print(text, file=sys.stderr, flush=True)


def parser_of(description):
    """A parser with the options of every comparison."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, action="append", help="repeatable; default: 1, then 2")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--check-only", action="store_true", help="compare outputs, time nothing")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="write the result as JSON here")
    return parser


def begun(schema, arguments):
    """A result without runs."""
    kind = "tiny" if getattr(arguments, "tiny", False) else "quick" if arguments.quick else "thorough"
    return {"schema": schema, "date": environment.now(), "effort": kind, "runs": []}


def save(result, arguments):
    if arguments.output:
        environment.write_atomically(arguments.output, json.dumps(result, indent=1) + "\n")


def add_join(parser):
    parser.add_argument("--case", default="", help="only cases whose name has this in it")
    parser.add_argument("--join", action="store_true", help="keep the other cases that the file of --output has")


def earlier_runs(name, result, arguments, same):
    """threads -> the run that the output has from before, if `same` fields of the result are as they were."""
    if not (arguments.join and arguments.output and arguments.output.exists()):
        return {}
    earlier = json.loads(arguments.output.read_text())
    for field in ("schema", "effort", *same):
        if earlier[field] != result[field]:
            sys.exit(f"{name}: {arguments.output} has another {field}: {earlier[field]!r}; leave out --join to replace it")
    return {run["threads"]: run for run in earlier["runs"]}


def joined(name, run, earlier):
    """The run with the cases that only the earlier one has."""
    for what, before, now in (("versions", earlier["versions"], run["versions"]),
                              ("target", earlier["machine"].get("target"), run["machine"].get("target"))):  # fmt: skip
        if before != now:
            sys.exit(f"{name}: the earlier cases have other {what}: {before}; leave out --join to replace them")
    cases = {case["case"]: case for case in (*earlier["cases"], *run["cases"])}
    return {**run, "cases": list(cases.values())}


def run_all(name, result, arguments, run, failures=process.Failed):
    """run(threads) for every number of threads, saved as they come. Returns the exit code: 1 if an output was wrong."""
    try:
        for threads in arguments.threads:
            result["runs"].append(run(threads))
            save(result, arguments)
    except failures as reason:
        sys.exit(f"{name}: {reason}")
    wrong = [line for run in result["runs"] for line in measure.complaints(run)]
    for line in wrong:
        say(line)
    return 1 if wrong else 0
