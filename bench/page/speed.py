#!/usr/bin/env python3
"""Speed of the report page in Chromium: how long it takes to open, and to answer what a reader does.

    bench/page/speed.py                             a table
    bench/page/speed.py -o build/bench-page.json    the numbers as JSON too
    bench/page/speed.py --check-only                compare what the page does, time nothing

The pages are synthetic: 1,000 heads, 1,024 heads with maps, two audits of 1,000 heads, a retrieval run. An answer
is timed from the event to the frame after it. Before anything is timed, every action must change the page, and the
same way when it is done again on a fresh copy.
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import environment  # noqa: E402

sys.path.insert(0, str(environment.REPOSITORY / "tests/support"))

from page_in_browser import empty_page, playground_settled, started_browser, write_page  # noqa: E402
from synthetic_audit import synthetic_audit  # noqa: E402
from synthetic_pages import two_audits  # noqa: E402
from synthetic_results import synthetic_results  # noqa: E402

SCHEMA = "sharpmax.bench.page/1"
OPEN_AIM, ANSWER_AIM = 1000.0, 100.0  # milliseconds
ROUNDS, QUICK_ROUNDS = 11, 3
TURNS = 7  # of every action in a round

PAGES = {
    "1,000 heads": lambda: synthetic_audit(layers=40, heads=25),
    "1,024 heads with maps": lambda: synthetic_audit(["attention", "sketches"], layers=32, heads=32,
                                                     lengths=[64 << i for i in range(8)]),
    "two audits": lambda: two_audits(layers=40, heads=25),
    "retrieval": lambda: synthetic_results("quick"),
}  # fmt: skip

# (page, what the reader does, selector, kind of action)
ACTIONS = [
    ("1,000 heads", "choose a statistic", "#heads .controls label:nth-child(1) select", "next"),
    ("1,000 heads", "choose a length", "#heads .controls label:nth-child(2) select", "next"),
    ("1,000 heads", "choose a head", "#heads [role=gridcell]", "click"),
    ("1,000 heads", "sort the table", "#all-heads th button", "click"),
    ("1,024 heads with maps", "choose a head", "#heads [role=gridcell]", "click"),
    ("1,024 heads with maps", "filter the table", "#worst select", "next"),
    ("1,024 heads with maps", "search the table", "#worst input[type=search]", "type"),
    ("two audits", "choose a statistic", "#compared-heads .controls select", "next"),
    ("two audits", "choose a head", "#compared-heads [role=gridcell]", "click"),
    ("retrieval", "hide a curve", "#accuracy .chip input", "click"),
    ("retrieval", "sort the table", "#all-rows th button", "click"),
    ("retrieval", "change the size", "#heat-maps input[type=range]", "slide"),
    ("retrieval", "move the temperature, 65,536 keys", "#playground-t", "back"),
]
PLAYGROUND = "#playground?row=needle&gap=6&n=65536&t=1&rule=entropy_target"

# Milliseconds from an action to the end of the frame after it, `count` times.
ACT = """async ([selector, kind, count]) => {
  const told = (e, name) => e.dispatchEvent(new Event(name, {bubbles: true}));
  const acts = {
    click: (e) => e.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true})),
    next: (e) => ((e.selectedIndex = (e.selectedIndex + 1) % e.length), told(e, "change")),
    slide: (e) => ((e.value = (Number(e.value) + 1) % (Number(e.max) + 1)), told(e, "input")),
    back: (e) => (e.stepDown(), told(e, "input")),
    type: (e, i) => ((e.value = String(i + 1)), told(e, "input")),
  };
  const times = [];
  for (let i = 0; i < count; ++i) {
    const all = document.querySelectorAll(selector);
    if (!all.length) throw new Error(selector + " is not on this page");
    const began = performance.now();
    acts[kind](all[(7 * i + 3) % all.length], i);
    document.body.getBoundingClientRect();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - began);
  }
  return times;
}"""
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"
# Text, states of controls and drawings: all that an action may change.
LOOK = """() => JSON.stringify([document.body.innerText,
  [...document.querySelectorAll("[aria-selected], [aria-current], [aria-sort], [style]")].map((e) => e.outerHTML.length),
  [...document.querySelectorAll("[role=gridcell]")].map((e) => e.getAttribute("style") + e.className + e.getAttribute("aria-selected")),
  [...document.querySelectorAll("svg")].map((drawing) => drawing.innerHTML)])"""


class Bench:
    def __init__(self, browser, folder):
        self.browser = browser
        self.files = {name: write_page(make(), folder / f"{i}.html") for i, (name, make) in enumerate(PAGES.items())}

    def opened(self, name, selector=""):
        """(context manager of the page, how to have it ready for an action on the selector)"""
        place = PLAYGROUND if selector.startswith("#playground") else ""
        return empty_page(self.browser, viewport={"width": 1280, "height": 900}), self.files[name].as_uri() + place

    def ready(self, page, address):
        page.goto(address)
        page.wait_for_selector("#provenance .tools")
        if PLAYGROUND in address:
            playground_settled(page)
        return page.evaluate(DRAWN)

    def opening(self, name):
        manager, address = self.opened(name)
        with manager as page:
            return self.ready(page, address)

    def answers(self, name, selector, kind, count):
        manager, address = self.opened(name, selector)
        with manager as page:
            self.ready(page, address)
            return page.evaluate(ACT, [selector, kind, count])

    def has_playground(self):
        manager, address = self.opened("retrieval", "#playground")
        with manager as page:
            self.ready(page, address)
            return page.query_selector("#playground-t") is not None

    def complaint(self, name, selector, kind):
        """Why an action must not be timed; empty if it does the same every time, and something."""
        looks = []
        for _ in range(2):
            manager, address = self.opened(name, selector)
            with manager as page:
                self.ready(page, address)
                before = page.evaluate(LOOK)
                page.evaluate(ACT, [selector, kind, 1])
                if PLAYGROUND in address:
                    playground_settled(page)
                looks.append((before, page.evaluate(LOOK)))
        if looks[0] != looks[1]:
            return "the page looks different when it is opened again"
        return "the action changes nothing" if looks[0][0] == looks[0][1] else ""


def measure(bench, actions, rounds):
    """Rounds are interleaved, so that a busy minute falls on all alike."""
    times = {}
    for _ in range(rounds):
        for name in PAGES:
            times.setdefault((name, "open"), []).append(bench.opening(name))
        for name, what, selector, kind in actions:
            times.setdefault((name, what), []).append(statistics.median(bench.answers(name, selector, kind, TURNS)))
    return [{"page": name, "what": what, "median_ms": round(statistics.median(found), 1),
             "fastest_ms": round(min(found), 1), "aim_ms": OPEN_AIM if what == "open" else ANSWER_AIM}
            for (name, what), found in times.items()]  # fmt: skip


def table(cases):
    lines = ["| page | what the reader does | median, ms | aim, ms |", "|---|---|---|---|"]
    for case in cases:
        mark = "" if case["median_ms"] <= case["aim_ms"] else " **missed**"
        lines.append(f"| {case['page']} | {case['what']} | {case['median_ms']:.0f}{mark} | {case['aim_ms']:.0f} |")
    return "\n".join(lines)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, help="write the numbers to this JSON file")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--check-only", action="store_true", help="compare what the page does, time nothing")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder, started_browser() as browser:
        bench = Bench(browser, pathlib.Path(folder))
        playground = bench.has_playground()
        actions = [action for action in ACTIONS if playground or not action[2].startswith("#playground")]
        complaints = {action: bench.complaint(action[0], *action[2:]) for action in actions}
        for (name, what, *_), complaint in complaints.items():
            if complaint:
                print(f"bench-page: {name}, {what}: {complaint}; not timed", file=sys.stderr)
        if not arguments.check_only:
            sound = [action for action in actions if not complaints[action]]
            result = {"schema": SCHEMA, "created": environment.now(), "machine": environment.machine_facts(),
                      "browser": browser.version, "playground": playground,
                      "cases": measure(bench, sound, QUICK_ROUNDS if arguments.quick else ROUNDS)}  # fmt: skip
            print(table(result["cases"]))
            if arguments.output:
                environment.write_atomically(arguments.output, json.dumps(result, indent=1) + "\n")
    return 1 if any(complaints.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
