"""One text over several processes: mpirun reads it layer by layer, with the results of one process, through kills and stops."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess

import pytest
from sharing import BINARY, OF_ONE_PROCESS, PLAIN, SEED, refused
from tiny_folder import write_tiny_folder
from waiting import wait_until

TEXT = "".join(f"Line {i * i} of a text that a tiny model reads, {i} times over.\n" for i in range(60))
JOBS = {
    "perplexity": ("perplexity", "model", "--text", "text.txt", "--length", 200, "--block", 16),
    "audit": ("audit", "model", "--text", "text.txt", "--lengths", "48,90,210", "--excerpts", 3, "--sketch", 40, "--block", 16),
    "sparse": ("audit", "model", "--text", "text.txt", "--lengths", "70,100", "--excerpts", 1, "--sketch", 0, "--block", 32,
               "--normalizer", "entmax15", "--cache", "float16"),
    "fix": ("fix", "model", "--text", "text.txt", "--tokens", 256, "--length", 96, "--lengths", "96,128", "--questions", 3,
            "--budget", 2, "--rule", "softmax:beta=1.5", "--rule", "hard@but-steepest", "--block", 16),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model, a text and what one process makes of them."""
    folder = tmp_path_factory.mktemp("together")
    write_tiny_folder(folder / "model")
    (folder / "text.txt").write_text(TEXT)
    for job, words in JOBS.items():
        subprocess.run([BINARY, *map(str, words), "--json", f"{job}.json"], cwd=folder, env=PLAIN, check=True, capture_output=True)
    return folder


def results(path):
    return {name: value for name, value in json.loads(path.read_text()).items() if name not in OF_ONE_PROCESS}


def start(ranks, *words, cwd):
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun here")
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks, BINARY, *words, "--together"]
    return subprocess.Popen(list(map(str, words)), cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**PLAIN, "OMP_NUM_THREADS": "1"})


def ended(process, code=0):
    out, err = process.communicate()
    if "this build of sharpmax has no MPI" in err:
        pytest.skip("this build has no MPI")
    assert process.returncode == code, (process.returncode, out, err)
    return out, err


def ranks_of(launcher):
    """Processes of sharpmax that mpirun has started, by rank."""
    found = {}
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            environment = (place / "environ").read_bytes().split(b"\0") if parent == launcher.pid else []
        except (OSError, ValueError):
            continue
        for entry in environment:
            if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                found[int(entry.partition(b"=")[2])] = int(place.name)
    return found


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("job", JOBS)
def test_mpirun_reads_a_text_with_the_results_of_one_process(job, ranks, folder, tmp_path):
    file = tmp_path / "together.json"
    out, err = ended(start(ranks, *JOBS[job], "--json", file, cwd=folder))
    assert results(file) == results(folder / f"{job}.json")
    assert ranks == 1 or f"{ranks} processes, started by mpirun, read every text together" in err
    assert len({line for line in out.splitlines() if line}) == len([line for line in out.splitlines() if line])  # said once
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        path.name.replace(job, "together") for path in folder.iterdir() if path.name.startswith(f"{job}.json"))


def changed(file, before):
    """Whether a file is there that was written at another time than `before`. It may vanish during the look."""
    try:
        return file.stat().st_mtime_ns != before
    except FileNotFoundError:
        return False


def killed_and_resumed(job, folder, where, kills):
    """Runs in turn, each of which loses a rank until so many are killed; then what is left is done. The number of kills."""
    chance, file, killed = random.Random(SEED), where / "together.json", 0
    state = where / "together.json.state.npz"
    for _ in range(kills):
        again = ("--resume",) if file.exists() else ()
        before = state.stat().st_mtime_ns if state.exists() else None  # left by the run before
        process = start(chance.randint(2, 4), *JOBS[job], "--json", file, "--checkpoint-seconds", 0, *again, cwd=folder)
        if not wait_until(lambda before=before: changed(state, before), process):
            ended(process)
            break
        victims = sorted(ranks_of(process).values())
        if victims:
            try:
                os.kill(chance.choice(victims), signal.SIGKILL)
            except ProcessLookupError:
                victims = []
        process.communicate()
        killed += bool(victims) and process.returncode != 0
    ended(start(2, *JOBS[job], "--json", file, "--resume", cwd=folder))
    assert results(file) == results(folder / f"{job}.json")
    assert not state.exists()
    return killed


@pytest.mark.parametrize("job", ["perplexity", "audit", "fix"])
def test_a_killed_rank_ends_all_and_other_numbers_of_ranks_go_on(job, folder, tmp_path):
    assert killed_and_resumed(job, folder, tmp_path, 3) > 0


@pytest.mark.long
def test_a_hundred_killed_ranks_change_no_byte(folder, tmp_path):
    killed = 0
    for number in range(100):
        where = tmp_path / str(number)
        where.mkdir()
        killed += killed_and_resumed(("perplexity", "audit", "fix")[number % 3], folder, where, 3)
        if killed >= 100:
            return
    raise AssertionError(f"only {killed} ranks were killed at work")


def test_one_process_goes_on_from_what_several_have_saved(folder, tmp_path):
    file = tmp_path / "together.json"
    state = tmp_path / "together.json.state.npz"
    process = start(3, *JOBS["audit"], "--json", file, "--checkpoint-seconds", 0, cwd=folder)
    assert wait_until(state.exists, process)
    process.kill()
    process.communicate()
    subprocess.run([BINARY, *map(str, JOBS["audit"]), "--json", str(file), "--by-layer", "--resume"], cwd=folder, env=PLAIN,
                   check=True, capture_output=True)
    assert results(file) == results(folder / "audit.json")


@pytest.mark.parametrize("rank", [1, 2])
def test_a_stopped_rank_is_named_when_patience_ends(folder, tmp_path, rank):
    """Wherever it was stopped: at its share of the work, or within a call for which the others wait."""
    (tmp_path / "text.txt").write_text(TEXT * 40)
    (tmp_path / "model").symlink_to(folder / "model")
    state = tmp_path / "out.json.state.npz"
    process = start(3, *JOBS["perplexity"], "--json", "out.json", "--checkpoint-seconds", 0, "--patience", 2, cwd=tmp_path)
    assert wait_until(state.exists, process)
    os.kill(ranks_of(process)[rank], signal.SIGSTOP)
    _, err = process.communicate()
    assert process.returncode != 0
    host = os.uname().nodename
    assert f"rank {rank} on host {host} has been silent for 2 seconds" in err, err


def test_a_rank_with_another_text_is_refused(folder, tmp_path):
    (tmp_path / "model").symlink_to(folder / "model")
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "other.txt").write_text(TEXT.upper())
    words = [str(word) for word in (BINARY, *JOBS["perplexity"], "--together")]
    other = ["other.txt" if word == "text.txt" else word for word in words]
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun here")
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "1", *words, ":", "-n", "1", *other],
                          cwd=tmp_path, env={**PLAIN, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == "", done
    assert "processes that work together need the same settings: rank 0 has" in done.stderr


def pair(first, second, cwd):
    """Two ranks with commands of their own."""
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun here")
    return subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "1", *map(str, first), ":", "-n", "1",
                           *map(str, second)], cwd=cwd, env={**PLAIN, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)


def test_a_rank_with_another_instruction_set_is_refused(folder):
    words = (BINARY, *JOBS["perplexity"], "--together")
    done = pair(("env", "SHARPMAX_TARGET=SSE4", *words), ("env", "SHARPMAX_TARGET=SCALAR", *words), folder)
    assert done.returncode == 2 and done.stdout == "", done
    assert ("processes that work together need the same instruction set (SHARPMAX_TARGET chooses it): rank 0 has 'SSE4', "
            "rank 1 has 'SCALAR'") in done.stderr


@pytest.mark.parametrize("job", ["perplexity", "audit", "fix"])
def test_a_file_that_cannot_be_written_ends_all_ranks_in_a_sentence(job, folder):
    _, err = ended(start(3, *JOBS[job], "--json", "missing/out.json", cwd=folder), 3)
    assert err.count("sharpmax: ") == 1 and "missing/out.json" in err, err


def test_more_ranks_than_blocks_read_the_same(folder, tmp_path):
    words = ("perplexity", "model", "--text", "text.txt", "--tokens", 100, "--length", 50, "--block", 64)
    subprocess.run([BINARY, *map(str, words), "--json", str(tmp_path / "alone.json")], cwd=folder, env=PLAIN, check=True,
                   capture_output=True)
    ended(start(4, *words, "--json", tmp_path / "together.json", cwd=folder))
    assert results(tmp_path / "together.json") == results(tmp_path / "alone.json")


def test_a_directory_is_another_way_to_share(folder):
    said = refused(2, *JOBS["audit"], "--together", "--directory", "run", cwd=folder)
    assert "--together and --directory DIR are two ways to share a job; give one" in said
