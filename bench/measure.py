"""A case, measured: outputs compared, contenders timed in rounds, ratios formed within a round."""

import dataclasses
import functools
import statistics
import typing

import numpy as np
import process
import rounds
from serving import seconds_of


@dataclasses.dataclass
class Contender:
    """label: unique within a case. turn: function of `warm` that takes one turn and returns the seconds of a call. check: the
    largest error over what is allowed, at most 1 to be timed; None where another contender of the same code was
    checked."""

    label: str
    peer: str
    turn: typing.Callable
    check: typing.Callable = None


def turn_of(run):
    """A turn of a call that is timed from here."""

    def turn(warm):
        if warm:
            run()
        return seconds_of(run)

    return turn


@dataclasses.dataclass
class Case:
    """name: path-like and stable, bars.py refers to it."""

    name: str
    contenders: list
    facts: dict
    flops: float = 0.0  # useful ones, for fractions of the FMA peak
    bytes: float = 0.0  # that must be read, for fractions of the read bandwidth
    skipped: list = dataclasses.field(default_factory=list)
    after_checks: typing.Callable = None  # drops what only checks need


@dataclasses.dataclass
class Planned:
    """A case that is made when its turn comes: contenders prepare their calls in make()."""

    name: str
    make: typing.Callable


def planned(build, name, *rest):
    return Planned(name, functools.partial(build, name, *rest))


def _quartiles(samples):
    if len(samples) == 1:
        return samples[0], samples[0], samples[0]
    return tuple(statistics.quantiles(samples, n=4, method="inclusive"))


def spread_of(samples):
    q1, median, q3 = _quartiles(samples)
    return {"median": median, "q1": q1, "q3": q3, "count": len(samples)}


class Losses:
    """Contenders whose process failed during a case: the case goes on without them, but not without sharpmax."""

    def __init__(self, case, say):
        self._peers = {contender.label: contender.peer for contender in case.contenders}
        self._say = say
        self.reasons = {}  # label -> reason

    def add(self, label, reason):
        if self._peers.get(label, "sharpmax") == "sharpmax":
            raise process.Failed(f"{label}: {reason}")
        self.reasons[label] = str(reason)
        self._say(f"  {label} is left out: {reason}")


def check_contenders(case, losses, say):
    """Leaves in the case only those that agree with the reference."""
    agreed, results = [], []
    for contender in case.contenders:
        try:
            off = contender.check() if contender.check else None
        except process.Failed as reason:
            losses.add(contender.label, reason)
            continue
        results.append({"label": contender.label, "error_over_allowed": off})
        if off is not None and not off <= 1.0:
            say(f"  {contender.label}: disagrees with the reference ({off:.3g} times what is allowed): not timed")
            case.skipped.append(f"{contender.label}: disagrees, {off:.3g} times what is allowed")
        else:
            agreed.append(contender)
    case.contenders = agreed
    if case.after_checks:
        case.after_checks()
    return results


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


def _time(case, effort, limits, losses, entry):
    """Adds to the entry what the rounds gave."""
    probes = limits.turns(case) if limits else {}
    turns = {contender.label: contender.turn for contender in case.contenders}
    found = rounds.run_rounds(turns, probes, effort, rounds.Orders(case.name), losses.add)
    samples = {label: found.samples[label] for label in turns if label in found.samples}
    limit_samples = {name: found.samples[name] for name in probes}
    entry["order_seed"], entry["warm"], entry["restless"] = rounds.ORDER_SEED, found.warm, dict(found.restless)
    if not samples:
        return
    ours = [c.label for c in case.contenders if c.peer == "sharpmax" and c.label in samples]
    entry["base"] = (ours or list(samples))[0]
    entry["seconds"] = {label: spread_of(times) for label, times in samples.items()}
    entry["ratios"] = paired_ratios(samples)
    entry["limits"] = {name: spread_of(values) for name, values in limit_samples.items()}
    _add_rates(case, entry, samples, limit_samples)


def run_case(case, effort, limits, say, check_only=False):
    """The case's entry in the result. limits: None, or what has turns(case) for the machine's own limits."""
    say(case.name)
    losses = Losses(case, say)
    entry = {"case": case.name, "facts": case.facts, "checks": check_contenders(case, losses, say), "skipped": case.skipped}
    if case.contenders and not check_only:
        _time(case, effort, limits, losses, entry)
        _print_times(entry, say)
    entry["lost"] = losses.reasons
    return entry


def complaints(run):
    """What keeps a run from being a full success: one sentence each."""
    threads = f"{run['threads']} thread{'s' if run['threads'] > 1 else ''}"
    for case in run["cases"]:
        where = f"{case['case']}, {threads}"
        yield from (f"{line} ({where})" for line in case.get("skipped", []))
        yield from (f"{label} is left out: {reason} ({where})" for label, reason in case.get("lost", {}).items())
    yield from (f"{name} is left out: {reason} ({threads})" for name, reason in run.get("lost_peers", {}).items())


def _print_times(entry, say):
    for label, seconds in entry.get("seconds", {}).items():
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
    for label, turns in entry["restless"].items():
        say(f"  {label} kept using the processor in {turns} turns of others: these times are disturbed")
