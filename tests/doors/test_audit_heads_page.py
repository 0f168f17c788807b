"""One head on the page of an audit: its map, the keys it looks at, its gap counts, its address; and a thousand heads.

The results are synthetic, tests/support/synthetic_audit.py.
"""
import base64
import random

import pytest
from page_in_browser import CELL_COLOURS, CELLS, SPAN, browser, opened, playground_settled, visible, write_page  # noqa: F401
from synthetic_audit import sketch_section, synthetic_audit
from synthetic_pages import made_audit as made  # noqa: F401


def three(value):
    return float(f"{value:.3g}")


def test_the_heaviest_keys_of_a_head_are_shown_with_their_tokens(browser, made):
    results, path = made
    sketches = results["sketches"]
    with opened(browser, path, 375) as page:
        page.click("[data-head='2.1']")
        for i, query in [(5, 99), (0, 11), (3, 74)]:
            page.locator("#head-drawn").get_by_label(str(query), exact=True).check()
            top = sketches["heads"][7]["top"][i]
            assert sketches["rows"][i] == query
            assert page.eval_on_selector_all("#top-keys tbody tr", CELLS) == [
                [three(weight), key, query - key] for key, weight in zip(top["keys"], top["weights"])]
            assert page.eval_on_selector_all("#top-keys mark", "(marks) => marks.map((m) => m.textContent)") == [
                visible(sketches["tokens"][key]) for key in top["keys"]]
            before = "".join(sketches["tokens"][query - 6:query]).replace("\n", "⏎").replace("\t", "⇥").lstrip()
            assert page.text_content("#head-drawn .query") == f"Token {query}: {before}{visible(sketches['tokens'][query])}"
        widths = page.eval_on_selector_all("#top-keys .weight-bar", """(bars) => bars.map(
            (bar) => bar.firstChild.getBoundingClientRect().width / bar.getBoundingClientRect().width)""")
        assert widths == pytest.approx(top["weights"], abs=0.01)


def cells_of(sketch):
    """[row][column] of a map, as weights."""
    letters, cells = base64.b64decode(sketch["map"]["cells"]), []
    while letters:
        row, letters = letters[:len(cells) + 1], letters[len(cells) + 1:]
        cells.append([(byte / 255) ** 2 for byte in row])
    return cells


def test_the_map_of_a_head_is_drawn_and_read_by_pointer_and_keyboard(browser, made):
    results, path = made
    cells = cells_of(results["sketches"]["heads"][5])
    with opened(browser, path) as page:
        page.click("[data-head='1.2']")
        pixels = page.eval_on_selector("#head-drawn .map-picture svg", CELL_COLOURS, len(cells))
        assert len(cells) == 48 and pixels[0][0] == [254, 232, 56]  # all of its weight: the ramp's end
        assert all(pixels[row][column] == "" for row in range(48) for column in range(row + 1, 48))
        seen = sorted((cells[row][column], pixels[row][column][1]) for row in range(48) for column in range(row + 1))
        greens = [green for _, green in seen]
        assert greens == sorted(greens) and greens[-1] - greens[0] > 150
        # Block i of 48 holds tokens ceil(100 i / 48) to ceil(100 (i + 1) / 48) - 1.
        page.focus("#head-drawn .map-picture")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowUp")
        readout = "#head-drawn .map .readout"
        assert page.text_content(readout) == f"Tokens 96–97 look at 0–2: {cells[46][0]:.2f}"
        page.keyboard.press("End")
        assert page.text_content(readout) == f"Tokens 96–97 look at 96–97: {cells[46][46]:.2f}"
        picture = page.locator("#head-drawn .map-picture")
        side = picture.bounding_box()["width"]
        picture.hover(position={"x": 1.5 / 48 * side, "y": 10.5 / 48 * side})
        assert page.text_content(readout).startswith("Tokens 21–22 look at 3–4: ")
        label = page.get_attribute("#head-drawn .map-picture", "aria-label")
        assert label.startswith("Head 1.2, weights over 100 tokens in 48 × 48 blocks") and "Tokens 98–99 look at " in label


def test_a_short_text_is_weighed_token_by_token(browser, tmp_path):
    results = synthetic_audit(["attention"])
    results["sketches"] = sketch_section(4, 3, random.Random(11), tokens=20)
    cells = cells_of(results["sketches"]["heads"][5])
    with opened(browser, write_page(results, tmp_path / "page.html")) as page:
        page.click("[data-head='1.2']")
        read = "(all) => all.map((part) => JSON.parse(part.dataset.value))"
        assert page.eval_on_selector_all(".token", read) == pytest.approx(cells[19], abs=1e-5)
        slider = page.get_by_role("slider", name="Query token of head 1.2")
        slider.focus()
        for _ in range(3):
            page.keyboard.press("ArrowLeft")
        found = page.eval_on_selector_all(".token", read)
        assert found[:17] == pytest.approx(cells[16], abs=1e-5) and found[17:] == [None] * 3
        page.locator(".token").nth(4).click()
        assert page.eval_on_selector_all(".token", read)[:5] == pytest.approx(cells[4], abs=1e-5)
        assert slider.input_value() == "4"


def test_gap_counts_are_charted_against_length(browser, made):
    results, path = made
    with opened(browser, path) as page:
        page.click("[data-head='3.0']")
        counts = results["attention"]["heads"][9]["gap_counts"]
        assert f"at 4,096 tokens, itself counted: {counts[-1][2]:,.0f}; within 4: {counts[-1][4]:,.0f}." in page.text_content("#head-gaps")
        page.focus("#head-gaps .chart")
        page.keyboard.press("ArrowRight")
        assert page.text_content("#head-gaps .readout") == "n = 64" + "".join(
            f" · within {gap} {counts[0][i]:,.0f}" for i, gap in enumerate([1, 2, 4, 8, 16], 2))
        assert page.evaluate(SPAN, [page.query_selector("#head-gaps .chart svg"), "vermillion"]) > 0.5


def test_a_head_has_an_address_and_its_row_can_be_played_with(browser, made):
    results, path = made
    with opened(browser, path) as page:
        page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        page.click("[data-head='2.0']")
        page.get_by_role("button", name="Copy link").click()
        assert page.evaluate("window.copied") == path.as_uri() + "#head-2.0"
        assert page.text_content("#head .head-actions [role=status]") == "Copied."
        page.get_by_role("button", name="Play with its last row").click()
        playground_settled(page)
        assert page.evaluate("document.getElementById('playground').getBoundingClientRect().top < innerHeight")
        chosen = page.eval_on_selector_all("#playground select", "(all) => all.map((s) => s.selectedOptions[0].textContent)")
        assert "head 2.0, the last of 100 tokens" in chosen


@pytest.fixture(scope="module")
def thousand(tmp_path_factory):
    """(results, file) of 1,024 heads, with everything that was measured of them."""
    results = synthetic_audit(["attention", "sketches"], layers=32, heads=32, lengths=[64 << i for i in range(8)])
    return results, write_page(results, tmp_path_factory.mktemp("page") / "thousand.html")


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """The same of 16 heads."""
    results = synthetic_audit(["attention", "sketches"], layers=4, heads=4, lengths=[64 << i for i in range(8)])
    return results, write_page(results, tmp_path_factory.mktemp("page") / "few.html")


def test_a_thousand_heads_fit_into_a_page_and_what_was_left_out_is_named(browser, thousand):
    results, path = thousand
    assert path.stat().st_size <= 700_000  # docs/report.md
    with opened(browser, path, 375) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        left_out = page.text_content("#provenance").split("Left out to keep this file small: ")[1].split(".")[0].split(", ")
        assert "intervals of entropy" in left_out
        assert not {"maps", "heaviest keys", "gap counts", "rows of scores"} & set(left_out)
        # Every head has a map, be it a small one, and at least its last row's keys.
        page.click("[data-head='31.31']")
        assert "weights over 100 tokens in 16 × 16 blocks" in page.get_attribute("#head-drawn .map-picture", "aria-label")
        last = results["sketches"]["heads"][-1]["top"][-1]
        assert [row[:2] for row in page.eval_on_selector_all("#top-keys tbody tr", CELLS)] == [
            [three(weight), key] for key, weight in zip(last["keys"], last["weights"])]


def test_a_coarser_map_is_the_sum_over_keys_and_the_mean_over_queries(browser, thousand):
    results, path = thousand
    fine = cells_of(results["sketches"]["heads"][40])
    begin = [-(-100 * i // 48) for i in range(49)]  # of every block, in tokens
    with opened(browser, path) as page:
        page.click("[data-head='1.8']")
        page.focus("#head-drawn .map-picture")
        page.keyboard.press("Home")
        for row in range(15, 0, -1):
            mean = sum(sum(fine[r][:3]) * (begin[r + 1] - begin[r]) for r in range(3 * row, 3 * row + 3))
            mean /= begin[3 * row + 3] - begin[3 * row]
            readout = page.text_content("#head-drawn .map .readout")
            assert readout.startswith(f"Tokens {begin[3 * row]}–{begin[3 * row + 3] - 1} look at 0–{begin[3] - 1}: ")
            assert float(readout.split(": ")[1]) == pytest.approx(mean, abs=0.013)  # a step of a byte, and two digits
            page.keyboard.press("ArrowUp")


# Of one act of the reader: how many elements it makes, and of how many cells of the grid it changes an attribute.
WORK = """(selector) => {
  const part = document.querySelector(selector);
  const {createElement} = Document.prototype;
  const watch = new MutationObserver(() => {});
  let made = 0;
  Document.prototype.createElement = function (...words) {
    ++made;
    return createElement.apply(this, words);
  };
  watch.observe(document.querySelector("#heads [role=grid]"), {attributes: true, subtree: true});
  %s;
  Document.prototype.createElement = createElement;
  return [made, new Set(watch.takeRecords().map(({target}) => target)).size];
}"""
# name: (selector, what the reader does, whether every cell of the grid takes another colour)
ACTS = {
    "a head": ("#heads", "part.querySelector(`[data-head='3.3']`).click()", False),
    "a statistic": ("#heads select", "part.value = 1; part.dispatchEvent(new Event('change'))", True),
    "a filter": ("#worst select", "part.value = 1; part.dispatchEvent(new Event('change'))", False),
    "words": ("#worst input[type=search]", "part.value = '3'; part.dispatchEvent(new Event('input'))", False),
    "an order": ("#all-heads th button", "part.click()", False),
}


@pytest.mark.parametrize("act", ACTS)
def test_with_a_thousand_heads_an_act_makes_no_more_elements_than_with_few(browser, thousand, few, act):
    """Lines and cells are made once; then they are moved, hidden and coloured. bench/page has the milliseconds."""
    selector, change, every_cell = ACTS[act]
    work = {}
    for results, path in (few, thousand):
        heads = len(results["attention"]["heads"])
        with opened(browser, path) as page:
            work[heads] = page.evaluate(WORK % change, selector)
    (made_few, cells_few), (made, cells) = work[16], work[1024]
    assert made <= made_few < 400
    assert cells == (1024 if every_cell else cells_few) and cells_few <= (16 if every_cell else 2)


def test_of_a_thousand_lines_so_many_are_laid_out_as_are_asked_for(browser, thousand):
    visible = "(lines) => lines.filter((line) => line.checkVisibility()).length"
    with opened(browser, thousand[1]) as page:
        assert page.eval_on_selector_all("#all-heads tbody tr", visible) == 150
        page.get_by_role("button", name="Show every line").click()
        assert page.eval_on_selector_all("#all-heads tbody tr", visible) == 1024
