"""A page of results in Debian's Chromium, offline: what the tests of pages share."""
import base64
import contextlib
import gzip
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
PATIENCE = 180_000  # milliseconds: more than the busiest machine needs for one step
LOOKS = [(375, "light"), (375, "dark"), (1280, "light"), (1280, "dark")]


def write_page(results, path, maker=MAKER):
    done = subprocess.run([str(maker)], input=json.dumps(results).encode(), capture_output=True)
    assert done.returncode == 0, done.stderr
    path.write_bytes(done.stdout)
    return path


def held(path):
    """All that a page holds of its results."""
    letters = path.read_text().split('id="results">')[1].split("</script>")[0]
    return json.loads(gzip.decompress(base64.b64decode(letters, validate=True)))


@pytest.fixture(scope="module")
def browser():
    assert CHROMIUM, "chromium is not there; scripts/setup test installs it"
    with started_browser() as started:
        yield started


@contextlib.contextmanager
def started_browser():
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, timeout=PATIENCE)
        yield started
        started.close()


@contextlib.contextmanager
def empty_page(browser, **options):
    """Offline; what the page would glide to it jumps to."""
    context = browser.new_context(offline=True, reduced_motion="reduce", **options)
    context.set_default_timeout(PATIENCE)
    try:
        yield context.new_page()
    finally:
        context.close()


@contextlib.contextmanager
def opened(browser, path, width=1280, scheme="light", place=""):
    """The page, and on leaving: it was silent and asked for nothing but itself."""
    said, asked = [], []
    with empty_page(browser, viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        # Chromium remarks on the tests' own reading of pixels.
        page.on("console", lambda m: "willReadFrequently" in m.text or said.append(m.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri() + place)
        page.wait_for_selector("#provenance")
        frames(page)  # charts are drawn again once the page is laid out
        yield page
    assert said == []
    assert [url.split("#")[0] for url in asked] == [path.as_uri()]


def frames(page):
    """Until the page has drawn what it was told: what is asked for in one frame is there after the next."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")


def go(page, place):
    """To an address within the page, which has then been followed."""
    page.evaluate("""(place) => new Promise((done) => {
      const before = location.href;
      addEventListener("hashchange", () => done(), {once: true});
      location.hash = place;
      if (location.href === before) done();
    })""", place)
    frames(page)


def follow(page, link):
    """Clicks a link to another place within the page, which has then been followed: the browser says so after the click."""
    page.evaluate("() => { window.followed = new Promise((done) => addEventListener('hashchange', () => done(), {once: true})); }")
    link.click()
    page.evaluate("() => window.followed")
    frames(page)


# Name and bytes of the file that a button would save.
SAVED = """(button) => new Promise((done) => {
  const {createObjectURL} = URL;
  const {click} = HTMLAnchorElement.prototype;
  let blob = null;
  URL.createObjectURL = (made) => ((blob = made), "data:,");
  HTMLAnchorElement.prototype.click = async function () {
    Object.assign(URL, {createObjectURL});
    Object.assign(HTMLAnchorElement.prototype, {click});
    const reader = new FileReader();
    reader.onload = () => done([this.download, reader.result.split(",")[1] ?? ""]);
    reader.readAsDataURL(blob);
  };
  button.click();
})"""


def saved(button):
    """(name, bytes) of the file behind a button, before the browser saves it. Chromium holds back the second of two downloads for as
    long as it likes, and a download takes a second; that files are saved at all is for one test, which saves one."""
    name, letters = button.evaluate(SAVED)
    return name, base64.b64decode(letters)


def playground_settled(page):
    """Until the playground shows all that it was asked for. It wakes when the reader comes near."""
    page.wait_for_selector("#playground [data-state=ready]", state="attached")


def wake_playground(page):
    """Until the page has grown by all that it loads late; some pages have no playground. The reader is at its top again."""
    if page.query_selector("#playground"):
        page.evaluate("document.getElementById('playground').scrollIntoView()")
        playground_settled(page)
        page.evaluate("scrollTo(0, 0)")
    frames(page)


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


# The share of a chart's width that its longest curve of a colour of the page spans; 0 without such a curve.
SPAN = """([svg, name]) => Math.max(0, ...[...svg.querySelectorAll(`path[fill=none][stroke="var(--${name})"]`)].map(
    (curve) => curve.getBoundingClientRect().width / svg.getBoundingClientRect().width))"""

# The colours of a map's cells, row by row; empty if there is none.
CELL_COLOURS = r"""(svg, columns) => {
  const made = [];
  const put = (x, y, colour) => ((made[Math.round(y)] ??= Array(columns).fill(""))[Math.round(x)] = colour);
  for (const rect of svg.querySelectorAll("rect")) {
    const [wide, high] = ["width", "height"].map((name) => Number(rect.getAttribute(name)));
    for (let y = 0; y < high; ++y) for (let x = 0; x < wide; ++x) put(x, y, rect.getAttribute("fill"));
  }
  for (const path of svg.querySelectorAll("path"))
    for (const [, x, y] of path.getAttribute("d").matchAll(/M(\S+) ([^h]+)h/g)) put(Number(x), Number(y), path.getAttribute("fill"));
  return made.map((row) => row.map((colour) => colour && colour.slice(4, -1).split(" ").map(Number)));
}"""


# The numbers behind the cells of a table's rows; none where a cell has words.
CELLS = """(rows) => rows.map((row) => [...row.cells].map((cell) => {
  try {
    return JSON.parse(cell.dataset.value);
  } catch {
    return null;
  }
}))"""

HOSTILE = ["</ScRipt><img src=x onerror=window.pwned=1>", "</script><img src=x onerror=window.pwned=1>",
           "<!--<script>window.pwned=1//", "\u202edrawkcab", "__proto__", "\"><svg/onload=window.pwned=1>", "x" * 300]
