"""What the docs say of small transformers is what results say, and the example of a task of one's own is one."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
TINY = ("--keys", 80, "--values", 4, "--width", 16, "--head-width", 8, "--batch", 4, "--sizes", "8,64", "--answers", 64)
# name of a run of scripts/train-results -> words of a small one with the same parts
RUNS = {
    "lookup": ("lookup", "--arms", "softmax", "--seeds", 2, "--steps", 6),
    "lookup-short": ("lookup", "--arms", "softmax", "--seeds", 2, "--steps", 3),
    "lookup-long": ("lookup", "--arms", "softmax", "--seeds", 2, "--steps", 9),
    "lookup-tuned": ("lookup", "--arms", "ssmax,tuned-adaptive", "--seeds", 2, "--steps", 6),
    "mixed": ("mixed", "--arms", "softmax", "--steps", 8, "--largest-size", 8, "--per-head"),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """The folder of small runs, and the page that was filled from them."""
    folder = tmp_path_factory.mktemp("train-docs")
    for name, words in RUNS.items():
        subprocess.run([BINARY, "train", *map(str, words), *map(str, TINY), "--directory", folder / "train" / name], check=True,
                       capture_output=True)
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "README.md", folder)
    done = subprocess.run([sys.executable, ROOT / "scripts/update-train-docs", "--results", folder / "train", "--root", folder],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder, (folder / "docs/reference/train.md").read_text(), done.stderr


def block(page, name):
    return page.split(f"<!-- {name}:begin -->\n")[1].split(f"<!-- {name}:end -->")[0]


def summary(folder, name):
    return json.loads((folder / "train" / name / "results.json").read_text())["summary"]


def test_every_number_of_a_table_is_a_mean_of_the_results(filled):
    folder, page, _ = filled
    table = block(page, "train-lookup")
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `softmax`")]
    found = summary(folder, "lookup")
    assert len(rows) == len({row["normalizer"] for row in found})
    for cells in rows:
        assert "6 steps, 2 seeds" in cells[0]  # the training length stands beside every number
        for n, cell in zip((8, 64), cells[2:], strict=True):
            family = re.search("`(.*)`", cells[1])[1]
            (row,) = [row for row in found if row["n"] == n and row["normalizer"].split(":")[0] == family]
            assert cell.split()[0] == f"{100 * row['accuracy']:.1f}", (family, n)
    assert "sharpmax train lookup --arms softmax --seeds 2 --steps 6 --keys 80" in table and "--directory" not in table
    assert block((folder / "README.md").read_text(), "train-claim") == block(page, "train-claim")


def test_arms_steps_and_mixtures_have_their_tables(filled):
    folder, page, said = filled
    assert {"`ssmax`", "`tuned-adaptive`", "`softmax`"} <= set(re.findall(r"^\| (`[\w-]+`),", block(page, "train-arms"), re.M))
    assert re.findall(r"^\| (\d+) steps", block(page, "train-steps"), re.M) == [n for n in "369" for _ in range(3)]
    mixed = block(page, "train-mixed")
    tasks = ["lookup", "member", "recall", "most"]
    assert all(len(re.findall(rf"^\| `{task}` \| `per-head` ", mixed, re.M)) == 1 for task in tasks)
    (table,) = json.loads((folder / "train/mixed/results.json").read_text())["tables"]
    assert all(f"layer {h['layer']}, head {h['head']}: `{h['normalizer']}`" in mixed for h in table["heads"])
    assert "block train-member of docs/reference/train.md is as it was" in said  # has no results here


def test_the_example_of_ones_own_task_is_a_task(tmp_path):
    subprocess.run([sys.executable, ROOT / "examples/own_task.py", tmp_path / "largest.jsonl"], check=True)
    for line in (tmp_path / "largest.jsonl").read_text().splitlines()[::97]:
        record = json.loads(line)
        *numbers, mark = record["prompt"].split()
        assert mark == "?" and len(numbers) == record["size"] and max(numbers, key=int) == record["answer"]
        assert numbers.count(record["answer"]) == 1
    done = subprocess.run([BINARY, "train", "largest.jsonl", "--width", "16", "--heads", "1", "--local-heads", "0", "--head-width", "8",
                           "--steps", "2", "--arms", "softmax", "--sizes", "16,64", "--answers", "16"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
