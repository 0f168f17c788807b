"""A page opens within a second and answers within a tenth of one, with a thousand heads too."""
import statistics

import pytest
from page_in_browser import browser, opened, write_page  # noqa: F401
from synthetic_audit import synthetic_audit
from synthetic_pages import two_audits
from synthetic_results import synthetic_results

pytestmark = pytest.mark.serial

# From what the reader does to the next frame after it, in milliseconds; the middle one of several.
TIMES = """async ([selector, kind, count]) => {
  const acts = {
    click: (e) => e.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true})),
    next: (e) => {
      e.selectedIndex = (e.selectedIndex + 1) % e.length;
      e.dispatchEvent(new Event("change", {bubbles: true}));
    },
    slide: (e) => {
      e.value = (Number(e.value) + 1) % (Number(e.max) + 1);
      e.dispatchEvent(new Event("input", {bubbles: true}));
    },
  };
  const times = [];
  for (let i = 0; i < count; ++i) {
    const all = document.querySelectorAll(selector);
    const began = performance.now();
    acts[kind](all[(7 * i) % all.length]);
    document.body.getBoundingClientRect();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - began);
  }
  return times;
}"""


def thousand_heads():
    return synthetic_audit(layers=40, heads=25)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder, known = tmp_path_factory.mktemp("pages"), {}

    def make(name, results):
        if name not in known:
            known[name] = write_page(results(), folder / f"{name}.html")
        return known[name]
    return make


OPENED = {"thousand heads": thousand_heads, "retrieval": lambda: synthetic_results("quick"),
          "two audits": lambda: two_audits(layers=40, heads=25)}


@pytest.mark.parametrize("name", OPENED)
def test_a_page_is_there_within_a_second(browser, made, name):
    path, times = made(name, OPENED[name]), []
    for _ in range(3):
        with opened(browser, path) as page:
            times.append(page.evaluate("""() => new Promise((done) => requestAnimationFrame(() => setTimeout(() =>
                done(performance.now()))))"""))
            assert page.query_selector("#provenance .tools")
    assert statistics.median(times) < 1000, times


@pytest.mark.parametrize("name,selector,kind", [
    ("thousand heads", "#heads .controls label:nth-child(1) select", "next"),
    ("thousand heads", "#heads .controls label:nth-child(2) select", "next"),
    ("thousand heads", "#heads [role=gridcell]", "click"),
    ("thousand heads", "#all-heads th button", "click"),
    ("two audits", "#compared-heads .controls select", "next"),
    ("two audits", "#compared-heads [role=gridcell]", "click"),
    ("retrieval", "#accuracy .chip input", "click"),
    ("retrieval", "#all-rows th button", "click"),
    ("retrieval", "#heat-maps input[type=range]", "slide"),
])
def test_an_answer_comes_within_a_tenth_of_a_second(browser, made, name, selector, kind):
    with opened(browser, made(name, OPENED[name])) as page:
        times = page.evaluate(TIMES, [selector, kind, 7])
    assert statistics.median(times) < 100, times
