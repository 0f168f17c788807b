"""Rounds: everyone has one turn in each, alone on the machine, in an order drawn anew.

An order that turned by one each round would keep everyone behind the same neighbour, and hand each contender the
caches, the heap and the spinning threads that this neighbour leaves. So neighbours are drawn, the others are waited for until
they sleep (process.py), and short calls are warmed up within the turn (serving.py).
"""

import collections
import dataclasses
import random
import time

import process

ORDER_SEED = 20260101
SLOW_ROUNDS = 2
# The longest call, in seconds, of the fastest contender of a case whose turns begin with a warm-up. Refilling caches takes
# some milliseconds: of longer calls that is below one percent.
WARM_UP_BELOW = 0.5


@dataclasses.dataclass(frozen=True)
class Effort:
    seconds: float  # per case, after checks
    least_rounds: int
    most_rounds: int
    slow_seconds: float = 1.0  # a contender that takes longer runs in the first rounds only

    def of_rounds(self, count):
        return dataclasses.replace(self, seconds=0.0, least_rounds=count, most_rounds=count)


THOROUGH = Effort(seconds=12.0, least_rounds=7, most_rounds=101)
QUICK = Effort(seconds=2.0, least_rounds=3, most_rounds=25)
TINY = Effort(seconds=0.0, least_rounds=2, most_rounds=2)


class Orders:
    """The order of each round: a function of the seed and the case's name alone."""

    def __init__(self, case_name, seed=ORDER_SEED):
        self._random = random.Random(f"{seed}/{case_name}")

    def next(self, names):
        names = list(names)
        self._random.shuffle(names)
        return names


@dataclasses.dataclass
class Rounds:
    """samples: name -> one value per round it took part in. restless: label -> number of turns of others during which that
    contender did not sleep. warm: whether turns began with a warm-up."""

    samples: dict
    restless: collections.Counter
    warm: bool


def _needs_warm_up(first, rounds, turns, take):
    """Whether a call of the fastest contender is short. Its first call may have done more than later ones, so a long one is
    followed by a second."""
    left = {name: first[name] for name in turns if name in rounds.samples}
    fastest = min(left, key=left.get, default=None)
    if fastest is None or left[fastest] <= WARM_UP_BELOW:
        return True
    again = take(fastest, False)
    return again is None or again <= WARM_UP_BELOW


def run_rounds(turns, probes, effort, orders, on_failure):
    """turns: name -> function of `warm` that takes one turn and returns its seconds. probes: likewise, of values that are not
    times. on_failure(name, reason): called if a turn raises process.Failed; its name takes no further part, and has no
    samples."""
    everyone = turns | probes
    rounds = Rounds({name: [] for name in everyone}, collections.Counter(), False)

    def take(name, warm):
        rounds.restless.update(process.wait_until_idle())
        try:
            return everyone[name](warm)
        except process.Failed as reason:
            del rounds.samples[name]
            on_failure(name, reason)

    first = {name: take(name, False) for name in turns}  # pages, compilation
    slow = {name for name in turns if name in rounds.samples and first[name] > effort.slow_seconds}
    rounds.warm = _needs_warm_up(first, rounds, turns, take)
    started = time.perf_counter()
    for number in range(effort.most_rounds):
        for name in orders.next(rounds.samples):
            if name in slow and number >= SLOW_ROUNDS:
                continue
            value = take(name, rounds.warm)
            if value is not None:
                rounds.samples[name].append(value)
        if number + 1 >= effort.least_rounds and time.perf_counter() - started > effort.seconds:
            break
    return rounds
