"""`--figures DIR`: the figures of results as SVG, without a browser. Numbers are read back from the geometry."""
import json
import math
import shutil

import pytest
from drawing import SVG, Drawing, assert_sound
from page_in_browser import HOSTILE, browser, empty_page  # noqa: F401 (a fixture)
from synthetic_audit import LENGTHS, synthetic_audit
from synthetic_results import synthetic_results
from tiny_folder import refused, sharpmax, write_tiny_folder

PIXEL = 0.02  # coordinates are written to a hundredth


def drawn(folder, *results):
    paths = []
    for i, result in enumerate(results):
        paths.append(folder / f"results-{i}.json")
        paths[-1].write_text(json.dumps(result))
    done = sharpmax("report", *paths, "--figures", folder / "figures")
    assert done.returncode == 0, done.stderr
    return {path.stem: path for path in (folder / "figures").glob("*.svg")}


def asked(*words):
    done = sharpmax(*words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_tiny_folder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def every_kind(tiny):
    """name -> results of that kind, the real ones of tiny runs."""
    text = ("--text", tiny / "text.txt")
    return {
        "retrieval": synthetic_results("both"), "quick": synthetic_results("quick"), "audit": synthetic_audit(),
        "demo": asked("attend", "--demo", "--sizes", "16,64,256", "--json", "-"),
        "bound": asked("bound", "--spread", 5.69, "--n", "2,16,128", "--peak", 0.5, "--json", "-"),
        "bound at one n": asked("bound", "--spread", 5.69, "--json", "-"),
        "bound.model": asked("bound", tiny, "--json", "-"),
        "perplexity": asked("perplexity", tiny, *text, "--tokens", 400, "--length", 200, "--json", "-"),
        "fix": asked("fix", tiny, *text, "--lengths", 80, "--questions", 4, "--tokens", 200, "--length", 128, "--rule",
                     "softmax:beta=1.5", "--rule", "hard@but-steepest", "--no-search", "--for", "text", "--json", "-"),
    }


# kind -> the names of its figures
NAMES = {
    "retrieval": {"two-by-two", "accuracy", "accuracy-sharp", "entropy", "entropy-sharp", "failure", "heat-maps"},
    "quick": {"two-by-two", "accuracy", "accuracy-sharp", "entropy", "entropy-sharp", "failure", "heat-maps"},
    "audit": {"heads", "blunting", "by-length", "medians", "distance-length", "distance-top", "critical-top",
              "separability", "gradient", "probe"},
    "demo": {"share", "entropy"}, "bound": {"peak", "lost"}, "bound at one n": {"peak"}, "bound.model": {"heads"},
    "perplexity": {"by-position"}, "fix": {"trials"},
}


@pytest.mark.parametrize("kind", NAMES)
def test_every_kind_has_its_figures_and_they_are_sound(every_kind, tmp_path, kind):
    figures = drawn(tmp_path, every_kind[kind])
    assert NAMES[kind] <= figures.keys() and figures.keys() - NAMES[kind] <= {"by-position", "by-length"}
    for path in figures.values():
        assert_sound(path)


def test_the_same_results_make_the_same_bytes(every_kind, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    first, second = (drawn(tmp_path / folder, every_kind["audit"]) for folder in ("a", "b"))
    assert {n: p.read_bytes() for n, p in first.items()} == {n: p.read_bytes() for n, p in second.items()}


def assert_curve(drawing, curve, points):
    """points: (across, up). Each is where its numbers put it."""
    assert len(curve.places) == len(points) > 0
    for (x, y), (at, value) in zip(curve.places, points):
        assert x == pytest.approx(drawing.across.pixel(at), abs=PIXEL)
        assert y == pytest.approx(drawing.up.pixel(value), abs=PIXEL)


def assert_band(drawing, curve, ends, floor=None, ceiling=None):
    """ends: (low, high) of each point; the band holds the curve."""
    lower, upper = curve.band[:len(ends)], curve.band[len(ends):][::-1]
    assert len(lower) == len(upper) == len(curve.places)
    for (x, y), (low, high), below, above in zip(curve.places, ends, lower, upper):
        assert below[0] == above[0] == x and above[1] <= y <= below[1]
        assert below[1] == pytest.approx(drawing.up.pixel(low if floor is None else max(floor, low)), abs=PIXEL)
        assert above[1] == pytest.approx(drawing.up.pixel(high if ceiling is None else min(ceiling, high)), abs=PIXEL)


def rows(results, arm, normalizer):
    return sorted((r for r in results["summary"] if (r["arm"], r["normalizer"]) == (arm, normalizer)), key=lambda r: r["n"])


def test_accuracy_is_where_the_numbers_put_it(tmp_path):
    results = synthetic_results("paper")
    drawing = Drawing(drawn(tmp_path, results)["accuracy"])
    for name in ("softmax", "adaptive", "entropy_target:nats=0.1", "hard"):
        measured, curve = rows(results, "paper", name), drawing.curve(name)
        assert_curve(drawing, curve, [(r["n"], r["accuracy"]) for r in measured])
        assert_band(drawing, curve, [(r["accuracy_low"], r["accuracy_high"]) for r in measured], 0, 1)
    for name in ("softmax", "adaptive"):
        published = drawing.curve(f"{name}, published")
        assert published.dash and not published.band
        assert_curve(drawing, published, [(p["n"], p["accuracy"]) for p in results["published"] if p["normalizer"] == name])
    last = rows(results, "paper", "softmax")[-1]["accuracy"]
    assert f"softmax {100 * last:.1f}\u202f%" in drawing.described()


def test_entropy_is_drawn_below_ln_n(tmp_path):
    results = synthetic_results("paper")
    drawing = Drawing(drawn(tmp_path, results)["entropy"])
    measured = rows(results, "paper", "softmax")
    assert_curve(drawing, drawing.curve("softmax"), [(r["n"], r["entropy"]) for r in measured])
    [reference] = drawing.references()
    assert [drawing.up.value(y) for _, y in reference] == pytest.approx([math.log(r["n"]) for r in measured], abs=0.01)


def test_two_by_two_has_the_four_curves_and_names_their_ends(tmp_path):
    results = synthetic_results("both")
    drawing = Drawing(drawn(tmp_path, results)["two-by-two"])
    for arm, words in (("paper", "paper’s training"), ("sharp", "our training")):
        for rule in ("softmax", "entropy_target:nats=0.1"):
            name = f"{words}, {rule.split(':')[0]}"
            measured = rows(results, arm, rule)
            assert_curve(drawing, drawing.curve(name), [(r["n"], r["accuracy"]) for r in measured])
            assert bool(drawing.curve(name).dash) == (arm == "paper")
            assert f"{100 * measured[-1]['accuracy']:.1f}\u202f% {name}" in drawing.texts()


def test_failures_are_the_counts_over_all_seeds(tmp_path):
    results = synthetic_results("both")
    bars = Drawing(drawn(tmp_path, results)["failure"], across_log=False).bars()
    for n in results["settings"]["sizes"]:
        of_size = [r for r in results["results"] if (r["arm"], r["normalizer"], r["n"]) == ("paper", "softmax", n)]
        sets = sum(r["sets"] for r in of_size)
        wanted = [sum(r[field] for r in of_size) / sets for field in
                  ("hard_right_rule_right", "hard_wrong_rule_right", "hard_right_rule_wrong", "hard_wrong_rule_wrong")]
        assert bars[f"n = {n:,}"] == pytest.approx(wanted, abs=1e-4)


def test_heat_maps_have_a_panel_for_each_size_and_the_largest_item_at_the_right(tmp_path):
    results = synthetic_results("both")
    path = drawn(tmp_path, results)["heat-maps"]
    drawing = Drawing(path)
    panels = [g for g in drawing.all("g") if g.get("data-panel")]
    assert len(panels) == 4 * 13  # two trainings under two rules
    brightest = list(panels[0].iter(SVG + "path"))[-1].get("d")
    assert brightest.count("M") == brightest.count("M15 ") == 32  # the right edge, in every set
    first = next(m for m in results["heat_maps"] if (m["arm"], m["normalizer"], m["n"]) == ("paper", "softmax", 16))
    assert f"{sum(line[-1] for line in first['weights']) / 32:.2f}" in drawing.texts()
    assert path.stat().st_size < 300_000


def test_the_grids_have_a_cell_for_every_head(tmp_path):
    results = synthetic_audit(("attention",))
    figures = drawn(tmp_path, results)
    cells = Drawing(figures["heads"]).cells()
    heads = results["attention"]["heads"]
    assert len(cells) == len(heads)
    for head in heads:
        value, _ = cells[f"{head['layer']}.{head['head']}"]
        assert float(value) == head["peak_outside"]["median"][-1]
    ranked = sorted(cells.values(), key=lambda cell: float(cell[0]))
    bright = [int(colour[1:3], 16) for _, colour in ranked]
    assert bright == sorted(bright) and bright[0] < bright[-1]  # cividis grows in red
    for head in heads:
        value, colour = Drawing(figures["blunting"]).cells()[f"{head['layer']}.{head['head']}"]
        assert (value == "none") == (colour is None) == (head["blunting"]["length"] is None)


def test_lengths_medians_and_the_probe_of_an_audit(tmp_path):
    results = synthetic_audit()
    figures = drawn(tmp_path, results)
    attention, probe = results["attention"], results["probe"]
    blunt = Drawing(figures["by-length"])
    assert_curve(blunt, blunt.curve("blunt heads"), [(n, k / 12) for n, k in zip(LENGTHS, attention["blunt_heads"])])
    assert "trained length" in blunt.texts()
    medians = Drawing(figures["medians"])
    for name, field in (("peak outside", "peak_outside"), ("first token", "first"), ("peak", "peak")):
        assert_curve(medians, medians.curve(name), list(zip(LENGTHS, attention["median_over_heads"][field])))
    asked_for = Drawing(figures["probe"])
    right = asked_for.curve("right answers")
    assert_curve(asked_for, right, [(at["length"], at["share"]) for at in probe["lengths"]])
    assert_band(asked_for, right, [(at["low"], at["high"]) for at in probe["lengths"]])
    assert_curve(asked_for, asked_for.curve("weight, head 1.0"), [(at["length"], at["answering_weight"][3]) for at in probe["lengths"]])


def test_the_analyses_of_paper_b(tmp_path):
    analysis = synthetic_audit(("analysis",))["analysis"]
    figures = drawn(tmp_path, synthetic_audit(("analysis",)))
    for name, size in (("distance-length", "length"), ("distance-top", "top")):
        drawing, points = Drawing(figures[name], up_log=True), analysis[name.replace("-", "_")]["points"]["sum"]
        chosen = drawing.curve("most weight")
        assert_curve(drawing, chosen, [(p[size], p["chosen"]["median"]) for p in points])
        assert_band(drawing, chosen, [(p["chosen"]["lower_quartile"], p["chosen"]["upper_quartile"]) for p in points])
        assert_curve(drawing, drawing.curve("drawn, bound"), [(p[size], p["drawn_bound"]["median"]) for p in points])
    critical = Drawing(figures["critical-top"])
    for line in analysis["critical_top"]["sum"]["against_drawn"]:
        points = [(top / line["length"], d) for top, d in zip(line["tops"], line["statistic"])]
        assert_curve(critical, critical.curve(f"L = {line['length']}"), points)
        if line["critical"] is not None:
            assert_curve(critical, critical.curve(f"L = {line['length']}, critical"), [points[line["tops"].index(line["critical"])]])
    apart = Drawing(figures["separability"])
    assert_curve(apart, apart.curve("told apart"), [(p["top"], p["share"]["mean"]) for p in analysis["separability"]["points"]])
    gradient = Drawing(figures["gradient"], up_log=True)
    for step in analysis["gradient"]["steps"]:
        points = [p for p in analysis["gradient"]["points"] if p["step"] == step]
        assert_curve(gradient, gradient.curve(f"ε = {step:g}"), [(p["temperature"], p["g"]["highest"]) for p in points])
        assert_curve(gradient, gradient.curve(f"ε = {step:g}, at most"), [(p["temperature"], p["bound"]) for p in points])


def test_the_needle_and_the_bounds(every_kind, tmp_path):
    demo, bound = every_kind["demo"], every_kind["bound"]
    figures = drawn(tmp_path, demo)
    needle, entropy = Drawing(figures["share"]), Drawing(figures["entropy"])
    for name in ("softmax", "entropy_target", "hard"):
        mine = [r for r in demo["rows"] if r["normalizer"] == name]
        if mine:
            assert_curve(needle, needle.curve(name), [(r["n"], r["needle_share"]) for r in mine])
            assert_curve(entropy, entropy.curve(name), [(r["n"], r["entropy"]) for r in mine])
    figures = drawn(tmp_path, bound)
    peaks, lost = Drawing(figures["peak"]), Drawing(figures["lost"]).bars()
    for entry in bound["normalizers"]:
        name = entry["normalizer"]
        points = [(r["n"], r["share"]["high"]) for r in entry["ranges"] if r["share"]["high"] is not None]
        if points:
            assert_curve(peaks, peaks.curve(name), points)
        if "loss" not in entry:  # nothing is known of it, and nothing said
            assert name not in lost
            continue
        [length] = lost[name] or [None]
        assert (length is None) == (entry["loss"]["lost"] is None)
        if length is not None:
            assert length + 1 == pytest.approx(entry["loss"]["lost"], rel=1e-3)  # bars begin at one key


def test_losses_and_trials(every_kind, tmp_path):
    losses, fix = (every_kind[kind] for kind in ("perplexity", "fix"))
    by_position = Drawing(drawn(tmp_path, losses)["by-position"])
    [curve] = by_position.curves()
    assert_curve(by_position, curve, [(min(b["to"], 200), b["loss"]) for b in losses["buckets"]])
    trials = Drawing(drawn(tmp_path, fix)["trials"], across_log=False).bars()
    for trial in fix["trials"][1:]:
        assert trials[trial["rule"]] == pytest.approx([abs(trial["against_nothing"]["held_out"]["text"]["change"])], abs=0.01)


def test_what_a_fix_chose_is_drawn_before_and_after(every_kind, tmp_path):
    fix = json.loads(json.dumps(every_kind["fix"]))
    rule = fix["trials"][1]["rule"]
    fix["answer"]["chosen"] = rule
    held_out = fix["trials"][1]["against_nothing"]["held_out"]
    figures = drawn(tmp_path, fix)
    drawing = Drawing(figures["by-position"])
    places = [min(b["to"], fix["settings"]["length"]) for b in held_out["by_position"]]
    assert_curve(drawing, drawing.curve("as it is"), [(at, b["plain"]) for at, b in zip(places, held_out["by_position"])])
    assert_curve(drawing, drawing.curve(rule), [(at, b["plain"] + b["change"]) for at, b in zip(places, held_out["by_position"])])
    bars = Drawing(figures["by-length"], across_log=False).bars()
    for at in held_out["by_length"]:
        assert bars[f"{at['length']} tokens, {rule}"] == pytest.approx([at["rule"] / at["questions"]], abs=1e-4)
        assert bars[f"{at['length']} tokens, as it is"] == pytest.approx([at["plain"] / at["questions"]], abs=1e-4)


def test_several_results_have_a_folder_each_and_figures_together(every_kind, tmp_path):
    spreads = [1, 4, 16]
    bounds = [asked("bound", "--spread", s, "--peak", 0.5, "--n", 2, "--normalizer", "softmax", "--json", "-") for s in spreads]
    assert drawn(tmp_path, *bounds).keys() == {"lost"}
    drawing = Drawing(tmp_path / "figures/lost.svg", up_log=True)
    assert_curve(drawing, drawing.curve("softmax"), [(b["spread"], b["normalizers"][0]["loss"]["lost"]) for b in bounds])
    for i in range(3):
        assert {path.stem for path in (tmp_path / f"figures/{i + 1}").iterdir()} == {"peak", "lost"}
    shutil.rmtree(tmp_path / "figures")
    losses = every_kind["perplexity"]
    other = json.loads(json.dumps(losses))
    other["settings"]["model"]["normalizer"] = "adaptive"
    drawing = Drawing(drawn(tmp_path, losses, other)["by-position"])
    assert [curve.name for curve in drawing.curves()] == [f"1: {losses['settings']['model']['normalizer']}", "2: adaptive"]
    shutil.rmtree(tmp_path / "figures")
    assert drawn(tmp_path, losses, every_kind["demo"]) == {}  # nothing together, and a folder each
    assert (tmp_path / "figures/2/share.svg").exists()


@pytest.mark.parametrize("number", range(len(HOSTILE) + 2))
def test_hostile_names_are_text(tmp_path, number):
    name = [*HOSTILE, "\u0000\u0001\u001b[31m]]>&amp;", "a\ud83d\ude00\u0301b"][number]
    text = json.dumps(synthetic_results("quick"))
    results = json.loads(text.replace('"adaptive"', json.dumps(name)).replace('"sharp"', json.dumps(name)))
    audit = synthetic_audit()
    audit["probe"]["kind"] = name
    figures = {**drawn(tmp_path, results), **drawn(tmp_path, audit)}
    for path in figures.values():
        assert_sound(path)
        assert path.parent == tmp_path / "figures"  # no name leads out of the folder


@pytest.mark.parametrize("kind,change", [
    ("audit", lambda r: r["attention"]["heads"][0]["peak_outside"].update(median=[])),
    ("audit", lambda r: r["attention"]["heads"][0]["blunting"].update(length="long")),
    ("audit", lambda r: r["analysis"]["gradient"].update(points=3)),
    ("audit", lambda r: r["analysis"].update(distance="other")),
    ("audit", lambda r: r["probe"]["lengths"][0].update(answering_weight=[])),
    ("retrieval", lambda r: r["summary"][0].update(accuracy="high")),
    ("demo", lambda r: r["rows"][0].update(n="many")),
    ("demo", lambda r: r["rows"][0].pop("needle_share")),
    ("bound", lambda r: r["normalizers"][0].update(ranges={"a": 1})),
    ("perplexity", lambda r: r["buckets"][0].update(loss=[])),
    ("fix", lambda r: r["trials"][1].update(rule=7)),
])
def test_results_that_are_not_what_they_say_are_refused_in_a_sentence(every_kind, tmp_path, kind, change):
    results = json.loads(json.dumps(every_kind[kind]))
    change(results)
    (tmp_path / "r.json").write_text(json.dumps(results))
    assert "the results are not of schema" in refused(3, "report", tmp_path / "r.json", "--figures", tmp_path / "figures")
    assert list((tmp_path / "figures").glob("**/*.svg")) == []


def test_a_directory_that_cannot_be_is_refused_before_anything(every_kind, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(every_kind["demo"]))
    (tmp_path / "file").write_text("")
    assert "--figures" in refused(3, "report", tmp_path / "r.json", "--figures", tmp_path / "file" / "inside")
    done = sharpmax("report", tmp_path / "r.json", "--figures", tmp_path / "a" / "b")
    assert done.returncode == 0 and (tmp_path / "a/b/share.svg").exists()


def test_odd_but_legal_results_are_drawn_or_left_out(tmp_path):
    one_size = synthetic_results("paper")
    one_size["summary"] = [row for row in one_size["summary"] if row["n"] == 64]
    one_size["heat_maps"] = []
    figures = drawn(tmp_path, one_size)
    assert "heat-maps" not in figures and "two-by-two" not in figures
    for path in figures.values():
        assert_sound(path)
    shutil.rmtree(tmp_path / "figures")
    nothing = synthetic_results("paper")
    nothing.update(summary=[], results=[], heat_maps=[])
    assert drawn(tmp_path, nothing) == {}
    wild = synthetic_results("paper")
    for i, row in enumerate(wild["summary"]):
        row.update(accuracy=[1e300, -5, None, 0.5][i % 4], entropy=[1e300, None, -3.0, 1][i % 4], accuracy_low=None)
    for path in drawn(tmp_path, wild).values():
        assert_sound(path)
    for row in wild["summary"] + wild["results"]:
        row["n"] = 0 if row["n"] == 16 else row["n"]
    (tmp_path / "r.json").write_text(json.dumps(wild))
    assert "the size n is 0; it must be above 0" in refused(3, "report", tmp_path / "r.json", "--figures", tmp_path / "empty")


# Rectangles of all texts and of the drawing, and of pairs of texts that overlap.
MEASURE = """() => {
  const texts = [...document.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
  const all = document.documentElement.getBoundingClientRect();
  const outside = texts.filter(([, b]) => b.left < 0 || b.top < 0 || b.right > all.width || b.bottom > all.height);
  const meet = (a, b) => a.left + 1 < b.right && b.left + 1 < a.right && a.top + 4 < b.bottom && b.top + 4 < a.bottom;
  const overlapping = texts.flatMap(([a, r], i) => texts.slice(i + 1).filter(([, s]) => meet(r, s)).map(([b]) => [a, b]));
  return {outside: outside.map(([t]) => t), overlapping, count: texts.length};
}"""


def test_a_browser_finds_no_text_outside_or_over_another(every_kind, tmp_path, browser):  # noqa: F811
    """The widths that figures reckon with are those of the widest usual font, which is what Debian's Chromium has."""
    asked_for = []
    with empty_page(browser, viewport={"width": 900, "height": 1200}, color_scheme="dark") as page:
        page.on("request", lambda request: asked_for.append(request.url))
        for kind, results in every_kind.items():
            folder = tmp_path / kind
            folder.mkdir()
            for name, path in drawn(folder, results).items():
                asked_for.clear()
                page.goto(path.as_uri())
                found = page.evaluate(MEASURE)
                assert found["outside"] == [] and found["overlapping"] == [] and found["count"] > 3, (kind, name, found)
                assert asked_for == [path.as_uri()]
