"""The comparison with peers, at sizes that take no time: everything agrees, contenders do not disturb each other, and a
contender that is wrong or dies is named."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"

# A contender without a framework. Its calls return [[1]]; `spin` keeps a thread running until `sleep`.
CONTENDER = """
import os, sys, threading
import numpy as np
import serving

class Fake:
    version = "1"

    def __init__(self):
        if sys.argv[1] == "missing":
            raise RuntimeError("not installed")
        self.spinning = False

    def prepare(self, calls_to_live):
        print("a library's own words")
        left = [calls_to_live]

        def run():
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), 9)
            return np.ones((1, 1))

        return run

    def arrays(self, result):
        return [result]

    def tell(self, spin):
        def work():
            while self.spinning:
                pass

        self.spinning = spin
        if spin:
            threading.Thread(target=work, daemon=True).start()
        return os.getpid()

    def forget(self):
        pass

serving.serve(Fake)
"""


@pytest.fixture(scope="module", autouse=True)
def bench_on_path():
    sys.path.insert(0, str(BENCH))
    yield
    sys.path.remove(str(BENCH))


@pytest.fixture
def start(tmp_path):
    """start(label): the fake contender's process."""
    import process

    script = tmp_path / "contender.py"
    script.write_text(CONTENDER)
    started = []

    def start(label):
        started.append(process.start(label, [sys.executable, script, label], 1))
        return started[-1]

    yield start
    for one in started:
        one.close()


def contender(process, calls_to_live=1 << 40):
    import measure
    import remote

    call = remote.prepare(process, calls_to_live=calls_to_live)
    return measure.Contender(process.label, process.label, call.seconds, lambda: float(abs(call.output()[0] - 1).max()))


def test_every_case_agrees_with_the_reference_and_makes_a_table(tmp_path):
    result = tmp_path / "result.json"
    command = [sys.executable, BENCH / "compare.py", "--tiny", "--threads", "1", "--peer", "torch SDPA"]
    command += ["--peer", "torch written out", "--peer", "deep-spin/entmax", "-o", result]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cases = json.loads(result.read_text())["runs"][0]["cases"]
    tasks = {case["case"].split("/")[0] for case in cases}
    assert tasks == {"prefill", "decode", "backward", "normalizers", "statistics", "memory", "small"}
    assert all(check["error_over_allowed"] <= 1 for case in cases for check in case.get("checks", []))
    assert all(isinstance(case["order_seed"], int) for case in cases if "seconds" in case)
    prefill = next(case for case in cases if case["case"].startswith("prefill/full/d64/"))
    assert set(prefill["ratios"]["torch SDPA"]) == {"sharpmax", "torch written out"}
    assert prefill["seconds"]["sharpmax"]["of_fma_peak"]["count"] == prefill["seconds"]["sharpmax"]["count"]
    table = subprocess.run([sys.executable, BENCH / "table.py", result], capture_output=True, text=True, check=True)
    assert "| what | bar | aim | one thread | two threads |" in table.stdout
    assert "two threads / one" in table.stdout and "not measured" in table.stdout


def test_the_order_of_a_round_depends_on_seed_and_case_alone_and_leaves_no_one_behind_the_same_neighbour():
    from rounds import Orders

    names = ["a", "b", "c", "d"]
    orders = Orders("case", seed=1)
    drawn = [orders.next(names) for _ in range(100)]
    again = Orders("case", seed=1)
    assert drawn == [again.next(names) for _ in range(100)]
    for other in (Orders("another case", seed=1), Orders("case", seed=2)):
        assert drawn != [other.next(names) for _ in range(100)]
    assert all(sorted(order) == names for order in drawn)
    followed = {pair for order in drawn for pair in zip(order, order[1:])}
    assert followed == {(a, b) for a in names for b in names if a != b}


def test_runs_that_differ_by_more_than_the_bar_are_named():
    import same_ratio

    def run(*medians):
        spreads = [{"median": median, "q1": median - 0.1, "q3": median + 0.1} for median in medians]
        cases = [
            {"case": case, "ratios": {same_ratio.PEER: {"sharpmax": spread}}}
            for case, spread in zip(same_ratio.CASES, spreads)
        ]
        machine = {"processor": "Some Processor", "processors": 2}
        return {"date": "2026-11-18T20:00:00Z", "runs": [{"threads": 1, "machine": machine, "cases": cases}]}

    lines = same_ratio.table({"every": run(2.02, 1.5), "alone": run(2.0, 1.4)}).splitlines()
    assert lines[2] == f"| {same_ratio.CASES[0]} | 1 | 2.02 [1.92, 2.12] | 2.00 [1.90, 2.10] | 1.0 % |"
    assert lines[3].endswith("| 7.1 % |") and lines[5].startswith("1 of 2 do not agree within 3 %.")
    assert "All agree within 3 %." in same_ratio.table({"every": run(2.02, 1.5), "alone": run(2.0, 1.5)})


def test_every_turn_comes_after_the_others_have_gone_to_sleep(monkeypatch):
    import process
    from rounds import Effort, Orders, run_rounds

    events = []
    monkeypatch.setattr(process, "wait_until_idle", lambda: events.append("idle") or [])
    turns = {name: lambda warm, name=name: events.append((name, warm)) or 0.1 for name in "ab"}
    found = run_rounds(turns, {}, Effort(seconds=0.0, least_rounds=3, most_rounds=9), Orders("case"), None)
    assert events[0::2] == ["idle"] * 8  # a first call each, then three rounds
    assert all(not warm for _, warm in events[1:4:2]) and all(warm for _, warm in events[5::2])
    assert {name: len(values) for name, values in found.samples.items()} == {"a": 3, "b": 3}


def test_long_calls_are_not_warmed_up_and_slow_contenders_run_in_the_first_rounds_only(monkeypatch):
    import process
    from rounds import SLOW_ROUNDS, Effort, Orders, run_rounds

    monkeypatch.setattr(process, "wait_until_idle", lambda: [])
    warmed = []
    turns = {name: lambda warm, s=s: warmed.append(warm) or s for name, s in (("fast", 0.9), ("slow", 3.0))}
    effort = Effort(seconds=0.0, least_rounds=5, most_rounds=5, slow_seconds=1.0)
    found = run_rounds(turns, {}, effort, Orders("case"), None)
    assert {name: len(values) for name, values in found.samples.items()} == {"fast": 5, "slow": SLOW_ROUNDS}
    assert not any(warmed)


def test_a_contender_whose_threads_spin_is_waited_for_and_named(start):
    import process
    import remote

    start("asleep")
    spinning = start("spinning")
    assert process.wait_until_idle() == []
    remote.tell(spinning, spin=True)
    assert process.wait_until_idle(patience=0.05) == ["spinning"]
    remote.tell(spinning, spin=False)
    assert process.wait_until_idle() == []


def test_a_contender_that_is_killed_is_named_and_the_others_go_on(start):
    from measure import Case, complaints, run_case
    from rounds import TINY

    ours, killed = contender(start("sharpmax")), contender(start("killed"), calls_to_live=1)
    said = []
    entry = run_case(Case("case", [ours, killed], {}), TINY, None, said.append)
    assert "  killed is left out: its process was ended by SIGKILL" in said[1]
    assert set(entry["seconds"]) == {"sharpmax"} and entry["seconds"]["sharpmax"]["count"] == TINY.least_rounds
    assert list(complaints({"threads": 1, "cases": [entry]})) == [f"{said[1].strip()} (case, 1 thread)"]


def test_nothing_is_measured_without_sharpmax(start):
    from measure import Case, run_case
    from process import Failed
    from rounds import TINY

    ours = start("sharpmax")
    case = Case("case", [contender(start("other")), contender(ours)], {})
    os.kill(ours.pid, signal.SIGKILL)
    with pytest.raises(Failed, match="^sharpmax: its process was ended by SIGKILL"):
        run_case(case, TINY, None, lambda _: None)


def test_a_peer_that_dies_between_cases_is_named_once_and_has_no_further_calls(start):
    from peers import torch_sdpa
    from peers.remote import RemotePeer
    from problem import Problem

    said, dead = [], start("killed")
    peer = RemotePeer(torch_sdpa.Peer, dead, 1, said.append)
    os.kill(dead.pid, signal.SIGKILL)
    problem = Problem(heads=1, queries=4, keys=8, features=8)
    assert peer.forward(problem, "softmax") is None and peer.backward(problem) is None
    assert said == [f"  torch SDPA is left out: {peer.failure}"] and "SIGKILL" in peer.failure
    peer.forget()


def test_a_contender_that_does_not_start_says_why(start, tmp_path):
    import process

    with pytest.raises(process.Failed, match="^RuntimeError: not installed$"):
        start("missing")
    with pytest.raises(process.Failed, match="nowhere cannot be started"):
        process.start("none", [tmp_path / "nowhere"], 1)


def test_a_contender_that_disagrees_is_not_timed():
    from measure import Case, Contender, run_case
    from problem import Problem
    from rounds import TINY
    from tasks.forward_contenders import ForwardCheck

    problem = Problem(heads=1, queries=4, keys=8, features=8)
    check = ForwardCheck(problem)
    wrong = Contender("wrong", "wrong", None, lambda: check.error_over_allowed(np.zeros((1, 1, 4, 8)), "softmax"))
    said = []
    entry = run_case(Case("case", [wrong], problem.facts()), TINY, None, said.append)
    assert "seconds" not in entry and "disagrees" in entry["skipped"][0]
    assert any("not timed" in line for line in said)


def test_bars_are_judged_by_their_worst_case_and_misses_are_said():
    from bars import BARS
    from table import bar_table

    def spread(value):
        return {"median": value, "q1": value, "q3": value}

    cases = [
        {"case": f"prefill/full/d64/n{n}", "seconds": {"sharpmax": {"median": 1.0}},
         "ratios": {"torch SDPA": {"sharpmax": spread(value)}}}
        for n, value in ((512, 1.5), (2048, 1.1))
    ]  # fmt: skip
    machine = {"processor": "p", "processors": 2, "target": "t"}
    run = {"threads": 1, "cases": cases, "machine": machine, "versions": {}}
    text = "\n\n".join(bar_table({"date": "2000-01-01", "effort": "tiny", "runs": [run]}, BARS))
    assert "**1.10×, at full/d64/n2048**" in text
    assert f"Bars missed (1, bold above): {BARS[0].what}, one thread" in text
