"""`sharpmax audit` at the command line, over a tiny model made here: what it prints, what it refuses, and that work cut
short is not lost."""
import json
import pathlib
import signal
import subprocess

import numpy
import pytest

from tiny_folder import BINARY, TEXT, refused, sharpmax, write_tiny_folder
from waiting import wait_until

LONG = TEXT * 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tiny_folder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def book(folder):
    path = folder / "book.txt"
    path.write_text(LONG)
    return path


def audit_json(folder, book, *words):
    done = sharpmax("audit", folder, "--text", book, "--json", "-", *words)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_the_report_has_a_verdict_the_worst_heads_and_the_table_in_80_columns(folder, book):
    done = sharpmax("audit", folder, "--text", book, "--lengths", "16,32,64,128,256")
    assert done.returncode == 0, done
    text = done.stdout.decode()
    assert text.startswith("At 256 tokens ")
    assert "worst heads" in text and "By length" in text and "no change" in text
    # Names of files are the caller's and may be long.
    assert all(len(line) <= 80 for line in text.splitlines() if str(folder) not in line), text


def test_json_says_what_the_report_says(folder, book):
    results = audit_json(folder, book, "--lengths", "128,32,64")
    assert results["schema"] == "sharpmax.audit/1" and results["complete"]
    attention = results["attention"]
    assert attention["lengths"] == [32, 64, 128]
    assert len(attention["heads"]) == 2 * 4
    for head in attention["heads"]:
        assert head["kind"] in attention["kinds"]
        for n, keys, entropy, peak, bound in zip(attention["lengths"], head["keys"]["median"], head["entropy"]["median"],
                                                 head["peak"]["median"], head["peak_bound"]):
            assert 0.75 * n <= keys <= n
            assert 0 <= entropy <= numpy.log(keys) + 1e-6
            assert numpy.exp(-entropy) <= peak + 1e-6 <= 1 + 2e-6
            assert peak <= bound + 0.05  # medians of different rows: near, not exact
        assert head["peak"]["low"][-1] <= head["peak"]["median"][-1] <= head["peak"]["high"][-1]
    assert sum(attention["kinds"].values()) == 8
    assert results["verdict"] in " ".join(
        sharpmax("audit", folder, "--text", book, "--lengths", "128,32,64").stdout.decode().split())


def test_one_head_alone(folder, book):
    text = sharpmax("audit", folder, "--text", book, "--lengths", "32,64", "--head", "1.3").stdout.decode()
    attention = audit_json(folder, book, "--lengths", "32,64")["attention"]
    head = next(one for one in attention["heads"] if (one["layer"], one["head"]) == (1, 3))
    assert text.startswith(f"Layer 1, head 3: {head['kind']}. ")
    lines = [line.split() for line in text.splitlines()]
    columns = ("peak_outside", "peak_bound", "first", "entropy", "entropy_outside", "spread", "support", "distance_outside")
    within = [attention["gaps"].index(gap) for gap in (1, 2, 4, 8, 16)]
    for i, n in enumerate((32, 64)):
        numbers, gaps = (list(map(float, line[1:])) for line in lines if line[:1] == [str(n)])
        medians = [head[name]["median"][i] if isinstance(head[name], dict) else head[name][i] for name in columns]
        assert numbers == pytest.approx(medians, rel=5e-2, abs=0.5) and numbers[:5] == pytest.approx(medians[:5], rel=2e-3, abs=5.1e-4)
        assert gaps == pytest.approx([head["gap_counts"][i][k] for k in within], abs=0.5)
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("  sharpmax ")), text
    for wrong in ("2.0", "0.4", "-1.0"):
        assert "there is no such head; layers go from 0 to 1 and heads from 0 to 3" in refused(
            2, "audit", folder, "--text", book, "--head", wrong)
    for wrong in ("1", "1.", ".1", "1.2.3", "one.two", "1.2x"):
        assert "expected LAYER.HEAD" in refused(2, "audit", folder, "--text", book, "--head", wrong)


def test_a_text_that_is_too_short_is_used_as_far_as_it_goes(folder, tmp_path):
    path = tmp_path / "short.txt"
    path.write_text(TEXT[:400])
    done = sharpmax("audit", folder, "--text", path, "--lengths", "32,4096", "--json", "-")
    assert done.returncode == 0, done
    tokens = json.loads(done.stdout)["settings"]["tokens"]
    assert json.loads(done.stdout)["attention"]["lengths"] == [32, tokens]
    assert f"the text has {tokens} tokens" in done.stderr.decode()


def test_lengths_past_the_trained_context_are_measured_and_marked(folder, book):
    done = sharpmax("audit", folder, "--text", book, "--lengths", "64,300")
    assert done.returncode == 0, done
    assert "300*" in done.stdout.decode() and "past the trained length" in done.stdout.decode()
    assert "trained" in done.stderr.decode()


@pytest.mark.parametrize("content, code, words", [
    (b"", 2, "the text has 0 tokens; it must have at least 16"),
    (b"a few words", 2, "tokens; it must have at least 16"),
    (b"caf\xe9 " * 100, 3, "byte 3 (0xe9) is not UTF-8"),
])
def test_texts_that_cannot_be_audited(folder, tmp_path, content, code, words):
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    assert words in refused(code, "audit", folder, "--text", path)


def test_what_makes_no_sense_is_refused(folder, book, tmp_path):
    assert "no text was given" in refused(2, "audit", folder)
    assert "no model was given" in refused(2, "audit", "--text", book)
    assert "missing.txt" in refused(3, "audit", folder, "--text", tmp_path / "missing.txt")
    for lengths in ("8", "0", "-4", "x", "64,x", "1e3"):
        refused(2, "audit", folder, "--text", book, "--lengths", lengths)
    for threshold in ("0", "1.5", "nan"):
        refused(2, "audit", folder, "--text", book, "--threshold", threshold)
    refused(2, "audit", folder, "--text", book, "--excerpts", "0")
    assert "--resume goes with --json FILE" in refused(2, "audit", folder, "--text", book, "--resume")
    assert "nowhere" in refused(3, "audit", folder, "--text", book, "--json", tmp_path / "nowhere" / "a.json")


def stable(path):
    results = json.loads(pathlib.Path(path).read_text())
    for changing in ("command", "created"):
        results.pop(changing)
    return results


def test_a_killed_audit_goes_on_to_the_same_answer(folder, book, tmp_path):
    words = ["audit", folder, "--text", book, "--lengths", "64,256", "--excerpts", "6"]
    assert sharpmax(*words, "--json", tmp_path / "whole.json").returncode == 0
    killed = 0
    for _ in range(40):
        process = subprocess.Popen([BINARY, *map(str, words), "--json", tmp_path / "cut.json", "--resume"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        rows = tmp_path / "cut.json.rows.npz"
        before = rows.stat().st_mtime_ns if rows.exists() else 0
        wait_until(lambda: rows.exists() and rows.stat().st_mtime_ns != before, process)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed += 1
        with numpy.load(rows) as arrays:
            assert len([name for name in arrays.files if name.endswith("_n64")]) >= 1
    assert process.returncode == 0 and killed >= 2
    assert stable(tmp_path / "cut.json") == stable(tmp_path / "whole.json")


def test_resuming_another_audit_is_refused_and_another_threshold_is_not(folder, book, tmp_path):
    path = tmp_path / "a.json"
    words = ["audit", folder, "--text", book, "--lengths", "64,128", "--json", path]
    assert sharpmax(*words).returncode == 0
    (tmp_path / "other.txt").write_text(LONG.replace("best", "rest"))
    assert "another model or text" in refused(3, "audit", folder, "--text", tmp_path / "other.txt", "--lengths",
                                              "64,128", "--json", path, "--resume")
    again = sharpmax(*words, "--resume", "--threshold", "0.9")
    assert again.returncode == 0
    assert stable(path)["attention"]["thresholds"]["blunt"] == 0.9
    rows = pathlib.Path(str(path) + ".rows.npz")
    rows.write_bytes(rows.read_bytes()[:1000])
    assert "a.json.rows.npz" in refused(3, *words, "--resume")


def test_normalizers_are_respected(folder, book):
    plain = audit_json(folder, book, "--lengths", "64")["attention"]["heads"]
    sharp = audit_json(folder, book, "--lengths", "64", "--normalizer", "softmax:beta=4")["attention"]["heads"]
    assert sharp[0]["entropy"]["median"][0] < plain[0]["entropy"]["median"][0]
    assert plain[0]["peak_bound"][0] > 0
    assert sharp[0]["peak_bound"] == [None], "the bound holds for plain softmax"


def test_every_head_is_sketched_over_the_first_tokens(folder, book):
    results = audit_json(folder, book, "--lengths", "64,128", "--excerpts", "2")
    sketches = results["sketches"]
    assert "".join(sketches["tokens"]) == LONG[:len("".join(sketches["tokens"]))] and len(sketches["tokens"]) == 128
    assert [(h["layer"], h["head"]) for h in sketches["heads"]] == [(h["layer"], h["head"])
                                                                    for h in results["attention"]["heads"]]
    for head in sketches["heads"]:
        assert all(keys["keys"] and max(keys["keys"]) <= row for keys, row in zip(head["top"], sketches["rows"]))
        assert all(keys["weights"] == sorted(keys["weights"], reverse=True) for keys in head["top"])
        assert head["scores"]["n"] == 128
    # Neither the lengths nor what was read before change them.
    again = audit_json(folder, book, "--lengths", "128,256", "--sketch", "128", "--threads", "1")
    assert again["sketches"] == sketches


def test_sketches_are_as_long_as_asked_for_or_left_out(folder, book):
    assert "sketches" not in audit_json(folder, book, "--lengths", "64", "--sketch", "0")
    assert len(audit_json(folder, book, "--lengths", "64", "--sketch", "20")["sketches"]["tokens"]) == 20
    # Not past what was read, nor past what the model was trained on.
    assert len(audit_json(folder, book, "--lengths", "64")["sketches"]["tokens"]) == 64
    assert len(audit_json(folder, book, "--lengths", "300")["sketches"]["tokens"]) == 256
    refused(2, "audit", folder, "--text", book, "--sketch", "-1")
    for other in (["--probe", "max"], ["--text", book, "--analysis", "separability"]):
        assert "--sketch" in refused(2, "audit", folder, *other, "--sketch", "16")
