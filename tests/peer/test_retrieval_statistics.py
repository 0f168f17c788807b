"""What `sharpmax retrieve` says about its own certainty is what SciPy says of the same numbers, and the heads it saves
are what the safetensors package reads."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

stats = pytest.importorskip("scipy.stats")
safetensors_numpy = pytest.importorskip("safetensors.numpy")

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("statistics")
    subprocess.run([BINARY, "retrieve", "--arms", "paper", "--width", "16", "--steps", "400", "--sizes", "16,128",
                    "--sets-scale", "0.05", "--seeds", "4", "--normalizers", "softmax;adaptive;entropy_target:nats=0.1",
                    "--precision", "float64", "--directory", "run"],
                   cwd=folder, check=True, capture_output=True)
    return folder / "run", json.loads((folder / "run" / "results.json").read_text())


def accuracies(results, normalizer, n):
    return [r["accuracy"] for r in results["results"] if r["normalizer"] == normalizer and r["n"] == n]


def test_paired_t_tests_are_scipys(run):
    _, results = run
    assert results["tests"], "no test was made"
    for test in results["tests"]:
        first, second = (accuracies(results, test[side], test["n"]) for side in ("first", "second"))
        assert len(first) == test["seeds"] == 4
        ours = (test["t"], test["p"])
        if len(set(np.subtract(second, first))) == 1:
            assert ours == (None, None)
            continue
        theirs = stats.ttest_rel(second, first)
        assert test["difference"] == pytest.approx(np.mean(np.subtract(second, first)), rel=1e-12)
        assert ours == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


def test_intervals_of_one_head_are_wilsons(run):
    _, results = run
    for result in results["results"]:
        right = round(result["accuracy"] * result["sets"])
        theirs = stats.binomtest(right, result["sets"]).proportion_ci(0.95, method="wilson")
        assert (result["accuracy_low"], result["accuracy_high"]) == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-12)


def test_intervals_over_heads_are_students(run):
    _, results = run
    for row in results["summary"]:
        values = accuracies(results, row["normalizer"], row["n"])
        assert row["accuracy"] == pytest.approx(np.mean(values), rel=1e-12)
        theirs = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
        clipped = [min(max(end, 0.0), 1.0) for end in theirs]
        ours = [min(max(row[end], 0.0), 1.0) for end in ("accuracy_low", "accuracy_high")]
        assert ours == pytest.approx(clipped, rel=1e-9)


def test_saved_heads_are_read_by_the_safetensors_package(run):
    folder, results = run
    for head in results["heads"]:
        tensors = safetensors_numpy.load_file(folder / head["file"])
        assert tensors["w_q"].shape == (16, 16) and tensors["w_q"].dtype == np.float64
        assert tensors["item_in.weight"].shape == (16, 11)
        assert all(np.isfinite(tensor).all() for tensor in tensors.values())
