"""The process that measures: its processors, its thread pools, and what is to be said of the machine."""

import datetime
import json
import os
import pathlib
import platform
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]


def pinned_environment(threads):
    """For a child process. Whoever waits, waits without spinning: a spinning pool steals the processor
    from the next contender. The same for every OpenMP runtime in the process."""
    environment = dict(os.environ)
    environment.update(
        OMP_NUM_THREADS=str(threads),
        OPENBLAS_NUM_THREADS=str(threads),
        MKL_NUM_THREADS=str(threads),
        OMP_WAIT_POLICY="passive",
        GOMP_SPINCOUNT="0",
        OMP_DYNAMIC="false",
        XLA_FLAGS=f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}",
        JAX_PLATFORMS="cpu",
        PYTHONHASHSEED="0",
    )
    built = REPOSITORY / "build" / "python"
    paths = [str(built)] if built.is_dir() else []
    environment["PYTHONPATH"] = os.pathsep.join(paths + [p for p in (os.environ.get("PYTHONPATH"),) if p])
    return environment


def pin(threads):
    """To the last processors: the first ones serve interrupts. Returns them."""
    allowed = sorted(os.sched_getaffinity(0))
    if threads > len(allowed):
        raise ValueError(f"--threads {threads}: this process may use {len(allowed)} processors")
    chosen = allowed[-threads:]
    os.sched_setaffinity(0, chosen)
    return chosen


def _processor_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def machine_facts():
    return {
        "processor": _processor_name(),
        "processors": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
        "load_average_before": os.getloadavg()[0],
    }


def describe_machine():
    import sharpmax

    return machine_facts() | {"target": sharpmax.current_target(), "targets": list(sharpmax.targets())}


def versions(peers):
    found = {"python": sys.version.split()[0]}
    found.update({peer.name: peer.version() for peer in peers.values()})
    return found


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def write_atomically(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_text(text)
    os.replace(beside, path)


_CHILD = "SHARPMAX_BENCH_CHILD"


def measure_pinned(arguments, measure_here):
    """measure_here(arguments) in a process whose thread pools started with their settings; its exit status.

    arguments: threads, and output, a JSON file or None. What disagreed with its reference was not timed: status 1.
    """
    if os.environ.get(_CHILD) != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], pinned_environment(arguments.threads) | {_CHILD: "1"})
    result = measure_here(arguments)
    if arguments.output:
        write_atomically(arguments.output, json.dumps(result, indent=1) + "\n")
    return 1 if any(case["skipped"] for case in result["cases"]) else 0
