"""The pages of `attend --demo`, `bound`, `fix` and `perplexity`: made by the commands themselves over a tiny model, and of
synthetic results where what is to be shown cannot be had at will."""
import collections
import copy
import json
import random
import re

import pytest
import synthetic_kinds
from page_in_browser import SPAN, browser, follow, opened, percent, playground_settled, wake_playground, write_page  # noqa: F401
from synthetic_kinds import EVERY_KIND, hostile
from tiny_folder import TEXT, refused, sharpmax, write_tiny_folder

KINDS = list(EVERY_KIND)
CELLS = """(rows) => rows.map((row) => [...row.cells].map((cell) => cell.dataset.value === undefined || cell.dataset.value === ""
    ? cell.textContent : isNaN(cell.dataset.value) && cell.dataset.value !== "null" ? cell.dataset.value : JSON.parse(cell.dataset.value)))"""
TEXTS = "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
TASK = "".join(json.dumps({"prompt": f"It was the age of {word}, it was", "answer": answer}) + "\n"
               for word in ("wisdom", "times", "best", "worst") for answer in ("the", "it", "was"))
# A chart, and a colour that some curve of it has.
CHARTS = {"demo": [("#share", "vermillion"), ("#share", "green"), ("#entropy", "vermillion")],
          "spread": [("#peak", "vermillion"), ("#peak", "green")],
          "model": [],
          "losses": [("#by-position", "vermillion")],
          "fix": [("#by-position", "green"), ("#by-position", "grey")]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("kinds")
    write_tiny_folder(place / "tiny")
    (place / "task.jsonl").write_text(TASK)
    (place / "text.txt").write_text(TEXT * 2)
    return place


def words_of(folder):
    model, text = folder / "tiny", ("--text", folder / "text.txt")
    return {
        "demo": ("attend", "--demo", "--sizes", "16,256,4096", "--normalizer", "softmax", "--normalizer", "entropy_target",
                 "--normalizer", "adaptive"),
        "spread": ("bound", "--spread", 5.69, "--n", "16,256,1024,16384", "--peak", 0.5, "--normalizer", "softmax", "--normalizer",
                   "entropy_target", "--normalizer", "sparsemax", "--normalizer", "linear"),
        "model": ("bound", model),
        "losses": ("perplexity", model, *text, "--length", 250, "--threads", 1),
        "fix": ("fix", model, *text, "--task", folder / "task.jsonl", "--tokens", 200, "--length", 200, "--threads", 1, "--rule",
                "softmax:beta=1.5", "--rule", "hard@but-steepest", "--budget", 1, "--for", "text"),
    }


@pytest.fixture(scope="module")
def made(folder):
    """{kind: (results, page)}, both from one run of the command."""
    found = {}
    for kind, words in words_of(folder).items():
        saved, page = folder / f"{kind}.json", folder / f"{kind}.html"
        done = sharpmax(*words, "--json", saved, "-o", page, "--figures", folder / f"{kind}-figures")
        assert done.returncode == 0, done.stderr
        found[kind] = json.loads(saved.read_text()), page
    return found


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory):
    place = tmp_path_factory.mktemp("synthetic")

    def make(results, name="page"):
        return write_page(results, place / f"{name}.html")

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_saved_results_make_the_same_page_to_the_byte(made, folder, kind):
    again = folder / f"{kind}-again.html"
    assert sharpmax("report", folder / f"{kind}.json", "-o", again).returncode == 0
    assert again.read_bytes() == made[kind][1].read_bytes()
    assert {"sharpmax", "command", "created"} <= made[kind][0].keys()
    assert len(again.read_bytes()) < 1_000_000


@pytest.mark.parametrize("width,scheme", [(375, "light"), (1280, "dark")])
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_fits_its_width_and_no_chart_is_blank(browser, made, kind, width, scheme):  # noqa: F811
    with opened(browser, made[kind][1], width, scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert len(page.query_selector_all(".tile")) >= 2
        assert page.text_content("#verdict p") and page.title().endswith(" · sharpmax")
        for place, colour in CHARTS[kind]:
            for canvas in page.query_selector_all(f"{place} .chart svg")[:1]:
                assert page.evaluate(SPAN, [canvas, colour]) > 0.15, (place, colour)
        charts = page.query_selector_all(".chart svg")
        assert len(charts) == {"demo": 2, "spread": 2, "model": 0, "losses": 1, "fix": 3}[kind]
        for bar in page.query_selector_all(".share-bar .fill"):
            assert bar.evaluate("(bar) => bar.getBoundingClientRect().width") >= 0.5
        assert page.text_content("#provenance code") == made[kind][0]["command"]
        told = page.text_content("#provenance dl")
        assert made[kind][0]["created"] in told and made[kind][0]["sharpmax"] in told
        model = made[kind][0].get("model") or made[kind][0].get("settings", {}).get("model")
        if model:
            assert model["sha256"] in told


def test_the_demonstrations_numbers_are_those_of_the_results(browser, made):  # noqa: F811
    results, path = made["demo"]
    with opened(browser, path) as page:
        fields = ["n", "needle_share", "entropy", "effective_support", "support", "peak_weight", "needle_weight", "mass",
                  "temperature", "threshold", "peak_key", "needle_key"]
        assert page.eval_on_selector_all("#all-rows tbody tr", CELLS) == [
            [row["normalizer"], *(row[name] for name in fields)] for row in results["rows"]]
        # Where each falls below one half, those that hold first.
        lines = collections.defaultdict(list)
        for row in results["rows"]:
            lines[row["normalizer"]].append(row)
        falls = {name: next((row["n"] for row in rows if row["needle_share"] < 0.5), None) for name, rows in lines.items()}
        shown = page.eval_on_selector_all("#all-falls tbody tr", CELLS)
        assert {row[0]: row[1] for row in shown} == falls and shown[0][0] == "entropy_target"
        last = lines["softmax"][-1]
        assert f"{percent(last['needle_share'])} among 4,096 keys; at 4,096 it has less than half." in page.text_content("#verdict")
        # The chart, by keyboard; then without softmax.
        page.focus("#share .chart")
        page.keyboard.press("ArrowRight")
        assert f"softmax {percent(lines['softmax'][0]['needle_share'])}" in page.text_content("#share .readout")
        page.locator("#share").get_by_role("checkbox", name="softmax").uncheck()
        page.focus("#share .chart")
        page.keyboard.press("ArrowRight")
        assert "softmax" not in page.text_content("#share .readout")


def test_the_bounds_of_a_spread_are_those_of_the_results(browser, made):  # noqa: F811
    results, path = made["spread"]
    known = [entry for entry in results["normalizers"] if entry["ranges"]]
    with opened(browser, path) as page:
        fields = [("untied_low",), ("share", "low"), ("share", "high"), ("ceiling",), ("weight", "low"), ("weight", "high")]
        value = lambda row, place: row[place[0]] if len(place) == 1 else row[place[0]][place[1]]  # noqa: E731
        rows = page.eval_on_selector_all("#all-rows tbody tr", CELLS)
        assert [row[:8] for row in rows] == [[entry["normalizer"], row["n"], *(value(row, place) for place in fields)]
                                             for entry in known for row in entry["ranges"]]
        assert [row[1:] for row in page.eval_on_selector_all("#all-losses tbody tr", CELLS)] == [
            [entry["loss"]["lost"], entry["loss"]["sure"]] for entry in known]
        assert "297" in page.text_content("#all-losses") and "never" in page.text_content("#all-losses")
        assert page.text_content("#refused .note") == "linear: " + next(e["refused"] for e in results["normalizers"] if "refused" in e)
        # The ranges of the largest n, then of another.
        at = lambda n: {entry["normalizer"]: [row["untied_low"], row["share"]["high"]] for entry in known  # noqa: E731
                        for row in entry["ranges"] if row["n"] == n}
        shown = lambda: {row[0]: row[1:3] for row in page.eval_on_selector_all("#all-ranges tbody tr", CELLS)}  # noqa: E731
        assert shown() == at(16384)
        page.locator("#ranges").get_by_label("Keys").select_option(label="1,024")
        assert shown() == at(1024)
        page.focus("#peak .chart")
        page.keyboard.press("ArrowRight")
        assert "softmax 0.952" in page.text_content("#peak .readout")
        page.locator("#peak").get_by_label("at worst").check()
        page.focus("#peak .chart")
        page.keyboard.press("ArrowRight")
        assert "softmax 0.063" in page.text_content("#peak .readout")
        page.locator("#peak").get_by_label("logarithmic").check()


def test_the_heads_of_a_model_are_those_of_the_results(browser, made):  # noqa: F811
    results, path = made["model"]
    heads = {f"{h['layer']}.{h['head']}": h for h in results["heads"]}
    with opened(browser, path) as page:
        assert page.text_content("#verdict p") == results["verdict"]
        cells = page.eval_on_selector_all("#heads [role=gridcell]", """(cells) => cells.map((cell) => [
            cell.dataset.head, JSON.parse(cell.dataset.value), getComputedStyle(cell).backgroundColor])""")
        assert {name: value for name, value, _ in cells} == {name: h["log10_length"] for name, h in heads.items()}
        assert len({colour for _, _, colour in cells}) > 1
        rows = page.eval_on_selector_all("#all-rows tbody tr", CELLS)
        fields = ["spread", "norm_spread", "vocabulary_spread", "norm_reached"]
        assert [row[1:5] for row in rows] == [[h[name] for name in fields]
                                              for h in sorted(results["heads"], key=lambda h: h["spread"])]
        page.locator("#heads").get_by_label("Color by").select_option(label="spread at most")
        cells = page.eval_on_selector_all("#heads [role=gridcell]", "(cells) => cells.map((c) => [c.dataset.head, JSON.parse(c.dataset.value)])")
        assert dict(cells) == {name: h["spread"] for name, h in heads.items()}
        tokens = page.eval_on_selector_all("#all-attained tbody tr", TEXTS)
        assert len(tokens) == sum(h["attained"] is not None for h in results["heads"]) == 4
        assert tokens[0][5] == f"‘{heads[tokens[0][0]]['attained']['query']['text']}’"
        assert [row[1:3] for row in page.eval_on_selector_all("#all-attained tbody tr", CELLS)] == [
            [heads[name[0]]["spread"], heads[name[0]]["attained"]["spread"]] for name in tokens]


def test_a_head_of_a_model_is_opened_by_click_by_link_and_from_the_table(browser, synthetic):  # noqa: F811
    path = synthetic(synthetic_kinds.model_bounds(), "heads")
    with opened(browser, path, place="#head-2.1") as page:
        assert page.text_content("#head h3") == "Head 2.1"
        assert page.get_attribute("[data-head='2.1']", "aria-selected") == "true"
        assert "says nothing useful" in page.text_content("#head")
        page.click("[data-head='0.1']")
        assert page.text_content("#head h3") == "Head 0.1" and page.evaluate("location.hash") == "#head-0.1"
        assert "From 100,000 tokens on no input at all" in page.text_content("#head")
        assert "‘ query’" in page.text_content("#head") and "token 3" in page.text_content("#head")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert page.text_content("#head h3") == "Head 1.1"
        follow(page, page.locator("#all-rows").get_by_role("link", name="0.3", exact=True))
        assert page.text_content("#head h3") == "Head 0.3"
        numbers = page.locator("#numbers")
        shown = lambda: [row[0] for row in page.eval_on_selector_all("#all-rows tbody tr:not([hidden])", TEXTS)]  # noqa: E731
        numbers.get_by_role("combobox", name="useful").select_option(label="yes")
        assert shown() == ["0.0", "0.1"]
        numbers.get_by_role("combobox", name="layer").select_option(label="2")
        assert shown() == [] and page.text_content("#numbers [role=status]") == "0 of 12 heads"
        numbers.get_by_role("combobox", name="useful").select_option(label="all")
        assert shown() == ["2.0", "2.1", "2.2", "2.3"]


def test_the_losses_are_those_of_the_results(browser, made, synthetic):  # noqa: F811
    results, path = made["losses"]
    assert len(results["buckets"]) == 2
    with opened(browser, path) as page:
        fields = ["tokens", "loss", "low", "perplexity"]
        assert [row[1:] for row in page.eval_on_selector_all("#all-rows tbody tr", CELLS)] == [
            [bucket[name] for name in fields] for bucket in [*results["buckets"], results["all"]]]
        assert page.eval_on_selector_all("#all-rows tbody tr", TEXTS)[0][0] == "0–128"
        assert f"a perplexity of {results['all']['perplexity']:.2f}" in page.text_content("#verdict")
        chunks = page.eval_on_selector_all("#all-chunks tbody tr", CELLS)
        assert [row[:2] for row in chunks] == [[c["first"], len(c["losses"])] for c in results["chunks"]]
        assert [row[2] for row in chunks] == pytest.approx([sum(c["losses"]) / len(c["losses"]) for c in results["chunks"]])
        page.focus("#by-position .chart")
        page.keyboard.press("ArrowRight")
        first = results["buckets"][0]
        assert page.text_content("#by-position .readout").startswith("up to = 128")
        assert f"softmax {first['loss']:.3f} ({first['low']:.3f}–{first['high']:.3f})" in page.text_content("#by-position .readout")
    unread = synthetic_kinds.losses()
    for name in ("all", "buckets", "likeliest_right"):
        del unread[name]
    with opened(browser, synthetic({**unread, "complete": False, "chunks": []}, "unread")) as page:
        assert "not finished" in page.text_content("#verdict") and "nothing to show" in page.text_content("#verdict")


def test_the_trials_of_a_fix_are_those_of_the_results(browser, made):  # noqa: F811
    results, path = made["fix"]
    trials = results["trials"]
    with opened(browser, path) as page:
        assert page.text_content("#verdict p") == results["answer"]["verdict"]
        part = lambda t, name: t["against_nothing"].get(name)  # noqa: E731
        share = lambda p: p and p["task"]["rule"] / p["task"]["questions"]  # noqa: E731
        rows = page.eval_on_selector_all("#all-rows tbody tr", CELLS)
        first = lambda t: (t["rule"] != results["answer"]["chosen"], part(t, "held_out") is None)  # noqa: E731
        assert [[row[0], *row[2:]] for row in rows] == [
            [t["rule"], *((held["text"]["change"], share(held), held["task"]["p"]) if (held := part(t, "held_out")) else (None, None, None)),
             t["score"], t["heads"]] for t in sorted(trials[1:], key=first)]
        # Before and after by position: of the chosen rule, or of the first that was judged.
        judged = [t for t in trials[1:] if part(t, "held_out")]
        first = next((t for t in judged if t["rule"] == results["answer"]["chosen"]), judged[0])
        shown = lambda: [row[1:] for row in page.eval_on_selector_all("#all-positions tbody tr", CELLS)]  # noqa: E731
        buckets = lambda t: [[b[name] for name in ("tokens", "plain", "change", "low", "high")]  # noqa: E731
                             for b in part(t, "held_out")["by_position"]]
        assert shown() == buckets(first)
        other = next(t for t in judged if t is not first)
        page.locator("#by-position").get_by_label("Candidate").select_option(label=other["rule"])
        assert shown() == buckets(other)
        page.focus("#by-position .chart")
        page.keyboard.press("ArrowRight")
        bucket = part(other, "held_out")["by_position"][0]
        assert (f"as it is {bucket['plain']:.3f} · {other['rule']} {bucket['plain'] + bucket['change']:.3f}"
                in page.text_content("#by-position .readout"))
        # Which heads it changed.
        page.locator("#heads").get_by_label("Candidate").select_option(label="hard@but-steepest")
        hard = next(t for t in trials if t["rule"] == "hard@but-steepest")
        cells = page.eval_on_selector_all("#heads [role=gridcell]", "(cells) => cells.map((c) => [c.dataset.head, Number(c.dataset.value)])")
        assert sum(value for _, value in cells) == hard["heads"] and len(cells) == 8
        for name, changed in cells:
            page.hover(f"#heads [data-head='{name}']")
            said = page.text_content("#heads .readout")
            assert said.startswith(f"Head {name}, ") and said.endswith("hard" if changed else "softmax")


@pytest.mark.parametrize("helps", [True, False])
def test_a_fix_says_how_to_use_it_or_that_there_is_nothing_to_use(browser, synthetic, helps):  # noqa: F811
    with opened(browser, synthetic(synthetic_kinds.fix(helps), f"fix-{helps}")) as page:
        use = page.text_content("#use")
        assert ("There is nothing to use" in use) != helps
        assert page.text_content("#title").endswith("use beta=1.2" if helps else "leave it as it is")
        marks = [row[1] for row in page.eval_on_selector_all("#all-rows tbody tr", TEXTS)]
        assert marks == ["use" if helps else "best to choose by", "", "by search"]
        lengths = page.eval_on_selector_all("#all-lengths tbody tr", TEXTS)
        assert lengths[0] == ["as it is", percent(0.5), percent(0.5)] and lengths[1] == ["beta=1.2", *[percent(0.6) + " (+3 −1)"] * 2]
        commands = page.eval_on_selector_all("#use code", "(codes) => codes.map((code) => code.textContent)")
        if helps:
            assert commands[0] == "sharpmax run 'my models/made-up.gguf' --normalizers table.json --rope-scaling ntk:2 --prompt \"...\""
            assert commands[-1] == "--yarn-attn-factor 1.1"
            page.click("#use button")
            page.locator("#use button").first.filter(has_text=re.compile("Copied|Copy by hand")).wait_for()
        else:
            assert commands == []


def test_an_unfinished_fix_is_not_judged(browser, synthetic):  # noqa: F811
    results = synthetic_kinds.fix()
    del results["answer"], results["survey"]
    for trial in results["trials"][1:]:
        del trial["score"], trial["llama_cpp"], trial["against_nothing"]
    with opened(browser, synthetic({**results, "complete": False}, "unfinished")) as page:
        assert "4 trials so far" in page.text_content("#verdict")
        assert [row[0] for row in page.eval_on_selector_all("#all-rows tbody tr", TEXTS)] == [t["rule"] for t in results["trials"]]


def test_a_refitted_temperature_is_that_of_the_results(browser, synthetic):  # noqa: F811
    results = synthetic_kinds.refit()
    with opened(browser, synthetic(results, "fit")) as page:
        fields = ["n", "sets", "accuracy", "accuracy_low", "accuracy_high", "entropy", "peak_weight", "right_weight", "temperature"]
        order = ["softmax", "published", "refitted", "entropy_target"]
        rows = sorted(results["comparison"], key=lambda r: (order.index(r["rule"]), r["n"]))
        assert [row[1:] for row in page.eval_on_selector_all("#all-rows tbody tr", CELLS)] == [[row[name] for name in fields] for row in rows]
        bins = [[*b["entropy"], b["points"], b["mean_beta"], b["refitted"], b["published"], b["mean_residual"], b["rms_residual"]] for b in results["bins"]]
        assert page.eval_on_selector_all("#all-bins tbody tr", CELLS) == bins
        assert "against plain softmax: up to 22.5 points better (16 items: 97.5\u202f% against 75.0\u202f%, intervals apart)" in page.text_content("#verdict")
        assert page.text_content("#use code") == results["refitted"]["normalizer"]
        assert page.evaluate(SPAN, [page.query_selector("#temperature .chart svg"), "blue"]) > 0.5


@pytest.mark.parametrize("kind,name", [("demo", "needle of score 8"), ("spread", "one score 10 above all others"),
                                       ("model", "head 0.0: one score 20.0 above all others")])
def test_the_playground_is_lent_a_row(browser, synthetic, kind, name):  # noqa: F811
    with opened(browser, synthetic(EVERY_KIND[kind](), f"lent-{kind}"), place="#playground") as page:
        row = page.locator("#playground-row")
        playground_settled(page)
        assert row.evaluate("(box) => box.selectedOptions[0].textContent") == name
        if kind == "model":
            page.click("[data-head='0.3']")
            playground_settled(page)
            assert row.evaluate("(box) => box.selectedOptions[0].textContent") == "head 0.3: one score 23.0 above all others"


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_strings_are_shown_and_do_nothing(browser, synthetic, kind):  # noqa: F811
    results = hostile(EVERY_KIND[kind]())
    with opened(browser, synthetic(results, f"hostile-{kind}"), 375) as page:
        wake_playground(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        for box in page.query_selector_all("select"):
            box.select_option(index=1)
        for cell in page.query_selector_all("[role=gridcell]")[:3]:
            cell.click()
        assert page.evaluate("window.pwned") is None
        assert page.query_selector_all("img, iframe, object, svg[onload]") == []
        assert page.evaluate("document.querySelectorAll('script:not([type])').length") == 1
        text = page.text_content("main") + page.text_content("header")
        assert "onerror=window.pwned=1>" in text
        assert "\u202e" not in page.text_content("body")


def test_what_does_not_fit_is_left_out_and_said(browser, synthetic):  # noqa: F811
    """The kinds that grow; tests/hostile/report_kinds.cc has all of them."""
    read, tried = synthetic_kinds.losses(), synthetic_kinds.fix(layers=32, heads=32)
    source = random.Random(5)
    read["chunks"] = [{"first": 3 * i, "likeliest": 1, "losses": [source.random(), source.random()]} for i in range(40_000)]
    tried["trials"] += [copy.deepcopy(tried["trials"][-1]) for _ in range(60)]
    for trial in tried["trials"]:  # a rule with a number of its own for every head, and many steps of search
        trial["normalizers"]["heads"] = [{"layer": i // 32, "head": i % 32, "normalizer": f"entropy_target:nats={source.random()}"}
                                         for i in range(1024)]
    for results, missing in (read, "the mean loss of every chunk"), (tried, "which heads the other candidates changed"):
        path = synthetic(results, "large")
        assert path.stat().st_size < 1_000_000
        with opened(browser, path) as page:
            assert missing in page.text_content("#provenance").split("Left out to keep this file small: ")[1]


@pytest.mark.parametrize("words", [("attend",), ("bound",), ("fix",), ("perplexity",)], ids=lambda words: words[0])
def test_help_tells_of_the_page_and_of_its_figures(words):
    text = " ".join(sharpmax(*words, "--help-all").stdout.decode().split())
    assert "one self-contained HTML page" in text and "--figures DIR" in text


def test_a_page_does_not_take_the_place_of_data(folder):
    words = words_of(folder)
    sentence = refused(2, *words["fix"], "-o", folder / "table.json")
    assert "--table writes the table of normalizers" in sentence and not (folder / "table.json").exists()
    for kind in ("demo", "spread", "model", "losses"):
        assert "it writes the report, a page" in refused(2, *words[kind], "-o", folder / "results.json")
        assert "a page needs a file" in refused(2, *words[kind], "-o", "-")
        refused(3, *words[kind], "-o", folder / "no such folder" / "page.html")
    refused(3, *words["fix"], "--table", folder / "no such folder" / "table.json")
