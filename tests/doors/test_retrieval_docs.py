"""What the docs say of max retrieval is what results say; the recipe's ingredients run; every field is documented."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from synthetic_results import synthetic_results

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
TINY = ("--steps", 4, "--seeds", 1, "--sizes", "16,32", "--sets-scale", 0.001)


def script(name, *arguments):
    return subprocess.run([sys.executable, ROOT / "scripts" / name, *map(str, arguments)], capture_output=True, text=True)


def ingredients(folder, *arguments):
    done = script("retrieval-ingredients", "--binary", BINARY, "--directory", folder / "runs", "-o", folder / "i.json", *TINY,
                  *arguments, "--", "--width", 8)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "i.json").read_text())


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ingredients")
    return folder, ingredients(folder)


def test_every_ingredient_changes_what_its_flags_say_and_nothing_else(measured):
    recipe, *others = measured[1]["rows"]
    assert recipe["flags"] == "--steps 4" and len(others) >= 18
    for row in others:
        flags = {word[2:].replace("-", "_").replace("train_normalizer", "normalizer")
                 for word in row["flags"].split() if word.startswith("--")}
        changed = {key for key, value in row["training"].items() if value != recipe["training"][key]}
        assert changed and changed <= flags and flags - changed <= {"steps"}, row["name"]
        assert row["command"] == f"{measured[1]['shared']} {row['flags']}"
    assert len({row["flags"] for row in measured[1]["rows"]}) == len(others) + 1


def test_ingredients_go_on_where_they_were(measured):
    folder, before = measured
    shutil.rmtree(folder / "runs/beta2")
    (folder / "runs/hard/tested/sharp-0-32.json").unlink()
    checkpoint = folder / "runs/recipe/checkpoints/sharp-0.safetensors"
    written = checkpoint.stat().st_mtime_ns
    assert ingredients(folder) == before
    assert checkpoint.stat().st_mtime_ns == written  # not trained again


def test_half_of_the_steps_is_half_of_the_recipe_s(tmp_path):
    listed = script("retrieval-ingredients", "--list", "--only", "half").stdout
    done = subprocess.run([BINARY, "retrieve", "--preset", "sharp", "--arms", "sharp", "--seeds", "1", "--width", "1",
                           "--batch", "1", "--sizes", "2", "--sets-scale", "0.001", "--json", "-"], capture_output=True,
                          text=True, cwd=tmp_path)
    steps = json.loads(done.stdout)["arms"][0]["training"]["steps"]
    assert listed.split()[-1] == str(steps // 2)


@pytest.fixture
def pages(tmp_path):
    (tmp_path / "docs/reference").mkdir(parents=True)
    (tmp_path / "docs/learn").mkdir()
    for page in ("README.md", "docs/reference/retrieval.md", "docs/learn/tutorial.md"):
        blocks = re.compile(r"(<!-- ([a-z-]+):begin -->\n).*?(<!-- \2:end -->)", re.S)
        (tmp_path / page).write_text(blocks.sub(r"\1empty\n\3", (ROOT / page).read_text()))
    return tmp_path


def put(folder, name, results):
    (folder / "results" / name).mkdir(parents=True)
    (folder / "results" / name / "results.json").write_text(json.dumps(results))


def update(folder, ingredients_file="none.json"):
    return script("update-docs", "--results", folder / "results", "--ingredients", folder / ingredients_file, "--root", folder)


def block(folder, page, name):
    text = (folder / page).read_text()
    return text.split(f"<!-- {name}:begin -->\n")[1].split(f"<!-- {name}:end -->")[0]


def cells(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def test_blocks_hold_the_numbers_of_the_results(pages):
    results = synthetic_results("both")
    put(pages, "sharp", results)
    assert update(pages).returncode == 0
    table = {row[0]: row for row in cells(block(pages, "docs/reference/retrieval.md", "two-by-two"))}
    for entry in results["summary"]:
        columns = [(a, r) for a in ("paper", "sharp") for r in ("softmax", "entropy_target:nats=0.1")]
        if (entry["arm"], entry["normalizer"]) in columns:
            shown = table[f"{entry['n']:,}"][1 + columns.index((entry["arm"], entry["normalizer"]))]
            assert float(shown) == pytest.approx(100 * entry["accuracy"], abs=0.0501)
            assert (shown in ("100.0", "0.0")) <= (entry["accuracy"] in (0, 1))  # never rounded to all or nothing
    heads = cells(block(pages, "docs/reference/retrieval.md", "certificates"))[2:]
    assert [(row[0], row[1]) for row in heads] == [(h["arm"], str(h["seed"])) for h in results["heads"]]
    last = max(results["settings"]["sizes"])
    assert f"largest of {last:,} in {table[f'{last:,}'][4]} %" in " ".join(block(pages, "README.md", "retrieval-claim").split())


def test_the_published_table_has_t_and_p_of_the_paper_run(pages):
    results = synthetic_results("paper")
    put(pages, "paper", results)
    assert update(pages).returncode == 0
    table = {row[0]: row for row in cells(block(pages, "docs/reference/retrieval.md", "published"))}
    tests = {t["n"]: t for t in results["tests"] if t["second"] == "adaptive" and t["arm"] == "paper"}
    assert tests
    for n, test in tests.items():
        assert float(table[f"{n:,}"][-1]) == pytest.approx(test["p"], rel=0.51)
        assert float(table[f"{n:,}"][-2]) == pytest.approx(test["t"], rel=0.01)
    published = {p["n"] for p in results["published"] if p["normalizer"] == "softmax"}
    assert {n for n in tests if table[f"{n:,}"][1] != "–"} == published & set(tests) != set(tests)


def test_what_a_run_prints_has_the_verdict_and_the_table_that_the_pages_show(pages):
    (pages / "results").mkdir()
    done = subprocess.run([BINARY, "retrieve", *map(str, TINY), "--width", "8", "--directory", pages / "results/quick"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (pages / "results/quick.txt").write_text(done.stdout)
    updated = update(pages)
    assert updated.returncode == 0, updated.stderr
    verdict = done.stdout.split("\n\n")[0]
    assert verdict in block(pages, "README.md", "retrieval-verdict")
    shown = block(pages, "docs/learn/tutorial.md", "retrieval-quick")
    assert verdict in shown
    assert shown.splitlines()[-2].count("%") == 4  # two ways of training under two normalizers, beside each other


def test_what_has_no_results_stays_and_is_named(pages):
    put(pages, "paper", synthetic_results("paper"))
    done = update(pages)
    assert done.returncode == 0
    for name in ("ingredients", "two-by-two", "why"):
        assert block(pages, "docs/reference/retrieval.md", name) == "empty\n" and f"block {name} of" in done.stderr
    shutil.rmtree(pages / "results")
    done = update(pages)
    assert done.returncode == 1 and "make retrieval-results" in done.stderr


def test_the_ingredients_table_has_a_row_and_flags_for_each(measured, pages):
    folder, found = measured
    put(pages, "paper", synthetic_results("paper"))
    shutil.copy(folder / "i.json", pages / "i.json")
    assert update(pages, "i.json").returncode == 0
    text = block(pages, "docs/reference/retrieval.md", "ingredients")
    rows = cells(text)[2:]
    assert [(row[0], row[1].strip("`")) for row in rows] == [(r["change"], r["flags"]) for r in found["rows"]]
    assert found["shared"] in text


def keys_of(value):
    if isinstance(value, dict):
        return {key for key in value if not key.isdigit()} | {k for v in value.values() for k in keys_of(v)}
    return {k for v in value for k in keys_of(v)} if isinstance(value, list) else set()


def test_every_field_of_the_results_and_every_tensor_is_documented(tmp_path):
    done = subprocess.run([BINARY, "retrieve", "--width", "8", "--steps", "4", "--sizes", "16", "--sets-scale", "0.001",
                           "--seeds", "2", "--json", "-"], capture_output=True, text=True, cwd=tmp_path)
    words = set(re.findall(r"`([^`]+)`", (ROOT / "docs/reference/retrieval-json.md").read_text()))
    assert keys_of(json.loads(done.stdout)) - words == set()
    for file in tmp_path.rglob("*.safetensors"):
        raw = file.read_bytes()
        header = json.loads(raw[8:8 + int.from_bytes(raw[:8], "little")])
        assert (set(header) | set(header["__metadata__"])) - words == {"__metadata__"}


def test_relative_links_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
