"""`--tables DIR`: every table of the report as CSV, and all of them in tables.md."""
import csv
import json
import re

import pytest
from page_in_browser import held
from synthetic_pages import PAGES, made  # noqa: F401
from synthetic_results import synthetic_results
from tiny_folder import refused, sharpmax


def tables_in(items, chosen=""):
    """(table, options that it belongs to), those behind a choice too."""
    for item in items:
        if item["type"] == "choice":
            for option in item["options"]:
                yield from tables_in(option["items"], f"{chosen}, {option['name']}")
        elif item["type"] == "table":
            yield item, chosen


def tables_of(view):
    return [table for section in view["sections"] for table in tables_in(section["items"])]


def file_of(table, chosen):
    return re.sub("[^A-Za-z0-9_]+", "-", f"{table['id']}{chosen}"[:40]).strip("-") + ".csv"


def written(folder, results):
    several = results if isinstance(results, list) else [results]
    paths = [folder / f"{i}.json" for i in range(len(several))]
    for path, one in zip(paths, several):
        path.write_text(json.dumps(one))
    done = sharpmax("report", *paths, "--tables", folder / "tables", "-o", folder / "page.html")
    assert done.returncode == 0, done
    return folder / "tables"


def value_of(cell):
    value = cell["value"] if isinstance(cell, dict) else cell
    return value[1] if isinstance(value, list) else value


def assert_same(shown, value):
    if isinstance(value, (int, float)):
        assert float(shown) == value
    else:
        assert shown in ("" if value is None else value, f"'{value}")


@pytest.mark.parametrize("kind", sorted(PAGES))
def test_every_table_of_the_view_is_a_file_with_its_numbers(made, tmp_path, kind):  # noqa: F811
    results, page = made(kind)
    folder = written(tmp_path, results)
    view = held(page)["compared"] if isinstance(results, list) else held(page)["results"][0]
    tables = tables_of(view)
    assert tables
    text = (folder / "tables.md").read_text()
    for table, chosen in tables:
        with (folder / file_of(table, chosen)).open(newline="") as file:
            head, *lines = csv.reader(file)
        kept = [k for k, column in enumerate(table["columns"]) if column.get("csv", True) and "bar" not in column]
        assert head == [table["columns"][k]["name"] for k in kept]
        for line, row in zip(lines, table["rows"], strict=True):
            for shown, k in zip(line, kept, strict=True):
                assert_same(shown, value_of(row[k]))
        assert f"\n## {table['title']}{chosen}\n" in text
    # Tables that only a terminal shows are files too.
    assert text.count("\n## ") == len(list(folder.glob("*.csv"))) >= len(tables)
    if isinstance(results, list):
        assert {path.name for path in folder.iterdir() if path.is_dir()} == {str(i + 1) for i in range(len(results))}


def test_names_of_results_are_text_in_markdown(tmp_path):
    results = json.loads(json.dumps(synthetic_results("both")).replace('"sharp"', '"<b>|`x`*"'))
    text = (written(tmp_path, results) / "tables.md").read_text()
    assert "\\<b>\\|\\`x\\`\\*" in text
    for mark in ("<b>", "`x`"):
        assert text.count(mark) == text.count("\\" + mark), mark


def test_tables_of_others_are_replaced_only_with_overwrite(tmp_path):
    bound = ("bound", "--spread", 3, "--n", "4,16", "--tables", tmp_path / "tables")
    (tmp_path / "tables").mkdir()
    name = tmp_path / "tables" / "mine.csv"
    name.write_text("a,b\n")
    assert "mine.csv' exists and is not a table of sharpmax" in refused(2, *bound)
    assert name.read_text() == "a,b\n" and len(list(name.parent.iterdir())) == 1
    assert sharpmax(*bound, "--overwrite").returncode == 0
    files = {path.name: path.read_bytes() for path in name.parent.iterdir()}
    assert len(files) > 2 and files["mine.csv"] == b"a,b\n"
    assert sharpmax(*bound).returncode == 0, "tables of ours are replaced"
    assert {path.name: path.read_bytes() for path in name.parent.iterdir()} == files
