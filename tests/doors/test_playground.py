"""The playground of the report page: the same numbers as the library, live, from any row a reader may think of.

The module is the library's own specification in double, compiled by another compiler against another C library. So the two may
differ by what exp and log of the two C libraries differ, about one unit in the last place a call; sums over n keys and products of n
factors (stick_breaking) carry that to n eps at most.
"""
import csv
import io
import json
import os
import subprocess
import urllib.parse

import numpy as np
import pytest
import sharpmax
from page_in_browser import HOSTILE, LOOKS, MAKER, ROOT, browser, empty_page, frames, opened, playground_settled, saved, write_page  # noqa: F401
from synthetic_audit import synthetic_audit
from synthetic_results import synthetic_results

BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build/sharpmax"))
EPS = 2.0**-52
TINY = 1e-300  # weights that underflow in one library may be subnormal in the other
STATISTICS = ["entropy", "peak_weight", "effective_support", "support", "mass", "temperature", "threshold"]
WITH_PARAMETERS = [
    "softmax:beta=2", "softmax:beta=-1", "adaptive:threshold=0.1", "adaptive:polynomial=0.5/1.5", "entropy_target:nats=0.01",
    "entropy_target:nats=3", "peak_target:weight=0.9", "ssmax:s=0.4,b=0.1", "log_length:preset=llama4,floor=16",
    "log_length:preset=yarn_dynamic,length=64", "entmax:alpha=1", "entmax:alpha=1.25", "entmax:alpha=3", "asentmax:alpha=2,gamma=0.5",
    "top_k:k=3,beta=0.5", "sink:c=0", "sink:c=1e3", "sigmoid:b=-2", "self_adjust:form=plain", "entropy_target:nats=.5",
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_page(synthetic_results("quick"), tmp_path_factory.mktemp("pages") / "page.html")


def place(**told):
    def twice(value):
        return urllib.parse.quote(urllib.parse.quote(str(value), safe=""), safe="")
    return "#playground?" + "&".join(f"{name}={twice(value)}" for name, value in told.items())


def go(page, **told):
    """To a setting, by its address, until it is shown."""
    # Going where the address already is would be no going. Two frames later the page has drawn what it was told.
    page.evaluate("""(hash) => new Promise((done) => {
      addEventListener("hashchange", () => requestAnimationFrame(() => requestAnimationFrame(done)), {once: true});
      history.replaceState(null, "", "#");
      location.hash = hash;
    })""", place(**told))
    shown_of(page, told.get("rule", "softmax"), told.get("n"))


def shown_of(page, rule, n=None):
    page.wait_for_function("""([rule, keys]) => {
      const cell = [...document.querySelectorAll("#playground td[data-rule]")].find((one) => one.dataset.rule === rule);
      return cell && (!keys || cell.closest("table").querySelector("th").textContent === keys);
    }""", arg=[rule, f"{n:,} keys" if n else ""])


def statistics_shown(page, rule):
    cells = page.evaluate("""(rule) => [...document.querySelectorAll("#playground td[data-rule]")]
      .filter((one) => one.dataset.rule === rule).map((one) => [one.dataset.statistic, Number(one.dataset.value)])""", rule)
    return dict(cells)


def row_downloaded(page):
    """Scores, and weights by rule: what the page holds of the row that it shows."""
    button = page.locator("#playground .tools", has_text="Every score and weight").locator("button")
    text = saved(button)[1].decode()
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    columns = np.array(rows, dtype=float).T
    return columns[0], dict(zip(head[1:], columns[1:]))


def expect_same_as_the_library(page, rule, temperature):
    scores, weights = row_downloaded(page)
    tolerance = 8 * EPS * max(len(scores), 64)
    for name in {"softmax", rule}:
        wanted, stats = sharpmax.normalize(scores[None] * (1 / temperature), name, return_stats=True)
        np.testing.assert_allclose(weights[name], wanted[0], rtol=tolerance, atol=TINY, err_msg=name)
        seen = statistics_shown(page, name)
        for statistic in STATISTICS:
            value = float(getattr(stats, statistic)[0])
            if statistic in seen:
                np.testing.assert_allclose(seen[statistic], value, rtol=tolerance, atol=1e-14, err_msg=f"{name} {statistic}")
            else:  # not worth a line
                assert np.isnan(value) or (statistic == "mass" and abs(value - 1) < 1e-6), (name, statistic)
    return scores


def family():
    told = json.loads(subprocess.run([BINARY, "attend", "--list", "--json", "-"], capture_output=True, check=True).stdout)
    return [member for member in told["normalizers"] if not member["needs_queries_and_keys"]]


@pytest.mark.parametrize("row", [
    {"row": "needle", "gap": 6, "n": 1000, "t": 0.5},
    {"row": "needle", "gap": 0.1, "n": 2, "t": 20},
    {"row": "typed", "scores": "3 3 -1 0.5 3 0 0 1e-3 -2.25", "n": 9, "t": 1},
    {"row": "typed", "scores": "-7 -7 -7", "n": 37, "t": 0.05},
], ids=["needle", "two keys", "ties", "all equal"])
def test_every_member_weighs_a_row_as_the_library_does(browser, path, row):  # noqa: F811
    with opened(browser, path) as page:
        for rule in [member["name"] for member in family()] + WITH_PARAMETERS:
            go(page, rule=rule, **row)
            expect_same_as_the_library(page, rule, row["t"])


def test_a_row_of_the_most_keys_is_the_librarys_too(browser, path):  # noqa: F811
    with opened(browser, path) as page:
        for rule in ["entropy_target", "peak_target:weight=0.99", "entmax15", "stick_breaking"]:
            go(page, row="needle", gap=6, n=65536, t=1, rule=rule)
            assert len(expect_same_as_the_library(page, rule, 1)) == 65536


def test_numbers_read_as_they_do_natively(browser, path):  # noqa: F811
    """The module's C++ library has no floating-point from_chars: another function reads them there."""
    with opened(browser, path) as page:
        go(page, row="needle", n=64, rule="entropy_target")
        for text in ["0.1", "1e-3", ".5", "5.", "1e0", "0.30000000000000004", "+1", "0x1", "1e", "inf", "nan", "1e999", "1,5", "--1", "1e-400", "",
                     "1.5.2", "2.2250738585072014e-308", "1d3", "1_0", "\u0661"]:
            rule = f"entropy_target:nats={text}"
            try:
                sharpmax.Normalizer(rule)
            except ValueError as problem:
                go(page, row="needle", n=64, rule="entropy_target:nats=0.7")
                type_into(page, "#playground-parameter-nats", text)
                assert page.text_content("#playground .problem") == str(problem)
                assert page.get_attribute("#playground-parameter-nats", "aria-invalid") == "true"
                assert statistics_shown(page, "entropy_target:nats=0.7")  # the last good one
            else:
                type_into(page, "#playground-parameter-nats", text)
                shown_of(page, rule)
                expect_same_as_the_library(page, rule, 1)


def type_into(page, field, text):
    page.fill(field, text)
    page.press(field, "Tab")


def test_the_family_is_told_as_the_command_line_tells_it(browser, path):  # noqa: F811
    members = family()
    with opened(browser, path) as page:
        go(page, row="needle", n=64, rule="softmax")
        assert page.locator("#playground-rule option").all_text_contents() == [member["name"] for member in members]
        for member in members:
            page.select_option("#playground-rule", member["name"])
            shown_of(page, member["name"])
            words = page.text_content("#playground .rule-controls .note")
            assert member["formula"] in words and member["peak_as_n_grows"] in words
            fields = [parameter for parameter in member["parameters"] if parameter["name"] != "gradient"]
            assert page.locator("#playground .fields label").all_text_contents() == [one["name"] for one in fields]
            for one in fields:
                value, default = page.input_value(f"#playground-parameter-{one['name']}"), one["default"]
                if isinstance(default, str):
                    assert value == default
                else:
                    assert [float(word) for word in value.split("/")] == (default if isinstance(default, list) else [default])


def test_sliders_move_the_row_by_keyboard(browser, path):  # noqa: F811
    with opened(browser, path) as page:
        go(page, row="needle", gap=6, n=1024, t=1, rule="entropy_target")
        page.focus("#playground-n")
        page.keyboard.press("ArrowRight")
        shown_of(page, "entropy_target", 1117)
        page.keyboard.press("End")
        shown_of(page, "entropy_target", 65536)
        page.keyboard.press("Home")
        shown_of(page, "entropy_target", 2)
        type_into(page, "[aria-label='Keys n, exactly']", "777")
        shown_of(page, "entropy_target", 777)
        assert page.get_attribute("#playground-n", "aria-valuetext") == "777"
        before = statistics_shown(page, "softmax")["entropy"]
        page.focus("#playground-t")
        page.keyboard.press("ArrowLeft")
        page.wait_for_function("() => document.getElementById('playground-t').getAttribute('aria-valuetext') === '0.944'")
        assert statistics_shown(page, "softmax")["entropy"] < before
        page.focus("#playground-gap")
        page.keyboard.press("Home")
        page.wait_for_function("() => document.getElementById('playground-gap').getAttribute('aria-valuetext') === '-5'")
        assert statistics_shown(page, "softmax")["peak_weight"] < 0.1
        page.focus("[aria-label='nats, slider']")
        page.keyboard.press("End")
        shown_of(page, "entropy_target:nats=8")


@pytest.mark.parametrize("field", ["[aria-label='Keys n, exactly']", "#playground-parameter-nats"])
def test_letters_being_typed_stay_whatever_is_drawn_meanwhile(browser, path, field):  # noqa: F811
    with opened(browser, path) as page:
        go(page, row="needle", n=64, rule="entropy_target")
        page.evaluate("""(field) => {
          const typed = document.querySelector(field);
          const slider = document.getElementById("playground-t");
          slider.value = 0;
          slider.dispatchEvent(new Event("input"));
          typed.value = "3";
          typed.dispatchEvent(new Event("input"));
        }""", field)
        frames(page)
        assert page.get_attribute("#playground-t", "aria-valuetext") == "1"  # it is drawn
        assert page.input_value(field) == "3"


NO_ROWS = [
    ("[aria-label='Keys n, exactly']", "1", "n is a whole number from 2 to 65,536."),
    ("[aria-label='Keys n, exactly']", "65537", "n is a whole number from 2 to 65,536."),
    ("[aria-label='Keys n, exactly']", "many", "n is a whole number from 2 to 65,536."),
    ("[aria-label='Temperature, exactly']", "0", "A temperature here is a number from 0.05 to 20."),
    ("[aria-label='Temperature, exactly']", "", "A temperature here is a number from 0.05 to 20."),
    ("#playground-typed", "1 2 x", "“x” is not a finite number; the row shown is the last good one."),
    ("#playground-typed", "1 2 1e999", "“1e999” is not a finite number; the row shown is the last good one."),
    ("#playground-typed", "1 2 -inf", "“-inf” is not a finite number; the row shown is the last good one."),
    ("#playground-typed", "1 <img/src=x>", "“<img/src=x>” is not a finite number; the row shown is the last good one."),
    ("#playground-typed", "1", "A row has at least 2 scores; the row shown is the last good one."),
    ("#playground-typed", "0 " * 4097, "These are 4,097 scores, and a typed row may have 4,096; the row shown is the last good one."),
]


def test_what_is_no_row_gets_a_sentence_and_the_last_good_one_stays(browser, path):  # noqa: F811
    with opened(browser, path) as page:
        for field, text, sentence in NO_ROWS:
            go(page, row="typed", scores="1 2 3", n=3, t=1, rule="sparsemax")
            before = statistics_shown(page, "softmax")
            type_into(page, field, text)
            page.wait_for_function("(expected) => document.querySelector('#playground .problem').textContent === expected", arg=sentence)
            assert statistics_shown(page, "softmax") == before
            page.fill("#playground-typed", "1, 2;\n3 4.5e0")
            shown_of(page, "sparsemax", 4)
            assert page.text_content("#playground .problem") == ""


def test_a_typed_row_keeps_its_order_and_its_ties_as_it_grows(browser, path):  # noqa: F811
    with opened(browser, path) as page:
        typed = [2.0, -1.0, 5.0, 2.0]
        go(page, row="typed", scores="2 -1 5 2", n=4, rule="stick_breaking")
        scores, _ = row_downloaded(page)
        assert list(scores) == typed
        go(page, row="typed", scores="2 -1 5 2", n=401, rule="stick_breaking")
        scores, _ = row_downloaded(page)
        assert set(scores) == set(typed) and (scores == 5).sum() == 1
        assert 265 <= (scores == 2).sum() <= 269
        go(page, row="typed", scores="2 -1 5 2", n=400, rule="stick_breaking", alone=0)
        scores, _ = row_downloaded(page)
        assert (scores == 5).sum() == 100 and (scores == 2).sum() == 200 and (scores == -1).sum() == 100
        go(page, row="typed", scores="2 -1 5 2", n=2, rule="stick_breaking", alone=0)
        assert row_downloaded(page)[0].max() == 5


def test_the_needle_stands_among_quantiles_of_the_normal(browser, path):  # noqa: F811
    from statistics import NormalDist
    with opened(browser, path) as page:
        for n in (2, 3, 10, 1000, 65536):
            go(page, row="needle", gap=7.5, n=n, rule="hard")
            scores, _ = row_downloaded(page)
            wanted = [NormalDist().inv_cdf((i + 0.5) / (n - 1)) for i in range(n - 1)]
            assert scores[-1] == 7.5
            np.testing.assert_allclose(scores[:-1], wanted, rtol=1e-9, atol=1e-9)


def test_a_setting_can_be_sent_as_an_address(browser, path):  # noqa: F811
    with opened(browser, path) as page:
        go(page, row="needle", n=64, rule="softmax")
        page.select_option("#playground-row", "typed")
        page.fill("#playground-typed", "4 4 0 -1")
        page.select_option("#playground-rule", "entmax")
        type_into(page, "#playground-parameter-alpha", "1.25")
        type_into(page, "[aria-label='Temperature, exactly']", "0.5")
        type_into(page, "[aria-label='Keys n, exactly']", "123")
        page.uncheck("#playground-alone")
        page.wait_for_function("() => location.hash.includes('123') && location.hash.includes('alone')")
        address, seen = page.evaluate("location.hash"), statistics_shown(page, "entmax:alpha=1.25")
        text = page.text_content("#playground .summary")
    with opened(browser, path, place=address) as page:
        shown_of(page, "entmax:alpha=1.25", 123)
        page.wait_for_function("(expected) => document.querySelector('#playground .summary').textContent === expected", arg=text)
        assert statistics_shown(page, "entmax:alpha=1.25") == seen
        page.wait_for_function("() => Math.abs(document.getElementById('playground').getBoundingClientRect().top) < 100")


@pytest.mark.parametrize("told,sentence", [
    ({"rule": "sofmax"}, "did you mean softmax"),
    ({"rule": "softmax:beta=1/2"}, "2 values for 1 heads"),
    ({"n": "many"}, "is not a number"),
    ({"row": "typed", "scores": "1 x"}, "not a finite number"),
    ({"row": "result", "name": "nobody"}, "not among those of this result"),
    ({"row": "result", "name": "x", "of": "1e9", "q": "1 NaN"}, "not among those of this result"),
], ids=["name", "heads", "n", "typed", "row", "scores"])
def test_an_address_that_is_wrong_gets_a_sentence(browser, path, told, sentence):  # noqa: F811
    with opened(browser, path, place=place(**told)) as page:
        page.wait_for_function("(expected) => document.querySelector('#playground .problem')?.textContent.includes(expected)", arg=sentence)
        assert statistics_shown(page, "softmax")


def test_addresses_without_meaning_are_silent(browser, path):  # noqa: F811
    for hash in ["#playground?", "#playground?=&&&%25", "#playground?rule=softmax1", "#playground?n=1e99&t=-3&gap=1e9"]:
        with opened(browser, path, place=hash) as page:
            page.wait_for_selector("#playground td[data-value]")


def test_the_name_of_a_row_is_text_and_nothing_else(browser, path):  # noqa: F811
    with opened(browser, path) as page:
        for name in HOSTILE:
            go(page, row="result", name=name, of=9, q="0 1 2", n=9, rule="hard")
            assert page.evaluate("window.pwned") is None
            assert page.query_selector("#playground img") is None
            assert "\u202e" not in page.text_content("#playground")
            scores, _ = row_downloaded(page)
            assert scores[0] < 0.5 and scores[-1] == 2
        assert len(page.query_selector_all("#playground-row option")) >= 2 + len(HOSTILE)


def test_presets_show_what_they_say(browser, path):  # noqa: F811
    with opened(browser, path) as page:
        go(page, row="needle", n=64, rule="softmax")

        def press(name):
            page.click(f"#playground button:text-is('{name}')")
            playground_settled(page)
            assert len(page.text_content("#playground .presets .note")) > 40
        press("softmax loses a needle")
        lost = statistics_shown(page, "softmax")
        assert lost["peak_weight"] < 0.01 and not statistics_shown(page, "entropy_target")
        press("a temperature only delays it")
        later = statistics_shown(page, "softmax:beta=2")
        assert lost["peak_weight"] < later["peak_weight"] < 0.5
        press("entropy_target holds")
        assert statistics_shown(page, "entropy_target")["peak_weight"] > 0.9
        press("ties stay ties")
        tied = statistics_shown(page, "entropy_target:nats=0.1")
        assert tied["peak_weight"] == 0.5 and tied["support"] == 2


def test_a_row_that_is_used_takes_the_playground(browser, path, tmp_path):  # noqa: F811
    audit = write_page(synthetic_audit(), tmp_path / "audit.html")
    with opened(browser, audit) as page:
        page.evaluate("location.hash = '#playground'")
        page.wait_for_selector("#playground td[data-value]")
        assert page.locator("#playground-row option").all_text_contents()[:2] == ["a needle among normal scores", "typed"]


def test_without_the_module_a_note_stands_in_its_place(browser, tmp_path):  # noqa: F811
    path = write_page(synthetic_results("quick"), tmp_path / "page.html", MAKER.parent / "make_report_page_without_playground")
    with opened(browser, path, place="#playground") as page:
        note = page.text_content("#playground .note")
        assert note.startswith("This page has no playground") and "make build" in note
        assert page.query_selector("#playground input") is None


def test_a_browser_without_webassembly_gets_a_sentence(browser, path):  # noqa: F811
    said = []
    with empty_page(browser) as page:
        page.on("pageerror", lambda error: said.append(str(error)))
        page.add_init_script("delete window.WebAssembly")
        page.goto(path.as_uri() + "#playground")
        playground_settled(page)
        assert "WebAssembly" in page.text_content("#playground .note")
    assert said == []


def test_the_module_waits_until_the_reader_comes_near(browser, path):  # noqa: F811
    with opened(browser, path) as page:
        # The page's own observer was told before this one, which was made after it.
        page.evaluate("""() => new Promise((told) => new IntersectionObserver(() => told()).observe(
            document.getElementById("playground")))""")
        assert page.get_attribute("#playground .playground", "data-state") == "asleep"
        assert page.query_selector("#playground td[data-value]") is None
        page.evaluate("document.getElementById('playground').scrollIntoView()")
        playground_settled(page)
        assert page.query_selector("#playground td[data-value]")


@pytest.mark.parametrize("width,scheme", LOOKS)
def test_it_fits_and_is_drawn(browser, path, width, scheme):  # noqa: F811
    with opened(browser, path, width, scheme) as page:
        for rule in ["adaptive", "log_length"]:
            go(page, row="typed", scores=" ".join("1.25" for _ in range(400)), rule=rule)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.wait_for_function("""() => document.querySelectorAll('#playground .chart svg').length >= 2""")


# Counts, in window.weighed, how often the module weighs a row.
COUNT_WEIGHINGS = """() => {
  const {Instance} = WebAssembly;
  window.weighed = 0;
  WebAssembly.Instance = function (...given) {
    const {sharpmax_weigh: weigh, ...others} = new Instance(...given).exports;
    return {exports: {...others, sharpmax_weigh: (...row) => (++window.weighed, weigh(...row))}};
  };
}"""
SLIDE = """async (steps) => {
  const range = document.getElementById("playground-t");
  window.weighed = 0;
  for (let i = 0; i < steps; ++i) {
    range.stepDown();
    range.dispatchEvent(new Event("input", {bubbles: true}));
  }
  await new Promise((done) => requestAnimationFrame(() => done()));
  return window.weighed;
}"""


def test_a_slider_costs_one_row_for_each_rule_and_frame_however_fast_it_moves(browser, path):  # noqa: F811
    """The curve over lengths, which takes far longer, waits until the reader pauses."""
    with empty_page(browser) as page:
        page.add_init_script(f"({COUNT_WEIGHINGS})()")
        page.goto(path.as_uri() + place(row="needle", gap=6, n=65536, t=1, rule="entropy_target"))
        shown_of(page, "entropy_target", 65536)
        for steps in (1, 5):
            playground_settled(page)
            assert page.evaluate("window.weighed") > 20  # of the curve
            assert page.evaluate(SLIDE, steps) == 2  # softmax and the rule
