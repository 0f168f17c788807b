"""Work over processes of mpirun: times of rounds beside a model of them, our fold beside MPI_Allreduce, computing by CPU clock.

Wall times need a core per rank, so the number of ranks of each measurement is said, and computing is taken from the clock of
each rank's processor time.
"""
import argparse
import json
import math
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from ranks import KEYS, LENGTHS, lines, nodes, rounds, tool  # noqa: E402

RULES = ("softmax", "entropy_target", "entmax15")
WIRES = {"shared memory": "self,vader", "TCP on loopback": "self,tcp"}
BYTES = (64, 1024, 16384, 262144)
ROWS = (1, 16, 256)


def measured(ranks, *words, wire="self,vader"):
    """Figures of one run; each is a median of many repetitions."""
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", wire, "-n", ranks,
               ROOT / "build" / "bench" / "scaling_rounds", *words]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    return json.loads(done.stdout)


runs_of_each = 3


def of_runs(*words, **more):
    """The middle of several runs by their first time."""
    runs = [measured(*words, **more) for _ in range(runs_of_each)]
    key = next(name for name in runs[0] if name in ("latency", "seconds", "ours", "cpu_seconds"))
    return sorted(runs, key=lambda run: run[key])[len(runs) // 2]


def model(ranks, count, latency, bandwidth):
    """Seconds of a round: lengths, then bytes, each gathered from all by all."""
    steps = math.ceil(math.log2(ranks))
    return 2 * steps * latency + (ranks - 1) * count / bandwidth


def networks():
    found = []
    for name, wire in WIRES.items():
        network = of_runs(2, "network", wire=wire)
        for count in BYTES:
            seconds = of_runs(2, "round", count, wire=wire)["seconds"]
            found.append({"wire": name, **network, "bytes": count, "seconds": seconds,
                          "model": model(2, count, network["latency"], network["bandwidth"])})
    return found


def traffic():
    """Rounds of every normalizer, and bytes of one rank over the least that a fold of rows can send."""
    alone = lines(tool(), KEYS)
    found = []
    for name, calls in rounds(alone).items():
        sent = alone[name][1]
        found.append({"normalizer": name, "forward": calls[0] - 1, "backward": calls[1] - 1,
                      "bytes": [count - LENGTHS for count in sent[0][1:]]})
    return found


def spread_of_nodes():
    """Nodes of the share tree that are gathered, over one per rank."""
    shares = 61_036  # of a thousand million keys
    return [{"ranks": size, "nodes": nodes(shares * 16384, size)} for size in (2, 3, 8, 60, 64, 1000, 1024)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="build/bench-scaling.json")
    parser.add_argument("--runs", type=int, default=runs_of_each, help="of each measurement (default 3)")
    arguments = parser.parse_args()
    globals()["runs_of_each"] = arguments.runs
    results = {
        "runs": arguments.runs,
        "machine": platform.machine(), "cores": os.cpu_count(),
        "mpi": subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout.splitlines()[0],
        "traffic": traffic(), "nodes": spread_of_nodes(),
        "networks": networks(),
        "folds": [of_runs(ranks, "fold", rows) for ranks in (2, 4, 8) for rows in ROWS],
        "compute": [of_runs(ranks, "compute", rule) for rule in RULES for ranks in (1, 2, 4, 8)],
    }
    pathlib.Path(arguments.output).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
