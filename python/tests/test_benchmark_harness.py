"""The comparison with peers, at sizes that take no time: everything agrees, and what does not is refused."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module", autouse=True)
def bench_on_path():
    sys.path.insert(0, str(BENCH))
    yield
    sys.path.remove(str(BENCH))


def test_every_case_agrees_with_the_reference_and_makes_a_table(tmp_path):
    result = tmp_path / "result.json"
    command = [sys.executable, BENCH / "compare.py", "--tiny", "--threads", "1", "--peer", "torch SDPA"]
    command += ["--peer", "torch written out", "--peer", "deep-spin/entmax", "-o", result]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cases = json.loads(result.read_text())["runs"][0]["cases"]
    tasks = {case["case"].split("/")[0] for case in cases}
    assert tasks == {"prefill", "decode", "backward", "normalizers", "statistics", "memory"}
    assert all(check["error_over_allowed"] <= 1 for case in cases for check in case.get("checks", []))
    table = subprocess.run([sys.executable, BENCH / "table.py", result], capture_output=True, text=True, check=True)
    assert "| what | bar | aim | one thread | two threads |" in table.stdout
    assert "two threads / one" in table.stdout and "not measured" in table.stdout


def test_a_contender_that_disagrees_is_not_timed():
    from measure import QUICK, Case, run_case
    from problem import Problem
    from tasks.forward_contenders import ForwardCheck, contender

    class Wrong:
        name = "wrong"

        def as_array(self, result):
            return result

    problem = Problem(heads=1, queries=4, keys=8, features=8)
    wrong = contender("wrong", Wrong(), lambda: np.zeros((1, 1, 4, 8)), ForwardCheck(problem), "softmax")
    said = []
    entry = run_case(Case("case", [wrong], problem.facts()), QUICK, None, said.append)
    assert "seconds" not in entry and "disagrees" in entry["skipped"][0]
    assert any("not timed" in line for line in said)


def test_bars_are_judged_by_their_worst_case_and_misses_are_said():
    from bars import BARS
    from table import render_attention

    def spread(value):
        return {"median": value, "q1": value, "q3": value}

    cases = [
        {"case": f"prefill/full/d64/n{n}", "seconds": {"sharpmax": {"median": 1.0}},
         "ratios": {"torch SDPA": {"sharpmax": spread(value)}}}
        for n, value in ((512, 1.5), (2048, 1.1))
    ]  # fmt: skip
    machine = {"processor": "p", "processors": 2, "target": "t"}
    run = {"threads": 1, "cases": cases, "machine": machine, "versions": {}}
    text = "\n\n".join(render_attention({"date": "2000-01-01", "effort": "tiny", "runs": [run]}))
    assert "**1.10×, at full/d64/n2048**" in text
    assert f"Bars missed (1, bold above): {BARS[0].what}, one thread" in text
