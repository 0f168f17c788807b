#!/usr/bin/env python3
"""The path of other devices (PyTorch operations in blocks) on this CPU, beside the same written out over the whole matrix; answers are compared first.

bench/python/devices.py                           8 heads of 2,048 queries and keys, and memory at 16,384
bench/python/devices.py -o build/devices.json     the numbers as JSON too
bench/python/devices.py --quick --cases softmax   shorter, one case; a file that is there keeps the others

Every contender runs in this process, on one thread by default, in interleaved rounds. Of one thread the
processor time is taken, which does not count what other programs do; of several the time that passes. Memory is the largest
resident size of a process of its own, less what it had before the call.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
os.environ["SHARPMAX_TORCH_PATH"] = "portable"

SCHEMA = "sharpmax.bench.devices/1"
HEADS, FEATURES = 8, 64
STATISTICS = ["entropy", "peak_weight", "peak_key", "support", "mass", "first_weight", "log_partition"]
WATCHED = {"entropy": True, "peak_weight": True, "support": True, "effective_support": True, "first_weight": True,
           "gaps": (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)}  # fmt: skip
# Statistics of causal softmax, whose peer is torch's own attention without any.
BESIDE_SDPA = {
    "no statistic, beside SDPA": False,
    "entropy, beside SDPA": ["entropy"],
    "entropy and peak weight, beside SDPA": ["entropy", "peak_weight"],
    "the statistics that watch asks for by default, beside SDPA": WATCHED,
}
# Case: normalizer, how much of the peer's time it may take (None: any).
CASES = {
    "softmax": ("softmax", 1.3),
    "softmax, gradient": ("softmax", 1.3),
    "statistics": ("softmax", 1.0),
    "entropy_target": ("entropy_target", 1.0),
    "entmax15": ("entmax15", 1.0),
    "entmax15, gradient": ("entmax15", 1.0),
    **{case: ("softmax", None if wishes is WATCHED else 1.25) for case, wishes in BESIDE_SDPA.items()},
    "a small Llama under watch of these two, beside its SDPA": ("softmax", 1.25),
    "a small Llama under watch by default, beside its SDPA": ("softmax", None),
}
ALLOWED, CHECKED = 1e-4, 64  # between answers, of so many queries
MEMORY_KEYS, MEMORY_BAR = 16384, 300  # MB beyond the inputs
PROFILED = "entropy and peak weight, beside SDPA"
# What the operations of the short way are for; others are small.
PURPOSES = {
    "aten::bmm": "products of queries and keys, of weights and values",
    "aten::exp2": "powers",
    "aten::amax": "largest score of each row",
    "aten::sub_": "scores less the largest",
    "aten::sum": "sums of weights",
    "aten::mul_": "weights times their logarithms",
    "aten::nansum": "sums of these",
    "aten::masked_fill_": "keys hidden by causality",
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=pathlib.Path, help="write the numbers to this JSON file")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--keys", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="three rounds")
    parser.add_argument("--cases", help="which of them, joined by ';', profile and memory among them (default: all)")
    parser.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def drawn(torch, keys):
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(1, HEADS, keys, FEATURES, generator=generator) for _ in range(3)]


def recorded(call, tensors):
    """The gradient of query, with the forward pass before it."""

    def run():
        leaves = [tensor.detach().requires_grad_() for tensor in tensors]
        call(*leaves).sum().backward()
        return leaves[0].grad

    return run


def contenders(case, tensors):
    import sharpmax
    import torch
    import written_out

    rule = CASES[case][0]
    if case == "statistics":

        def by_hand():
            out, weights = written_out.attention(*tensors, None, rule)
            peak = weights.max(-1)
            written_out.entropy(weights), peak.indices, (weights > 0).sum(-1), weights.sum(-1), weights[..., 0]
            return out

        return lambda: sharpmax.attention(*tensors, normalizer=rule, return_stats=STATISTICS)[0], by_hand
    if "Llama" in case:
        options = {} if "default" in case else {"statistics": ("entropy", "peak_weight"), "gaps": ()}
        return watched_model(tensors[0].shape[2], options)
    if case in BESIDE_SDPA:

        def with_statistics():
            found = sharpmax.attention(*tensors, is_causal=True, return_stats=BESIDE_SDPA[case])
            return found[0] if BESIDE_SDPA[case] else found

        return with_statistics, lambda: torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=True)

    def ours(*inputs):
        return sharpmax.attention(*inputs, normalizer=rule)

    def theirs(*inputs):
        return written_out.attention(*inputs, None, rule)[0]

    if case.endswith("gradient"):
        return recorded(ours, tensors), recorded(theirs, tensors)
    return lambda: ours(*tensors), lambda: theirs(*tensors)


def watched_model(tokens, options):
    """Logits over the largest of them: one model watched, one as it is. options of watch"""
    import sharpmax.hf
    import torch
    from hf import make_model

    ids = torch.randint(0, 256, (1, tokens), generator=torch.Generator().manual_seed(1))
    models = [make_model(torch, 4, tokens) for _ in range(2)]
    models[1].set_attn_implementation("sdpa")

    def run(model):
        with torch.no_grad():
            logits = model(ids, use_cache=False).logits
        return logits / logits.abs().max()

    def watched():
        with sharpmax.hf.watch(models[0], **options):
            return run(models[0])

    return watched, lambda: run(models[1])


def measure_case(case, tensors, rounds, clock):
    # The peer in float64, of few queries: at the temperatures that near ties need, float32 written out errs by percents.
    few = [tensors[0][:, :, :CHECKED], *tensors[1:]]
    found, wanted = contenders(case, few)[0](), contenders(case, [tensor.double() for tensor in few])[1]()
    error = float((found - wanted).abs().max())
    ours, theirs = contenders(case, tensors)
    if not error <= ALLOWED:
        raise SystemExit(f"{case}: the answers differ by {error:.1e}; at most {ALLOWED:g} is allowed")
    seconds = {"sharpmax": [], "peer": []}
    for turn in range(rounds):
        pair = [("sharpmax", ours), ("peer", theirs)]
        for name, call in pair if turn % 2 else reversed(pair):
            began = clock()
            call()
            seconds[name].append(clock() - began)
    ratio = statistics.median(a / b for a, b in zip(seconds["sharpmax"], seconds["peer"]))
    most = CASES[case][1]
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    verdict = "" if most is None else f", at most {most}: {'holds' if ratio <= most else 'does not hold'}"
    ours, peer = (f"{1e3 * medians[name]:.0f} ms" for name in ("sharpmax", "peer"))
    print(f"{case}: {ours}, peer {peer}, ratio {ratio:.2f}{verdict}", flush=True)
    return {"case": case, "seconds": medians, "ratio": ratio, "bar": most, "error": error}


def measure_memory():
    """In a process of its own: MB that a call with every statistic adds to the largest resident size."""
    import sharpmax
    import torch

    torch.set_num_threads(1)
    tensors = drawn(torch, MEMORY_KEYS)
    small = [tensor[:, :, :64].contiguous() for tensor in tensors]
    sharpmax.attention(*small, normalizer="entropy_target", return_stats=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    few = tensors[0][:, :, :2048]  # the working set is that of a block: more queries only take longer
    sharpmax.attention(few, *tensors[1:], normalizer="entropy_target", return_stats=True)
    rows = 4 * HEADS * MEMORY_KEYS * (FEATURES + 16) / 1e6  # of the answer and its statistics for all queries
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3 + rows)


def measure_profile(tensors, rounds):
    """Milliseconds of one call by operation, and of the peer's call. By the clock: for a machine that does nothing else."""
    import torch

    ours, theirs = contenders(PROFILED, tensors)
    ours(), theirs()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as found:
        for _ in range(rounds):
            ours()
    spent, calls = {}, 0
    for event in found.key_averages():
        purpose = PURPOSES.get(event.key, "all else: small operations and Python")
        spent[purpose] = spent.get(purpose, 0.0) + event.self_cpu_time_total / 1e3 / rounds
        calls += event.count / rounds if event.key.startswith("aten::") else 0
    peer = []
    for _ in range(rounds):
        began = time.perf_counter()
        theirs()
        peer.append(1e3 * (time.perf_counter() - began))
    result = {"milliseconds": spent, "peer": statistics.median(peer), "operations": round(calls)}
    for purpose, milliseconds in sorted(spent.items(), key=lambda item: -item[1]):
        print(f"profile: {purpose}: {milliseconds:.1f} ms")
    print(
        f"profile: {sum(spent.values()):.0f} ms in {result['operations']} operations; SDPA {result['peer']:.0f} ms",
        flush=True,
    )
    return result


def kept(output, names, now):
    """What an earlier run of this machine and size measured, without the cases that are measured now."""
    if output is None or not output.exists():
        return {"cases": []}
    before = json.loads(output.read_text())
    if any(before[what] != now[what] for what in ("schema", "keys", "threads", "versions")):
        return {"cases": []}
    load = "load_average_before"  # the largest is told of cases from several runs
    now["machine"][load] = max(now["machine"][load], before["machine"][load])
    others = {what: before[what] for what in ("megabytes", "profile") if what in before}
    return {"cases": [entry for entry in before["cases"] if entry["case"] not in names], **others}


def main():
    arguments = parse_arguments()
    if arguments.memory:
        measure_memory()
        return 0
    import environment
    import torch

    torch.set_num_threads(arguments.threads)
    result = {"schema": SCHEMA, "date": environment.now(), "machine": environment.machine_facts(),
              "threads": arguments.threads, "keys": arguments.keys, "memory_keys": MEMORY_KEYS, "memory_bar": MEMORY_BAR, "versions": {"torch": torch.__version__}}  # fmt: skip
    print(f"load before: {result['machine']['load_average_before']:.2f}, {arguments.threads} threads", flush=True)
    tensors = drawn(torch, arguments.keys)
    names = arguments.cases.split(";") if arguments.cases else [*CASES, "profile", "memory"]
    result.update(kept(arguments.output, names, result))
    clock = time.process_time if arguments.threads == 1 else time.perf_counter
    rounds = 3 if arguments.quick else arguments.rounds
    for case in names:
        if case == "memory":
            found = subprocess.run([sys.executable, __file__, "--memory"], capture_output=True, text=True, check=True)
            result["megabytes"] = float(found.stdout)
            verdict = "holds" if result["megabytes"] <= MEMORY_BAR else "does not hold"
            print(f"memory, entropy_target with statistics, {MEMORY_KEYS} keys: {result['megabytes']:.0f} MB beyond the inputs, "
                  f"at most {MEMORY_BAR}: {verdict}", flush=True)  # fmt: skip
        elif case == "profile":
            result["profile"] = measure_profile(tensors, rounds)
        else:
            result["cases"].append(measure_case(case, tensors, rounds, clock))
            result["cases"].sort(key=lambda entry: list(CASES).index(entry["case"]))
        if arguments.output:
            arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
