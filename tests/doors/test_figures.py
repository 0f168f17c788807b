"""`--figures DIR`: the figures of results as SVG, without a browser. Synthetic results; numbers are read back from the geometry."""
import json
import math
import os
import pathlib
import subprocess

import pytest
from drawing import ALLOWED, SVG, Drawing
from synthetic_audit import synthetic_audit
from synthetic_results import synthetic_results

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", ROOT / "build/sharpmax")
PIXEL = 0.02  # coordinates are written to a hundredth


def report(folder, *results, figures=None):
    paths = []
    for i, result in enumerate(results):
        paths.append(folder / f"results-{i}.json")
        paths[-1].write_text(result if isinstance(result, str) else json.dumps(result))
    return subprocess.run([BINARY, "report", *paths, "--figures", figures or folder / "figures"], capture_output=True,
                          text=True, timeout=60)


def drawn(folder, *results):
    done = report(folder, *results)
    assert done.returncode == 0, done.stderr
    return {path.stem: path for path in (folder / "figures").glob("*.svg")}


def rows(results, arm, normalizer):
    return sorted((r for r in results["summary"] if (r["arm"], r["normalizer"]) == (arm, normalizer)), key=lambda r: r["n"])


def assert_curve(drawing, curve, points):
    """points: (across, up). Each is where its numbers put it."""
    assert len(curve.places) == len(points)
    for (x, y), (at, value) in zip(curve.places, points):
        assert x == pytest.approx(drawing.across.pixel(at), abs=PIXEL)
        assert y == pytest.approx(drawing.up.pixel(value), abs=PIXEL)


def test_accuracy_is_where_the_numbers_put_it(tmp_path):
    results = synthetic_results("paper")
    drawing = Drawing(drawn(tmp_path, results)["accuracy"])
    for name in ("softmax", "adaptive", "entropy_target:nats=0.1", "hard"):
        measured = rows(results, "paper", name)
        curve = drawing.curve(name)
        assert_curve(drawing, curve, [(r["n"], r["accuracy"]) for r in measured])
        lower, upper = curve.band[:len(measured)], curve.band[len(measured):][::-1]
        for row, (x, y), low, high in zip(measured, curve.places, lower, upper):
            assert low[0] == high[0] == x
            assert high[1] <= y <= low[1]
            assert low[1] == pytest.approx(drawing.up.pixel(max(0, row["accuracy_low"])), abs=PIXEL)
            assert high[1] == pytest.approx(drawing.up.pixel(min(1, row["accuracy_high"])), abs=PIXEL)
    for name in ("softmax", "adaptive"):
        published = drawing.curve(f"{name}, published")
        assert published.dash and not published.band
        assert_curve(drawing, published, [(p["n"], p["accuracy"]) for p in results["published"] if p["normalizer"] == name])


def test_entropy_is_drawn_below_ln_n(tmp_path):
    results = synthetic_results("paper")
    drawing = Drawing(drawn(tmp_path, results)["entropy"])
    measured = rows(results, "paper", "softmax")
    assert_curve(drawing, drawing.curve("softmax"), [(r["n"], r["entropy"]) for r in measured])
    [reference] = [g.find(SVG + "polyline") for g in drawing.all("g") if g.get("data-reference")]
    ends = [tuple(map(float, pair.split(","))) for pair in reference.get("points").split()]
    assert len(ends) == len(measured)
    assert drawing.up.value(ends[-1][1]) == pytest.approx(math.log(measured[-1]["n"]), abs=0.01)
