"""The line protocol of a peer: bench/retrieval/steps.cc has the same for ours.

    load FILE       parameters; the optimizer starts anew, at the first batch    ok
    batches FILE    what it is to train on, over and over                        ok
    sets FILE       what it is to be tested on                                   ok
    train K         K steps                                                      ok SECONDS FIRST_LOSS LAST_LOSS
    test            answers to every set                                         ok SECONDS RIGHT
    logits FILE     those answers                                                ok
    dump FILE       parameters and Adam's first moments                          ok

Batches and sets are made ready before the clock starts: what a framework would need to draw and pad them is not held
against it.
"""

import argparse
import time

import numpy as np

from retrieval import data
from serving import answer_lines

LEARNING_RATE = 1e-3
WEIGHT_DECAY = 1e-3
BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Peer:
    """A framework's part. precision: "float32" or "float64"."""

    version = ""
    chunks = (1, 4, 16)  # sets tested at once; the fastest is kept

    def __init__(self, threads, precision):
        self.threads, self.precision = threads, precision

    def ready(self, sets):
        """A Sets with the framework's own arrays."""
        raise NotImplementedError

    def load(self, parameters):
        """name -> float64 array, the names of retrieval/head/head.h."""
        raise NotImplementedError

    def dump(self):
        """As load, with "moment.NAME" beside every name."""
        raise NotImplementedError

    def step(self, batch):
        """One step; its loss, in any form that float() takes."""
        raise NotImplementedError

    def finish(self):
        """Waits for what is still under way."""

    def logits(self, sets):
        """As a NumPy array."""
        raise NotImplementedError


class Session:
    def __init__(self, peer):
        self.peer, self.batches, self.position, self.sets, self.answers, self.chunks = peer, [], 0, None, None, None

    def load(self, path):
        self.peer.load({k: v for k, v in data.read_state(path).items() if not k.startswith("moment.")})
        self.position = 0

    def batches_from(self, path):
        batches = data.read_sets(path, self.peer.precision)
        self.batches = [self.peer.ready(batches[i]) for i in range(len(batches))]

    def sets_from(self, path):
        self.sets = data.read_sets(path, self.peer.precision)
        self.answers, self.chunks = self.sets.answers, None

    def train(self, steps):
        before, losses = time.perf_counter(), []
        for _ in range(int(steps)):
            loss = self.peer.step(self.batches[self.position % len(self.batches)])
            losses = [losses[0] if losses else loss, loss]
            self.position += 1
        self.peer.finish()
        seconds = time.perf_counter() - before
        return f"{seconds!r} {float(losses[0])!r} {float(losses[-1])!r}"

    def _cut(self, size):
        return [self.peer.ready(self.sets[i : i + size]) for i in range(0, len(self.sets), size)]

    def _answer(self, chunks):
        before = time.perf_counter()
        logits = np.concatenate([self.peer.logits(chunk) for chunk in chunks])
        right = int((logits.argmax(-1) == self.answers).sum())
        return time.perf_counter() - before, right, logits

    def _choose_chunks(self):
        """A large chunk leaves the caches, a small one pays overheads: which costs more is the peer's affair."""
        if self.chunks is None:
            trials = {}
            for size in {min(size, len(self.sets)) for size in self.peer.chunks}:
                cut = self._cut(size)
                self.peer.logits(cut[0])  # compilation
                trials[self._answer(cut)[0]] = cut
            self.chunks = trials[min(trials)]
        return self.chunks

    def test(self):
        seconds, right, _ = self._answer(self._choose_chunks())
        return f"{seconds!r} {right}"

    def logits(self, path):
        np.savez(path, logits=self._answer(self._cut(self.peer.chunks[0]))[2].astype(np.float64))

    def dump(self, path):
        np.savez(path, **{name: np.asarray(array, np.float64) for name, array in self.peer.dump().items()})


def serve(make_peer):
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=("float32", "float64"), default="float32")
    arguments = parser.parse_args()
    peer = make_peer(arguments.threads, arguments.precision)
    session = Session(peer)
    requests = {"load": session.load, "batches": session.batches_from, "sets": session.sets_from,
                "train": session.train, "test": session.test, "logits": session.logits, "dump": session.dump}  # fmt: skip
    answer_lines(peer.version, requests)
