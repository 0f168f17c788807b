"""How much memory a decode over a million keys takes beyond its inputs, every statistic on.

Run as a program in a process of its own. The peak is the kernel's (VmHWM), set back to what is resident just
before the call: getrusage's would be that of the process that started this one."""

import json
import pathlib
import subprocess
import sys

import environment

N, FEATURES = 1_048_576, 64


def _reset_peak():
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def _peak_bytes():
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def measure(n=N):
    import numpy as np

    import sharpmax

    small = np.ones((1, 1, 64, FEATURES), np.float32)
    wishes = {"column_mass": True, "map": (1, 64)}
    wishes.update(dict.fromkeys(("log_partition", "entropy", "peak_weight", "peak_key", "effective_support"), True))
    wishes.update(dict.fromkeys(("support", "mass", "temperature", "threshold", "top", "gaps"), True))
    sharpmax.attention(small, small, small, return_stats=True)  # code and thread stacks are not its rows
    random = np.random.default_rng(1)
    query = random.standard_normal((1, 1, 1, FEATURES), dtype=np.float32)
    key, value = (np.empty((1, 1, n, FEATURES), np.float32) for _ in range(2))
    for array in (key, value):
        random.standard_normal(dtype=np.float32, out=array)
    _reset_peak()
    before = _peak_bytes()
    _, stats = sharpmax.attention(query, key, value, return_stats=wishes)
    growth = _peak_bytes() - before
    return {
        "case": f"memory/decode/d{FEATURES}/n{n}",
        "facts": {"heads": 1, "keys": n, "features": FEATURES, "peak_weight": float(stats.peak_weight.item())},
        "input_bytes": key.nbytes + value.nbytes + query.nbytes,
        "bytes_beyond_inputs": growth,
    }


def run(say, tiny=False):
    arguments = [sys.executable, "-m", "tasks.memory", *(["200"] if tiny else [])]
    here = pathlib.Path(__file__).parents[1]
    finished = subprocess.run(
        arguments, check=True, stdout=subprocess.PIPE, text=True, cwd=here, env=environment.pinned_environment(1),
        preexec_fn=lambda: environment.pin(1),
    )  # fmt: skip
    entry = json.loads(finished.stdout)
    say(entry["case"])
    say(f"  {entry['bytes_beyond_inputs'] / 2**20:.1f} MiB beyond {entry['input_bytes'] / 2**20:.0f} MiB of inputs")
    return entry


if __name__ == "__main__":
    print(json.dumps(measure(*(int(n) for n in sys.argv[1:]))))
