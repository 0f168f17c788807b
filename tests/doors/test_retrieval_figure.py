"""scripts/retrieval-figure draws what the results say. The results are synthetic."""
import json
import math
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from synthetic_results import synthetic_results

ROOT = pathlib.Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def draw(folder, figure, *results, options=()):
    paths = []
    for i, result in enumerate(results):
        paths.append(folder / f"{i}.json")
        paths[-1].write_text(json.dumps(result))
    return subprocess.run([sys.executable, ROOT / "scripts/retrieval-figure", *paths, "-o", folder / "f.svg",
                           "--figure", figure, *options], capture_output=True, text=True, timeout=60)


def drawn(folder, figure, *results, options=()):
    done = draw(folder, figure, *results, options=options)
    assert (done.returncode, done.stderr) == (0, "")
    return ElementTree.parse(folder / "f.svg").getroot()


def texts(svg):
    return ["".join(t.itertext()) for t in svg.iter(SVG + "text")]


def curves(svg, kind):
    """Points of each curve of a colour, back from the drawing: heights over the 0 and 100 % lines."""
    grid = sorted({float(line.get("y1")) for line in svg.iter(SVG + "line")})
    lines = [p for p in svg.iter(SVG + "polyline") if p.get("class") == f"stroke-{kind}"]
    def height(point):
        return (grid[-1] - float(point.split(",")[1])) / (grid[-1] - grid[0])
    return [[height(point) for point in line.get("points").split()] for line in lines]


def accuracies(results, arm, name):
    return [r["accuracy"] for r in results["summary"] if (r["arm"], r["normalizer"]) == (arm, name)]


def test_two_by_two_has_the_four_curves_and_names_their_ends(tmp_path):
    results = synthetic_results("both")
    svg = drawn(tmp_path, "two-by-two", results)
    for colour, name in (("vermillion", "softmax"), ("green", "entropy_target:nats=0.1")):
        found = curves(svg, colour)
        assert len(found) == 2
        for heights, arm in zip(found, ("paper", "sharp")):
            assert heights == pytest.approx(accuracies(results, arm, name), abs=0.001)  # a tenth of a pixel
    shown = texts(svg)
    assert "1M" in shown
    for arm, words in (("paper", "paper's training"), ("sharp", "our training")):
        assert f"{100 * accuracies(results, arm, 'softmax')[-1]:.1f} % {words}, softmax" in shown


def test_two_runs_make_one_figure(tmp_path):
    paper, sharp = synthetic_results("paper"), synthetic_results("sharp")
    svg = drawn(tmp_path, "two-by-two", paper, sharp)
    assert curves(svg, "green")[1] == pytest.approx(accuracies(sharp, "sharp", "entropy_target:nats=0.1"), abs=0.001)
    assert len(curves(svg, "green")[0]) == 11 and len(curves(svg, "green")[1]) == 13


def test_accuracy_has_the_published_curves_too(tmp_path):
    results = synthetic_results("paper")
    published, ours = curves(drawn(tmp_path, "accuracy", results), "purple")
    theirs = [p["accuracy"] for p in results["published"] if p["normalizer"] == "adaptive"]
    assert published == pytest.approx(theirs, abs=0.001)
    assert ours == pytest.approx(accuracies(results, "paper", "adaptive"), abs=0.001)


def test_entropy_is_drawn_below_ln_n(tmp_path):
    results = synthetic_results("paper")
    svg = drawn(tmp_path, "entropy", results)
    top = math.ceil(math.log(16384))
    [found] = curves(svg, "vermillion")
    entropies = [r["entropy"] for r in results["summary"] if r["normalizer"] == "softmax"]
    assert [top * v for v in found] == pytest.approx(entropies, abs=0.01)
    [reference] = curves(svg, "quiet")
    assert top * reference[-1] == pytest.approx(math.log(16384), abs=0.01)


def test_heat_maps_have_a_panel_for_each_size(tmp_path):
    results = synthetic_results("both")
    svg = drawn(tmp_path, "heat-maps", results, options=["--arm", "sharp", "--normalizer", "softmax"])
    panels = list(svg.iter(SVG + "g"))
    assert len(panels) == 13
    brightest = [p for p in panels[0].iter(SVG + "path")][-1].get("d")
    assert brightest.count("M") == brightest.count("M15 ") == 32  # the right edge, in every set
    assert (tmp_path / "f.svg").stat().st_size < 200_000


def test_hostile_names_are_text(tmp_path):
    text = json.dumps(synthetic_results("paper")).replace('"adaptive"', json.dumps("</text><script>alert(1)</script>&"))
    svg = drawn(tmp_path, "accuracy", json.loads(text), options=["--normalizer", "</text><script>alert(1)</script>&"])
    assert not list(svg.iter(SVG + "script"))
    assert any("</text><script>" in t for t in texts(svg))


@pytest.mark.parametrize("figure,change,words", [
    ("two-by-two", lambda r: None, "needs an arm 'paper' and one of ours"),
    ("accuracy", lambda r: r.update(schema="other/1"), "not of schema sharpmax.retrieval/1"),
    ("accuracy", lambda r: r.update(summary=[]), "no measurement"),
    ("accuracy", lambda r: r.update(summary=2 * r["summary"]), "the same arm, normalizer and size"),
    ("heat-maps", lambda r: r.update(heat_maps=[]), "no heat map"),
])
def test_what_cannot_be_drawn_is_said_in_one_sentence(tmp_path, figure, change, words):
    results = synthetic_results("paper")
    change(results)
    done = draw(tmp_path, figure, results)
    assert done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "f.svg").exists()
