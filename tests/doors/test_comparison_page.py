"""Several results in one page: which is which, and the numbers side by side are those of the results."""
import copy
import re

import pytest
from page_in_browser import CELLS, SPAN, HOSTILE, browser, opened, percent, write_page  # noqa: F401
from synthetic_audit import LENGTHS, synthetic_audit
from synthetic_pages import PAGES, made, two_audits  # noqa: F401
from synthetic_results import synthetic_results

def tabs(page):
    return page.eval_on_selector_all("#tabs a", "(links) => links.map((link) => link.textContent)")


def test_names_tell_results_of_one_model_apart(browser, made):
    with opened(browser, made("combined")[1]) as page:
        assert tabs(page) == ["Compared", "1: retrieval, paper", "2: audit of made-up.gguf, softmax",
                              "3: audit of made-up.gguf, entropy_target:nats=1"]
        assert page.eval_on_selector_all("#compared-results tbody a", "(all) => all.map((a) => a.hash)") == [
            "#1", "#2", "#3"]


def test_what_differs_is_found_wherever_it_is_set(browser, tmp_path):
    def audit(**model):
        results = synthetic_audit(("attention",))
        results["settings"]["model"] |= model
        return results
    others = [audit(), audit(rope_scaling="ntk:2"), audit(rope_scaling="ntk:2", normalizer="adaptive"), audit()]
    others[3]["settings"]["text"] = "texts/other.txt"
    with opened(browser, write_page(others, tmp_path / "page.html")) as page:
        names = tabs(page)[1:]
        assert names == ["1: audit of made-up.gguf, softmax, book.txt",
                         "2: audit of made-up.gguf, softmax, rope scaling ntk:2",
                         "3: audit of made-up.gguf, adaptive, rope scaling ntk:2",
                         "4: audit of made-up.gguf, softmax, other.txt"]


def test_runs_of_retrieval_side_by_side(browser, made):
    results, path = made("runs")
    with opened(browser, path) as page:
        accuracy = [{(r["arm"], r["normalizer"], r["n"]): r for r in one["summary"]} for one in results]
        rows = page.eval_on_selector_all("#compared-table tbody tr", CELLS)
        names = page.eval_on_selector_all("#compared-table tbody tr",
                                          "(rows) => rows.map((r) => [r.cells[0].textContent, r.cells[1].textContent])")
        assert len(rows) == 4  # "sharp" is in one run only
        for (arm, normalizer), row in zip(names, rows):
            found = [one[arm, normalizer, 16384]["accuracy"] for one in accuracy]
            assert row[2:5] == found
            assert row[5:] == pytest.approx([found[1] - found[0], found[2] - found[0]], rel=1e-12)
        page.get_by_label("Normalizer").select_option(label="adaptive")
        page.focus("#compared-accuracy .chart")
        page.keyboard.press("ArrowRight")
        at = [one["paper", "adaptive", 16] for one in accuracy]
        readout = page.text_content("#compared-accuracy .readout")
        for i, row in enumerate(at):
            assert f"{i + 1}: {results[i]['preset']}" in readout and percent(row["accuracy"]) in readout
        # The last curve lies on the others up to where they end; beyond, the second is alone.
        for colour, least in (("green", 0.4), ("blue", 0.2)):
            assert page.evaluate(SPAN, [page.query_selector("#compared-accuracy .chart svg"), colour]) > least


def test_audits_side_by_side(browser, made):
    results, path = made("combined")
    audits = [one["attention"] for one in results[1:]]
    with opened(browser, path) as page:
        fields = ["peak_outside", "entropy", "entropy_outside", "peak", "first", "spread"]
        assert [row[1:] for row in page.eval_on_selector_all("#compared-audits tbody tr", CELLS)] == [
            [a["blunt_heads"][-1], *(a["median_over_heads"][f][-1] for f in fields)] for a in audits]
        assert (f"{audits[0]['blunt_heads'][-1]} of 12 in 2: softmax; {audits[1]['blunt_heads'][-1]} of 12 in 3: entropy_target"
                in page.text_content("#verdict"))
        page.get_by_label("Statistic").select_option(label="entropy, nats")
        page.focus("#compared-medians .chart")
        page.keyboard.press("ArrowRight")
        readout = page.text_content("#compared-medians .readout")
        for audit in audits:
            assert f"{audit['median_over_heads']['entropy'][0]:.3f}" in readout


def test_the_grid_has_the_difference_of_every_head(browser, made):
    results, path = made("combined")
    first, second = (
        {f"{h['layer']}.{h['head']}": h for h in one["attention"]["heads"]} for one in results[1:])

    def difference(name, field, i):
        return second[name][field]["median"][i] - first[name][field]["median"][i]

    with opened(browser, path) as page:
        read = "(cells) => cells.map((c) => [c.dataset.head, Number(c.dataset.value), getComputedStyle(c).backgroundColor])"
        for label, field in (("peak outside", "peak_outside"), ("entropy, nats", "entropy")):
            page.get_by_label("Difference of").select_option(label=label)
            for i, n in enumerate(LENGTHS):
                page.locator("#compared-heads select").last.select_option(label=f"{n:,}")
                cells = page.eval_on_selector_all("#compared-heads [role=gridcell]", read)
                assert len(cells) == 12
                for name, value, _ in cells:
                    assert value == pytest.approx(difference(name, field, i), abs=1e-15)
                red = {name: [float(c) for c in re.findall(r"[\d.]+", colour)] for name, _, colour in cells}
                for name, value, _ in cells:  # orange above, blue below
                    assert (value > 0.05) <= (red[name][0] > red[name][2]) and (value < -0.05) <= (red[name][0] < red[name][2])
        rows = page.eval_on_selector_all("#changed-heads tbody tr", CELLS)
        sizes = [abs(row[4]) for row in rows]
        assert sizes == sorted(sizes, reverse=True) and sizes[0] > 0.3
        page.click("#compared-heads [data-head='2.0']")
        links = page.eval_on_selector_all("#compared-head a", "(all) => all.map((a) => a.hash)")
        assert links == ["#2/head-2.0", "#3/head-2.0"]
        page.focus("#compared-heads [data-head='2.0']")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        assert page.text_content("#compared-head h3") == "Head 1.0"
        page.click("#compared-head a:last-of-type")
        page.wait_for_selector("#head h3")
        assert page.text_content("#head h3") == "Head 1.0" and page.evaluate("location.hash") == "#3/head-1.0"


def test_models_of_other_shapes_have_curves_but_no_grid(browser, tmp_path):
    audits = [synthetic_audit(("attention",)), synthetic_audit(("attention",), layers=5, lengths=LENGTHS[1:])]
    audits[1]["settings"]["model"]["file"] = "other.gguf"
    with opened(browser, write_page(audits, tmp_path / "page.html")) as page:
        assert page.query_selector("#compared-blunt .chart svg") and not page.query_selector("#compared-heads")


def test_losses_side_by_side(browser, made):
    results, path = made("two losses")
    with opened(browser, path) as page:
        rows = page.eval_on_selector_all("#compared-loss-table tbody tr", CELLS)
        for row, a, b in zip(rows, results[0]["buckets"], results[1]["buckets"]):
            assert row[1:4] == pytest.approx([a["loss"], b["loss"], b["loss"] - a["loss"]], rel=1e-12)
        assert rows[-1][1:3] == [one["all"]["loss"] for one in results]
        assert page.evaluate(SPAN, [page.query_selector("#compared-changes .chart svg"), "blue"]) > 0.3


def test_hostile_names_are_inert_side_by_side(browser, tmp_path):
    audits = two_audits()
    for one, text in zip(audits, HOSTILE):
        one["settings"]["model"] |= {"file": text, "normalizer": text}
        one["command"] = "\n".join(HOSTILE)
        for head in one["attention"]["heads"]:
            head["kind"] = text
    retrieval = copy.deepcopy(synthetic_results("paper"))
    retrieval["preset"] = HOSTILE[5] + HOSTILE[3]
    with opened(browser, write_page([*audits, retrieval], tmp_path / "page.html"), 375) as page:
        page.hover("#compared-heads [role=gridcell]")
        assert page.evaluate("window.pwned") is None
        assert page.query_selector_all("img, svg[onload], main script") == []
        assert "\u202e" not in page.inner_text("body")
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
