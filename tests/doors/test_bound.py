"""`sharpmax bound` as a user meets it: its numbers are those of the formulas, its table is its JSON, what it refuses."""
import json
import math
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
ATTACKS = pathlib.Path(BINARY).parent / "tests" / "attack_bounds"
SPREAD = 5.69


def run(*arguments, cwd=None):
    return subprocess.run([BINARY, "bound", *map(str, arguments)], capture_output=True, text=True, cwd=cwd)


def done(*arguments, cwd=None):
    finished = run(*arguments, cwd=cwd)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def found(*arguments):
    return json.loads(done(*arguments, "--json", "-"))


def by_name(results):
    return {entry["normalizer"]: entry for entry in results["normalizers"]}


@pytest.fixture(scope="module")
def everything():
    return found("--spread", SPREAD, "--n", 16384, "--normalizer", "all", "--peak", 0.5)


def test_softmax_is_paper_a_s_lemma_in_both_forms(everything):
    row, = everything["softmax"]
    tail = 16383 * math.exp(-SPREAD)
    assert row["tight"]["high"] == pytest.approx(1 / (1 + tail), rel=1e-12)
    assert row["tight"]["low"] == pytest.approx(1 / (1 + 16383 * math.exp(SPREAD)), rel=1e-12)
    assert row["published"]["high"] == pytest.approx(math.exp(SPREAD) / 16384, rel=1e-12)
    softmax = by_name(everything)["softmax"]
    assert softmax["ranges"][0]["share"] == {"low": 1 / 16384, "high": row["tight"]["high"]}
    assert softmax["loss"] == {"lost": math.floor(1 + math.exp(SPREAD)) + 1, "regained": None, "sure": 2}
    assert 10 ** everything["softmax_lost"]["log10_n"] == pytest.approx(1 + math.exp(SPREAD))
    assert 10 ** everything["softmax_lost"]["log10_n_published"] == pytest.approx(2 * math.exp(SPREAD))


def test_every_member_is_there_and_linear_says_why_not(everything):
    listed = json.loads(subprocess.run([BINARY, "attend", "--list", "--json", "-"], capture_output=True, text=True, check=True).stdout)
    names = [member["name"] for member in listed["normalizers"]]
    assert [entry["normalizer"] for entry in everything["normalizers"]] == names
    entries = by_name(everything)
    assert "do not depend on scores alone" in entries["linear"]["refused"] and entries["linear"]["ranges"] == []
    for name in names:
        if name == "linear":
            continue
        share = entries[name]["ranges"][0]
        assert 0 < share["share"]["low"] <= share["untied_low"] <= share["share"]["high"] <= 1, name
        assert share["share"]["high"] <= share["ceiling"] * (1 + 1e-12) and share["ceiling"] <= 1, name
    assert entries["hard"]["loss"] == {"lost": None, "regained": None, "sure": None}
    assert entries["entropy_target"]["loss"]["sure"] is None and entries["entropy_target"]["loss"]["lost"] is None
    assert entries["adaptive"]["ranges"][0]["found_by"] == "search"
    moving = {name for name in names if name != "linear" and entries[name]["ranges"][0]["moves_with_level"]}
    assert moving == {"sink", "softpick", "sigmoid", "stick_breaking", "self_adjust", "relu"}


def test_the_table_is_the_json_and_fits_the_screen(everything):
    text = done("--spread", SPREAD, "--n", 16384, "--normalizer", "all", "--peak", 0.5)
    assert max(map(len, text.splitlines())) <= 80
    for entry in everything["normalizers"]:
        if "refused" in entry:
            continue
        line = next(line for line in text.splitlines() if re.match(rf"{entry['normalizer']}( [*~=]+)? +[0-9]", line))
        worst, best, lost, sure = re.match(r"\S+(?: [*~=]+)? +(\S+) +(\S+) +(\S+) +(.+)", line).groups()
        assert float(worst.rstrip(".")) == pytest.approx(entry["ranges"][0]["untied_low"], rel=0.2, abs=5e-4)
        assert float(best.rstrip(".")) == pytest.approx(entry["ranges"][0]["share"]["high"], rel=0.2, abs=5e-4)
        loss = entry["loss"]
        assert lost == ("never" if loss["lost"] is None else f"{loss['lost']:,.0f}")
        assert sure == ("any n" if loss["sure"] is None else f"{loss['sure']:,.0f}")


def test_several_lengths_beta_and_level():
    one = found("--spread", 3, "--beta", 2, "--n", "16,1024,1e6", "--normalizer", "softmax", "--normalizer", "ssmax:s=0.4")
    other = found("--spread", 6, "--n", "16,1024,1e6", "--normalizer", "softmax", "--normalizer", "ssmax:s=0.4")
    assert one["normalizers"] == other["normalizers"]
    assert [r["n"] for r in one["normalizers"][0]["ranges"]] == [16, 1024, 1e6]
    low = found("--spread", 2, "--level", -3, "--n", 8, "--normalizer", "relu")["normalizers"][0]["ranges"][0]
    high = found("--spread", 2, "--level", 1, "--n", 8, "--normalizer", "relu")["normalizers"][0]["ranges"][0]
    assert low["share"] == {"low": None, "high": None} and low["weight"] == {"low": 0, "high": 0}
    assert high["share"]["high"] == pytest.approx(3 / (3 + 7)) and high["weight"] == {"low": 1 / 8, "high": 3 / 8}
    text = done("--spread", 3, "--n", "1,2,4,8,16,1024,65536,1e6,1e9,1e200", "--peak", 0.5)
    assert max(map(len, text.splitlines())) <= 80 and "1e+200" in text


def test_what_is_lost_may_come_back():
    loss = found("--spread", 1.2, "--peak", 0.9, "--normalizer", "ssmax")["normalizers"][0]["loss"]
    high = lambda n: 1 / (1 + (n - 1) * n ** -1.2)
    assert loss["lost"] == 2 and high(2) < 0.9
    assert high(loss["regained"]) >= 0.9 > high(loss["regained"] - 1)
    assert f"2 to {loss['regained'] - 1:,.0f}" in done("--spread", 1.2, "--peak", 0.9, "--normalizer", "ssmax")


def test_results_are_written_to_a_file(tmp_path):
    text = done("--spread", 1, "--normalizer", "softmax", "--json", "bounds.json", cwd=tmp_path)
    written = json.loads((tmp_path / "bounds.json").read_text())
    assert written["schema"] == "sharpmax.bound.spread/1" and written["command"].startswith("sharpmax bound ")
    assert "softmax" in text


def generated(page):
    return dict(re.findall(r"<!-- ([a-z-]+):begin -->\n(.*?)<!-- \1:end -->", page, re.S))


def script(name, *arguments):
    subprocess.run([sys.executable, ROOT / "scripts" / name, "--binary", BINARY, *map(str, arguments)], check=True)


def test_the_docs_say_what_the_command_says(tmp_path):
    page = (ROOT / "docs/design/theory.md").read_text()
    (tmp_path / "docs/design").mkdir(parents=True)
    (tmp_path / "docs/design/theory.md").write_text(re.sub(r"(:begin -->\n).*?(<!-- [a-z-]+:end)", r"\1empty\n\2", page, flags=re.S))
    script("theory-docs", "--attacks", ATTACKS, "--root", tmp_path)
    before, after = generated(page), generated((tmp_path / "docs/design/theory.md").read_text())
    assert before.keys() == after.keys() and len(after) >= 10
    for name, block in after.items():
        if name.startswith("attack-"):  # where a search ends may differ in the last digit: what it shows may not
            rough = re.compile(r"\d+\.\d+(?= \|)")
            assert rough.sub("x", before[name]) == rough.sub("x", block), name
            for was, now in zip(rough.findall(before[name]), rough.findall(block)):
                assert float(now) == pytest.approx(float(was), rel=0.05), name
        else:
            assert before[name] == block, name


@pytest.mark.parametrize("arguments, words", [
    ((), "no spread was given; give --spread X or MODEL"),
    (("--spread", -1), "--spread is -1; it must be 0 or more, and finite"),
    (("--spread", "nan"), "--spread is nan"),
    (("--spread", "inf"), "--spread is inf"),
    (("--spread", "wide"), "--spread: 'wide' is not a number"),
    (("--spread", 1e308, "--beta", 1e10), "beyond what a double holds"),
    (("--spread", 1, "--n", 0), "--n is 0; it must be a whole number of keys from 1 to 1e300"),
    (("--spread", 1, "--n", 2.5), "--n is 2.5; it must be a whole number of keys"),
    (("--spread", 1, "--n", "many"), "--n: 'many' is not a number"),
    (("--spread", 1, "--n", "16,,32"), "--n: '' is not a number"),
    (("--spread", 1, "--n", "1e301"), "--n is 1e+301; it must be a whole number of keys"),
    (("--spread", 1, "--peak", 0), "--peak is 0"),
    (("--spread", 1, "--peak", 1), "--peak is 1; it must be above 0 and below 1"),
    (("--spread", 1, "--peak", "nan"), "--peak is nan"),
    (("--spread", 1, "--beta", 0), "--beta is 0; it must be above 0, and finite"),
    (("--spread", 1, "--level", "inf"), "--level is inf"),
    (("--spread", 1, "--normalizer", "softmox"), "did you mean softmax?"),
    (("--spread", 1, "--normalizer", "linear"), "do not depend on scores alone"),
    (("--spread", 1, "--normalizer", "ssmax:s=1/2"), "each parameter must have one value"),
    (("--spread", 1, "--normalizer", "softmax", "--normalizer", "softmax"), "given twice"),
    (("--attack",), "--attack"),
])
def test_bad_input_is_one_clear_sentence(arguments, words):
    finished = run(*arguments)
    assert finished.returncode == 2, (finished.returncode, finished.stderr)
    assert finished.stdout == ""
    assert finished.stderr.startswith("sharpmax: ") and finished.stderr.count("\n") == 1
    assert words in finished.stderr
