"""A Slurm of one node: steps, arrays, requeued jobs, a batch script without srun, and steps with and without PMIx."""
import json
import re
import shlex
import shutil
import subprocess

import pytest
from one_node_slurm import one_node_slurm
from ranks import KEYS, hashes, lines, tool
from sharing import BINARY, PLAIN, contents, ended, start
from tiny_folder import write_tiny_folder
from waiting import state_of, wait_until

RETRIEVE = ("retrieve", "--width", 16, "--steps", 600, "--seeds", 3, "--sizes", "16,64,1024", "--sets-scale", 0.02,
            "--normalizers", "softmax;hard", "--checkpoint-seconds", 0)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    assert shutil.which("slurmctld"), "scripts/setup cluster installs Slurm"
    with one_node_slurm(tmp_path_factory.mktemp("slurm")) as environment:
        yield {**PLAIN, **{"SLURM_CONF": environment["SLURM_CONF"]}, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    ended(start(*RETRIEVE, "--directory", "run", cwd=folder))
    return contents(folder / "run")


def run(slurm, *words, cwd):
    return subprocess.run(list(map(str, words)), cwd=cwd, env=slurm, capture_output=True, text=True)


def test_tasks_of_a_step_share_a_run_without_mpi(slurm, alone, tmp_path):
    done = run(slurm, "srun", "-n", 3, BINARY, *RETRIEVE, "--directory", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 processes, started by srun, share run" in done.stderr
    assert contents(tmp_path / "run") == alone


def test_tasks_of_an_array_join_a_run_and_begin_it(slurm, alone, tmp_path):
    command = shlex.join(map(str, (BINARY, *RETRIEVE, "--directory", "run", "--join")))
    done = run(slurm, "sbatch", "--wait", "--array=0-3", "--requeue", "--wrap", command, cwd=tmp_path)
    assert done.returncode == 0, (done.stderr, [path.read_text() for path in tmp_path.glob("*.out")])
    assert contents(tmp_path / "run") == alone


def test_a_job_that_is_requeued_goes_on(slurm, alone, tmp_path):
    command = shlex.join(map(str, (BINARY, *RETRIEVE, "--directory", "run", "--join")))
    done = run(slurm, "sbatch", "--parsable", "--requeue", "--wrap", command, cwd=tmp_path)
    job = done.stdout.strip()
    wait_until(lambda: any("checkpoints" in str(place) for place, *_ in state_of(tmp_path)))
    assert run(slurm, "scontrol", "requeue", job, cwd=tmp_path).returncode == 0
    wait_until(lambda: run(slurm, "squeue", "-h", "-j", job, "-o", "%T", cwd=tmp_path).stdout.strip() == "PENDING")
    run(slurm, "scontrol", "update", f"JobId={job}", "StartTime=now", cwd=tmp_path)  # Slurm would hold it back for two minutes
    wait_until((tmp_path / "run" / "results.json").exists)
    shown = run(slurm, "scontrol", "show", "job", job, cwd=tmp_path).stdout
    assert re.search(r"Restarts=1\b", shown), shown
    assert contents(tmp_path / "run") == alone


def test_a_batch_script_without_srun_is_one_process_and_says_so(slurm, alone, tmp_path):
    command = shlex.join(map(str, (BINARY, *RETRIEVE, "--directory", "run")))
    done = run(slurm, "sbatch", "--wait", "-n", 4, "-o", "said", "--wrap", command, cwd=tmp_path)
    said = (tmp_path / "said").read_text()
    assert done.returncode == 0, said
    assert "Slurm has 4 tasks for this job, and this is one process; start it with srun to use them all" in said
    assert contents(tmp_path / "run") == alone


def test_a_step_with_pmix_has_the_bits_of_one_process(slurm, tmp_path):
    assert hashes(lines("env", f"SLURM_CONF={slurm['SLURM_CONF']}", "srun", "--mpi=pmix", "-n", 3, tool(), KEYS)) == hashes(
        lines(tool(), KEYS))


def test_a_step_without_pmix_is_refused_in_a_sentence(slurm, tmp_path):
    write_tiny_folder(tmp_path / "model")
    (tmp_path / "text.txt").write_text("A text of a few words. " * 20)
    words = (BINARY, "perplexity", "model", "--text", "text.txt", "--length", 40, "--together", "--json", "out.json")
    done = run(slurm, "srun", "--mpi=none", "-n", 2, *words, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "", done.stderr
    assert ("srun started 2 processes without MPI, which they need to work together; start them with mpirun or srun "
            "--mpi=pmix") in done.stderr
    assert "PMI" not in done.stderr.replace("pmix", "")
    done = run(slurm, "srun", "--mpi=pmix", "-n", 2, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out.json").read_text())["complete"]
