"""Processes that share a run: how launchers start them, how they are killed, and what they must agree on."""
import json
import os
import pathlib
import signal
import subprocess

from waiting import state_of, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
SEED = 20261118
OF_ONE_PROCESS = ("command", "created", "seconds", "training_seconds", "testing_seconds")
# Launchers of the machine that the tests run on say nothing here.
PLAIN = {name: value for name, value in os.environ.items()
         if not name.startswith(("OMPI_", "PMI", "SLURM_")) and name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR")}
RANKS = {"mpirun": lambda rank, size: {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": size},
         "torchrun": lambda rank, size: {"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1"},
         "srun": lambda rank, size: {"SLURM_PROCID": rank, "SLURM_STEP_NUM_TASKS": size, "SLURM_STEP_ID": 0}}


def start(*arguments, cwd, env=(), **more):
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.Popen([BINARY, *map(str, arguments)], cwd=cwd, text=True,
                            env={**PLAIN, **{name: str(value) for name, value in dict(env).items()}}, **more)


def ended(process, code=0):
    out, err = process.communicate()
    assert process.returncode == code, (process.returncode, out, err)
    return out, err


def refused(code, *arguments, cwd, env=(), **more):
    """One sentence on stderr, nothing on stdout; returns the sentence."""
    out, err = ended(start(*arguments, cwd=cwd, env=env, **more), code)
    assert out == "" and err.startswith("sharpmax: ") and err.count("\n") == 1, err
    return err


def contents(directory):
    """Every file of a run; of the results what all processes must agree on."""
    found = {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}
    found.pop("report.html", None)  # made from the results
    results = json.loads(found["results.json"])
    found["results.json"] = {name: value for name, value in results.items() if name not in OF_ONE_PROCESS}
    return found


def storm(command, directory, kills, chance):
    """Workers come and go, and are killed, until so many were killed at work; then those that are left finish."""
    workers = []

    def said(worker):
        return directory.parent / f"worker-{workers.index(worker)}.txt"

    def at_work():
        return [worker for worker in workers if worker.poll() is None]

    def come():
        with open(directory.parent / f"worker-{len(workers)}.txt", "w") as text:
            workers.append(start(*command, "--directory", directory.name, "--join", cwd=directory.parent,
                                 stdout=subprocess.DEVNULL, stderr=text))

    killed = 0
    while killed < kills and not (directory / "results.json").exists():
        while len(at_work()) < chance.randint(1, 3):
            come()
        for _ in range(chance.randint(1, 6)):
            before = state_of(directory)
            wait_until(lambda before=before: state_of(directory) != before or not at_work())
        victim = chance.choice(at_work() or [workers[-1]])
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        killed += victim.returncode == -signal.SIGKILL
    come()
    for worker in workers:
        worker.wait()
    failed = [said(worker).read_text() for worker in workers if worker.returncode not in (0, -signal.SIGKILL)]
    assert not failed and workers[-1].returncode == 0, failed
    return killed


NO_LOCKS = "#include <errno.h>\nint flock(int file, int how) { (void)file; (void)how; errno = ENOLCK; return -1; }\n"


def without_locks(folder):
    """The environment of a process whose file system refuses locks."""
    (folder / "flock.c").write_text(NO_LOCKS)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", "flock.so", "flock.c"], cwd=folder, check=True)
    return {"LD_PRELOAD": folder / "flock.so"}
