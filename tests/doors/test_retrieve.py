"""`sharpmax retrieve` as a user meets it: what it writes, how it goes on after a kill, what it refuses."""
import csv
import io
import json
import math
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess

import pytest
from waiting import state_of, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
SEED = 20241104

TINY = ("--width", 16, "--steps", 200, "--sizes", "16,64", "--sets-scale", 0.01)


def run(*arguments, cwd, **more):
    return subprocess.run([BINARY, "retrieve", *map(str, arguments)], capture_output=True, text=True, cwd=cwd,
                          **more)


def done(*arguments, cwd, **more):
    finished = run(*arguments, cwd=cwd, **more)
    assert finished.returncode == 0, finished.stderr
    return finished


def refused(code, *arguments, cwd, **more):
    """One sentence on stderr, nothing on stdout, the right exit code; returns the sentence. Where a resumed run goes on may
    be said before it."""
    finished = run(*arguments, cwd=cwd, **more)
    assert finished.returncode == code, (finished.returncode, finished.stdout, finished.stderr)
    assert finished.stdout == ""
    told, _, sentence = finished.stderr.rpartition("sharpmax: ")
    assert sentence.count("\n") == 1 and (told == "" or "--resume" in arguments and re.fullmatch("resuming: .*\n", told)), finished.stderr
    return sentence


def results(directory):
    """What a run found, without what one process may say and another not."""
    found = json.loads((directory / "results.json").read_text())
    for key in ("created", "seconds", "command"):
        del found[key]
    return json.dumps(found)


def files(directory):
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


def heads(directory):
    return {name: content for name, content in files(directory).items() if name.startswith("heads/")}


def test_the_json_has_what_its_schema_promises(tmp_path):
    finished = done(*TINY, "--seeds", 2, "--json", "-", cwd=tmp_path)
    found = json.loads(finished.stdout)  # nothing but JSON on stdout
    assert "retrieve-quick" in finished.stderr
    assert found["schema"] == "sharpmax.retrieval/1" and found["preset"] == "quick"
    assert found["command"].startswith("sharpmax retrieve --width 16")
    assert found["settings"]["sizes"] == [16, 64] and found["settings"]["sets"] == {"16": 82, "64": 82}
    normalizers = found["settings"]["normalizers"]
    assert len(normalizers) >= 18 and [arm["name"] for arm in found["arms"]] == ["paper", "sharp"]
    assert all(arm["training"]["width"] == 16 and arm["training"]["steps"] == 200 for arm in found["arms"])
    assert len(found["heads"]) == 4 and len(found["results"]) == 4 * 2 * len(normalizers)
    for head in found["heads"]:
        assert (tmp_path / "retrieve-quick" / head["file"]).exists()
        assert len(head["loss_curve"]) == 200 and head["loss_curve"][-1] == [200, head["loss"]]
        assert 0 < head["spread"]["attained"] <= head["spread"]["certified"]
    for r in found["results"]:
        assert 0 <= r["accuracy_low"] <= r["accuracy"] <= r["accuracy_high"] <= 1
        joint = [r[f"hard_{a}_rule_{b}"] for a in ("right", "wrong") for b in ("right", "wrong")]
        assert sum(joint) == r["sets"] == 82 and r["accuracy"] == (joint[0] + joint[2]) / 82
        assert r["hard_accuracy"] == (joint[0] + joint[1]) / 82
        assert r["bound_violations"] == 0
        if r["weight_bound"] is not None:
            assert r["largest_peak_weight"] <= r["weight_bound"] * (1 + 1e-6)
        for key in ("entropy", "peak_weight", "right_weight", "temperature", "spread", "ranked_first"):
            assert key in r
    assert len(found["summary"]) == 2 * 2 * len(normalizers) and all(s["seeds"] == 2 for s in found["summary"])
    assert {(t["first"], t["n"], t["seeds"]) for t in found["tests"]} == {("softmax", 16, 2), ("softmax", 64, 2)}
    assert len(found["published"]) == 18 and all(set(p) == {"normalizer", "n", "accuracy"} for p in found["published"])
    assert [(row["arm"], row["seed"], row["n"], len(row["quantiles"])) for row in found["rows"]] == [
        ("paper", 0, 64, 64), ("sharp", 0, 64, 64)]
    for row in found["rows"]:
        # All 64 scores: their softmax has the weights that the heat map of the same set has for its 16 largest items.
        weights = [math.exp(score - row["quantiles"][-1]) for score in row["quantiles"]]
        known = next(m["weights"][0] for m in found["heat_maps"]
                     if (m["arm"], m["seed"], m["normalizer"], m["n"]) == (row["arm"], 0, "softmax", 64))
        for weight in known:
            assert min(abs(weight - w / sum(weights)) for w in weights) < 1e-6
    for panel in found["heat_maps"]:
        assert len(panel["weights"]) == panel["sets"] == 32 and {len(row) for row in panel["weights"]} == {16}


def test_csv_has_one_line_for_each_result_and_the_text_fits_80_columns(tmp_path):
    finished = done(*TINY, "--csv", "r.csv", "--json", "r.json", "-o", "r.html", "--normalizers",
                    "softmax;adaptive;entropy_target:nats=0.1;entmax:alpha=1.3;top_k:k=4,beta=2", cwd=tmp_path)
    found = json.loads((tmp_path / "r.json").read_text())
    rows = list(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text())))
    assert len(rows) == len(found["results"]) == 2 * 2 * len(found["settings"]["normalizers"])
    assert all(list(rows[0]) == list(result) for result in found["results"])
    assert [row["normalizer"] for row in rows] == [r["normalizer"] for r in found["results"]]
    assert [float(row["accuracy"]) for row in rows] == [r["accuracy"] for r in found["results"]]
    assert max(map(len, finished.stdout.splitlines())) <= 80
    for words in ("Under paper training", "Arm paper", "Arm sharp", "why", "What no input can do", "0 violations",
                  "Beside the published table", "Training or normalizer"):
        assert words in finished.stdout
    page = (tmp_path / "r.html").read_text()
    assert page.lower().startswith("<!doctype html")
    help_text = done("--help-all", cwd=tmp_path).stdout
    assert max(map(len, help_text.splitlines())) <= 80
    for flag in ("--learning-rate", "--scale-scores", "--train-normalizer", "--least-width", "--precision"):
        assert flag in help_text


def test_the_number_of_threads_changes_no_byte(tmp_path):
    for threads in 1, 2:
        done(*TINY, "--seeds", 2, "--threads", threads, "--directory", f"t{threads}", cwd=tmp_path)
    assert results(tmp_path / "t1") == results(tmp_path / "t2")
    assert heads(tmp_path / "t1") == heads(tmp_path / "t2")


LONGER = ("--width", 16, "--steps", 2000, "--sizes", "16,64,1024,4096", "--sets-scale", 0.2, "--checkpoint-seconds", 0.01)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    done(*LONGER, "--directory", "run", cwd=folder)
    return folder / "run"


def killed(directory, changes, *arguments):
    """Starts a run, kills it once its folder was seen to change so often, and says whether it was still at work."""
    process = subprocess.Popen([BINARY, "retrieve", *map(str, LONGER), "--directory", directory.name, *arguments],
                               cwd=directory.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for _ in range(changes):
        before = state_of(directory)
        wait_until(lambda: state_of(directory) != before, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("number", [0, 1, *(pytest.param(number, marks=pytest.mark.long) for number in range(2, 8))])
def test_killed_at_any_moment_and_resumed_it_ends_in_the_same_bytes(unbroken, tmp_path, number):
    whole = unbroken
    chance = random.Random(SEED + number)
    moments = [chance.randint(1, most) for most in (60, 30, 2)]
    print(f"seed {SEED + number}: killed after {moments} changes of its folder")
    at_work = [killed(tmp_path / "run", moment, "--resume") for moment in moments]
    assert any(at_work)
    done(*LONGER, "--directory", "run", "--resume", cwd=tmp_path)
    assert results(tmp_path / "run") == results(whole)
    assert heads(tmp_path / "run") == heads(whole)
    assert set(files(tmp_path / "run")) == set(files(whole))  # nothing half-written is left


def half_trained(folder):
    """A run that was killed while it trained."""
    for attempt in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        assert killed(folder, 1 + attempt)
        if list(folder.glob("checkpoints/*.safetensors")) and not list(folder.glob("tested/*")):
            shutil.rmtree(folder / "claims", ignore_errors=True)  # of the killed process; whoever comes next removes them
            return folder
    pytest.fail("no checkpoint was ever seen")


def test_a_damaged_checkpoint_is_named_and_nothing_is_overwritten(tmp_path):
    directory = half_trained(tmp_path / "run")
    checkpoint = sorted(directory.glob("checkpoints/*.safetensors"))[0]
    good = checkpoint.read_bytes()
    header = 8 + int.from_bytes(good[:8], "little")
    for offset in (0, 7, 8, 9, header // 2, header - 1, header, (header + len(good)) // 2, len(good) - 1):
        bad = bytearray(good)
        bad[offset] ^= 4
        checkpoint.write_bytes(bad)
        before = {n: c for n, c in files(directory).items() if not n.endswith(".partial")}
        sentence = refused(3, *LONGER, "--directory", "run", "--resume", cwd=tmp_path)
        assert checkpoint.name in sentence and "delete it to train this head from the beginning" in sentence, offset
        assert files(directory) == before
    checkpoint.write_bytes(good[:-1])
    assert "at byte" in refused(3, *LONGER, "--directory", "run", "--resume", cwd=tmp_path)
    checkpoint.unlink()
    done(*LONGER, "--directory", "run", "--resume", cwd=tmp_path)


def test_a_file_that_may_not_grow_is_one_sentence_and_the_checkpoint_stays(tmp_path):
    directory = half_trained(tmp_path / "run")
    before = {n: c for n, c in files(directory).items() if n.startswith("checkpoints/") and not n.endswith(".partial")}
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    sentence = refused(3, *LONGER, "--directory", "run", "--resume", cwd=tmp_path, preexec_fn=limit)
    assert "could not be written: File too large" in sentence and "checkpoints/" in sentence
    after = files(directory)
    assert {n: after[n] for n in before} == before and not [n for n in after if n.endswith(".partial")]
    done(*LONGER, "--directory", "run", "--resume", cwd=tmp_path)


def test_a_full_disk_is_one_sentence_and_the_checkpoint_stays(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True).returncode != 0:
        pytest.skip("no right to mount a small file system here")
    try:
        directory = half_trained(disk / "run")
        for partial in directory.rglob("*.partial"):
            partial.unlink()
        before = files(directory)
        with pytest.raises(OSError):
            with open(disk / "rest", "wb") as rest:
                while True:
                    rest.write(bytes(4096))
                    rest.flush()
        sentence = refused(3, *LONGER, "--directory", "run", "--resume", cwd=disk)
        assert "No space left on device" in sentence
        assert files(directory) == before
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_damaged_test_result_is_named(tmp_path):
    done(*TINY, "--directory", "run", cwd=tmp_path)
    tested = tmp_path / "run" / "tested" / "paper-0-16.json"
    text = tested.read_text()
    tested.write_text(text.replace('"right":', '"right":1', 1))
    assert "paper-0-16.json" in refused(3, *TINY, "--directory", "run", "--resume", cwd=tmp_path)
    tested.write_text(text[:-20])
    assert "delete it to test this size again" in refused(3, *TINY, "--directory", "run", "--resume", cwd=tmp_path)
    tested.unlink()
    done(*TINY, "--directory", "run", "--resume", cwd=tmp_path)


def test_a_directory_with_a_run_wants_resume_or_overwrite(tmp_path):
    done(*TINY, "--directory", "run", cwd=tmp_path)
    first = results(tmp_path / "run")
    sentence = refused(2, *TINY, "--directory", "run", cwd=tmp_path)
    assert "--resume" in sentence and "--overwrite" in sentence
    for change, words in ((("--steps", 300), "arms.0.training.steps is 200 there, 300 here"),
                          (("--sizes", "16"), "test.sizes is [16,64] there, [16] here"),
                          (("--seeds", 2), "seeds is [0] there, [0,1] here"),
                          (("--clip", "0.5"), "arms.0.training.clip"),
                          (("--normalizers", "softmax"), "test.normalizers")):
        settings = list(TINY)
        if change[0] in settings:
            at = settings.index(change[0])
            del settings[at:at + 2]
        assert words in refused(2, *settings, *change, "--directory", "run", "--resume", cwd=tmp_path)
    assert results(tmp_path / "run") == first
    done(*TINY, "--directory", "run", "--resume", cwd=tmp_path)  # nothing left to do
    assert results(tmp_path / "run") == first
    done("--width", 8, *TINY[2:], "--directory", "run", "--overwrite", cwd=tmp_path)
    assert results(tmp_path / "run") != first


def test_a_saved_head_tested_again_gives_the_same_numbers(tmp_path):
    done(*TINY, "--normalizers", "softmax;hard", "--train-normalizer", "ssmax", "--directory", "run", cwd=tmp_path)
    found = json.loads((tmp_path / "run" / "results.json").read_text())
    assert found["settings"]["normalizers"] == ["softmax", "hard", "ssmax"]
    again = json.loads(done("--head", "run/heads/sharp-0.safetensors", "--sizes", "16,64", "--sets-scale", 0.01,
                            "--normalizers", "softmax;hard;ssmax", "--json", "-", cwd=tmp_path).stdout)
    assert again["results"] == [r for r in found["results"] if r["arm"] == "sharp"]
    assert again["heads"][0]["spread"] == [h for h in found["heads"] if h["arm"] == "sharp"][0]["spread"]
    name, _, parameters = again["heads"][0]["normalizer"].partition(":")  # with what it learned
    learned = {key: float(value) for key, value in (pair.split("=") for pair in parameters.split(","))}
    assert name == "ssmax" and learned["s"] != 1
    for r in again["results"]:
        if r["normalizer"] == "ssmax":
            wanted = learned["s"] * math.log(r["n"]) + learned.get("b", 0)
            assert r["temperature"] == pytest.approx(wanted, rel=1e-6)
    assert "does not go with --head" in refused(2, "--head", "run/heads/sharp-0.safetensors", "--steps", 5, cwd=tmp_path)
    assert "expected sharpmax.head/1" in refused(3, "--head", "run/checkpoints/sharp-0.safetensors", cwd=tmp_path)
    assert refused(3, "--head", "no-such-file", cwd=tmp_path)
    (tmp_path / "text").write_text("no safetensors at all")
    assert "at byte 0" in refused(3, "--head", "text", cwd=tmp_path)


def test_hard_attention_alone_can_be_tested(tmp_path):
    done("--arms", "paper", "--width", 16, "--steps", 5, "--sizes", 16, "--sets-scale", 0.01, "--directory", "run", cwd=tmp_path)
    report = done("--head", "run/heads/paper-0.safetensors", "--normalizers", "hard", "--sizes", "16,64", "--sets-scale", 0.01,
                  cwd=tmp_path).stdout
    assert "Under paper training, hard names the right class in" in " ".join(report.split())


@pytest.mark.parametrize("arguments,words", [
    (("--sizes", "0"), "--sizes is 0; it must be from 1 to 1073741824"),
    (("--sizes", "16,x"), "--sizes: 'x' is not a whole number"),
    (("--sizes", "16,16"), "--sizes is 16,16; its values must differ"),
    (("--classes", 1), "--classes is 1; it must be from 2 to 4096"),
    (("--width", 0), "width is 0"),
    (("--steps", "1.5"), "'1.5' is not a whole number"),
    (("--learning-rate", "fast"), "'fast' is not a number"),
    (("--scale-scores", "yes"), "neither true nor false"),
    (("--crowding", "bottom"), "--crowding is 'bottom'; it must be none, anywhere or top"),
    (("--preset", "slow"), "--preset is 'slow'; it must be quick, paper or sharp"),
    (("--arms", "paper,blunt"), "no arm 'blunt'"),
    (("--arms", "paper,paper"), "twice"),
    (("--normalizers", "softmux"), "softmux"),
    (("--normalizers", "softmax,adaptive"), "separated by ';'"),
    (("--normalizers", "softmax;softmax"), "twice"),
    (("--normalizers", "linear"), "--normalizers: linear is not a function of the scores alone"),
    (("--train-normalizer", "linear"), "--train-normalizer: linear is not a function of the scores alone"),
    (("--seeds", 2, "--seed-list", "1"), "give one of the two"),
    (("--seed-list", "1,1"), "--seed-list is 1,1; its values must differ"),
    (("--seed-list", "-1"), "not a whole number"),
    (("--resume", "--overwrite"), "give one"),
    (("--json", "-", "--csv", "-"), "standard output"),
    (("--html", "-"), "needs a file"),
])
def test_settings_that_make_no_sense_are_refused_before_anything_is_written(tmp_path, arguments, words):
    assert words in refused(2, *arguments, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_outputs_that_cannot_be_written_are_refused_before_training(tmp_path):
    (tmp_path / "file").write_text("")
    for arguments in (("--json", "no/such/r.json"), ("--csv", "."), ("--html", "no/such/r.html"), ("--directory", "file"),
                      ("--directory", "file/below")):
        assert refused(3, *arguments, cwd=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_two_processes_do_not_share_a_directory(tmp_path):
    process = subprocess.Popen([BINARY, "retrieve", "--directory", "run", "--steps", "1000000"], cwd=tmp_path,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until((tmp_path / "run" / "run.json").exists, process)
        assert "another process" in refused(2, *TINY, "--directory", "run", "--overwrite", cwd=tmp_path)
    finally:
        process.kill()
        process.wait()
