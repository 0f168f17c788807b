"""One row over several processes: a head that is tested on large sets by mpirun, and by one process."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
OF_ONE_PROCESS = ("command", "created", "seconds")
# One set that is not held in memory, and one size that is.
TEST = ("--sizes", "100,4200000", "--sets-scale", "0.008", "--normalizers", "softmax;entropy_target:nats=0.1;entmax15;hard")
PLAIN = {name: value for name, value in os.environ.items()
         if not name.startswith(("OMPI_", "PMI", "SLURM_")) and name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR")}


def run(*words, cwd, env=()):
    return subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, env={**PLAIN, **dict(env)})


def mpirun(*words, cwd):
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun here")
    done = run("mpirun", "--allow-run-as-root", "--oversubscribe", *words, cwd=cwd, env={"OMP_NUM_THREADS": "1"})
    if "this build of sharpmax has no MPI" in done.stderr:
        pytest.skip("this build has no MPI")
    return done


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    folder = tmp_path_factory.mktemp("head")
    done = run(BINARY, "retrieve", "--arms", "sharp", "--seeds", 1, "--steps", 200, "--sizes", 16, "--sets-scale", 0.01,
               "--directory", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "run" / "heads" / "sharp-0.safetensors"


def results(path):
    return {name: value for name, value in json.loads(path.read_text()).items() if name not in OF_ONE_PROCESS}


def test_mpirun_measures_the_same_as_one_process(head, tmp_path):
    alone = run(BINARY, "retrieve", "--head", head, *TEST, "--json", "alone.json", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    for ranks in (2, 3):
        done = mpirun("-n", ranks, BINARY, "retrieve", "--head", head, *TEST, "--json", f"{ranks}.json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"{ranks} processes, started by mpirun, test one head together" in done.stderr
        assert done.stdout.count("To see whether heads") == 1
        assert results(tmp_path / f"{ranks}.json") == results(tmp_path / "alone.json")


def test_a_process_with_other_settings_is_refused(head, tmp_path):
    one = (BINARY, "retrieve", "--head", head, "--sizes", 4200000, "--sets-scale", 0.008, "--normalizers", "hard")
    other = (*one[:4], "--sizes", 4200001, *one[6:])
    done = mpirun("-n", 1, *one, ":", "-n", 1, *other, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "processes that work together need the same settings: rank 0 has" in done.stderr
    assert done.stdout == ""


def test_a_launcher_without_mpi_is_refused_in_one_sentence(head, tmp_path):
    done = run(BINARY, "retrieve", "--head", head, *TEST, cwd=tmp_path,
               env={"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"})
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("sharpmax: torchrun started 2 processes") and done.stderr.count("\n") == 1, done.stderr
