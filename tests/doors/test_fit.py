"""`sharpmax fit` as a user meets it: the rule it prints can be used, its table is its JSON, what it refuses."""
import csv
import io
import json
import math
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))

SMALL = ("--sizes", "16,64,200", "--test-sizes", "16,256", "--sets-scale", 0.125)


def run(command, *arguments, cwd, **more):
    return subprocess.run([BINARY, command, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, **more)


def done(command, *arguments, cwd):
    finished = run(command, *arguments, cwd=cwd)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def refused(code, *arguments, cwd):
    """One sentence on stderr, nothing on stdout, the right exit code; returns the sentence."""
    finished = run("fit", *arguments, cwd=cwd)
    assert finished.returncode == code, (finished.returncode, finished.stdout, finished.stderr)
    assert finished.stdout == ""
    assert finished.stderr.startswith("sharpmax: ") and finished.stderr.count("\n") == 1, finished.stderr
    return finished.stderr


@pytest.fixture(scope="session")
def head(tmp_path_factory):
    folder = tmp_path_factory.mktemp("head")
    done("retrieve", "--arms", "paper", "--width", 16, "--steps", 300, "--sizes", 16, "--sets-scale", 0.01, "--normalizers",
         "softmax", "--directory", "run", cwd=folder)
    return folder / "run" / "heads" / "paper-0.safetensors"


@pytest.fixture(scope="session")
def found(head, tmp_path_factory):
    """One fit: its JSON, its CSV, its text."""
    folder = tmp_path_factory.mktemp("fit")
    text = done("fit", head, *SMALL, "--json", "fit.json", "--csv", "fit.csv", cwd=folder)
    return json.loads((folder / "fit.json").read_text()), list(csv.DictReader(io.StringIO((folder / "fit.csv").read_text()))), text


def value(polynomial, x):
    result = 0.0
    for coefficient in polynomial:
        result = result * x + coefficient
    return result


def test_the_json_has_what_its_schema_promises(found):
    fit, points, _ = found
    assert fit["schema"] == "sharpmax.fit/1" and fit["command"].startswith("sharpmax fit ")
    assert fit["settings"]["sizes"] == [16, 64, 200] and fit["settings"]["sets"] == fit["settings"]["test_sets"] == 128
    assert fit["head"]["arm"] == "paper" and fit["head"]["seed"] == 0 and fit["head"]["normalizer"] == "softmax"
    assert [(c["n"], c["sets"]) for c in fit["counts"]] == [(16, 128), (64, 128), (200, 128)]
    assert fit["points"] == len(points) == sum(c["wrong"] for c in fit["counts"]) == sum(b["points"] for b in fit["bins"])
    assert sum(int(p["mended"]) for p in points) == sum(c["mended"] for c in fit["counts"])
    assert fit["at_least_beta"] == sum(float(p["beta"]) == 0.25 for p in points)
    assert fit["at_largest_beta"] == sum(float(p["beta"]) == 16 for p in points)
    assert len(fit["refitted"]["polynomial"]) == 5
    assert fit["published"]["polynomial"] == [-0.037, 0.481, -2.3, 4.917, -1.791]
    (low, high), = fit["published"]["above_one"]
    assert f"{low:.3f} {high:.3f} {math.exp(high):.0f}" == "0.849 5.945 382"
    assert [(m["n"], m["rule"]) for m in fit["comparison"]] == [
        (n, rule) for n in (16, 256) for rule in ("softmax", "published", "refitted", "entropy_target")]
    for m in fit["comparison"]:
        assert m["sets"] == 128 and 0 <= m["accuracy_low"] <= m["accuracy"] <= m["accuracy_high"] <= 1
    assert {m["normalizer"] for m in fit["comparison"]} == {
        "softmax", "adaptive", fit["refitted"]["normalizer"], "entropy_target:nats=0.1"}


def test_residuals_are_those_of_the_printed_polynomial_over_the_points_of_the_csv(found):
    fit, points, _ = found
    xs = [float(p["entropy"]) for p in points]
    betas = [float(p["beta"]) for p in points]
    assert fit["entropy"] == [min(xs), max(xs)]
    for name in "refitted", "published":
        squares = [(b - value(fit[name]["polynomial"], x)) ** 2 for x, b in zip(xs, betas)]
        assert fit[name]["rms_residual"] == pytest.approx(math.sqrt(sum(squares) / len(squares)), rel=1e-9)
    mean = sum(betas) / len(betas)
    variance = sum((b - mean) ** 2 for b in betas) / len(betas)
    assert fit["explained"] == pytest.approx(1 - fit["refitted"]["rms_residual"] ** 2 / variance, rel=1e-6, abs=1e-9)
    for b in fit["bins"][:-1]:
        within = [i for i, x in enumerate(xs) if b["entropy"][0] <= x < b["entropy"][1]]
        assert abs(len(within) - b["points"]) <= 1  # a point on the border of two
        if len(within) == b["points"] > 0:
            rest = [betas[i] - value(fit["refitted"]["polynomial"], xs[i]) for i in within]
            assert b["mean_residual"] == pytest.approx(sum(rest) / len(rest), abs=1e-9)
            assert b["rms_residual"] == pytest.approx(math.sqrt(sum(r * r for r in rest) / len(rest)), abs=1e-9)
    # No polynomial of the degree does better: not the printed one moved a little either way.
    best = fit["refitted"]["rms_residual"]
    for i in range(5):
        for step in -0.05, 0.05:
            moved = list(fit["refitted"]["polynomial"])
            moved[i] += step
            assert math.sqrt(sum((b - value(moved, x)) ** 2 for x, b in zip(xs, betas)) / len(xs)) > best


def test_the_printed_rule_is_taken_by_retrieve_and_gives_the_compared_numbers(head, found, tmp_path):
    fit, _, text = found
    rule = next(line.strip() for line in text.splitlines() if line.startswith("  adaptive:polynomial="))
    assert rule == fit["refitted"]["normalizer"]
    # 128 of 8192 sets, the first of that size for either command.
    again = json.loads(done("retrieve", "--head", head, "--sizes", "16,256", "--sets-scale", 128 / 8192, "--normalizers",
                            f"softmax;adaptive;{rule};entropy_target:nats=0.1", "--json", "-", cwd=tmp_path))
    tested = {(r["n"], r["normalizer"]): r for r in again["results"]}
    for m in fit["comparison"]:
        for key in ("sets", "accuracy", "accuracy_low", "accuracy_high", "entropy", "peak_weight", "temperature",
                    "hard_accuracy", "ranked_first"):
            assert tested[m["n"], m["normalizer"]][key] == m[key]


def shown(share):
    return "100" if share == 1 else f"{100 * share:.1f}"


def lines_below(text, heading, skipped=1):
    lines = text.splitlines()
    return lines[next(i for i, line in enumerate(lines) if line.startswith(heading)) + 1 + skipped:]


def test_the_tables_are_the_json_and_fit_80_columns(found):
    fit, _, text = found
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith(("  sharpmax ", "  adaptive:")))
    assert "Published: from 0.849 to 5.945 nats; beyond, from about 382 equally" in text
    number = lambda x, digits: "-" if x is None else f"{x:.{digits}f}"
    bins = lines_below(text, "Best temperatures by entropy:")
    for line, b in zip(bins, fit["bins"], strict=False):
        words = line.split()
        assert words[:3] == [number(b["entropy"][0], 2), number(b["entropy"][1], 2), str(b["points"])]
        for word, key in zip(words[3:], ("mean_beta", "refitted", "published", "mean_residual", "rms_residual"), strict=True):
            assert word == "-" if b[key] is None else abs(float(word.replace(",", "").replace("+-", "")) - b[key]) <= 5.1e-4 * max(1, abs(b[key]))
    compared = lines_below(text, "Right answers in %, with 95 % intervals, over 128 other sets of each size:")
    for line, n in zip(compared, (16, 256), strict=False):
        row = [m for m in fit["comparison"] if m["n"] == n]
        assert line.split() == [str(n), *(word for m in row for word in (
            shown(m["accuracy"]), f"{shown(m['accuracy_low'])}-{shown(m['accuracy_high'])}"))]
    counts = lines_below(text, "Sets looked at:")
    for line, c in zip(counts, fit["counts"], strict=False):
        assert line.split() == [str(c[key]) for key in ("n", "sets", "wrong", "mended")]
    flat = re.sub(r"\s+", " ", text)
    assert f"Of {fit['points']} fitted sets, {fit['at_least_beta']} are best at beta = 0.25 and {fit['at_largest_beta']} at 16" in flat
    help_text = done("fit", "--help", cwd=ROOT)
    assert max(map(len, help_text.splitlines())) <= 80


def test_the_number_of_threads_changes_no_byte(head, tmp_path):
    def without_clock(threads):
        text = done("fit", head, *SMALL, "--threads", threads, "--json", "-", cwd=tmp_path)
        fit = json.loads(text)
        return json.dumps({k: v for k, v in fit.items() if k not in ("created", "seconds", "command")})
    assert without_clock(1) == without_clock(2) == without_clock(3)


def test_degree_and_only_are_heeded(head, tmp_path):
    every = json.loads(done("fit", head, *SMALL, "--degree", 1, "--json", "-", cwd=tmp_path))
    mended = json.loads(done("fit", head, *SMALL, "--degree", 1, "--only", "mended", "--json", "-", cwd=tmp_path))
    assert len(every["refitted"]["polynomial"]) == len(mended["refitted"]["polynomial"]) == 2
    assert mended["counts"] == every["counts"] and mended["settings"]["only"] == "mended"
    assert mended["points"] == sum(c["mended"] for c in every["counts"]) < every["points"]
    rows = list(csv.DictReader(io.StringIO(done("fit", head, *SMALL, "--degree", 1, "--only", "mended", "--largest-beta", 4,
                                                "--csv", "-", cwd=tmp_path))))
    assert all(row["mended"] == "1" and 0.25 <= float(row["beta"]) <= 4 for row in rows)
    text = done("fit", head, *SMALL, "--degree", 8, cwd=tmp_path)
    assert all(len(line) <= 80 or line.startswith(("  adaptive:polynomial=", "  sharpmax ")) for line in text.splitlines())


def test_an_empty_bin_is_told_and_does_not_stretch_the_chart(head, tmp_path):
    text = done("fit", head, "--sizes", "16,8192", "--test-sizes", 16, "--sets-scale", 0.05, "--degree", 0, "--largest-beta", 4,
                "--json", "fit.json", "--figures", "figures", cwd=tmp_path)
    fit = json.loads((tmp_path / "fit.json").read_text())
    empty = [i for i, b in enumerate(fit["bins"]) if b["points"] == 0]
    assert empty and all(fit["bins"][i][key] is None for i in empty for key in ("mean_beta", "mean_residual", "rms_residual"))
    bins = lines_below(text, "Best temperatures by entropy:")
    assert all(bins[i].split()[2:4] == ["0", "-"] for i in empty)
    most = max(b[key] for b in fit["bins"] for key in ("mean_beta", "refitted", "published") if b[key] is not None)
    ticks = [float(tick) for tick in re.findall(r'data-up="([^"]+)"', (tmp_path / "figures/entropy.svg").read_text())]
    assert 0.5 * most < max(ticks) <= 1.05 * most


@pytest.mark.parametrize("arguments,words", [
    (("--degree", 9), "--degree is 9; it must be from 0 to 8"),
    (("--degree", -1), "degree is -1"),
    (("--degree", "four"), "--degree"),
    (("--sizes", "0"), "--sizes is 0; it must be from 1 to 65536"),
    (("--sizes", "16,x"), "--sizes: 'x' is not a whole number"),
    (("--sizes", "16,16"), "--sizes is 16,16; its values must differ"),
    (("--sizes", "65537"), "65536"),
    (("--test-sizes", "0"), "--test-sizes is 0; it must be from 1 to 1073741824"),
    (("--test-sizes", "16,16"), "--test-sizes is 16,16; its values must differ"),
    (("--sets-scale", 0), "--sets-scale is 0; it must be from 1e-09 to 1024"),
    (("--only", "right"), "--only is 'right'; it must be wrong or mended"),
    (("--least-beta", 0), "--least-beta is 0; it must be above 0 and at most 1"),
    (("--largest-beta", "nan"), "--largest-beta is nan; it must be at least 1"),
    (("--json", "-", "--csv", "-"), "standard output"),
    (("second.safetensors",), "second.safetensors"),
])
def test_settings_that_make_no_sense_are_refused(head, tmp_path, arguments, words):
    assert words in refused(2, head, *arguments, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_too_few_wrong_sets_say_how_many_there_are_how_many_are_needed_and_what_to_change(head, tmp_path):
    sentence = refused(2, head, "--sizes", "16,32", "--sets-scale", 0.01, cwd=tmp_path)
    wrong = int(re.search(r"of 20 sets softmax gets (\d+) wrong", sentence)[1])
    assert wrong <= 20 and "degree 4 needs at least 50" in sentence
    for flag in "--sizes", "--sets-scale", "--degree":
        assert flag in sentence
    assert "that another temperature gets right" in refused(2, head, "--sizes", "16", "--sets-scale", 0.01, "--only", "mended", cwd=tmp_path)


def test_a_missing_head_is_told_how_to_be_made_and_a_bad_one_where_it_is_bad(head, tmp_path):
    assert "sharpmax retrieve --arms paper" in refused(2, cwd=tmp_path)
    assert "no-such-file" in refused(3, "no-such-file", cwd=tmp_path)
    (tmp_path / "text").write_text("no safetensors at all")
    assert "at byte 0" in refused(3, "text", cwd=tmp_path)
    (tmp_path / "cut").write_bytes(head.read_bytes()[:-1])
    assert "at byte" in refused(3, "cut", cwd=tmp_path)
    checkpoint = head.parents[1] / "checkpoints" / head.name
    assert "expected sharpmax.head/1" in refused(3, checkpoint, cwd=tmp_path)


def test_outputs_that_cannot_be_written_are_refused_before_the_work(head, tmp_path):
    # As much work as would take hours.
    for arguments in ("--json", "no/such/fit.json"), ("--csv", "."):
        assert "could not be written" in refused(3, head, "--sizes", "65536", "--sets-scale", 1024, *arguments, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
