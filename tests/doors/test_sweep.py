"""Runs that several processes share: the same bytes whoever does what, whoever is killed, and however they are started."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess

import pytest
import sharpmax
from waiting import state_of, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
SEED = 20261118

RETRIEVE = ("retrieve", "--width", 16, "--steps", 600, "--seeds", 3, "--sizes", "16,64,1024", "--sets-scale", 0.02,
            "--normalizers", "softmax;hard", "--checkpoint-seconds", 0)
TRAIN = ("train", "lookup", "--keys", 80, "--values", 4, "--width", 16, "--head-width", 8, "--steps", 60, "--batch", 4,
         "--sizes", "8,64", "--answers", 64, "--seeds", 2, "--checkpoint-seconds", 0)
SLOW = ("retrieve", "--steps", 1_000_000, "--arms", "paper", "--sizes", 16)
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


@pytest.fixture(scope="module", params=[RETRIEVE, TRAIN], ids=["retrieve", "train"])
def alone(request, tmp_path_factory):
    """A command, and what one process makes of it."""
    folder = tmp_path_factory.mktemp("alone")
    ended(start(*request.param, "--directory", "run", cwd=folder))
    assert not (folder / "run" / "claims").exists()
    return request.param, contents(folder / "run")


@pytest.mark.parametrize("launcher", RANKS)
def test_processes_of_a_launcher_share_a_run_and_the_first_one_speaks(alone, tmp_path, launcher):
    command, expected = alone
    ranks = [start(*command, "--directory", "run", "--json", f"{rank}.json", cwd=tmp_path, env=RANKS[launcher](rank, 3))
             for rank in range(3)]
    (first, told), *others = [ended(rank) for rank in ranks]
    assert f"3 processes, started by {launcher}, share run" in told and "Arm" in first
    assert others == [("", "")] * 2
    assert contents(tmp_path / "run") == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.json", "run"]
    written, kept = (json.loads((tmp_path / name).read_text()) for name in ("0.json", "run/results.json"))
    assert written == kept


def test_helpers_join_by_hand_and_read_the_settings_from_the_directory(alone, tmp_path):
    command, expected = alone
    first = start(*command, "--directory", "run", cwd=tmp_path)
    assert wait_until((tmp_path / "run" / "run.json").exists, first)
    helpers = [start(command[0], "--directory", "run", "--join", cwd=tmp_path) for _ in range(2)]
    outputs = [ended(process)[0] for process in (first, *helpers)]
    assert len(set(outputs)) == 1 and outputs[0]  # every one of them has the whole result
    assert contents(tmp_path / "run") == expected


def test_mpirun_as_a_mere_launcher(tmp_path):
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun here")
    ended(start(*RETRIEVE, "--directory", "alone", cwd=tmp_path))
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", BINARY, *map(str, RETRIEVE),
                           "--directory", "run"], cwd=tmp_path, capture_output=True, text=True, env=PLAIN)
    assert done.returncode == 0, done.stderr
    assert "3 processes, started by mpirun, share run" in done.stderr and done.stdout.count("To see whether heads") == 1
    assert contents(tmp_path / "run") == contents(tmp_path / "alone")


def storm(command, directory, kills, chance):
    """Workers come and go, and are killed, until so many were killed at work; then those that are left finish."""
    workers = []

    def at_work():
        return [worker for worker in workers if worker.poll() is None]

    def come():
        workers.append(start(*command, "--directory", directory.name, "--join", cwd=directory.parent,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

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
    assert workers[-1].returncode == 0
    assert all(worker.returncode in (0, -signal.SIGKILL) for worker in workers), [w.returncode for w in workers]
    return killed


def check_storm(alone, tmp_path, kills, command=None):
    command, expected = alone
    print(f"seed {SEED}")
    killed = storm(command, tmp_path / "run", kills, random.Random(SEED))
    assert killed == kills
    assert contents(tmp_path / "run") == expected
    assert not (tmp_path / "run" / "claims").exists()


def test_workers_that_come_and_go_and_are_killed_leave_the_same_bytes(alone, tmp_path):
    check_storm(alone, tmp_path, 6)


@pytest.mark.long
def test_a_hundred_kills_leave_the_same_bytes(tmp_path):
    command = (*RETRIEVE[:3], "--steps", 4000, "--seeds", 12, *RETRIEVE[7:])
    ended(start(*command, "--directory", "alone", cwd=tmp_path))
    check_storm((command, contents(tmp_path / "alone")), tmp_path, 100)


def test_status_names_who_works_on_what_and_python_has_it_too(tmp_path):
    assert "holds no run" in refused(2, "retrieve", "--directory", "run", "--status", cwd=tmp_path)
    process = start(*SLOW, "--directory", "run", cwd=tmp_path)
    try:
        assert wait_until((tmp_path / "run" / "claims" / "train-paper-0").exists, process)
        wait_until(lambda: (tmp_path / "run" / "claims" / "train-paper-0").read_text() != "", process)
        told = ended(start("retrieve", "--directory", "run", "--status", cwd=tmp_path))[0]
        assert "0 of 1 heads done, 1 being worked on, 0 left" in told and "0 of 1 tests done, 0 being worked on, 1 left" in told
        assert f"train-paper-0: process {process.pid} on {os.uname().nodename}, since 20" in told
        status = sharpmax.retrieve(directory=tmp_path / "run", status=True)
        assert [(one["piece"], one["process"]) for one in status.at_work] == [("train-paper-0", process.pid)]
        assert not status.finished and "0 of 1 heads" in str(status)
    finally:
        process.kill()
        process.communicate()
    status = sharpmax.retrieve(directory=tmp_path / "run", status=True)
    assert status.at_work == [] and status.pieces["heads"] == {"total": 1, "done": 0, "at_work": 0}


def test_more_processes_than_pieces_is_said(tmp_path):
    tiny = ("retrieve", "--width", 8, "--steps", 5, "--arms", "paper", "--sizes", "16,64", "--sets-scale", 0.01, "--directory", "run")
    words = ended(start(*tiny, cwd=tmp_path, env=RANKS["srun"](0, 2)))[1]
    assert "there are 1 heads to train: 1 of 2 processes have nothing to do until the tests" in words
    words = ended(start(*tiny, cwd=tmp_path, env=RANKS["srun"](0, 64)))[1]
    assert "there are 1 heads to train and 2 tests: 62 of 64 processes have nothing to do" in words


def test_a_helper_that_does_not_fit_is_refused_in_a_sentence(tmp_path):
    process = start(*SLOW, "--directory", "run", cwd=tmp_path)
    try:
        assert wait_until((tmp_path / "run" / "run.json").exists, process)
        join = ("retrieve", "--directory", "run", "--join")
        assert "arms.0.training.steps is 1000000 there, 7 here" in refused(2, *SLOW[:1], "--steps", 7, *SLOW[3:], *join[1:], cwd=tmp_path)
        other = "SSE4" if "SSE4" in sharpmax.targets() and sharpmax.current_target() != "SSE4" else sharpmax.targets()[-1]
        sentence = refused(2, *join, cwd=tmp_path, env={"SHARPMAX_TARGET": other})
        assert "the last bits would differ" in sentence and f'"{other}" here' in sentence and "SHARPMAX_TARGET" in sentence
        engine = tmp_path / "run" / "engine.json"
        text = engine.read_text()
        engine.write_text(text.replace(sharpmax.version, "0.0.9"))
        assert f'sharpmax is "0.0.9" there, "{sharpmax.version}" here' in refused(2, *join, cwd=tmp_path)
        engine.write_text(text)
        assert "--join and --overwrite" in refused(2, *join, "--overwrite", cwd=tmp_path)
        assert "--join to help it" in refused(2, *SLOW, "--directory", "run", "--resume", cwd=tmp_path)
        assert "holds no run" in refused(2, *join[:2], "elsewhere", "--join", cwd=tmp_path)
    finally:
        process.kill()
        process.communicate()


def test_what_one_process_must_have_alone_is_refused_under_a_launcher(tmp_path):
    env = RANKS["torchrun"](1, 2)
    assert "remove the directory before" in refused(2, *RETRIEVE, "--overwrite", cwd=tmp_path, env=env)
    assert "remove the directory before" in refused(2, *TRAIN, "--overwrite", cwd=tmp_path, env=env)
    assert "OMPI_COMM_WORLD_RANK is '9'" in refused(2, *RETRIEVE, cwd=tmp_path, env=RANKS["mpirun"](9, 2))
    assert list(tmp_path.iterdir()) == []


NO_LOCKS = "#include <errno.h>\nint flock(int file, int how) { (void)file; (void)how; errno = ENOLCK; return -1; }\n"


def test_a_file_system_that_refuses_locks_costs_double_work_and_no_byte(alone, tmp_path):
    command, expected = alone
    (tmp_path / "flock.c").write_text(NO_LOCKS)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", "flock.so", "flock.c"], cwd=tmp_path, check=True)
    env = {"LD_PRELOAD": tmp_path / "flock.so"}
    both = [start(*command, "--directory", "run", "--join", cwd=tmp_path, env=env) for _ in range(2)]
    for process in both:
        assert "refuses locks, so processes may do the same piece twice" in ended(process)[1]
    assert contents(tmp_path / "run") == expected


def test_a_directory_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    assert "could not be made" in refused(3, *RETRIEVE, "--directory", "file/run", "--join", cwd=tmp_path)
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True).returncode != 0:
        pytest.skip("no right to mount a small file system here")
    try:
        (disk / "run").mkdir()
        with pytest.raises(OSError), open(disk / "rest", "wb") as rest:
            while True:
                rest.write(bytes(4096))
                rest.flush()
        assert "No space left on device" in refused(3, *RETRIEVE, "--directory", "run", "--join", cwd=disk)
        (disk / "rest").unlink()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        assert "Read-only file system" in refused(3, *RETRIEVE, "--directory", "run", "--join", cwd=disk)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
