#!/usr/bin/env python3
"""Training steps of small transformers beside torch, each contender in a process of its own, in rounds; outputs are compared first.

    bench/train/compare.py -o build/bench-train.json      one thread, then two
    bench/train/compare.py --quick --threads 1            shorter
    bench/train/compare.py --case recall/n16              only cases whose name has this in it
    bench/train/compare.py --check-only                   compare losses and gradients, time nothing
    bench/train/compare.py --case lookup --join -o FILE   measure these, and keep the other cases that FILE has

docs/design/benchmarks.md says how it measures; bench/table.py makes the table from the result.
"""

import json
import pathlib
import sys
import tempfile

import numpy as np
import safetensors.numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import comparison  # noqa: E402
import environment  # noqa: E402
import measure  # noqa: E402
import process  # noqa: E402
import rounds  # noqa: E402
from train import peers  # noqa: E402

SCHEMA = "sharpmax.bench.train/1"
STEPS = environment.REPOSITORY / "build" / "bench" / "train_steps"
THOROUGH = rounds.Effort(seconds=12.0, least_rounds=7, most_rounds=101, slow_seconds=10.0)
QUICK = rounds.Effort(seconds=3.0, least_rounds=5, most_rounds=25, slow_seconds=10.0)
PATIENCE = 120.0  # seconds for any one answer, compilation included
BATCHES = 16
TIMED_STEPS = 8
# The gradient of a contender in single precision may err 16 times as much as that of torch's own float32 against torch in
# double, part by part: room for another order of summation, and for nothing else. One step is compared: Adam divides by the
# size of a gradient, so the rounding of small ones grows from step to step, on both sides.
TIMES_PLAIN = 16.0
ROUNDING = np.finfo(np.float32).eps

# task, size, batch: the trainings of `sharpmax train`, and one on longer sequences
SHAPES = [("lookup", 16, 32), ("recall", 16, 32), ("recall", 96, 32)]
NORMALIZERS = ("softmax", "entmax15", "entropy_target")


def parse_arguments():
    parser = comparison.parser_of(__doc__)
    parser.add_argument("--case", default="", help="only cases whose name has this in it")
    parser.add_argument("--join", action="store_true", help="keep the other cases that the file of --output has")
    arguments = parser.parse_args()
    if arguments.join and not arguments.output:
        parser.error("--join needs --output")
    arguments.threads = environment.checked_threads(arguments.threads, parser)
    return arguments


def name_of(task, size, normalizer):
    return f"train/{task}/n{size}/{normalizer}"


def start_ours(task, size, batch, normalizer, threads):
    words = ["--task", task, "--size", size, "--batch", batch, "--normalizer", normalizer, "--threads", threads]
    return process.start("sharpmax", [STEPS, *words], threads, PATIENCE)


def start_peer(module, normalizer, threads, precision="float32"):
    command = [sys.executable, "-m", f"train.peers.{module}", "--threads", threads, "--precision", precision, "--normalizer", normalizer]
    return process.start(peers.ALL[module], command, threads, PATIENCE)


def first_step(contender, folder):
    """Loss and gradient of the first step, by name."""
    file = folder / "gradient.safetensors"
    loss = float(contender.ask("gradient", file)[0])
    gradient = {name: array.astype(np.float64) for name, array in safetensors.numpy.load_file(file).items()}
    return {"loss": np.array(loss), **gradient}


def error_of(found, plain, exact):
    """The largest error over what is allowed."""
    worst = 0.0
    for name, wanted in exact.items():
        allowed = max(np.linalg.norm(plain[name] - wanted), ROUNDING * np.linalg.norm(wanted))
        worst = max(worst, float(np.linalg.norm(found[name] - wanted) / (TIMES_PLAIN * allowed)))
    return worst


def run_case(task, size, batch, normalizer, threads, effort, check_only, folder):
    """The entry of one case, and why peers were left out."""
    problem, started, skipped = folder / "problem.safetensors", [], {}
    ours = start_ours(task, size, batch, normalizer, threads)
    started.append(ours)
    ours.ask("write", problem, BATCHES)
    try:
        double = start_peer("torch_eager", normalizer, threads, "float64")
        double.ask("load", problem)
        exact = first_step(double, folder)
        double.close()
        outputs, everyone = {"sharpmax": first_step(ours, folder)}, {"sharpmax": ours}
        for module, label in peers.ALL.items():
            try:
                peer = start_peer(module, normalizer, threads)
                started.append(peer)
                peer.ask("load", problem)
                outputs[label], everyone[label] = first_step(peer, folder), peer
            except process.Failed as reason:
                if module == "torch_eager":
                    raise
                skipped[label] = str(reason)
                comparison.say(f"  {label} is left out: {reason}")
        errors = {label: error_of(found, outputs["torch"], exact) for label, found in outputs.items()}

        def contender(label):
            turn = measure.turn_of(lambda: everyone[label].ask("train", TIMED_STEPS))
            return measure.Contender(label, label, turn, lambda: errors[label])

        length = int(safetensors.numpy.load_file(problem)["tokens.0"].shape[1])
        facts = {"task": task, "n": size, "batch": batch, "normalizer": normalizer, "steps": TIMED_STEPS,
                 "tokens": TIMED_STEPS * batch * length, "length": length}  # fmt: skip
        case = measure.Case(name_of(task, size, normalizer), [contender(label) for label in everyone], facts)
        return measure.run_case(case, effort, None, comparison.say, check_only), skipped
    finally:
        for each in started:
            each.close()


def run_threads(threads, arguments, folder):
    comparison.say(f"== {threads} thread{'s' if threads > 1 else ''}")
    effort = QUICK if arguments.quick else THOROUGH
    run = {"threads": threads, "machine": environment.machine_facts(), "versions": {"python": sys.version.split()[0]},
           "cases": [], "skipped_peers": {}}  # fmt: skip
    for task, size, batch in SHAPES:
        for normalizer in NORMALIZERS:
            if arguments.case in name_of(task, size, normalizer):
                entry, skipped = run_case(task, size, batch, normalizer, threads, effort, arguments.check_only, folder)
                run["cases"].append(entry)
                run["skipped_peers"] |= skipped
    probe = start_ours("lookup", 16, 1, "softmax", 1)
    run["machine"]["target"] = probe.version
    probe.close()
    peer = start_peer("torch_eager", "softmax", 1)
    run["versions"]["torch"] = peer.version
    peer.close()
    return run


def earlier_runs(arguments):
    """threads -> the run that the output has from before, if it was measured in the same way."""
    if not (arguments.join and arguments.output.exists()):
        return {}
    earlier = json.loads(arguments.output.read_text())
    if (earlier["schema"], earlier["effort"]) != (SCHEMA, "quick" if arguments.quick else "thorough"):
        sys.exit(f"bench/train/compare.py: {arguments.output} is of another schema or effort; leave out --join to replace it")
    return {run["threads"]: run for run in earlier["runs"]}


def joined(run, earlier):
    """The run with the cases that only the earlier one has, in the order of SHAPES."""
    if earlier["versions"] != run["versions"] or earlier["machine"].get("target") != run["machine"]["target"]:
        sys.exit("bench/train/compare.py: the earlier cases were measured with other versions; leave out --join to replace them")
    cases = {case["case"]: case for case in (*earlier["cases"], *run["cases"])}
    order = [name_of(task, size, normalizer) for task, size, _ in SHAPES for normalizer in NORMALIZERS]
    return {**run, "cases": [cases[name] for name in order if name in cases], "skipped_peers": earlier["skipped_peers"] | run["skipped_peers"]}


def main():
    arguments = parse_arguments()
    result, earlier = comparison.begun(SCHEMA, arguments), earlier_runs(arguments)
    result["runs"] = [run for threads, run in earlier.items() if threads not in arguments.threads]

    def run(threads):
        measured = run_threads(threads, arguments, pathlib.Path(folder))
        return joined(measured, earlier[threads]) if threads in earlier else measured

    with tempfile.TemporaryDirectory() as folder:
        code = comparison.run_all("bench/train/compare.py", result, arguments, run)
    result["runs"].sort(key=lambda run: run["threads"])
    comparison.save(result, arguments)
    return code


if __name__ == "__main__":
    sys.exit(main())
