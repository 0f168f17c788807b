"""`sharpmax report`: the page of saved results is the page that the command would have written."""

import json
import re

import pytest
from page_in_browser import held
from synthetic_audit import synthetic_audit
from tiny_folder import TEXT, refused, sharpmax, write_tiny_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    write_tiny_folder(place / "model")
    (place / "text.txt").write_text(TEXT * 4)
    return place


def test_an_audits_page_is_made_again_to_the_byte(folder):
    written, again = folder / "a.html", folder / "b.html"
    words = ("--lengths", "16,32", "--excerpts", "1")
    audited = sharpmax("audit", folder / "model", "--text", folder / "text.txt", *words, "--json", folder / "a.json", "-o", written)
    done = sharpmax("report", folder / "a.json", "-o", again)
    assert again.read_bytes() == written.read_bytes() and str(again).encode() in done.stderr
    assert done.stdout and audited.stdout.startswith(done.stdout.rstrip(b"\n"))  # the verdict


def test_a_retrievals_page_is_made_again_to_the_byte(folder):
    run, again = folder / "run", folder / "again.html"
    sharpmax("retrieve", "--arms", "paper", "--steps", "20", "--sizes", "16,32", "--sets-scale", "0.01",
             "--normalizers", "softmax", "--directory", run)  # fmt: skip
    sharpmax("report", run / "results.json", "-o", again)
    assert again.read_bytes() == (run / "report.html").read_bytes()


def without(results, name):
    return {key: value for key, value in results.items() if key != name}


WRONG = {
    "no JSON": ("{", "is not JSON"),
    "no object": ("[1]", "have no schema"),
    "another schema": (json.dumps({"schema": "sharpmax.bound/1"}), "have schema 'sharpmax.bound/1'; there is a page for"),
    "control characters": (json.dumps({"schema": "x\u001b[2J"}), r"x\x1b[2J"),
    "a part is missing": (json.dumps(without(synthetic_audit(), "settings")), r"key \'settings\' not found"),
    "a part is of another kind": (json.dumps({**synthetic_audit(), "attention": 3}), "the results are not of schema"),
}


@pytest.mark.parametrize("name", WRONG)
def test_files_that_are_no_results_are_refused(folder, name):
    text, words = WRONG[name]
    (folder / "wrong.json").write_text(text)
    page = '<!doctype html><meta name="generator" content="sharpmax">before'
    (folder / "kept.html").write_text(page)
    said = refused(3, "report", folder / "wrong.json", "-o", folder / "kept.html")
    assert words in said
    assert (folder / "kept.html").read_text() == page


def test_wrong_words_are_refused(folder):
    (folder / "good.json").write_text(json.dumps(synthetic_audit()))
    assert "no results were given" in refused(2, "report", "-o", folder / "x.html")
    assert "nothing to write was given" in refused(2, "report", folder / "good.json")
    assert "a page needs a file" in refused(2, "report", folder / "good.json", "-o", "-")
    assert "could not be opened" in refused(3, "report", folder / "none.json", "-o", folder / "x.html")


def test_a_page_of_many_heads_stays_within_its_size_and_one_of_several_keeps_them(folder):
    (folder / "many.json").write_text(json.dumps(synthetic_audit(("attention",), layers=32, heads=32)))
    one = sharpmax("report", folder / "many.json", "-o", folder / "one.html")
    assert b"MB" not in one.stderr and (folder / "one.html").stat().st_size <= 700_000
    four = sharpmax("report", *[folder / "many.json"] * 4, "-o", folder / "four.html")
    assert re.search(rb"the page has [01]\.\d MB: what 4 results hold", four.stderr)
    shown = held(folder / "four.html")
    for view in shown["results"]:
        items = [item for section in view["sections"] for item in section["items"]]
        assert [len(item["heads"]) for item in items if item["type"] == "heads"] == [1024]
        assert all(len(item["rows"]) > 1 for item in items if item["type"] == "table")
    assert sum(len(section["items"]) for section in shown["compared"]["sections"]) > 3
