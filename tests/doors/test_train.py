"""`sharpmax train` as a user meets it: what it writes, how it goes on after a kill, what it refuses."""
import json
import os
import pathlib
import random
import re
import subprocess

import pytest
from waiting import state_of, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
SEED = 20261117

TINY = ("lookup", "--keys", 80, "--values", 4, "--width", 16, "--head-width", 8, "--steps", 40, "--batch", 4, "--sizes", "8,64",
        "--answers", 64)
LONGER = ("recall", "--keys", 80, "--values", 4, "--width", 32, "--head-width", 8, "--steps", 240, "--batch", 8, "--sizes",
          "8,16,32,64", "--answers", 64, "--arms", "ssmax,late-target,tuned-adaptive", "--checkpoint-seconds", 0)


def run(*arguments, cwd, **more):
    return subprocess.run([BINARY, "train", *map(str, arguments)], capture_output=True, text=True, cwd=cwd, **more)


def done(*arguments, cwd, **more):
    finished = run(*arguments, cwd=cwd, **more)
    assert finished.returncode == 0, finished.stderr
    return finished


def refused(code, *arguments, cwd):
    """One sentence on stderr, nothing on stdout, the right exit code; returns the sentence."""
    finished = run(*arguments, cwd=cwd)
    assert finished.returncode == code, (finished.returncode, finished.stdout, finished.stderr)
    assert finished.stdout == "" and finished.stderr.count("\n") <= 2, finished.stderr
    return finished.stderr.rpartition("sharpmax: ")[2]


def results(directory):
    found = json.loads((directory / "results.json").read_text())
    for key in ("created", "training_seconds", "testing_seconds", "command"):
        del found[key]
    return json.dumps(found)


def files(directory):
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


def test_the_json_has_what_its_schema_promises(tmp_path):
    finished = done(*TINY, "--seeds", 2, "--json", "-", cwd=tmp_path)
    found = json.loads(finished.stdout)
    assert found["schema"] == "sharpmax.train/1" and found["command"].startswith("sharpmax train lookup --keys 80")
    assert found["settings"]["task"]["task"] == "lookup" and found["settings"]["optimizer"]["steps"] == 40
    assert [arm["name"] for arm in found["settings"]["arms"]] == ["softmax", "ssmax"] and found["chance"] == 0.25
    assert len(found["models"]) == 4 and all((tmp_path / "train-lookup" / m["file"]).exists() for m in found["models"])
    assert all(len(m["loss_curve"]) == 40 and m["tokens"] > 40 * 4 * 8 for m in found["models"])
    for m in found["results"]:
        assert m["answers"] >= 64 and m["accuracy"] == m["right"] / m["answers"]
    assert {(s["arm"], s["own"]) for s in found["summary"]} == {(a, o) for a in ("softmax", "ssmax") for o in (True, False)}
    assert all(s["seeds"] == 2 and s["answers"] >= 128 for s in found["summary"])


def test_the_text_fits_80_columns_and_begins_with_a_verdict(tmp_path):
    text = done(*TINY, cwd=tmp_path).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "Arm softmax" in text and "softmax (own)" in text and "dispersion" in text and "answers" in text
    assert "40 steps" in text  # the training length stands beside the numbers
    verdict = " ".join(text.split("\n\n")[0].split())
    assert re.match(r"Trained on at most 16 items of lookup \(40 steps of training, last loss [\d.]+, 1 seed\), "
                    r"arm softmax answers [\d.]+ % at 64 items; guessing gives 25.0 %\.", verdict), verdict


@pytest.mark.parametrize("flag", ["--help", "--help-all"])
def test_help_fits_80_columns(tmp_path, flag):
    text = done(flag, cwd=tmp_path).stdout
    assert max(map(len, text.splitlines())) <= 80 and "TASK" in text and "--arms" in text
    assert ("--warm-up" in text) == (flag == "--help-all")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    done(*LONGER, "--directory", "run", "--threads", 1, cwd=folder)
    return folder / "run"


def killed(directory, changes):
    """Starts or resumes a run, kills it once its folder was seen to change so often, and says whether it was still at work."""
    process = subprocess.Popen([BINARY, "train", *map(str, LONGER), "--directory", directory.name, "--resume"],
                               cwd=directory.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen, count = None, 0

    def changed_enough():
        nonlocal seen, count
        now = state_of(directory)
        count += now != seen
        seen = now
        return count > changes

    try:
        wait_until(changed_enough, process)
        at_work = process.poll() is None
    finally:
        process.kill()
        process.wait()
    return at_work


@pytest.mark.parametrize("number", range(4))
def test_killed_at_any_moment_and_resumed_it_ends_in_the_same_bytes(unbroken, tmp_path, number):
    chance = random.Random(SEED + number)
    moments = [chance.randint(1, most) for most in (120, 60, 20, 5, 2)]
    print(f"seed {SEED + number}: killed after {moments} changes of its folder")
    assert any([killed(tmp_path / "run", moment) for moment in moments])
    done(*LONGER, "--directory", "run", "--resume", cwd=tmp_path)
    assert results(tmp_path / "run") == results(unbroken)
    ours, whole = files(tmp_path / "run"), files(unbroken)
    assert set(ours) == set(whole)  # nothing half-written is left
    assert all(ours[name] == whole[name] for name in whole if name != "results.json")


def test_resume_refuses_other_settings_and_a_run_is_not_overwritten_by_accident(tmp_path):
    longer = [41 if word == 40 else word for word in TINY]
    done(*TINY, cwd=tmp_path)
    before = files(tmp_path)
    assert "give --resume to go on with it" in refused(2, *TINY, cwd=tmp_path)
    assert "optimizer.steps is 40 there, 41 here" in refused(2, *longer, "--resume", cwd=tmp_path)
    assert "two different things" in refused(2, *TINY, "--resume", "--overwrite", cwd=tmp_path)
    assert files(tmp_path) == before
    done(*longer, "--overwrite", cwd=tmp_path)


def test_a_diverging_loss_says_when_and_keeps_the_last_good_state(tmp_path):
    finished = run(*TINY, "--learning-rate", 1e30, "--arms", "softmax", cwd=tmp_path)
    sentence = finished.stderr.splitlines()[-1]  # progress may stand before it
    found = re.search(r"arm softmax, seed 0: the loss diverged at step (\d+) of 40", sentence)
    assert finished.returncode == 2 and finished.stdout == "" and found and "--learning-rate" in sentence, finished.stderr
    kept = (tmp_path / "train-lookup" / "checkpoints" / "softmax-0.safetensors").read_bytes()
    header = json.loads(kept[8:8 + int.from_bytes(kept[:8], "little")])
    assert header["__metadata__"]["step"] == found[1]


@pytest.mark.parametrize("arguments, words", [
    (["lokup"], ["there is no task 'lokup'", "did you mean lookup?"]),
    (["zzzzzzzzz"], ["there is no task 'zzzzzzzzz'; the tasks are flipflop, hops, lookup, majority, member"]),
    ([], ["TASK is missing; the tasks are flipflop, hops, lookup"]),
    (["member", "--keys", "16"], ["--largest-size 16", "at most 0"]),
    (["flipflop", "--least-size", "1"], ["--least-size 1", "at least 2 items"]),
    (["lookup", "--sizes", "16,20000"], ["--sizes 20000", "at most 16384", "--keys"]),
    (["lookup", "--keys", "8"], ["--largest-size 16", "8 different keys", "at most 8"]),
    (["lookup", "--least-size", "17"], ["--least-size 17 is above --largest-size 16"]),
    (["lookup", "--arms", "softmax,hardmax"], ["there is no arm 'hardmax'", "tuned-adaptive"]),
    (["lookup", "--arms", "softmax,softmax"], ["'softmax' is given twice"]),
    (["lookup", "--normalizers", "softmux"], ["--normalizers", "softmux"]),
    (["lookup", "--keys", "12", "--largest-size", "8"], ["at most 12 items", "tested from 16 on", "give --sizes"]),
    (["lookup", "--sizes", "64,64"], ["--sizes: 64 is given twice"]),
    (["recall", "--local-heads", "5"], ["--local-heads 5 is more than --heads 1"]),
    (["recall", "--local-layers", "2"], ["--local-layers 2 must be below --layers 2"]),
    (["lookup", "--per-head", "--sizes", "16,64"], ["--per-head chooses at sizes up to 64", "give a larger one in --sizes"]),
    (["lookup", "--per-head", "--local-heads", "1"], ["--per-head: no head sees everything"]),
    (["mixed", "--keys", "20"], ["--largest-size 16", "20 different keys", "at most 4"]),
    (["recall", "--head-width", "7"], ["--head-width 7 must be even"]),
    (["lookup", "--beta2", "1"], ["must be below 1"]),
    (["lookup", "--feed-forward", "relu"], ["--feed-forward", "gelu"]),
])
def test_bad_input_is_one_sentence_and_exit_2(tmp_path, arguments, words):
    sentence = refused(2, *arguments, cwd=tmp_path)
    assert all(word in sentence for word in words), sentence
    assert not list(tmp_path.iterdir())


def test_a_damaged_checkpoint_is_named_and_nothing_is_overwritten(tmp_path):
    done(*TINY, "--arms", "ssmax", cwd=tmp_path)
    checkpoint = tmp_path / "train-lookup" / "checkpoints" / "ssmax-0.safetensors"
    good = checkpoint.read_bytes()
    header = 8 + int.from_bytes(good[:8], "little")
    for offset in (0, 8, header // 2, header - 1, (header + len(good)) // 2, len(good) - 1):
        bad = bytearray(good)
        bad[offset] ^= 4
        checkpoint.write_bytes(bad)
        before = files(tmp_path)
        assert checkpoint.name in refused(3, *TINY, "--arms", "ssmax", "--resume", cwd=tmp_path), offset
        assert files(tmp_path) == before


RECALL = ("recall", "--keys", 80, "--values", 4, "--width", 32, "--head-width", 8, "--steps", 60, "--batch", 8, "--sizes", "8,32",
          "--answers", 64, "--arms", "ssmax")


def other(*words, cwd):
    finished = subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, cwd=cwd)
    assert finished.returncode == 0, (words, finished.stderr)
    return finished.stdout


def test_a_trained_model_is_opened_by_every_command(tmp_path):
    done(*RECALL, cwd=tmp_path)
    model = tmp_path / "train-recall" / "models" / "ssmax-0"
    (tmp_path / "text.txt").write_text("| " + " ".join(f"k{i} v{i % 4}" for i in range(75)) + " | k7 v3 k9 v1\n")
    found = json.loads(other("inspect", model, "--json", "-", cwd=tmp_path))
    assert found["architecture"]["runs_here"] and found["shape"]["vocabulary"] == 85
    assert found["tokenizer"]["why_not"] is None and found["shape"]["context"] == 65
    table = ("--normalizers", model / "normalizers.json")
    other("perplexity", model, "--text", "text.txt", "--length", 32, *table, cwd=tmp_path)
    other("bound", model, cwd=tmp_path)
    other("audit", model, "--text", "text.txt", "--lengths", "16,32", cwd=tmp_path)
    asked = [{"prompt": f"| k{i} v1 k{i + 1} v{i % 4} | k{i + 1}", "answer": f" v{i % 4}"} for i in range(20)]
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, asked)) + "\n")
    other("fix", model, "--text", "text.txt", "--tokens", 64, "--length", 64, "--task", "asked.jsonl", cwd=tmp_path)
    said = other("run", model, "--prompt", "| k1 v2 k3 v1 | k3", "--tokens", 1, "--temperature", 0, "--quiet", cwd=tmp_path)
    assert re.search(r"v[0-3]\s*$", said), said  # nothing but a value is ever an answer


def test_a_table_per_head_is_tested_shown_and_opened_by_other_commands(tmp_path):
    said = done(*RECALL[:-6], "--sizes", "16,80", "--answers", 64, "--arms", "softmax", "--per-head", "--heads", 2, cwd=tmp_path).stdout
    assert "per-head" in said and "Normalizers per head" in said and max(map(len, said.splitlines())) <= 80
    found = json.loads((tmp_path / "train-recall" / "results.json").read_text())
    (table,) = found["tables"]
    # Softmax, whose peak falls as rows grow, is kept only if it is better by 0.05 nats. So the choice may lose as much to it.
    assert table["sizes"] == [16, 32, 64] and table["loss"] <= table["loss_own"] + 0.05 and len(table["heads"]) == 2
    falling = [h["normalizer"] in ("softmax", "adaptive") for h in table["heads"]]
    assert not all(falling) or table["loss"] < table["loss_own"] + 1e-9
    assert [row["n"] for row in found["summary"] if row["normalizer"] == "per-head"] == [16, 80]
    model = tmp_path / "train-recall" / "models" / "softmax-0"
    kept = json.loads((model / "per-head.json").read_text())
    assert [(h["layer"], h["head"], h["normalizer"]) for h in kept["heads"]] == [(1, h, table["heads"][h]["normalizer"]) for h in (0, 1)]
    (tmp_path / "text.txt").write_text("| " + " ".join(f"k{i} v{i % 4}" for i in range(75)) + " | k7 v3\n")
    other("perplexity", model, "--text", "text.txt", "--length", 32, "--normalizers", model / "per-head.json", cwd=tmp_path)


def test_a_mixture_has_a_table_for_each_of_its_tasks(tmp_path):
    said = done("mixed", "--keys", 80, "--values", 4, "--width", 16, "--head-width", 8, "--steps", 8, "--batch", 4, "--sizes", "8,32",
                "--answers", 16, "--arms", "softmax", cwd=tmp_path).stdout
    assert max(map(len, said.splitlines())) <= 80
    found = json.loads((tmp_path / "train-mixed" / "results.json").read_text())
    assert [(s["name"], s["chance"]) for s in found["subtasks"]] == [("lookup", 0.25), ("member", 0.5), ("recall", 0.25), ("most", 0.25)]
    for name in ("lookup", "member", "recall", "most"):
        assert f"Arm softmax, {name}: right answers" in said
    assert "On member, arm softmax answers" in " ".join(said.split())


def test_the_table_of_an_adaptive_model_has_the_whole_polynomial(tmp_path):
    done(*TINY, "--arms", "adaptive", cwd=tmp_path)
    table = json.loads((tmp_path / "train-lookup" / "models" / "adaptive-0" / "normalizers.json").read_text())
    assert {head["normalizer"] for head in table["heads"]} == {"adaptive"}


def test_a_model_with_two_tokens_in_a_place_is_refused_in_words(tmp_path):
    done(*TINY, "--arms", "softmax", cwd=tmp_path)
    model = tmp_path / "train-lookup" / "models" / "softmax-0"
    finished = subprocess.run([BINARY, "bound", model], capture_output=True, text=True)
    assert finished.returncode != 0 and "tokens_per_place is 2; only models with one token per place run here" in finished.stderr


def test_page_and_figures_are_those_of_the_report(tmp_path):
    done(*TINY, "--json", "r.json", "-o", "a.html", "--figures", "f", cwd=tmp_path)
    other("report", "r.json", "-o", "b.html", "--figures", "g", cwd=tmp_path)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert {p.name for p in (tmp_path / "f").iterdir()} == {"accuracy.svg", "accuracy-ssmax.svg", "failure.svg"}
    assert all((tmp_path / "g" / p.name).read_bytes() == p.read_bytes() for p in (tmp_path / "f").iterdir())


SMALL = ("--width", 16, "--head-width", 8, "--steps", 30, "--batch", 4, "--arms", "softmax")


def records(sizes, count=20):
    """The first of n letters, twice."""
    lines = []
    for n in sizes:
        for i in range(count):
            letters = [chr(97 + (i * 7 + k * k) % 26) for k in range(n)]
            lines.append(json.dumps({"size": n, "prompt": " ".join([*letters, "?"]), "answer": f"{letters[0]} {letters[0]}"}))
    return lines


def test_a_task_of_ones_own_is_a_file_of_records(tmp_path):
    (tmp_path / "first.jsonl").write_text("\n".join(records([4, 8, 32])) + "\n\n")
    done("first.jsonl", *SMALL, "--normalizers", "softmax", cwd=tmp_path)
    found = json.loads((tmp_path / "train-first" / "results.json").read_text())
    assert found["settings"]["task"]["task"] == "first.jsonl" and found["settings"]["task"]["largest_size"] == 8
    assert found["settings"]["test"]["sizes"] == [4, 8, 32]
    # Two words an answer; one record in five of the trained sizes, all of the others.
    assert [(row["n"], row["sequences"], row["answers"]) for row in found["results"]] == [(4, 4, 8), (8, 4, 8), (32, 20, 40)]
    other("perplexity", "train-first/models/softmax-0", "--text", "first.jsonl", "--length", 8, cwd=tmp_path)


def test_a_changed_file_of_records_is_not_resumed(tmp_path):
    lines = records([4, 8])
    (tmp_path / "first.jsonl").write_text("\n".join(lines))
    done("first.jsonl", *SMALL, cwd=tmp_path)
    done("first.jsonl", *SMALL, "--resume", cwd=tmp_path)
    (tmp_path / "first.jsonl").write_text("\n".join(reversed(lines)))  # the same words, sizes and counts
    assert "records" in refused(2, "first.jsonl", *SMALL, "--resume", cwd=tmp_path)


def test_sizes_that_cannot_show_what_the_training_is_for_are_told_before_it(tmp_path):
    told = "no tested size is above 16, the largest in training"
    small = ["16" if word == "8,64" else word for word in TINY]
    said = done(*small, "--arms", "softmax", cwd=tmp_path).stderr
    assert told in said and "--sizes" in said and said.index(told) < said.index("everything is in")
    assert told not in done(*TINY, "--arms", "softmax", "--directory", "larger", cwd=tmp_path).stderr


def test_no_training_is_called_so(tmp_path):
    said = done(*(0 if word == 40 else word for word in TINY), cwd=tmp_path).stdout
    assert "no training, 1 seed" in said and "nan" not in said


@pytest.mark.parametrize("change, words", [
    (lambda lines: lines[:2] + ['{"size": 4, "prompt": "a b"}'], ["line 3: answer is missing"]),
    (lambda lines: lines[:2] + ['{"size": 4, "prompt": "a b", "answer": " "}'], ["line 3: answer is empty"]),
    (lambda lines: ['{"prompt": "a", "answer": "b"}', *lines], ["line 1: size is missing"]),
    (lambda lines: ['{"size": 0, "prompt": "a", "answer": "b"}', *lines], ["line 1: size must be a whole number"]),
    (lambda lines: [*lines, "size,prompt,answer"], ["line 61: not an object of JSON"]),
    (lambda lines: [*lines, '{"size": 4, "prompt": 7, "answer": "b"}'], ["line 61: prompt must be text"]),
    (lambda lines: [*lines, '{"size": 4, "prompt": "a", "answer": "b"}'], ["line 61: the answer has 1 words", "of line 1"]),
    (lambda lines: [], ["there is no record"]),
    (lambda lines: ['{"size": 4, "prompt": "a", "answer": "b"}'] * 9, ["all answers are 'b'"]),
])
def test_a_file_of_records_that_is_none_is_refused_by_line(tmp_path, change, words):
    (tmp_path / "first.jsonl").write_text("\n".join(change(records([4, 8, 32]))) + "\n")
    sentence = refused(3, "first.jsonl", *SMALL, cwd=tmp_path)
    assert all(word in sentence for word in ["first.jsonl", *words]), sentence


@pytest.mark.parametrize("arguments, words", [
    (["--sizes", "16"], ["--sizes 16", "no records of that size; its sizes are 4, 8, 32"]),
    (["--largest-size", "9"], ["--largest-size 9", "no records of that size"]),
    (["--keys", "9"], ["--keys 9 does not go with a task of records"]),
])
def test_sizes_that_a_file_has_not_are_refused(tmp_path, arguments, words):
    (tmp_path / "first.jsonl").write_text("\n".join(records([4, 8, 32])) + "\n")
    sentence = refused(2, "first.jsonl", *SMALL, *arguments, cwd=tmp_path)
    assert all(word in sentence for word in words), sentence
