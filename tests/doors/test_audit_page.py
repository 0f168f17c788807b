"""The page of an audit as a reader meets it: in a browser, without a network, at two widths, in light and in dark.

The results are synthetic, tests/support/synthetic_audit.py, but for those that `sharpmax audit` measures itself.
"""
import copy
import json
import random
import re
import subprocess

import pytest
from page_in_browser import (CELLS, SPAN, HOSTILE, LOOKS, MAKER, browser, held, opened, percent,  # noqa: F401
                             follow, saved, visible, write_page)
from synthetic_audit import LENGTHS, sketch_section, synthetic_audit
from synthetic_pages import made_audit as made  # noqa: F401
from tiny_folder import TEXT, refused, sharpmax, write_tiny_folder

FIGURES = ["distance-length", "distance-top", "critical-top", "separability", "gradient"]
TEXTS = "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"


def worst_first(heads):
    return sorted(heads, key=lambda h: (h["kind"] == "sink", h["peak_outside"]["median"][-1]))


def name(head):
    return f"{head['layer']}.{head['head']}"


@pytest.mark.parametrize("width,scheme", LOOKS)
def test_the_page_is_silent_alone_and_fits_its_width_and_no_chart_is_blank(browser, made, width, scheme):
    with opened(browser, made[1], width, scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width

        def share(place, colour):
            return page.evaluate(SPAN, [page.query_selector(f"{place} .chart svg"), colour])

        for figure in ["by-length", "probe", "distance-length", "distance-top", "separability"]:
            assert share("#" + figure, "vermillion") > 0.5, figure
        assert share("#probe", "green") > 0.2  # dashed
        assert all(share("#critical-top", colour) > 0.2 for colour in ("blue", "sky", "green"))
        assert share("#gradient", "vermillion") > 0.5 and share("#gradient", "grey") > 0.2
        weights, entropies = page.query_selector_all("#head .chart svg")
        assert page.evaluate(SPAN, [weights, "vermillion"]) > 0.5
        assert page.evaluate(SPAN, [weights, "grey"]) > 0.2  # the bound, dashed
        assert page.evaluate(SPAN, [entropies, "green"]) > 0.5


def test_every_number_is_that_of_the_results(browser, made):
    results, path = made
    attention = results["attention"]
    with opened(browser, path) as page:
        assert page.inner_text("#verdict").startswith(results["verdict"])
        assert page.text_content("#provenance code") == results["command"]
        over = attention["median_over_heads"]
        assert page.eval_on_selector_all("#all-lengths tbody tr", CELLS) == [
            [n, *(over[f][i] for f in ("entropy", "peak", "first", "peak_outside", "entropy_outside", "spread")),
             attention["blunt_heads"][i]] for i, n in enumerate(LENGTHS)]
        heads = page.eval_on_selector_all("#all-heads tbody tr", CELLS)
        order = worst_first(attention["heads"])
        assert [row[2:] for row in heads] == [
            [h["peak_outside"]["median"][0], h["peak_outside"]["median"][-1], h["entropy_outside"]["median"][-1],
             h["entropy_slope_outside"], h["spread"]["median"][-1], h["blunting"]["length"]] for h in order]
        texts = page.eval_on_selector_all("#all-heads tbody tr", TEXTS)
        last = order[0]["peak_outside"]
        assert texts[0][:2] == [name(order[0]), order[0]["kind"]]
        assert texts[0][3] == f"{last['median'][-1]:.3f} ({last['low'][-1]:.2f}–{last['high'][-1]:.2f})"
        assert page.eval_on_selector_all("#all-forecasts tbody tr", CELLS) == [
            [e["from"], e["to"], *(e[rule]["median"] for rule in ("ours", "no_change", "power_law"))]
            for e in attention["forecast"]["errors"]]


def test_paper_b_and_the_probe_are_those_of_the_results(browser, made):
    results, path = made
    with opened(browser, path) as page:
        assert page.eval_on_selector_all("#findings tbody tr", TEXTS) == [
            [{True: "holds", False: "no", None: "open"}[f["holds"]], f["claim"], f["found"], f["rule"]]
            for f in results["analysis"]["findings"]]
        assert "1 of 2 findings of paper B holds here; not: it has a plateau" in page.text_content("#verdict")
        lines = results["analysis"]["critical_top"]["sum"]["against_drawn"]
        assert [row[:3] for row in page.eval_on_selector_all("#critical-top tbody tr", CELLS)] == [
            [line["length"], line["critical"], line["critical"] and line["critical"] / line["length"]] for line in lines]
        # The other reading of the distance, and a number read off the chart by keyboard.
        page.locator("#distance-length").get_by_label("norm of what is left out").check()
        page.focus("#distance-length .chart")
        page.keyboard.press("ArrowRight")
        point = results["analysis"]["distance_length"]["points"]["norm"][0]
        readout = page.text_content("#distance-length .readout")
        chosen = point["chosen"]
        assert readout.startswith("L = 32")
        assert (f"most weight {chosen['median']:.3f} ({chosen['lower_quartile']:.3f}–{chosen['upper_quartile']:.3f})"
                in readout)
        assert "theorem 1.1" not in readout  # there is none of this reading
        probe = results["probe"]["lengths"]
        rows = page.eval_on_selector_all("#all-probes tbody tr", "(r) => r.map((x) => [...x.cells].map((c) => c.textContent))")
        assert [row[:3] + row[4:6] for row in rows] == [
            [f"{at['length']:,}", "40", percent(at["share"]), name(at["best_heads"][0]),
             f"{at['best_heads'][0]['answering_weight']:.3f}"] for at in probe]
        # The head followed over lengths is the one that looks best at the longest.
        page.focus("#probe .chart")
        page.keyboard.press("ArrowRight")
        best = probe[-1]["best_heads"][0]
        place = best["layer"] * results["probe"]["heads"] + best["head"]
        assert (f"weight, head {name(best)} {percent(probe[0]['answering_weight'][place])}"
                in page.text_content("#probe .readout"))


def test_a_cell_opens_its_head_by_mouse_and_by_keyboard(browser, made):
    results, path = made
    heads = {name(h): h for h in results["attention"]["heads"]}

    def shown_head(page):
        found = page.text_content("#head h3").removeprefix("Head ")
        assert page.eval_on_selector("[aria-selected=true]", "(cell) => cell.dataset.head") == found
        head = heads[found]
        assert [row[1:4] for row in page.eval_on_selector_all("#head-lengths tbody tr", CELLS)] == [
            [head["peak_outside"]["median"][i], head["peak_bound"][i], head["first"]["median"][i]]
            for i in range(len(LENGTHS))]
        page.focus("#head .chart")
        page.keyboard.press("ArrowRight")
        assert (f"bound {head['peak_bound'][0]:.3f} · first token {head['first']['median'][0]:.3f}"
                in page.text_content("#head .readout"))
        return found

    with opened(browser, path) as page:
        assert shown_head(page) == name(worst_first(heads.values())[0])
        page.click("[data-head='2.1']")
        assert shown_head(page) == "2.1"
        page.focus("[data-head='2.1']")
        for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft", "Home", "ArrowUp"):
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.head") == "1.0"
        assert page.eval_on_selector_all("#heads [role=gridcell][tabindex='0']", "(cells) => cells.length") == 1
        page.keyboard.press("Enter")
        assert shown_head(page) == "1.0"
        follow(page, page.locator("#all-heads").get_by_role("link", name="0.2", exact=True))
        assert shown_head(page) == "0.2"


def shown_heads(page):
    return page.eval_on_selector_all("#all-heads tbody tr", """(rows) => rows.filter((row) => row.offsetHeight > 0).map(
        (row) => row.cells[0].textContent)""")


def test_the_table_of_heads_filters_and_still_sorts(browser, made):
    results, path = made
    order = worst_first(results["attention"]["heads"])
    with opened(browser, path) as page:
        status = page.locator("#worst [role=status]")
        assert status.text_content() == "12 heads" and shown_heads(page) == [name(h) for h in order]

        def expect(keep):
            wanted = [name(h) for h in order if keep(h)]
            assert shown_heads(page) == wanted and status.text_content() == f"{len(wanted)} of 12 heads"
            assert 0 < len(wanted) < 12
        page.locator("#worst").get_by_label("Kind").select_option(label="sink")
        expect(lambda h: h["kind"] == "sink")
        page.locator("#worst").get_by_label("Kind").select_option(label="all")
        page.locator("#worst").get_by_label("Layer").select_option(label="2")
        expect(lambda h: h["layer"] == 2)
        page.locator("#worst").get_by_label("Layer").select_option(label="all")
        page.locator("#worst").get_by_label("blunt").select_option(label="yes")
        expect(lambda h: h["peak_outside"]["median"][-1] < 0.1)
        page.locator("#worst").get_by_label("blunt").select_option(label="all")
        for words, keep in [("1.", lambda h: h["layer"] == 1), ("DISP", lambda h: h["kind"] == "dispersing")]:
            page.locator("#worst").get_by_label("Find").fill(words)
            expect(keep)
        # Sorting keeps what is filtered, and so does what is taken away.
        page.locator("#all-heads").get_by_role("button", name="spread").click()
        assert sorted(shown_heads(page)) == sorted(name(h) for h in order if h["kind"] == "dispersing")
        lines = saved(page.locator("#worst .tools button", has_text="CSV"))[1].decode().splitlines()
        assert [line.split(",")[2] for line in lines[1:]] == ["dispersing"] * len(shown_heads(page))
        page.locator("#worst").get_by_label("Find").fill("nothing of this name")
        assert shown_heads(page) == [] and status.text_content() == "0 of 12 heads"


def test_the_grid_is_coloured_by_the_chosen_statistic_and_length(browser, made):
    results, path = made
    heads = results["attention"]["heads"]

    def cells(page):
        return page.eval_on_selector_all("#heads [role=gridcell]", """(cells) => cells.map((cell) => [
            cell.dataset.head, JSON.parse(cell.dataset.value), getComputedStyle(cell).backgroundColor])""")

    choices = {"peak outside": "peak_outside", "entropy, nats": "entropy", "weight of the first token": "first",
               "support": "support", "distance to the heaviest key outside": "distance_outside", "spread of scores": "spread"}
    with opened(browser, path) as page:
        lengths = page.locator("#heads select").nth(1)
        for words, field in choices.items():
            page.get_by_label("Color by").select_option(label=words)
            for i, n in list(enumerate(LENGTHS))[::3]:
                lengths.select_option(label=f"{n:,}")
                found = cells(page)
                assert "Bright: " in page.text_content("#heads .scale + .note")
                assert [c[:2] for c in found] == [[name(h), h[field]["median"][i]] for h in heads]
                # Green, unlike red and blue, grows all along the ramp.
                by_value = sorted(found, key=lambda c: c[1])
                greens = [int(colour.split(",")[1]) for _, _, colour in by_value]
                assert greens == sorted(greens) and (field in ("spread", "support") or greens[-1] > greens[0])
        page.hover("[data-head='1.2']")
        spread = next(h for h in heads if name(h) == "1.2")["spread"]
        assert (f"spread of scores {spread['median'][-1]:.1f} ({spread['low'][-1]:.1f}–{spread['high'][-1]:.1f}) at 4,096"
                in page.text_content("#heads .readout"))
        page.get_by_label("Color by").select_option(label="slope of entropy against ln n")
        assert "Head 1.2" in (said := page.text_content("#heads .readout")) and "slope of entropy" in said
        assert [c[1] for c in cells(page)] == [h["entropy_slope"] for h in heads]
        assert lengths.is_disabled()
        page.get_by_label("Color by").select_option(label="blunting length")
        assert [c[1] for c in cells(page)] == [h["blunting"]["length"] for h in heads]
        unknown = page.eval_on_selector_all("#heads td.unknown", "(cells) => cells.map((c) => c.dataset.head)")
        assert unknown == [name(h) for h in heads if h["blunting"]["length"] is None] != []


def test_the_page_holds_every_digit_of_the_results(browser, made, tmp_path):
    results = copy.deepcopy(made[0])
    results["attention"]["heads"][0]["first"]["median"] = [1e-45, 0.1234567, 1e300, 0.0]
    path = write_page(results, tmp_path / "page.html")
    kept = next(s for s in held(path)["results"][0]["sections"] if s["id"] == "heads")["items"][0]
    heads, sketches = results["attention"]["heads"], results["sketches"]["heads"]
    assert [kind for _, _, kind in kept["heads"]] == [h["kind"] for h in heads]
    layers = {layer["id"]: layer for layer in kept["layers"]}
    assert layers["blunting"]["values"] == [[h["blunting"]["length"]] for h in heads]
    for field in ("peak_outside", "entropy", "entropy_outside", "first", "peak", "spread", "support", "distance_outside"):
        for name, part in (("values", "median"), ("low", "low"), ("high", "high")):
            assert layers[field][name] == [h[field][part] for h in heads]
    assert kept["drawn"]["scores"]["quantiles"] == [s["scores"]["quantiles"] for s in sketches]
    for place, gap in enumerate((1, 2, 4, 8, 16), 2):
        assert layers[f"gap_{gap}"]["values"] == [[counts[place] for counts in h["gap_counts"]] for h in heads]
    assert kept["drawn"]["maps"]["cells"] == [s["map"]["cells"] for s in sketches]
    with opened(browser, path) as page:
        page.click("[data-head='0.0']")
        assert [row[3] for row in page.eval_on_selector_all("#head-lengths tbody tr", CELLS)] == heads[0]["first"]["median"]


@pytest.mark.parametrize("sections,shown", [
    (["attention"], ["heads", "worst", "by-length", "forecast", "playground", "provenance"]),
    (["analysis"], ["findings", *FIGURES, "playground", "provenance"]), (["probe"], ["probe", "playground", "provenance"]),
    ([], ["playground", "provenance"])])
def test_what_was_not_measured_has_no_place(browser, tmp_path, sections, shown):
    results = synthetic_audit(sections)
    results["complete"] = bool(sections)
    with opened(browser, write_page(results, tmp_path / "page.html"), 375) as page:
        assert page.eval_on_selector_all("main section", "(all) => all.map((s) => s.id)") == shown
        assert ("not finished" in page.text_content("#verdict")) == (not sections)


def test_one_analysis_and_one_length_are_shown_alone(browser, tmp_path):
    results = synthetic_audit(lengths=[64])
    for other in ["distance_length", "distance_top", "critical_top", "gradient"]:
        del results["analysis"][other]
    with opened(browser, write_page(results, tmp_path / "page.html")) as page:
        shown = page.eval_on_selector_all("main section", "(all) => all.map((s) => s.id)")
        assert shown == ["heads", "worst", "by-length", "findings", "separability", "probe", "playground", "provenance"]


UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def inert_token(token):
    """What of a token may stand in the page: 40 characters, and what cannot be seen as escapes."""
    return UNSEEN.sub(lambda c: f"\\u{ord(c[0]):04x}", token[:40] + "…" * (len(token) > 40))


@pytest.mark.parametrize("width", [375, 1280])
def test_hostile_strings_are_shown_and_nothing_more(browser, made, tmp_path, width):
    results, text = copy.deepcopy(made[0]), "\n".join(HOSTILE)
    for field in ("command", "sharpmax", "verdict"):
        results[field] = text
    results["settings"]["text"] = text
    results["settings"]["model"] |= {"file": text, "normalizer": text, text: text}
    for head in results["attention"]["heads"]:
        head["kind"] = head["blunting"]["how"] = text
        head["blunting"]["length"] = None
    analysis, probe = results["analysis"], results["probe"]
    for finding in analysis["findings"]:
        finding |= {"claim": text, "found": text, "rule": text}
    analysis["vectors"] = analysis["critical_top"]["test"] = probe["kind"] = text
    analysis["notes"] = probe["lengths"][0]["wrong"] = HOSTILE
    tokens = results["sketches"]["tokens"]
    hostile_tokens = [*HOSTILE, "\u0000\u0007\u001b[31m", "\u2066\u200f", "\x7f\u0085"]
    tokens[:] = [hostile_tokens[i % len(hostile_tokens)] for i in range(len(tokens))]
    with opened(browser, write_page(results, tmp_path / "page.html"), width) as page:
        page.click("[data-head='2.1']")
        page.hover("[data-head='2.2']")
        for i, row in enumerate(results["sketches"]["heads"][7]["top"]):
            page.locator("#head-drawn input").nth(i).check()
            assert page.eval_on_selector_all("#top-keys mark", "(marks) => marks.map((m) => m.textContent)") == [
                visible(inert_token(tokens[key])) for key in row["keys"]]
            assert not UNSEEN.search(page.text_content("#head-drawn"))
        assert page.evaluate("window.pwned") is None
        assert page.query_selector_all("img, svg[onload], main script, #verdict script") == []
        inert = text.replace("\u202e", "\\u202e")
        assert page.text_content("#provenance code") == inert
        for place in ("#verdict", "#head", "#heads .readout", "#findings", "#provenance dl", "#probe"):
            assert inert.split("\n")[0] in page.text_content(place), place
        assert "\u202e" not in page.inner_text("body") and "\u202e" not in page.title()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_results_of_another_shape_are_refused_in_one_sentence():
    for change, wanted in [({"schema": "sharpmax.audit/2"}, b"schema 'sharpmax.audit/2'; there is a page for"),
                           ({"attention": {"lengths": []}}, b"not of schema sharpmax.audit/1"),
                           ({"sketches": {"heads": []}}, b"not one sketch for every head"),
                           ({"sketches": sketch_section(4, 3, random.Random(1)) | {"map_size": 47}}, b"47 x 47 cells"),
                           ({"sketches": sketch_section(4, 3, random.Random(1)) | {"map_size": 101}}, b"over 100 tokens"),
                           ({"sketches": sketch_section(4, 3, random.Random(1)) | {"rows": [1, "x"]}}, b"not of schema"),
                           ({"sketches": sketch_section(4, 3, random.Random(1)) | {"rows": [1, 2, 3, 4, 5, 2**63 - 1]}},
                            b"looks at token 9223372036854775807, where there are 100")]:
        done = subprocess.run([str(MAKER)], input=json.dumps(synthetic_audit() | change).encode(), capture_output=True)
        assert (done.returncode, done.stdout) == (2, b"")
        assert wanted in done.stderr and done.stderr.count(b"\n") == 1


def test_audit_writes_the_page_of_what_it_measured(browser, tmp_path):
    folder = write_tiny_folder(tmp_path)
    (folder / "book.txt").write_text(TEXT * 6)
    words = ["audit", folder, "--text", folder / "book.txt", "--lengths", "16,32,64"]
    done = sharpmax(*words, "--json", folder / "a.json", "-o", folder / "<a>.html")
    assert done.returncode == 0, done
    results = json.loads((folder / "a.json").read_text())
    with opened(browser, folder / "<a>.html") as page:
        assert page.inner_text("#verdict").startswith(results["verdict"])
        assert page.text_content("#provenance code") == results["command"]
        assert [row[-1] for row in page.eval_on_selector_all("#all-lengths tbody tr", CELLS)] == (
            results["attention"]["blunt_heads"])
    done = sharpmax(*words, "--analysis", "separability", "--json", folder / "b.json", "-o", folder / "b.html")
    assert done.returncode == 0, done
    findings = json.loads((folder / "b.json").read_text())["analysis"]["findings"]
    with opened(browser, folder / "b.html") as page:
        assert [line[2] for line in page.eval_on_selector_all("#findings tbody tr", TEXTS)] == [f["found"] for f in findings]
        assert page.query_selector("#separability .chart svg")
    done = sharpmax("audit", folder, "--probe", "max", "--questions", "2", "--lengths", "64,128", "--json", folder / "c.json",
                    "-o", folder / "c.html")
    assert done.returncode == 0, done
    lengths = json.loads((folder / "c.json").read_text())["probe"]["lengths"]
    with opened(browser, folder / "c.html") as page:
        assert [row[2] for row in page.eval_on_selector_all("#all-probes tbody tr", TEXTS)] == [
            percent(at["share"]) for at in lengths]
    assert "a page needs a file" in refused(2, *words, "-o", "-")
    refused(3, *words, "-o", folder / "no such folder" / "page.html")
