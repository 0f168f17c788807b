#!/usr/bin/env python3
"""What a call through Python costs over the same call in C++, in interleaved rounds; answers are compared first.

bench/python/doors.py                      a tiny call, and 12 heads of 2,048 queries and keys
bench/python/doors.py -o build/doors.json  the numbers as JSON too
"""

import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import environment  # noqa: E402
import measure  # noqa: E402
import numpy as np  # noqa: E402

SCHEMA = "sharpmax.bench.doors/1"
TIMES = 2000  # calls of a tiny input that are timed together
# Microseconds over the C++ call, and times its time.
TINY_BARS = {"numpy": 10.0, "torch": 40.0, "torch, recording": 40.0}
LARGE_BAR = 1.03


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=pathlib.Path, help="write the numbers to this JSON file")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


def made(shape, keys):
    rng = np.random.default_rng(4)
    query = rng.standard_normal(shape).astype(np.float32)
    return (query, *(rng.standard_normal((*shape[:2], keys, shape[3])).astype(np.float32) for _ in "kv"))


def case_of(name, shape, keys, times, jax_too):
    import sharpmax
    import torch

    arrays = made(shape, keys)
    tensors = [torch.from_numpy(array) for array in arrays]
    recorded = [tensor.clone().requires_grad_() for tensor in tensors]
    request, rule, out = sharpmax._core.Request(*arrays), sharpmax.Normalizer("softmax"), np.empty(shape, np.float32)
    doors = {
        "numpy": lambda: sharpmax.attention(*arrays),
        "torch": lambda: sharpmax.attention(*tensors),
        "torch, recording": lambda: sharpmax.attention(*recorded),
    }
    if jax_too:
        import jax.numpy as jnp

        ours = [jnp.asarray(array) for array in arrays]
        doors["jax"] = lambda: sharpmax.attention(*ours).block_until_ready()
    peers = {"torch SDPA": lambda: torch.nn.functional.scaled_dot_product_attention(*tensors)}

    def again(function):
        def run():
            for _ in range(times):
                function()

        return run

    sharpmax._core.attend_again(request, rule, out, 0, 1)
    wanted = out.copy()

    def error(function):  # the same kernel: the same bits; of others 1e-5
        def check():
            found = function()
            found = found.detach().numpy() if hasattr(found, "detach") else np.asarray(found)
            return 0.0 if np.array_equal(found, wanted) else float(np.abs(found - wanted).max() / 1e-5)

        return check

    plain = measure.Contender("C++", "sharpmax", lambda: sharpmax._core.attend_again(request, rule, out, 0, times))
    doors_of = [measure.Contender(label, "sharpmax", again(run), error(run)) for label, run in doors.items()]
    others = [measure.Contender(label, label, again(run), error(run)) for label, run in peers.items()]
    return measure.Case(name, [plain, *doors_of, *others], {"shape": list(shape), "keys": keys, "calls": times})


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


def measure_here(arguments):
    import torch

    environment.pin(arguments.threads)
    torch.set_num_threads(arguments.threads)
    effort = measure.QUICK if arguments.quick else measure.THOROUGH
    result = {"schema": SCHEMA, "date": environment.now(), "machine": environment.describe_machine(),
              "threads": arguments.threads, "cases": []}  # fmt: skip
    say(f"load before: {result['machine']['load_average_before']:.2f}, {arguments.threads} threads")
    for name, shape, keys, times, tell in (
        ("tiny", (1, 1, 1, 8), 4, TIMES, say_tiny),
        ("d64/h12/n2048", (1, 12, 2048, 64), 2048, 1, say_large),
    ):
        entry = measure.run_case(case_of(name, shape, keys, times, jax_too=True), effort, None, say)
        tell(entry)
        result["cases"].append(entry)
    return result


if __name__ == "__main__":
    sys.exit(environment.measure_pinned(parse_arguments(), measure_here))
