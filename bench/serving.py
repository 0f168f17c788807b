"""The contender's side of the line protocol: a subject is asked to prepare calls, to show what they return, and to time them.

    prepare JSON            what the subject's prepare(**JSON) returns becomes a call     ok NUMBER, or ok none
    output NUMBER FILE      the arrays that the call returns, as .npz                     ok
    time NUMBER WARM        a turn of the call, see turn()                                ok SECONDS
    tell JSON               what the subject's tell(**JSON) returns                       ok JSON
    forget                  drops all calls and what they hold                            ok

A subject has `version`, prepare() returning a function without arguments or None, arrays(result) returning what such a function
gave as NumPy arrays, tell() and forget().
"""

import json
import os
import statistics
import sys
import time

import numpy as np

# A turn calls for so long without the clock, and then for so long with it; each at least once. So caches, branch
# predictors and clock rate are those that the contender brings about itself, whoever ran before.
WARM_SECONDS = 0.01
TIMED_SECONDS = 0.02


def seconds_of(run):
    before = time.perf_counter()
    run()
    return time.perf_counter() - before


def seconds_until(run, enough):
    """The seconds of each call, of as many as `enough` seconds need."""
    found = [seconds_of(run)]
    while sum(found) < enough:
        found.append(seconds_of(run))
    return found


def turn(run, warm):
    """Median seconds of a call. warm: whether calls that are not timed come first."""
    if warm:
        seconds_until(run, WARM_SECONDS)
    return statistics.median(seconds_until(run, TIMED_SECONDS))


class Calls:
    """What was prepared, by number."""

    def __init__(self, subject):
        self._subject, self._runs = subject, []

    def prepare(self, request):
        run = self._subject.prepare(**json.loads(request))
        if run is None:
            return "none"
        self._runs.append(run)
        return str(len(self._runs) - 1)

    def output(self, words):
        number, path = words.split(" ", 1)
        np.savez(path, *self._subject.arrays(self._runs[int(number)]()))

    def time(self, words):
        number, warm = words.split()
        return repr(turn(self._runs[int(number)], warm == "warm"))

    def tell(self, request):
        return json.dumps(self._subject.tell(**json.loads(request)))

    def forget(self, _):
        self._runs.clear()
        self._subject.forget()


def _answers_to_ourselves():
    """A stream for answers alone: what libraries print goes to standard error from here on."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers


def serve(make_subject):
    """Answers lines until there are no more. make_subject() may raise: that is an error in the place of `ready`."""
    answers = _answers_to_ourselves()

    def answer(function, word):
        try:
            found = function()
            answers.write(f"{word} {found}\n" if found is not None else f"{word}\n")
        except Exception as error:  # whatever a library throws, the other side decides what to do about it
            answers.write("error " + " ".join(f"{type(error).__name__}: {error}".split()) + "\n")

    made = []
    answer(lambda: made.append(make_subject()) or made[0].version, "ready")
    if not made:
        return
    calls = Calls(made[0])
    requests = {name: getattr(calls, name) for name in ("prepare", "output", "time", "tell", "forget")}
    for line in sys.stdin:
        name, _, rest = line.strip().partition(" ")
        answer(lambda name=name, rest=rest: requests[name](rest), "ok")


def answer_lines(version, requests):
    """Answers lines "NAME WORDS" by requests[NAME](*WORDS), until the other side ends."""
    print(f"ready {version}", flush=True)
    for line in sys.stdin:
        name, *words = line.split()
        try:
            answer = requests[name](*words)
            print(f"ok {answer}" if answer else "ok", flush=True)
        except Exception as error:  # the other side decides what to do about it
            print("error " + " ".join(f"{type(error).__name__}: {error}".split()), flush=True)
