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
from page_in_browser import HOSTILE, LOOKS, MAKER, ROOT, browser, opened, write_page  # noqa: F401
from synthetic_audit import synthetic_audit
from synthetic_results import synthetic_results

sharpmax = pytest.importorskip("sharpmax")

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
    page.evaluate("(hash) => { location.hash = hash; }", place(**told))
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


# What a click on a button would save. A real download for each of hundreds of rows takes minutes.
SAVED = """async (button) => {
  const {createObjectURL} = URL;
  const {click} = HTMLAnchorElement.prototype;
  let saved = null;
  URL.createObjectURL = (blob) => ((saved = blob), "data:,");
  HTMLAnchorElement.prototype.click = () => {};
  button.click();
  Object.assign(URL, {createObjectURL});
  Object.assign(HTMLAnchorElement.prototype, {click});
  return saved.text();
}"""


def row_downloaded(page):
    """Scores, and weights by rule: what the page holds of the row that it shows."""
    text = page.locator("#playground .tools", has_text="Every score and weight").locator("button").evaluate(SAVED)
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
    told = json.loads(subprocess.run([BINARY, "attend", "--list", "--json"], capture_output=True, check=True).stdout)
    return [member for member in told["normalizers"] if not member["needs_queries_and_keys"]]


@pytest.mark.parametrize("row", [
    {"row": "needle", "gap": 6, "n": 1000, "t": 0.5},
    {"row": "needle", "gap": 0.1, "n": 2, "t": 20},
    {"row": "typed", "scores": "3 3 -1 0.5 3 0 0 1e-3 -2.25", "n": 9, "t": 1},
    {"row": "typed", "scores": "-7 -7 -7", "n": 37, "t": 0.05},
], ids=["needle", "two keys", "ties", "all equal"])
def test_every_member_weighs_a_row_as_the_library_does(browser, path, row):
    with opened(browser, path) as page:
        for rule in [member["name"] for member in family()] + WITH_PARAMETERS:
            go(page, rule=rule, **row)
            expect_same_as_the_library(page, rule, row["t"])


def test_a_row_of_the_most_keys_is_the_librarys_too(browser, path):
    with opened(browser, path) as page:
        for rule in ["entropy_target", "peak_target:weight=0.99", "entmax15", "stick_breaking"]:
            go(page, row="needle", gap=6, n=65536, t=1, rule=rule)
            assert len(expect_same_as_the_library(page, rule, 1)) == 65536


def test_numbers_read_as_they_do_natively(browser, path):
    """emscripten's library has no floating-point from_chars: another function reads them there."""
    with opened(browser, path, place="#playground") as page:
        page.wait_for_selector("#playground-parameter-nats")
        for text in ["0.1", "1e-3", ".5", "5.", "1e0", "0.30000000000000004", "+1", "0x1", " 1", "1e", "inf", "nan", "1e999", "1,5", "--1",
                     "1e-400", "", "1.5.2", "2.2250738585072014e-308"]:
            try:
                wanted = float(sharpmax.Normalizer(f"entropy_target:nats={text}").parameters["nats"])
            except sharpmax.Error:
                wanted = None
            page.fill("#playground-parameter-nats", "0.7")
            page.press("#playground-parameter-nats", "Enter")
            shown_of(page, "entropy_target:nats=0.7")
            # What is typed is trimmed, so a blank in front is put there by hand.
            page.evaluate("""(text) => {
              const field = document.getElementById("playground-parameter-nats");
              field.value = text;
              field.dispatchEvent(new Event("change"));
            }""", text)
            refused = bool(page.text_content("#playground .problem"))
            assert refused == (wanted is None), text
