"""What every page must hold to, whatever its results: downloads, links into it, accessibility.

The pages are those of tests/support/synthetic_pages.py; the numbers in them are invented.
"""
import base64
import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from page_in_browser import (  # noqa: F401
    HOSTILE, LOOKS, MAKER, ROOT, browser, empty_page, follow, frames, go, held, opened, saved, wake_playground, write_page)
from synthetic_pages import PAGES, made  # noqa: F401
from synthetic_results import synthetic_results

SVG = "{http://www.w3.org/2000/svg}"
AXE = ROOT / "src/report/page/node_modules/axe-core/axe.min.js"
SCREENSHOTS = MAKER.parent.parent / "test-screenshots"


def offered(page, section, text):
    """(file name, bytes) behind a button of a section."""
    return saved(page.locator(f"#{section} .tools button", has_text=text).first)


def test_a_file_is_saved_by_keyboard_as_it_is_offered(browser, made):
    with opened(browser, made("retrieval")[1]) as page:
        name, raw = offered(page, "accuracy", "CSV")
        with page.expect_download() as started:
            page.locator("#accuracy .tools button", has_text="CSV").first.press("Enter")
        assert started.value.suggested_filename == name and open(started.value.path(), "rb").read() == raw


def table_of(raw):
    """Rows of a CSV file, whose lines must end as RFC 4180 says."""
    text = raw.decode()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert text.endswith("\r\n") and text.count("\r\n") == len(rows)
    return rows


def pixels_of(browser, png):
    """(width, height, share of pixels by colour) of a PNG, as the browser reads it."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    with empty_page(browser) as page:
        return page.evaluate("""async (text) => {
          const image = await createImageBitmap(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]));
          const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
          pen.drawImage(image, 0, 0);
          const {data} = pen.getImageData(0, 0, image.width, image.height);
          const shares = {};
          for (let i = 0; i < data.length; i += 4) {
            const colour = "#" + [0, 1, 2].map((j) => data[i + j].toString(16).padStart(2, "0")).join("");
            shares[colour] = (shares[colour] ?? 0) + 4 / data.length;
          }
          return [image.width, image.height, shares];
        }""", base64.b64encode(png).decode())


def test_a_chart_as_csv_has_the_numbers_of_the_results(browser, made):
    results, path = made("retrieval")
    with opened(browser, path) as page:
        name, raw = offered(page, "accuracy", "CSV")
    head, *rows = table_of(raw)
    assert name == "sharpmax-accuracy.csv"
    measured = {(r["arm"], r["normalizer"], r["n"]): r for r in results["summary"]}
    published = {(r["normalizer"], r["n"]): r["accuracy"] for r in results["published"]}
    assert [int(row[0]) for row in rows] == results["settings"]["sizes"]
    for row in rows:
        at = dict(zip(head, row))
        n = int(at["items in the set"])
        for normalizer in ("softmax", "adaptive", "entropy_target:nats=0.1", "hard"):
            line = measured["paper", normalizer, n]
            assert [float(at[f"{normalizer}: {part}"]) for part in ("accuracy", "low", "high")] == [
                line["accuracy"], line["accuracy_low"], line["accuracy_high"]]
        theirs = at["softmax, published: accuracy"]
        assert (float(theirs) if theirs else None) == published.get(("softmax", n))


def test_a_table_as_csv_is_the_table_as_it_stands_with_every_digit(browser, made):
    results, path = made("retrieval")
    with opened(browser, path) as page:
        page.get_by_role("button", name="accuracy").click()
        name, raw = offered(page, "numbers", "CSV")
        head, *rows = table_of(raw)
        assert name == "sharpmax-numbers.csv"
        found = [dict(zip(head, row)) for row in rows]
        assert [float(row["accuracy"]) for row in found] == sorted(r["accuracy"] for r in results["summary"])
        measured = {(r["arm"], r["normalizer"], str(r["n"])): r for r in results["summary"]}
        for row in found:
            line = measured[row["training"], row["normalizer"], row["n"]]
            assert [float(row[f]) for f in ("accuracy low", "accuracy high", "entropy", "peak weight")] == [
                line[f] for f in ("accuracy_low", "accuracy_high", "entropy", "peak_weight")]
            assert (row["its bound"] == "") == (row["normalizer"] != "softmax")


def test_the_heads_of_an_audit_as_csv(browser, made):
    results, path = made("audit")
    with opened(browser, path) as page:
        _, raw = offered(page, "worst", "CSV")
    head, *rows = table_of(raw)
    heads = {(h["layer"], h["head"]): h for h in results["attention"]["heads"]}
    assert len(rows) == len(heads)
    for row in (dict(zip(head, cells)) for cells in rows):
        assert float(row["peak 4K"]) == heads[int(row["layer"]), int(row["head of the layer"])]["peak_outside"]["median"][-1]


def path_points(path):
    return [tuple(map(float, pair.split())) for pair in path.get("d").strip("MZ").split("L")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_as_svg_holds_its_curves_in_the_colours_of_paper(browser, made, scheme):
    results, path = made("retrieval")
    with opened(browser, path, scheme=scheme) as page:
        name, raw = offered(page, "accuracy", "SVG")
    root = ElementTree.fromstring(raw)
    assert (name, root.tag) == ("sharpmax-accuracy.svg", SVG + "svg")
    words = [text.text for text in root.iter(SVG + "text")]
    assert {"Accuracy against size, paper training", "items in the set", "accuracy", "chance", "softmax",
            "softmax, published", "1M"} <= set(words)
    curves = [p for p in root.iter(SVG + "path") if p.get("fill") == "none" and p.get("stroke-width") == "2.25"]
    solid = [p for p in curves if not p.get("stroke-dasharray")]
    assert {p.get("stroke") for p in solid} == {"#c24e00", "#a8467f", "#00805c", "#50585f"}
    sizes = results["settings"]["sizes"]
    softmax = next(p for p in solid if p.get("stroke") == "#c24e00")
    accuracy = {r["n"]: r["accuracy"] for r in results["summary"] if (r["arm"], r["normalizer"]) == ("paper", "softmax")}
    zero, whole = (float(t.get("y")) for s in ("0\u202f%", "100\u202f%") for t in root.iter(SVG + "text") if t.text == s)
    found = [(zero - (y + 0.35 * 12)) / (zero - whole) for _, y in path_points(softmax)]
    assert found == pytest.approx([accuracy[n] for n in sizes], abs=1e-3)  # coordinates have two decimals
    # The published curves are dashed with hollow dots.
    dashed = [p for p in curves if p.get("stroke-dasharray") == "2 4" and len(path_points(p)) > 2]
    assert [len(path_points(p)) for p in dashed] == [9, 9]
    assert sum(c.get("fill") == "#ffffff" for c in root.iter(SVG + "circle")) == 18 + 2
    assert len([p for p in root.iter(SVG + "path") if p.get("fill-opacity")]) == 4  # intervals


def test_names_of_curves_that_end_at_the_top_stay_apart_and_below_the_title(browser, tmp_path):
    results = synthetic_results("quick")
    for row in results["summary"]:
        row.update(accuracy=1.0, accuracy_low=1.0, accuracy_high=1.0)
    with opened(browser, write_page(results, tmp_path / "page.html")) as page:
        root = ElementTree.fromstring(offered(page, "accuracy", "SVG")[1])
    normalizers = {row["normalizer"] for row in results["summary"]}
    height = {text.text: float(text.get("y")) for text in root.iter(SVG + "text")}
    ends = sorted(y for text, y in height.items() if text in normalizers)
    assert len(ends) == 4 and ends[0] > height["100\u202f%"] - 15
    assert min(b - a for a, b in zip(ends, ends[1:])) > 14.9


def test_a_chart_as_png_is_large_and_not_blank(browser, made):
    with opened(browser, made("audit")[1], scheme="dark") as page:
        name, raw = offered(page, "by-length", "PNG")
    width, height, shares = pixels_of(browser, raw)
    assert name == "sharpmax-by-length-heads-that-are-blunt.png" and width >= 1720 and height >= 700
    assert shares["#ffffff"] > 0.8 and shares["#c24e00"] > 0.001 and len(shares) > 10


@pytest.mark.parametrize("kind", PAGES)
def test_all_that_a_page_holds_of_a_result_comes_as_json(browser, made, kind):
    results, path = made(kind)
    with opened(browser, path) as page:
        name, raw = offered(page, "provenance", "JSON")
    data = json.loads(raw)
    assert data == {"schema": "sharpmax.page/1", "results": held(path)["results"]}
    assert name == ("sharpmax-compared-data.json" if isinstance(results, list) else "sharpmax-data.json")


def tables_of(items):
    """Tables that are shown before the reader chooses, by their ids."""
    for item in items:
        if item["type"] == "table":
            yield item
        if item["type"] == "choice":
            yield from tables_of(item["options"][item["shown"]]["items"])


# What the cells of a table say, and the values behind them.
SAID = "(rows) => rows.map((row) => [...row.cells].map((cell) => [cell.textContent, cell.dataset.value ?? null]))"


@pytest.mark.parametrize("kind", [kind for kind in PAGES if kind not in ("combined", "runs", "two losses", "answers")])
def test_every_table_of_a_page_holds_the_numbers_of_its_view(browser, made, kind):
    """The law of tests/laws/view_laws.cc, in the browser: values to the last digit, and texts where the view says them."""
    path = made(kind)[1]
    [view] = held(path)["results"]
    tables = [(section["id"], table) for section in view["sections"] for table in tables_of(section["items"])]
    with opened(browser, path) as page:
        for section, table in tables:
            said = page.eval_on_selector_all(f"#{section} #{table['id']} tbody tr", SAID)
            shown = [i for i, column in enumerate(table["columns"]) if not column.get("hidden")]
            assert len(said) == len(table["rows"]) > 0, table["id"]
            for line, row in zip(said, table["rows"]):
                for (text, value), i in zip(line, shown, strict=True):
                    cell = row[i]
                    known = cell["value"] if isinstance(cell, dict) else cell[1] if isinstance(cell, list) else cell
                    if isinstance(known, (int, float)):
                        assert float(value) == known
                    if isinstance(cell, dict):
                        assert text == cell["text"]
                    elif isinstance(cell, str):
                        assert text == cell
    assert sum(len(table["rows"]) for _, table in tables) > 2


FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1)", "\t=1", " =1"]


def test_hostile_names_are_inert_in_downloads(browser, tmp_path):
    results = synthetic_results("paper")
    results["arms"][0]["training"] |= {text: text for text in [*FORMULAS, *HOSTILE, "two\nlines,\"quoted\"", "nul\0and\x1b"]}
    for row in [*results["summary"], *results["results"], *results["heat_maps"]]:
        if row["normalizer"] == "hard":
            row["normalizer"] = HOSTILE[1] + "\u202e&"
        if row["normalizer"] == "adaptive":
            row["normalizer"] = "=1+1"
    with opened(browser, write_page(results, tmp_path / "page.html")) as page:
        for summary in page.query_selector_all("#accuracy summary"):
            summary.click()
        for box in page.query_selector_all("#accuracy input[type=checkbox]"):
            box.check()
        _, table = offered(page, "training", "CSV")
        _, curves = offered(page, "accuracy", "CSV")
        _, svg = offered(page, "accuracy", "SVG")
        offered(page, "accuracy", "PNG")
        assert page.evaluate("window.pwned") is None
    rows = table_of(table)
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell.lstrip()[:1] in "=+-@" and cell.strip()]
    assert ["'" + FORMULAS[0]] * 2 in rows and HOSTILE[1] in cells
    assert b"\x00" not in table and b"\x1b" not in table and "\u202e" not in table.decode()
    assert "'=1+1: accuracy" in table_of(curves)[0]
    root = ElementTree.fromstring(svg)
    assert {e.tag for e in root.iter()} <= {SVG + t for t in ("svg", "rect", "path", "circle", "text")}
    names = [text.text for text in root.iter(SVG + "text")]
    assert any(name.startswith("</script><img src=x onerror") for name in names)
    assert not any(set(e.keys()) & {"href", "onload", "onerror", "style"} for e in root.iter())


def head_shown(page):
    return page.text_content("#head h3").removeprefix("Head ")


def in_sight(page, selector):
    return page.eval_on_selector(selector, """(part) => {
      const {top, bottom} = part.getBoundingClientRect();
      return bottom > 0 && top < innerHeight;
    }""")


def test_an_address_leads_to_a_head_and_a_choice_is_put_into_it(browser, made):
    path = made("audit")[1]
    with opened(browser, path, place="#head-2.1") as page:
        assert head_shown(page) == "2.1" and in_sight(page, "#head")
        go(page, "head-0.2")
        assert head_shown(page) == "0.2"
        page.click("[data-head='3.0']")
        assert page.evaluate("location.hash") == "#head-3.0" and head_shown(page) == "3.0"
        follow(page, page.locator("#contents").get_by_role("link", name="By length"))
        assert page.evaluate("location.hash") == "#by-length"
        assert in_sight(page, "#by-length h2") and head_shown(page) == "3.0"


def test_addresses_within_a_page_of_several_results(browser, made):
    path = made("combined")[1]
    with opened(browser, path, place="#3/head-2.1") as page:
        assert page.text_content("#tabs [aria-current]").startswith("3: audit") and head_shown(page) == "2.1"
        page.click("[data-head='1.2']")
        assert page.evaluate("location.hash") == "#3/head-1.2"
        go(page, "2/head-0.1")
        assert page.text_content("#tabs [aria-current]").startswith("2: audit") and head_shown(page) == "0.1"
        assert len(page.query_selector_all("main > section#heads")) == 1
        follow(page, page.locator("#contents").get_by_role("link", name="The worst heads"))
        assert page.evaluate("location.hash") == "#2/worst"
        assert in_sight(page, "#worst h2")
        follow(page, page.locator("#tabs").get_by_role("link", name="1: retrieval"))
        assert page.query_selector("#accuracy")
        # The way to the results for those who read by keyboard changes no view.
        page.focus(".skip")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.activeElement.id === 'main'")
        frames(page)
        assert page.query_selector("#accuracy")


NOWHERE = ["#%", "#%E0%A4%A", "#head-99.1", "#head-", "#2/head-<img src=x onerror=pwned=1>", "#9", "#/", "#__proto__",
           "#constructor/x", "#' + alert(1) + '", "#results"]


@pytest.mark.parametrize("kind", ["audit", "combined"])
def test_an_address_that_means_nothing_changes_nothing(browser, made, kind):
    path = made(kind)[1]
    for place in NOWHERE[:2]:
        with opened(browser, path, place=place) as page:
            assert page.query_selector("#provenance .tools")
    with opened(browser, path) as page:
        for place in NOWHERE:
            go(page, "2/head-1.1" if kind == "combined" else "head-1.1")
            go(page, place)
            assert head_shown(page) == "1.1", place
        assert page.evaluate("window.pwned") is None


# Every rule but those that are experimental: what is wrong, in words that say where.
VIOLATIONS = """async () => {
  const {violations} = await axe.run(document, {resultTypes: ["violations"]});
  return violations.flatMap(({id, nodes}) => nodes.map((n) => `${id}: ${n.target} ${n.failureSummary}`));
}"""


def unfold(page):
    for summary in page.query_selector_all("summary"):
        summary.click()


LARGE = ["retrieval", "audit", "combined"]  # `make test-long` sees them in every look; two have both widths and both schemes


@pytest.mark.parametrize("kind,width,scheme", [
    pytest.param(kind, *look, marks=() if look in (LOOKS[0], LOOKS[3]) else pytest.mark.long)
    for kind in PAGES for look in (LOOKS if kind in LARGE else [LOOKS[0], LOOKS[3]])])
def test_axe_finds_nothing_and_the_page_fits(browser, made, kind, width, scheme):
    """And a picture of the page is kept, to be looked at."""
    with opened(browser, made(kind)[1], width, scheme) as page:
        wake_playground(page)
        SCREENSHOTS.mkdir(exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{kind.replace(' ', '-')}-{width}-{scheme}.png", full_page=True)
        unfold(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.evaluate(AXE.read_text() + ";")
        assert page.evaluate(VIOLATIONS) == []


@pytest.mark.parametrize("place", ["#1", "#2"])
def test_axe_finds_nothing_in_the_views_of_several_results(browser, made, place):
    with opened(browser, made("combined")[1], 375, "dark", place) as page:
        wake_playground(page)
        page.evaluate(AXE.read_text() + ";")
        assert page.evaluate(VIOLATIONS) == []


def test_axe_would_find_something(browser, made):
    with opened(browser, made("two losses")[1]) as page:
        page.evaluate("document.querySelector('h1').style.color = '#dddddd'")
        page.evaluate(AXE.read_text() + ";")
        assert any(line.startswith("color-contrast: ") for line in page.evaluate(VIOLATIONS))


# Whether what has the focus is drawn so; it is remembered. Null once the focus has left the page or come round.
FOCUSED = """() => {
  const e = document.activeElement;
  window.reached ??= new Set();
  if (e === document.body || window.reached.has(e)) return null;
  window.reached.add(e);
  const around = e.closest(".chip") ?? e;
  const seen = [e, around].map((one) => getComputedStyle(one)).some(
    (style) => style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1.5);
  return [e.closest("section")?.id ?? "", e.tagName, e.textContent.slice(0, 20), seen];
}"""
# Of a group of radio buttons the one that is chosen has the stop, of a grid the cell that was last gone to.
MISSED = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")].filter(
  (e) => e.checkVisibility() && !e.disabled && !(e.type === "radio" && !e.checked) && e.tabIndex >= 0 && !window.reached.has(e))
  .map((e) => e.outerHTML.slice(0, 100))"""


@pytest.mark.parametrize("kind", PAGES)
def test_everything_is_reached_by_tab_and_its_focus_is_seen(browser, made, kind):
    with opened(browser, made(kind)[1]) as page:
        wake_playground(page)  # whoever is faster than it would pass by its controls
        stops = []
        for _ in range(400):
            page.keyboard.press("Tab")
            stop = page.evaluate(FOCUSED)
            if stop is None:
                break
            stops.append(stop)
        assert [stop for stop in stops if not stop[3]] == []
        assert page.evaluate(MISSED) == [] and stops[0][2].startswith("Skip")
        wanted = {"JSON"} | ({"PNG", "SVG", "CSV"} if kind in LARGE else set())
        assert {stop[2] for stop in stops if stop[1] == "BUTTON"} >= wanted


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_prints_on_white_without_its_controls(browser, made, kind, tmp_path):
    with opened(browser, made(kind)[1], 1280, "dark") as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(0, 0, 0)"
        assert [part for part in page.query_selector_all(".tools, .controls, nav, .readout") if part.is_visible()] == []
        page.set_viewport_size({"width": 700, "height": 900})
        page.wait_for_function("() => innerWidth === 700")
        frames(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 700
        paper = page.pdf(format="A4")
        assert paper[:5] == b"%PDF-" and len(paper) > 20_000
        SCREENSHOTS.mkdir(exist_ok=True)
        (SCREENSHOTS / f"{kind.replace(' ', '-')}.pdf").write_bytes(paper)
