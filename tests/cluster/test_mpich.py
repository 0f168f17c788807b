"""The build with MPICH: the bits of one process, and of the build with Open MPI."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess

import pytest
from ranks import KEYS, ROOT, hashes, lines, rounds, tool
from sharing import BINARY, OF_ONE_PROCESS, PLAIN
from tiny_folder import write_tiny_folder
from waiting import wait_until

MPIRUN = "mpirun.mpich"


def ranks_under(launcher, program):
    """Processes of a program that a launcher has started, itself or by a proxy."""
    parents, programs = {}, {}
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            programs[int(place.name)] = (place / "cmdline").read_bytes().split(b"\0")[0].decode()
        except (OSError, ValueError):
            continue

    def is_under(number):
        while number in parents:
            number = parents[number]
            if number == launcher:
                return True
        return False

    return sorted(number for number, words in programs.items() if words == program and is_under(number))


@pytest.fixture(scope="module")
def alone():
    return lines(tool(), KEYS)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_rows_over_ranks(ranks, alone):
    found = lines(MPIRUN, "-n", ranks, tool("build-mpich"), KEYS)
    assert (hashes(found), rounds(found)) == (hashes(alone), rounds(alone))


def test_a_text_over_ranks_and_a_rank_that_is_killed(tmp_path):
    write_tiny_folder(tmp_path / "model")
    (tmp_path / "text.txt").write_text("".join(f"Line {i * i} of a text, {i} times over.\n" for i in range(60)))
    words = ["perplexity", "model", "--text", "text.txt", "--length", "200", "--block", "16", "--json"]
    env = {**PLAIN, "OMP_NUM_THREADS": "1"}
    subprocess.run([BINARY, *words, "alone.json"], cwd=tmp_path, env=env, check=True, capture_output=True)
    mine = [str(ROOT / "build-mpich" / "sharpmax"), *words, "together.json", "--together", "--checkpoint-seconds", "0"]
    process = subprocess.Popen([MPIRUN, "-n", "3", *mine], cwd=tmp_path, env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    state = tmp_path / "together.json.state.npz"
    if wait_until(state.exists, process):
        for rank in ranks_under(process.pid, mine[0])[-1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rank, signal.SIGKILL)
    process.wait()
    subprocess.run([MPIRUN, "-n", "2", *mine, "--resume"], cwd=tmp_path, env=env, check=True, capture_output=True)
    alone, together = ({name: value for name, value in json.loads((tmp_path / name).read_text()).items()
                        if name not in OF_ONE_PROCESS} for name in ("alone.json", "together.json"))
    assert together == alone
