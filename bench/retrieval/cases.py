"""The two cases, training and testing: what each contender is asked, and how its answer is checked."""

import dataclasses
import pathlib
import typing

import numpy as np
import process
from measure import Case, Contender, turn_of

from retrieval import checks, contender


@dataclasses.dataclass(frozen=True)
class Size:
    steps: int  # timed at once; the heads share them
    head_steps: int  # that the tested head has seen
    n: int
    sets: int


FULL = Size(steps=20, head_steps=400, n=16384, sets=16)
TINY = Size(steps=4, head_steps=20, n=512, sets=4)


@dataclasses.dataclass
class Stage:
    ours: process.Process
    peers: dict  # label -> Process; "torch" is always there
    threads: int
    folder: pathlib.Path
    skipped: dict  # label -> why
    say: typing.Callable

    def of_each_peer(self, ask):
        """label -> what ask(peer) gave; a peer that fails is left out from here on."""
        found = {}
        for label, peer in list(self.peers.items()):
            try:
                found[label] = ask(peer)
            except process.Failed as reason:
                self.skipped[label] = str(reason)
                self.say(f"{label} is left out: {reason}")
                self.peers.pop(label).close()
        return found

    def torch_in_double(self):
        return contender.peer("torch_eager", self.threads, "float64")


def training(stage, size):
    initial, batches = stage.folder / "initial.npz", stage.folder / "batches.npz"
    stage.ours.ask("dump", initial)
    stage.ours.ask("write_batches", checks.BATCHES, batches)
    exact_peer, our_double = stage.torch_in_double(), contender.ours(1, precision="float64")
    exact = checks.train(exact_peer, initial, batches, stage.folder)
    in_double = checks.train(our_double, initial, None, stage.folder)
    exact_peer.close(), our_double.close()
    peers = stage.of_each_peer(lambda peer: checks.train(peer, initial, batches, stage.folder))
    plain = peers["torch"]
    single = contender.ours(1)  # one head: several would share the steps
    alone = checks.train(single, initial, None, stage.folder)
    single.close()
    errors = {label: checks.training_error(found, plain, exact) for label, found in peers.items()}
    ours = max(checks.training_error(alone, plain, exact), checks.double_error(in_double, exact))

    def timed(label, whom, error):
        return Contender(label, label, turn_of(lambda: whom.ask("train", size.steps)), lambda: error)

    contenders = [timed("sharpmax", stage.ours, ours)]
    contenders += [timed(label, stage.peers[label], error) for label, error in errors.items()]
    facts = {"steps": size.steps, "batch": 128, "sizes": [5, 16], "width": 128, "heads_of_ours": stage.threads}
    return Case("retrieval/train", contenders, facts)


def testing(stage, size):
    head, sets = stage.folder / "head.npz", stage.folder / "sets.npz"
    stage.ours.ask("train", size.head_steps)
    stage.ours.ask("dump", head)
    stage.ours.ask("write_sets", size.n, size.sets, sets)

    def answer(peer):
        peer.ask("load", head)
        peer.ask("sets", sets)
        return checks.logits(peer, stage.folder)

    exact_peer = stage.torch_in_double()
    exact = answer(exact_peer)
    exact_peer.close()
    peers = stage.of_each_peer(answer)
    with np.load(sets) as file:
        answers = file["answers"]
    ours = checks.logits(stage.ours, stage.folder, size.n, size.sets)
    right = int(stage.ours.ask("test", size.n, size.sets)[1])
    errors = {label: checks.logits_error(found, peers["torch"], exact) for label, found in peers.items()}
    our_error = max(checks.logits_error(ours, peers["torch"], exact),
                    checks.right_error(right, peers["torch"], exact, answers))  # fmt: skip

    def timed(label, error, whom, *words):
        return Contender(label, label, turn_of(lambda: whom.ask("test", *words)), lambda: error)

    contenders = [timed("sharpmax", our_error, stage.ours, size.n, size.sets)]
    contenders += [timed(label, error, stage.peers[label]) for label, error in errors.items()]
    facts = {"n": size.n, "sets": size.sets, "normalizer": "softmax", "right": right,
             "right_of_torch_in_double": int((exact.argmax(-1) == answers).sum())}  # fmt: skip
    return Case(f"retrieval/test/n{size.n}", contenders, facts)
