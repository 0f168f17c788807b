#!/usr/bin/env python3
"""What a call through Python costs over the same call in C++, each in a process of its own, in rounds; answers are compared first.

bench/python/doors.py                      a tiny call, and 12 heads of 2,048 queries and keys
bench/python/doors.py -o build/doors.json  the numbers as JSON too
"""

import argparse
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import environment  # noqa: E402
import measure  # noqa: E402
import numpy as np  # noqa: E402
import remote  # noqa: E402
import rounds  # noqa: E402
import serving  # noqa: E402

SCHEMA = "sharpmax.bench.doors/1"
TIMES = 2000  # calls of a tiny input that are timed together
# Microseconds over the C++ call, and times its time.
TINY_BARS = {"numpy": 10.0, "torch": 40.0, "torch, recording": 40.0}
LARGE_BAR = 1.03
PEERS = ("torch SDPA",)
SERVED = (*TINY_BARS, "jax", *PEERS)
STEPS = environment.REPOSITORY / "build" / "bench" / "attend_steps"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=pathlib.Path, help="write the numbers to this JSON file")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--serve", choices=SERVED, help=argparse.SUPPRESS)
    return parser.parse_args()


def made(shape, keys):
    rng = np.random.default_rng(4)
    query = rng.standard_normal(shape).astype(np.float32)
    return (query, *(rng.standard_normal((*shape[:2], keys, shape[3])).astype(np.float32) for _ in "kv"))


class Door:
    """One way to call attention, in a process of its own. A call does the same thing `times` times."""

    def __init__(self, label):
        import sharpmax

        self._label, self._sharpmax, self.version = label, sharpmax, sharpmax.version

    def prepare(self, shape, keys, times):
        arrays = made(shape, keys)
        call = {"numpy": self._numpy, "jax": self._jax}.get(self._label, self._torch)(arrays)

        def run():
            for _ in range(times):
                found = call()
            return found

        return run

    def _numpy(self, arrays):
        return lambda: self._sharpmax.attention(*arrays)

    def _jax(self, arrays):
        import jax.numpy as jnp

        ours = [jnp.asarray(array) for array in arrays]
        return lambda: self._sharpmax.attention(*ours).block_until_ready()

    def _torch(self, arrays):
        import torch

        torch.set_num_threads(len(os.sched_getaffinity(0)))
        tensors = [torch.from_numpy(array) for array in arrays]
        if self._label == "torch SDPA":
            return lambda: torch.nn.functional.scaled_dot_product_attention(*tensors)
        if self._label == "torch, recording":
            tensors = [tensor.clone().requires_grad_() for tensor in tensors]
        return lambda: self._sharpmax.attention(*tensors)

    def arrays(self, result):
        return [result.detach().numpy() if hasattr(result, "detach") else np.asarray(result)]

    def tell(self):
        return environment.targets()

    def forget(self):
        pass


class CppCall:
    """The same call `times` times in the C++ program attend_steps.cc: what remote.Call is for a door."""

    def __init__(self, process, shape, keys, times):
        self._process, self._times = process, times
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "inputs.npz"
            np.savez(path, **dict(zip(("query", "key", "value"), made(shape, keys))))
            self._process.ask("load", path)

    def output(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "output.npz"
            self._process.ask("output", path)
            with np.load(path) as file:
                return (file["out"],)

    def seconds(self, warm):
        warm_seconds = serving.WARM_SECONDS if warm else 0.0
        return float(self._process.ask("time", self._times, warm_seconds, serving.TIMED_SECONDS)[0])


def error_of(found, wanted):
    """Over what is allowed: of the same kernel the same bits, of others 1e-5."""
    return 0.0 if np.array_equal(found, wanted) else float(np.abs(found - wanted).max() / 1e-5)


def case_of(name, shape, keys, times, processes):
    calls = {"C++": CppCall(processes["C++"], shape, keys, times)}
    calls |= {label: remote.prepare(processes[label], shape=shape, keys=keys, times=times) for label in SERVED}
    wanted = calls["C++"].output()[0]
    contenders = [
        measure.Contender(label, label if label in PEERS else "sharpmax", call.seconds,
                          lambda call=call: error_of(call.output()[0], wanted))
        for label, call in calls.items()
    ]  # fmt: skip
    return measure.Case(name, contenders, {"shape": list(shape), "keys": keys, "calls": times})


def say(line):
    print(line, flush=True)


def say_tiny(entry):
    base = entry["seconds"]["C++"]["median"]
    for label, most in TINY_BARS.items():
        over = 1e6 * (entry["seconds"][label]["median"] - base) / TIMES
        say(
            f"  {label}: {over:.1f} us over the C++ call; at most {most:g}: {'holds' if over <= most else 'does not hold'}"
        )


def say_large(entry):
    for label in TINY_BARS:
        ratio = entry["ratios"][label]["C++"]
        verdict = "holds" if ratio["median"] <= LARGE_BAR else "does not hold"
        say(
            f"  {label}: {ratio['median']:.3f} of the C++ call [{ratio['q1']:.3f}, {ratio['q3']:.3f}]; at most {LARGE_BAR}: {verdict}"
        )


def measure_doors(arguments, processes):
    effort = rounds.QUICK if arguments.quick else rounds.THOROUGH
    machine = environment.machine_facts() | remote.tell(processes["numpy"])
    result = {"schema": SCHEMA, "date": environment.now(), "machine": machine,
              "threads": arguments.threads, "cases": []}  # fmt: skip
    say(f"load before: {machine['load_average_before']:.2f}, {arguments.threads} threads")
    for name, shape, keys, times, tell in (
        ("tiny", (1, 1, 1, 8), 4, TIMES, say_tiny),
        ("d64/h12/n2048", (1, 12, 2048, 64), 2048, 1, say_large),
    ):
        entry = measure.run_case(case_of(name, shape, keys, times, processes), effort, None, say)
        tell(entry)
        result["cases"].append(entry)
    return result


def main():
    arguments = parse_arguments()
    if arguments.serve:
        serving.serve(lambda: Door(arguments.serve))
        return 0
    return remote.measure_in_processes(__file__, ("C++", *SERVED), arguments, measure_doors, {"C++": STEPS})


if __name__ == "__main__":
    sys.exit(main())
