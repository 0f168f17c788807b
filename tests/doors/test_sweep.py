"""Runs that several processes share: the same bytes whoever does what, whoever is killed, and however they are started."""
import json
import os
import random
import shutil
import subprocess

import pytest
import sharpmax
from sharing import BINARY, PLAIN, RANKS, SEED, contents, ended, refused, start, storm, without_locks
from waiting import wait_until

RETRIEVE = ("retrieve", "--width", 16, "--steps", 600, "--seeds", 3, "--sizes", "16,64,1024", "--sets-scale", 0.02,
            "--normalizers", "softmax;hard", "--checkpoint-seconds", 0)
TRAIN = ("train", "lookup", "--keys", 80, "--values", 4, "--width", 16, "--head-width", 8, "--steps", 60, "--batch", 4,
         "--sizes", "8,64", "--answers", 64, "--seeds", 2, "--checkpoint-seconds", 0)
SLOW = ("retrieve", "--steps", 1_000_000, "--arms", "paper", "--sizes", 16)


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


def test_a_file_system_that_refuses_locks_costs_double_work_and_no_byte(alone, tmp_path):
    command, expected = alone
    env = without_locks(tmp_path)
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
