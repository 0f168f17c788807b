"""Round-robin timing: every contender once a round, so that what disturbs the machine disturbs all."""

import dataclasses
import statistics
import time
import typing

import numpy as np


@dataclasses.dataclass
class Contender:
    """label: unique within a case. run: what is timed. check: the largest error over what is
    allowed, at most 1 to be timed; None where another contender of the same code was checked."""

    label: str
    peer: str
    run: typing.Callable
    check: typing.Callable = None


@dataclasses.dataclass
class Case:
    """name: path-like and stable, bars.py refers to it."""

    name: str
    contenders: list
    facts: dict
    flops: float = 0.0  # useful ones, for fractions of the FMA peak
    bytes: float = 0.0  # that must be read, for fractions of the read bandwidth
    skipped: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Effort:
    seconds: float  # per case, after checks
    least_rounds: int
    most_rounds: int
    slow_seconds: float = 1.0  # who takes longer runs in the first rounds only


THOROUGH = Effort(seconds=12.0, least_rounds=7, most_rounds=101)
QUICK = Effort(seconds=2.0, least_rounds=3, most_rounds=25)


def _quartiles(samples):
    if len(samples) == 1:
        return samples[0], samples[0], samples[0]
    return tuple(statistics.quantiles(samples, n=4, method="inclusive"))


def spread_of(samples):
    q1, median, q3 = _quartiles(samples)
    return {"median": median, "q1": q1, "q3": q3, "count": len(samples)}


SLOW_ROUNDS = 2


def check_contenders(case, say):
    """Leaves in the case only those that agree with the reference."""
    agreed, results = [], []
    for contender in case.contenders:
        off = contender.check() if contender.check else None
        results.append({"label": contender.label, "error_over_allowed": off})
        if off is not None and not off <= 1.0:
            say(f"  {contender.label}: disagrees with the reference ({off:.3g} times what is allowed): not timed")
            case.skipped.append(f"{contender.label}: disagrees, {off:.3g} times what is allowed")
        else:
            agreed.append(contender)
    case.contenders = agreed
    return results


class Limits:
    """The machine's own limits, asked in every round between the contenders."""

    def __init__(self, threads):
        from sharpmax import _core

        self._fma = lambda: _core.measure_fma_peak(threads, 0.004)
        self._read = _core.ReadBandwidth(threads).measure

    def probes(self, case):
        """name -> function, of those the case's fractions need."""
        wanted = {"fma_flops": self._fma} if case.flops else {}
        if case.bytes:
            wanted["read_bytes"] = self._read
        return wanted


def seconds_of(run):
    before = time.perf_counter()
    run()
    return time.perf_counter() - before


def time_contenders(case, effort, probes):
    """label -> seconds of each round, and limit -> value of each round. The order turns by one each
    round, so that no one always follows the same. Who takes seconds runs in the first rounds only."""
    samples = {contender.label: [] for contender in case.contenders}
    limits = {name: [] for name in probes}
    slow = set()
    for contender in case.contenders:  # caches, pages, compilation
        if seconds_of(contender.run) > effort.slow_seconds:
            slow.add(contender.label)
    started = time.perf_counter()
    contenders = list(case.contenders)
    for round_number in range(effort.most_rounds):
        for contender in contenders:
            if contender.label in slow and round_number >= SLOW_ROUNDS:
                continue
            samples[contender.label].append(seconds_of(contender.run))
        for name, probe in probes.items():
            limits[name].append(probe())
        contenders.append(contenders.pop(0))
        if round_number + 1 >= effort.least_rounds and time.perf_counter() - started > effort.seconds:
            break
    return samples, limits


def paired_ratios(samples):
    """ratios[a][b]: the spread over rounds of a's time / b's time in the same round."""
    return {
        a: {b: spread_of([x / y for x, y in zip(samples[a], samples[b])]) for b in samples if b != a}
        for a in samples
    }  # fmt: skip


def _add_rates(case, entry, samples, limits):
    kinds = (("gflops", "of_fma_peak", "fma_flops", case.flops),
             ("gigabytes_per_second", "of_read_bandwidth", "read_bytes", case.bytes))  # fmt: skip
    for rate, fraction, limit, work in kinds:
        for label, times in samples.items() if work else ():
            seconds = entry["seconds"][label]
            seconds[rate] = work / seconds["median"] / 1e9
            if limit in limits:
                by_round = work / np.asarray(times) / np.asarray(limits[limit][: len(times)])
                seconds[fraction] = spread_of(by_round.tolist())


def run_case(case, effort, limits, say, check_only=False):
    """The case's entry in the result."""
    say(case.name)
    checks = check_contenders(case, say)
    entry = {"case": case.name, "facts": case.facts, "checks": checks, "skipped": case.skipped}
    if check_only or not case.contenders:
        return entry
    samples, limit_samples = time_contenders(case, effort, limits.probes(case) if limits else {})
    base = next((c.label for c in case.contenders if c.peer == "sharpmax"), case.contenders[0].label)
    entry["base"] = base
    entry["seconds"] = {label: spread_of(times) for label, times in samples.items()}
    entry["ratios"] = paired_ratios(samples)
    entry["limits"] = {name: spread_of(values) for name, values in limit_samples.items()}
    _add_rates(case, entry, samples, limit_samples)
    _print_times(entry, say)
    return entry


def _print_times(entry, say):
    for label, seconds in entry["seconds"].items():
        line = f"  {label:<34}{1e3 * seconds['median']:10.3f} ms"
        if label == entry["base"]:
            line += "   1"
        else:
            ratio = entry["ratios"][label][entry["base"]]
            line += f"   {ratio['median']:.3g} [{ratio['q1']:.3g}, {ratio['q3']:.3g}]"
        if "gflops" in seconds:
            line += f"   {seconds['gflops']:.3g} GFLOP/s"
        for key, unit in (("of_fma_peak", "of FMA peak"), ("of_read_bandwidth", "of read bandwidth")):
            if key in seconds:
                line += f"   {seconds[key]['median']:.3f} {unit}"
        say(line)
