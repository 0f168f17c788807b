"""The report page as a reader meets it: in a browser, without a network, at two widths, in light and in dark.

The results are synthetic: tests/support/synthetic_results.py.
"""
import copy
import json
import os
import random
import subprocess

import pytest
from page_in_browser import (CELL_COLOURS, HOSTILE, LOOKS, MAKER, ROOT, SPAN, browser, empty_page, held,  # noqa: F401
                             opened, percent, saved, write_page)
from synthetic_results import PRESETS, synthetic_results


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(results, file) of a preset, made once."""
    folder, known = tmp_path_factory.mktemp("pages"), {}

    def make(preset):
        if preset not in known:
            results = synthetic_results(preset)
            known[preset] = results, write_page(results, folder / f"{preset}.html")
        return known[preset]
    return make


@pytest.mark.parametrize("preset,width,scheme", [("quick", *look) for look in LOOKS] + [
    (preset, *look) for preset in PRESETS if preset != "quick" for look in LOOKS[1:3]])
def test_the_page_is_silent_alone_small_and_fits_its_width(browser, made, preset, width, scheme):
    _, path = made(preset)
    assert path.stat().st_size < 1_000_000
    with opened(browser, path, width, scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for details in page.query_selector_all("details"):
            details.query_selector("summary").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width,scheme", LOOKS)
def test_every_chart_has_its_curves(browser, made, width, scheme):
    _, path = made("both")
    with opened(browser, path, width, scheme) as page:
        def share(section, colour):
            return page.evaluate(SPAN, [page.query_selector(f"#{section} .chart svg"), colour])

        assert share("two-by-two", "vermillion") > 0.5 and share("two-by-two", "green") > 0.5
        # One at a time, since curves may lie on each other. Labels at the ends are of the same colour, but short.
        colours = {"softmax": "vermillion", "adaptive": "purple", "entropy_target:nats=0.1": "green", "hard": "grey"}
        for name in [*colours, "published curves, dotted"]:
            page.get_by_label(name, exact=True).uncheck()
        for name, colour in colours.items():
            assert share("accuracy", colour) == share("entropy", colour) == 0
            page.get_by_label(name, exact=True).check()
            assert share("accuracy", colour) > 0.5 and share("entropy", colour) > 0.5, name
            page.get_by_label(name, exact=True).uncheck()


def test_a_curve_passes_where_the_number_says(browser, made):
    """The middle of softmax's marker at each size, measured in the window between the lines of 0 and 100 %."""
    results, path = made("paper")
    with opened(browser, path) as page:
        found = page.eval_on_selector("#accuracy .chart svg", """(svg) => {
          const middle = (e) => (e.getBoundingClientRect().top + e.getBoundingClientRect().bottom) / 2;
          const [zero, whole] = ["0\u202f%", "100\u202f%"].map(
            (words) => middle([...svg.querySelectorAll("text")].find((text) => text.textContent === words)));
          const markers = [...svg.querySelectorAll('circle[fill="var(--vermillion)"]')].sort(
            (a, b) => a.getAttribute("cx") - b.getAttribute("cx"));
          return markers.map((marker) => (zero - middle(marker)) / (zero - whole));
        }""")
    measured = {r["n"]: r["accuracy"] for r in results["summary"] if r["normalizer"] == "softmax"}
    assert found == pytest.approx([measured[n] for n in sorted(measured)], abs=0.005)  # a pixel is 0.004


@pytest.mark.parametrize("preset", ["quick", "paper"])
def test_every_number_is_that_of_the_results(browser, made, preset):
    results, path = made(preset)
    with opened(browser, path) as page:
        rows = page.eval_on_selector_all("#all-rows tbody tr", """(rows) => rows.map((row) => [...row.cells].map(
            (cell) => [cell.textContent, isNaN(cell.dataset.value) && cell.dataset.value !== "null" ? null : JSON.parse(cell.dataset.value)]))""")
        assert len(rows) == len(results["summary"])
        for shown, row in zip(rows, results["summary"]):
            text, value = zip(*shown)
            assert text[:3] == (row["arm"], row["normalizer"], f"{row['n']:,}")
            fields = ["n", "seeds", None, "accuracy", "accuracy_low", "entropy", "peak_weight", "right_weight"]
            assert [v for v, f in zip(value[2:], fields) if f] == [row[f] for f in fields if f]
            assert text[5] == percent(row["accuracy"])
            assert text[6] == f"{100 * row['accuracy_low']:.1f}–{100 * row['accuracy_high']:.1f}"
            assert value[12:14] == (row["ranked_first"], row["hard_accuracy"])
        first = [r for r in results["summary"] if r["normalizer"] == "softmax" and r["arm"] == "paper"]
        verdict = page.text_content("#verdict")
        assert percent(first[0]["accuracy"]) in verdict and percent(first[-1]["accuracy"]) in verdict
        best = max((r for r in results["summary"] if r["n"] == first[-1]["n"] and r["normalizer"] != "hard"),
                   key=lambda r: r["accuracy"])
        assert best["normalizer"] in verdict and percent(best["accuracy"]) in verdict


def test_why_it_fails_counts_over_all_seeds(browser, made):
    results, path = made("paper")
    with opened(browser, path) as page:
        page.locator("#failure").get_by_label("Normalizer").select_option(label="adaptive")
        table = saved(page.locator("#failure .tools button", has_text="CSV"))[1].decode()
        lines = [line.split(",") for line in table.replace('"', "").splitlines()[1:]]
        cells = [[float(cell) for cell in line[-7:-3]] for line in lines]
        boxes = page.eval_on_selector_all("#failure .chart rect", "(boxes) => boxes.map((box) => Number(box.getAttribute('width')))")
        pieces = boxes[len(boxes) % 4:][-4 * len(cells):]
        bars = [pieces[i:i + 4] for i in range(0, len(pieces), 4)]
    sizes = sorted({r["n"] for r in results["results"]})
    assert len(cells) == len(bars) == len(sizes)
    for n, line, bar in zip(sizes, cells, bars):
        rows = [r for r in results["results"] if r["n"] == n and r["normalizer"] == "adaptive"]
        sets = sum(r["sets"] for r in rows)
        share = {f: sum(r[f] for r in rows) / sets for f in rows[0] if f.startswith("hard_") and "rule" in f}
        wanted = [share[f"hard_{hard}_rule_{rule}"] for hard, rule in (("right", "right"), ("wrong", "right"), ("right", "wrong"), ("wrong", "wrong"))]
        assert line == pytest.approx(wanted, rel=1e-12)
        assert [width / sum(bar) for width in bar] == pytest.approx(wanted, abs=1e-3)  # pixels have two decimals


def test_the_published_table_stands_beside_ours_with_p_values(browser, made):
    results, path = made("paper")
    with opened(browser, path) as page:
        lines = page.eval_on_selector_all("#published tbody tr",
                                          "(rows) => rows.map((row) => [...row.cells].map((c) => c.textContent))")
    ours = {(r["normalizer"], r["n"]): r["accuracy"] for r in results["summary"]}
    theirs = {(r["normalizer"], r["n"]): r["accuracy"] for r in results["published"]}
    beside = [test for test in results["tests"] if ("softmax", test["n"]) in theirs]
    assert len(lines) == len(beside) < len(results["tests"])
    for line, test in zip(lines, beside):
        n = test["n"]
        shares = [table[name, n] for name in ("softmax", "adaptive") for table in (theirs, ours)]
        assert line[:5] == [f"{n:,}", *map(percent, shares)]
        assert float(line[6]) == pytest.approx(test["p"], rel=0.06, abs=6e-4)  # two digits are shown


def test_heat_maps_show_the_weights(browser, made):
    results, path = made("both")
    with opened(browser, path) as page:
        page.locator("#heat-maps").get_by_label("Shown").select_option(label="sharp training, softmax")
        panels = page.query_selector_all("#heat-maps figure")
        maps = [m for m in results["heat_maps"] if (m["arm"], m["normalizer"], m["seed"]) == ("sharp", "softmax", 0)]
        assert len(panels) == len(maps)
        for panel, heat_map in zip(panels, maps):
            # Red grows with the weight all along the ramp, but for its first steps.
            red = [[colour[0] for colour in row] for row in panel.eval_on_selector("svg", CELL_COLOURS, 16)]
            assert len(red) == 32
            for line, weights in zip(red, heat_map["weights"]):
                assert line.index(max(line)) == weights.index(max(weights))
            mean = sum(line[-1] for line in heat_map["weights"]) / 32
            assert float(panel.eval_on_selector("figcaption span", "(s) => s.dataset.value")) == pytest.approx(mean)


def test_a_slider_chooses_the_size_of_the_large_heat_map(browser, made):
    results, path = made("both")
    sizes = results["settings"]["sizes"]
    means = {m["n"]: sum(line[-1] for line in m["weights"]) / 32 for m in results["heat_maps"]
             if (m["arm"], m["normalizer"], m["seed"]) == ("paper", "softmax", 0)}
    with opened(browser, path) as page:
        slider = page.get_by_role("slider", name="Items n")

        def shown_size():
            number = float(page.eval_on_selector(".large-panel figcaption span", "(s) => s.dataset.value"))
            n = sizes[int(slider.input_value())]
            assert number == pytest.approx(means[n])
            assert page.text_content(".large-panel figcaption").startswith(f"n = {short(n)}")
            assert slider.get_attribute("aria-valuetext").startswith(f"{short(n)} items, mean weight ")
            chosen = page.eval_on_selector_all("#heat-maps figure",
                                               "(all) => all.map((f, i) => f.className === 'chosen' ? i : -1)")
            assert max(chosen) == sizes.index(n) and sorted(chosen)[-2] == -1
            # The large panel is drawn from the weights of this size: the same as the small one.
            assert page.evaluate("""(i) => {
              const small = document.querySelectorAll("#heat-maps figure svg")[i];
              return document.querySelector(".large-panel svg").innerHTML === small.innerHTML;
            }""", sizes.index(n))
            return n

        assert shown_size() == 16
        slider.focus()
        for key, n in (("ArrowRight", 32), ("ArrowRight", 64), ("End", sizes[-1]), ("ArrowLeft", sizes[-2]), ("Home", 16)):
            page.keyboard.press(key)
            assert shown_size() == n
        page.click("#heat-maps figure:nth-child(5)")
        assert shown_size() == sizes[4]
        page.locator("#heat-maps").get_by_label("Shown").select_option(label="paper training, adaptive")
        assert slider.input_value() == "4"  # another rule, the same size


def test_a_long_table_shows_its_first_lines_until_it_is_asked_for_all(browser, made):
    results, path = made("quick")
    lines = len(results["summary"])
    with opened(browser, path) as page:
        visible = "(rows) => rows.filter((row) => row.checkVisibility()).length"
        assert lines > 150 and page.eval_on_selector_all("#all-rows tbody tr", visible) == 150
        assert saved(page.locator("#numbers .tools button"))[1].count(b"\n") == 1 + lines
        page.get_by_role("button", name="accuracy").click()
        first = page.eval_on_selector("#all-rows tbody tr", "(row) => Number(row.cells[5].dataset.value)")
        assert first == min(r["accuracy"] for r in results["summary"])
        page.get_by_role("button", name="Show every line").click()
        assert page.eval_on_selector_all("#all-rows tbody tr", visible) == lines


def test_a_result_without_rows_of_scores_still_has_a_page_and_one_with_them_offers_them(browser, made, tmp_path):
    results = copy.deepcopy(made("both")[0])
    assert "rows" not in results  # as results were before
    results["rows"] = [{"arm": arm, "seed": 0, "n": 1048576, "quantiles": [k * s for k in range(65)]}
                       for arm, s in (("paper", 0.1), ("sharp", 300.0))]
    view = held(write_page(results, tmp_path / "page.html"))["results"][0]
    rows = [item["row"] for section in view["sections"] for item in section["items"] if item["type"] == "row"]
    assert [(row["n"], row["quantiles"]) for row in rows] == [(row["n"], row["quantiles"]) for row in results["rows"]]


def test_a_run_with_too_many_heat_maps_stays_small_and_says_so(browser, tmp_path):
    results = synthetic_results("quick")
    source = random.Random(3)
    for i in range(4):
        for heat_map in [m for m in results["heat_maps"] if m["arm"] in ("paper", "sharp")]:
            weights = [[source.random() for _ in line] for line in heat_map["weights"]]
            results["heat_maps"].append({**heat_map, "arm": f"{heat_map['arm']}-{i}", "weights": weights})
    path = write_page(results, tmp_path / "page.html")
    assert path.stat().st_size < 1_000_000
    with opened(browser, path) as page:
        assert "maps of other normalizers" in page.text_content("#provenance").split("Left out to keep this file small: ")[1]


def short(n):
    return f"{n >> 20}M" if n % (1 << 20) == 0 else f"{n >> 10}K" if n % 1024 == 0 else str(n)


def renamed(value, names):
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


@pytest.mark.parametrize("width", [375, 1280])
def test_hostile_strings_are_shown_and_nothing_more(browser, made, tmp_path, width):
    results = copy.deepcopy(made("quick")[0])
    # Normalizers and arms that are drawn at once, in every list, table, label and readout.
    names = [*HOSTILE, *("hard:" + text for text in HOSTILE)]
    results = renamed(results, dict(zip(results["settings"]["normalizers"][1:], names)))
    results = renamed(results, {"sharp": HOSTILE[0] + HOSTILE[3]})
    text = "\n".join(HOSTILE)
    for field in ("command", "sharpmax", "preset", "created"):
        results[field] = text
    results["arms"][0]["training"] |= {text: text, "normalizer": text}
    with opened(browser, write_page(results, tmp_path / "page.html"), width) as page:
        page.get_by_label("Normalizer").last.select_option(index=1)
        page.click("#accuracy summary")
        for box in page.query_selector_all("#accuracy details input"):
            box.check()
        page.query_selector_all("#accuracy input[type=radio]")[1].check()
        page.hover("#accuracy .chart svg")
        assert page.evaluate("window.pwned") is None
        assert page.query_selector_all("img, svg[onload], main script, #verdict script") == []
        assert page.text_content("#provenance code") == text.replace("\u202e", "\\u202e")
        assert "\u202e" not in page.inner_text("body")
        assert len(page.query_selector_all("#all-rows tbody tr")) == len(results["summary"])
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_no_script_runs_but_the_one_of_the_page(browser, made):
    said = []
    with empty_page(browser) as page:
        page.on("console", lambda message: said.append(message.text))
        page.goto(made("both")[1].as_uri())
        assert said == []
        page.evaluate("""() => new Promise((refused) => {
          const script = document.createElement("script");
          try {
            script.textContent = "window.pwned = 1";
            document.body.append(script);
          } catch (error) {
            console.error(error.message);
          }
          const image = document.createElement("img");
          image.onerror = () => refused();
          image.src = "https://example.invalid/x.png";
          document.body.append(image);
        })""")
        assert page.evaluate("window.pwned") is None
        assert any("Content Security Policy" in text or "Trusted" in text for text in said), said


def test_everything_can_be_done_by_keyboard(browser, made):
    results, path = made("both")
    with opened(browser, path) as page:
        seen = set()
        for _ in range(120):
            page.keyboard.press("Tab")
            seen.add(page.evaluate("""() => {
              const e = document.activeElement;
              return [e.tagName, e.type ?? "", e.closest("section")?.id ?? ""].join(" ");
            }"""))
        for wanted in ["A  ", "DIV  two-by-two", "INPUT radio accuracy", "INPUT checkbox accuracy", "DIV  accuracy",
                       "DIV  entropy", "SELECT select-one failure", "SELECT select-one heat-maps",
                       "BUTTON button numbers", "DIV  numbers"]:
            assert wanted in seen, (wanted, sorted(seen))
        page.focus("#accuracy .chart")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        row = next(r for r in results["summary"] if (r["arm"], r["normalizer"], r["n"]) == ("paper", "adaptive", 32))
        readout = page.text_content("#accuracy .readout")
        assert readout.startswith("n = 32") and f"adaptive {percent(row['accuracy'])}" in readout


def test_a_heading_sorts_up_then_down(browser, made):
    _, path = made("both")
    with opened(browser, path) as page:
        read = """(rows) => rows.map((row) => Number(row.cells[5].dataset.value))"""
        for direction in (1, -1):
            page.get_by_role("button", name="accuracy").click()
            values = page.eval_on_selector_all("#all-rows tbody tr", read)
            assert values == sorted(values, reverse=direction < 0)
        assert page.get_by_role("columnheader", name="accuracy").get_attribute("aria-sort") == "descending"


def test_a_build_without_the_page_says_so_in_one_sentence():
    done = subprocess.run([str(MAKER) + "_without_page"], input="", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "report: this build has no report page, since esbuild was missing; run make setup and build again\n"


def test_retrieve_writes_the_page_of_what_it_measured(browser, tmp_path):
    binary = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build/sharpmax"))
    done = subprocess.run([binary, "retrieve", "--steps", "20", "--sizes", "16,64", "--sets-scale", "0.002",
                           "--directory", "run", "--json", "r.json", "--html", "<r>.html"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "r.json").read_text())
    with opened(browser, tmp_path / "<r>.html") as page:
        assert page.text_content("#provenance code") == results["command"]
        values = page.eval_on_selector_all("#all-rows tbody tr",
                                           "(rows) => rows.map((row) => Number(row.cells[5].dataset.value))")
        assert values == [row["accuracy"] for row in results["summary"]]
        assert len(page.query_selector_all("#heat-maps .panels figure")) == 2
