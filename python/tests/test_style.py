"""The package, its tests and benchmarks are formatted as `make format` has it, and ruff finds nothing to say."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("ruff")
ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = ("python", "bench/python", "scripts/run-notebooks")


@pytest.mark.parametrize("words", [("check", "-q"), ("format", "--check", "-q")], ids=["check", "format"])
def test_ruff_has_nothing_to_say(words):
    done = subprocess.run([sys.executable, "-m", "ruff", *words, *PLACES], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
