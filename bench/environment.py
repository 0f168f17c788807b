"""Surroundings of a contender: its processors, its thread pools, and facts about the machine."""

import datetime
import os
import pathlib
import platform
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]


def pinned_environment(threads):
    """What a contender's process gets. Threads that wait sleep, so that the next contender need not be kept waiting."""
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


def checked_threads(asked, parser):
    """The numbers of threads to measure with; by default 1 and 2. parser: an argparse parser, for the error."""
    allowed = len(os.sched_getaffinity(0))
    for threads in asked or ():
        if not 1 <= threads <= allowed:
            parser.error(f"--threads {threads}: must be 1 to {allowed}, the processors that this process may use")
    return asked or [n for n in (1, 2) if n <= allowed]


def processors(threads):
    """The last ones that this process may use: the first serve interrupts."""
    return sorted(os.sched_getaffinity(0))[-threads:]


def pin(threads):
    os.sched_setaffinity(0, processors(threads))


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


def targets():
    """Instruction sets, as the process that runs them has to say it."""
    import sharpmax

    return {"target": sharpmax.current_target(), "targets": list(sharpmax.targets())}


def versions(peers):
    found = {"python": sys.version.split()[0]}
    found.update({name: peer.process.version for name, peer in peers.items()})
    return found


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def write_atomically(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_text(text)
    os.replace(beside, path)
