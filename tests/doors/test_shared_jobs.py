"""Jobs on a model that several processes share: the same bytes whoever does which piece, whoever is killed."""
import json
import random
import shutil
import signal
import subprocess

import pytest
import sharing
import sharpmax
from sharing import BINARY, PLAIN, RANKS, SEED, ended, refused, start, storm, without_locks
from tiny_folder import write_tiny_folder
from waiting import wait_until

TEXT = "".join(f"Line {i * i} of a text that a tiny model reads, {i} times over.\n" for i in range(120))
JOBS = {
    "perplexity": ("--text", "text.txt", "--length", 128),
    "audit": ("--text", "text.txt", "--lengths", "32,96", "--excerpts", 6, "--sketch", 40),
    "probe": ("--probe", "max", "--lengths", "64,96,128", "--questions", 3),
    "fix": ("--text", "text.txt", "--tokens", 256, "--length", 64, "--lengths", "96,128", "--questions", 3, "--budget", 3,
            "--rule", "softmax:beta=1.2", "--rule", "ssmax:s=0.2"),
    "bound": (),
}
VERBS = {"probe": "audit"}
KINDS = {"perplexity": "runs of chunks", "audit": "excerpts", "probe": "lengths", "fix": "parts of candidates",
         "bound": "groups of heads"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A folder with a model and a text."""
    folder = tmp_path_factory.mktemp("inputs")
    write_tiny_folder(folder / "model")
    (folder / "text.txt").write_text(TEXT)
    return folder


def placed(inputs, where):
    """The model and the text of `inputs`, at the same relative paths in `where`."""
    for name in ("model", "text.txt"):
        (where / name).symlink_to(inputs / name)
    return where


def contents(directory):
    """Every file of a run, without the places where a machine has the inputs."""
    found = sharing.contents(directory)
    settings = json.loads(found["run.json"])
    settings.pop("places")
    return {**found, "run.json": settings}


def words_of(job, *more):
    return (VERBS.get(job, job), "model", *JOBS[job], *more)


def joining(job):
    """A helper that is told nothing but the directory; a probe is a form of an audit, which has to be said."""
    return (VERBS.get(job, job), *(("--probe", "max") if job == "probe" else ()), "--directory", "run", "--join")


@pytest.fixture(scope="module", params=JOBS)
def alone(request, inputs, tmp_path_factory):
    """A job, what one process makes of it in a directory, and its results without one."""
    folder = placed(inputs, tmp_path_factory.mktemp("alone"))
    ended(start(*words_of(request.param, "--directory", "run"), cwd=folder))
    assert not (folder / "run" / "claims").exists()
    ended(start(*words_of(request.param, "--json", "plain.json"), cwd=folder))
    plain = json.loads((folder / "plain.json").read_text())
    return request.param, contents(folder / "run"), plain


def test_a_directory_changes_nothing_in_the_results(alone):
    _, files, plain = alone
    kept = files["results.json"]
    assert {name: plain[name] for name in kept} == kept
    assert sum(name.startswith("pieces/") for name in files) > 2


@pytest.mark.parametrize("launcher", RANKS)
def test_processes_of_a_launcher_share_a_job_and_the_first_one_speaks(alone, inputs, tmp_path, launcher):
    job, expected, _ = alone
    placed(inputs, tmp_path)
    ranks = [start(*words_of(job, "--directory", "run", "--json", f"{rank}.json"), cwd=tmp_path,
                   env=RANKS[launcher](rank, 3)) for rank in range(3)]
    (first, told), *others = [ended(rank) for rank in ranks]
    assert f"3 processes, started by {launcher}, share run" in told and first
    assert others == [("", "")] * 2
    assert contents(tmp_path / "run") == expected
    written, kept = (json.loads((tmp_path / name).read_text()) for name in ("0.json", "run/results.json"))
    assert written == kept and not (tmp_path / "1.json").exists()


def test_helpers_take_everything_from_the_directory_and_may_stand_elsewhere(alone, inputs, tmp_path):
    job, expected, _ = alone
    placed(inputs, tmp_path)
    first = start(*words_of(job, "--directory", "run"), cwd=tmp_path)
    assert wait_until((tmp_path / "run" / "run.json").exists, first)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "run").symlink_to(tmp_path / "run")
    helpers = [start(*joining(job), cwd=tmp_path / "elsewhere") for _ in range(2)]
    for process in (first, *helpers):
        assert ended(process)[0]
    assert contents(tmp_path / "run") == expected


def test_workers_that_come_and_go_and_are_killed_leave_the_same_bytes(alone, inputs, tmp_path):
    job, expected, _ = alone
    placed(inputs, tmp_path)
    print(f"seed {SEED}")
    storm(words_of(job), tmp_path / "run", 3, random.Random(SEED))
    assert contents(tmp_path / "run") == expected
    assert not (tmp_path / "run" / "claims").exists()


def test_a_killed_job_resumes_and_does_no_piece_twice(alone, inputs, tmp_path):
    job, expected, _ = alone
    placed(inputs, tmp_path)
    ended(start(*words_of(job, "--directory", "run"), cwd=tmp_path))
    pieces = sorted((tmp_path / "run" / "pieces").iterdir())
    (tmp_path / "run" / "results.json").unlink()
    pieces[0].unlink()
    before = {piece: piece.stat().st_mtime_ns for piece in pieces[1:]}
    assert "holds a run already" in ended(start(*words_of(job, "--directory", "run"), cwd=tmp_path), 2)[1]
    said = ended(start(*words_of(job, "--directory", "run", "--resume"), cwd=tmp_path))[1]
    assert "resuming: " in said and KINDS[job] in said
    assert contents(tmp_path / "run") == expected
    assert {piece: piece.stat().st_mtime_ns for piece in pieces[1:]} == before


def test_a_file_system_that_refuses_locks_costs_double_work_and_no_byte(alone, inputs, tmp_path):
    job, expected, _ = alone
    placed(inputs, tmp_path)
    env = without_locks(tmp_path)
    both = [start(*words_of(job, "--directory", "run", "--join"), cwd=tmp_path, env=env) for _ in range(2)]
    told = [ended(process)[1] for process in both]
    assert any("refuses locks, so processes may do the same piece twice" in words for words in told)
    assert contents(tmp_path / "run") == expected


def test_more_processes_than_pieces_is_said_and_nobody_hangs(alone, inputs, tmp_path):
    job, expected, _ = alone
    placed(inputs, tmp_path)
    said = ended(start(*words_of(job, "--directory", "run"), cwd=tmp_path, env=RANKS["srun"](0, 5000)))[1]
    assert f"{KINDS[job]}: " in said and "of 5000 processes have nothing to do" in said
    assert contents(tmp_path / "run") == expected


@pytest.mark.parametrize("job", ["perplexity", "audit"])
def test_layer_by_layer_is_the_same_bytes_through_kills(job, inputs, tmp_path):
    placed(inputs, tmp_path)
    for name, more in (("plain", ()), ("by-layer", ("--by-layer",))):
        ended(start(*words_of(job, "--directory", name, *more), cwd=tmp_path))
    expected = contents(tmp_path / "plain")
    assert contents(tmp_path / "by-layer") == expected
    storm(words_of(job, "--by-layer", "--checkpoint-seconds", 0), tmp_path / "run", 3, random.Random(SEED))
    assert contents(tmp_path / "run") == expected


@pytest.fixture
def at_work(inputs, tmp_path):
    """A process that is stopped while it has a piece of a perplexity."""
    (tmp_path / "model").symlink_to(inputs / "model")
    (tmp_path / "text.txt").write_text(TEXT * 100)
    process = start(*words_of("perplexity", "--directory", "run"), cwd=tmp_path)
    claims = tmp_path / "run" / "claims"
    assert wait_until(lambda: claims.is_dir() and any(claims.iterdir()), process)
    process.send_signal(signal.SIGSTOP)
    yield process
    process.kill()
    process.communicate()


def test_status_names_who_works_on_what_without_model_or_text(at_work, tmp_path):
    (tmp_path / "text.txt").unlink()
    told = ended(start("perplexity", "--directory", "run", "--status", cwd=tmp_path))[0]
    assert "run: not finished" in told and "runs of chunks done" in told
    status = sharpmax.perplexity(directory=tmp_path / "run", status=True)
    assert type(status).__name__ == "RunStatus" and list(status.pieces) == ["runs of chunks"]
    assert {one["process"] for one in status.at_work} <= {at_work.pid}


def test_a_helper_that_does_not_fit_is_refused_in_a_sentence(at_work, inputs, tmp_path):
    def sentence(*words, **more):
        return refused(2, *words, cwd=tmp_path, **more)

    join = ("--directory", "run", "--join")
    assert 'fields.length is "128" there, "64" here' in sentence("perplexity", "--length", 64, *join)
    assert 'holds a run of "perplexity", not of audit' in sentence("audit", *join)
    other = "SSE4" if "SSE4" in sharpmax.targets() and sharpmax.current_target() != "SSE4" else sharpmax.targets()[-1]
    said = sentence("perplexity", *join, env={"SHARPMAX_TARGET": other})
    assert "the last bits would differ" in said and f'"{other}" here' in said
    engine = tmp_path / "run" / "engine.json"
    text = engine.read_text()
    engine.write_text(text.replace(sharpmax.version, "0.0.9"))
    assert f'sharpmax is "0.0.9" there, "{sharpmax.version}" here' in sentence("perplexity", *join)
    engine.write_text(text)
    (tmp_path / "other.txt").write_text(TEXT)
    assert "measured." in sentence("perplexity", "--text", "other.txt", *join)
    assert "--join to help it" in sentence(*words_of("perplexity"), "--directory", "run", "--resume")
    assert "--join and --overwrite" in sentence("perplexity", *join, "--overwrite")
    assert "holds no run" in sentence("perplexity", "--directory", "empty", "--join")
    assert "--join goes with --directory DIR" in sentence("perplexity", "--join")
    assert "--status goes with --directory DIR" in sentence("fix", "--status")
    assert "--analysis excludes --directory" in sentence("audit", "model", "--text", "text.txt", "--analysis", "all",
                                                         "--directory", "a")


def test_a_model_or_text_in_another_place_is_the_same_and_results_name_the_first(inputs, tmp_path):
    placed(inputs, tmp_path)
    copies = tmp_path / "copies"
    shutil.copytree(inputs / "model", copies / "model")
    shutil.copy(inputs / "text.txt", copies / "again.txt")
    ended(start(*words_of("perplexity", "--directory", "run"), cwd=tmp_path))
    results = (tmp_path / "run" / "results.json").read_bytes()
    ended(start("perplexity", "copies/model", "--text", "copies/again.txt", "--directory", "run", "--join", cwd=tmp_path))
    assert (tmp_path / "run" / "results.json").read_bytes() == results
    assert json.loads(results)["settings"]["text"] == "text.txt"


def test_a_damaged_piece_is_named_with_what_to_do(alone, inputs, tmp_path):
    job, _, _ = alone
    placed(inputs, tmp_path)
    ended(start(*words_of(job, "--directory", "run"), cwd=tmp_path))
    piece = sorted((tmp_path / "run" / "pieces").iterdir())[0]
    piece.write_bytes(b"{}" if piece.suffix == ".json" else b"PK")
    said = ended(start(*words_of(job, "--directory", "run", "--resume"), cwd=tmp_path), 3)[1]
    assert said.splitlines()[-1].startswith(f"sharpmax: run/pieces/{piece.name}: ")


def test_launched_processes_without_a_directory_are_told_that_each_does_everything(inputs, tmp_path):
    placed(inputs, tmp_path)
    outputs = [ended(start(*words_of("perplexity"), cwd=tmp_path, env=RANKS["mpirun"](rank, 2))) for rank in range(2)]
    assert "mpirun started 2 processes, and each does the whole job; with --directory DIR they share it" in outputs[0][1]
    assert outputs[1] == ("", "")


def test_a_batch_script_without_srun_is_one_process_and_says_so(inputs, tmp_path):
    placed(inputs, tmp_path)
    env = {"SLURM_NTASKS": 4, "SLURM_PROCID": 0, "SLURM_JOB_ID": 7}
    said = ended(start(*words_of("bound", "--directory", "run"), cwd=tmp_path, env=env))[1]
    assert "Slurm has 4 tasks for this job, and this is one process; start it with srun to use them all" in said


def test_mpirun_as_a_mere_launcher(inputs, tmp_path):
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun here")
    placed(inputs, tmp_path)
    ended(start(*words_of("audit", "--directory", "alone"), cwd=tmp_path))
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", BINARY,
                           *map(str, words_of("audit", "--directory", "run"))], cwd=tmp_path, capture_output=True,
                          text=True, env=PLAIN)
    assert done.returncode == 0, done.stderr
    assert "3 processes, started by mpirun, share run" in done.stderr
    assert contents(tmp_path / "run") == contents(tmp_path / "alone")
