"""Outputs first: every contender from the same parameters over the same sets, held against torch in double.

In single precision a contender may err 16 times as much as torch's own float32, part by part: that leaves room for
another order of summation, and for nothing else. Parts are compared by their norms: Adam divides a gradient by its own
size, so a single parameter whose gradient is below rounding may go its own way in any two implementations.
"""

import dataclasses
import pathlib

import numpy as np

from retrieval import data

STEPS = 20
BATCHES = 32  # written; training goes over them again and again
LOSS_ALLOWED = 1e-5
# Of any parameter after STEPS steps, ours in double against torch in double: a step moves by lr / epsilon = 1e5 times what
# rounding does to a gradient, some 1e-16 of gradients below 1e-1.
DOUBLE_ALLOWED = 1e-9
TIMES_PLAIN = 16.0
ROUNDING = np.finfo(np.float32).eps


@dataclasses.dataclass
class Trained:
    loss: float  # of the first step
    moments: dict  # after the first step: (1 - beta1) times the gradient
    parameters: dict  # after STEPS steps


def _parts(state):
    return {name: array for name, array in state.items() if not name.startswith("moment.") and name != "normalizer"}


def train(contender, initial, batches, folder):
    """batches: None for ours, which draws them itself."""
    dump = pathlib.Path(folder) / "dump.npz"
    contender.ask("load", initial)
    if batches:
        contender.ask("batches", batches)
    loss = float(contender.ask("train", 1)[1])
    contender.ask("dump", dump)
    first = data.read_state(dump)
    contender.ask("train", STEPS - 1)
    contender.ask("dump", dump)
    moments = {name: first["moment." + name] for name in _parts(first)}
    return Trained(loss, moments, _parts(data.read_state(dump)))


def _worst(found, plain, exact):
    """The largest error of a part over what is allowed for it, by norms."""
    worst = 0.0
    for name, wanted in exact.items():
        allowed = max(np.linalg.norm(plain[name] - wanted), ROUNDING * np.linalg.norm(wanted))
        worst = max(worst, np.linalg.norm(found[name] - wanted) / (TIMES_PLAIN * allowed))
    return float(worst)


def training_error(found, plain, exact):
    """Over what is allowed, in single precision."""
    return max(
        abs(found.loss - exact.loss) / LOSS_ALLOWED,
        _worst(found.moments, plain.moments, exact.moments),
        _worst(found.parameters, plain.parameters, exact.parameters),
    )


def double_error(found, exact):
    """Over what is allowed, in double."""
    largest = max(np.abs(found.parameters[name] - wanted).max() for name, wanted in exact.parameters.items())
    return float(max(abs(found.loss - exact.loss), largest) / DOUBLE_ALLOWED)


def logits(contender, folder, *words):
    """words: what ours needs to know, the size and the number of sets."""
    path = pathlib.Path(folder) / "logits.npz"
    contender.ask("logits", *words, path)
    with np.load(path) as file:
        return file["logits"]


def logits_error(found, plain, exact):
    """Over what is allowed."""
    allowed = max(np.abs(plain - exact).max(), ROUNDING * np.abs(exact).max())
    return float(np.abs(found - exact).max() / (TIMES_PLAIN * allowed))


def right_error(right, plain, exact, answers):
    """How far a count of right answers is off, over what sets whose two best logits nearly tie allow."""
    expected = int((exact.argmax(-1) == answers).sum())
    best = np.sort(exact, axis=-1)
    close = best[:, -1] - best[:, -2] <= 2 * TIMES_PLAIN * np.abs(plain - exact).max()
    return abs(right - expected) / max(1, int(close.sum())) if right != expected else 0.0
