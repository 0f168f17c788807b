"""One wrong request of every kind of job, at both doors: the same sentence, in each with its own names of the fields.

tests/hostile/wrong_requests.cc holds the C++ functions to the same table.
"""

import json
import os
import pathlib
import subprocess

import pytest
import sharpmax

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
TABLE = json.loads((ROOT / "tests" / "support" / "wrong_requests.json").read_text())


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["job"])
def test_the_command_line_says_it_in_options(row, tmp_path):
    done = subprocess.run([BINARY, row["job"], *row["words"]], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"sharpmax: {row['command_line']}\n")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("row", [row for row in TABLE if "keywords" in row], ids=lambda row: row["job"])
def test_python_says_it_in_keywords(row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError) as caught:
        getattr(sharpmax, row.get("verb", row["job"]))(**row["keywords"])
    assert str(caught.value) == row["python"]
    assert not any(tmp_path.iterdir())
