"""A page of results in Debian's Chromium, offline: what the tests of pages share."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAKER = pathlib.Path(os.environ.get("SHARPMAX_BINARY", ROOT / "build/sharpmax")).parent / "tests/make_report_page"
CHROMIUM = shutil.which("chromium")
LOOKS = [(375, "light"), (375, "dark"), (1280, "light"), (1280, "dark")]


def write_page(results, path, maker=MAKER):
    done = subprocess.run([str(maker)], input=json.dumps(results).encode(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    path.write_bytes(done.stdout)
    return path


@pytest.fixture(scope="module")
def browser():
    assert CHROMIUM, "chromium is not there; scripts/setup test installs it"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM)
        yield started
        started.close()


@contextlib.contextmanager
def opened(browser, path, width=1280, scheme="light", place=""):
    """The page, and on leaving: it was silent and asked for nothing but itself."""
    context = browser.new_context(offline=True, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, said, asked = context.new_page(), [], []
    # Chromium remarks on the tests' own reading of pixels.
    page.on("console", lambda m: "willReadFrequently" in m.text or said.append(m.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri() + place)
    page.wait_for_selector("#provenance")
    yield page
    context.close()
    assert said == []
    assert [url.split("#")[0] for url in asked] == [path.as_uri()]


def percent(share):
    """As words.js writes it."""
    if share in (0, 1):
        return f"{100 * share:.0f}\u202f%"
    for digits in (1, 2):
        text = f"{100 * share:.{digits}f}"
        if 0 < float(text) < 100:
            return text + "\u202f%"
    return "<0.01\u202f%" if share < 0.5 else ">99.99\u202f%"


def visible(token):
    """As audit_keys.js writes one that is pointed out."""
    seen = token.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")
    return f"“{'◌' if seen.startswith(chr(0x301)) else ''}{seen}”"


# The share of a canvas' columns that hold a pixel within a few steps of a colour of the page.
COLUMNS_WITH = """([canvas, name]) => {
  const hex = getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const want = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const columns = new Set();
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 200 && want.every((w, j) => Math.abs(w - data[i + j]) < 12)) columns.add((i / 4) % canvas.width);
  return columns.size / canvas.width;
}"""


# The numbers behind the cells of a table's rows; none where a cell has words.
CELLS = """(rows) => rows.map((row) => [...row.cells].map(
    (cell) => cell.dataset.value === undefined ? null : JSON.parse(cell.dataset.value)))"""

HOSTILE = ["</ScRipt><img src=x onerror=window.pwned=1>", "</script><img src=x onerror=window.pwned=1>",
           "<!--<script>window.pwned=1//", "\u202edrawkcab", "__proto__", "\"><svg/onload=window.pwned=1>", "x" * 300]
