"""The law of all views, for tables: what the page shows and what its CSV holds are the numbers of the view that it carries, and
these are numbers of the results, but for columns that are computed of them (COMPUTED)."""
import csv
import io
import math

import pytest
from page_in_browser import browser, held, opened, saved  # noqa: F401
from synthetic_pages import PAGES, made  # noqa: F401

SHOWN = """(id) => [...document.getElementById(id).tBodies[0].rows].map((row) => [...row.cells].map((cell) =>
    [cell.dataset.value ?? "null", cell.textContent]))"""
# Numbers that no field of the results has, by table: sums and means over seeds or tensors, shares of counts, differences, and by what a
# column of names is sorted.
COMPUTED = {
    "all-chunks": {"loss", "first guess right"},
    "all-critical": {"of L"},
    "all-heads": {"head", "failures fixed"},
    "all-layers": {"reached"},
    "all-lengths": {"128 tokens", "512 tokens"},
    "all-rows": {"head", "reached", "right, held out", "right, to choose by", "score spread", "sets", "temperature β", "tokens before"},
    "all-tensors": {"size"},
    "changed-heads": {"head", "difference"},
    "compared-certificate-table": {"heads"},
    "compared-loss-table": {"2 less 1"},
    "compared-table": {"2 less 1, points", "3 less 1, points"},
}


def tables(items):
    """Tables that a section shows at first."""
    for item in items:
        if item["type"] == "choice":
            yield from tables(item["options"][item["shown"]]["items"])
        elif item["type"] == "table":
            yield item


def view_of(results, path):
    return held(path)["compared"] if isinstance(results, list) else held(path)["results"][0]


def value_of(cell):
    value = cell["value"] if isinstance(cell, dict) else cell
    return value[1] if isinstance(value, list) else value


def numbers_in(results):
    if isinstance(results, (dict, list)):
        for one in results.values() if isinstance(results, dict) else results:
            yield from numbers_in(one)
    elif isinstance(results, (int, float)) and not isinstance(results, bool):
        yield float(results)


def assert_same(shown, value):
    """shown: as an attribute or a file has it."""
    if value is None:
        assert shown in ("null", "")
    elif isinstance(value, str):
        assert shown in (value, "'" + value)  # an apostrophe keeps a spreadsheet from taking it for a formula
    else:
        assert float(shown) == value


@pytest.mark.parametrize("kind", sorted(PAGES))
def test_tables_of_the_page_and_of_its_csv_are_those_of_the_view(browser, made, kind):  # noqa: F811
    results, path = made(kind)
    compared = 0
    with opened(browser, path) as page:
        for section in view_of(results, path)["sections"]:
            for table in tables(section["items"]):
                visible = [k for k, column in enumerate(table["columns"]) if not column.get("hidden")]
                lines = page.evaluate(SHOWN, table["id"])
                assert len(lines) == len(table["rows"])
                for line, row in zip(lines, table["rows"], strict=True):
                    for (value, text), k in zip(line, visible, strict=True):
                        assert_same(value, value_of(row[k]))
                        if isinstance(row[k], dict):
                            assert text == row[k]["text"]
                        compared += 1
                button = page.locator(f"#{table['id']}").locator("xpath=ancestor::div[@class='frame']").locator(".tools button", has_text="CSV")
                head, *lines = csv.reader(io.StringIO(saved(button)[1].decode(), newline=""))
                kept = [k for k, column in enumerate(table["columns"]) if column.get("csv", True)]
                assert head == [table["columns"][k]["name"] for k in kept]
                for line, row in zip(lines, table["rows"], strict=True):
                    for text, k in zip(line, kept, strict=True):
                        assert_same(text, value_of(row[k]))
    assert compared > 0


@pytest.mark.parametrize("kind", sorted(PAGES))
def test_numbers_of_tables_are_those_of_the_results(made, kind):  # noqa: F811
    results, path = made(kind)
    known = set(numbers_in(results))
    compared = 0
    for section in view_of(results, path)["sections"]:
        for table in tables(section["items"]):
            for k, column in enumerate(table["columns"]):
                if column["name"] in COMPUTED.get(table["id"], ()) or "bar" in column:
                    continue
                values = [value_of(row[k]) for row in table["rows"]]
                strange = [value for value in values if isinstance(value, (int, float)) and value not in known]
                assert not strange, (table["id"], column["name"], strange[:3])
                compared += sum(isinstance(value, (int, float)) and not math.isnan(value) for value in values)
    assert compared > 0
