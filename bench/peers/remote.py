"""Peers as the tasks see them: each is a process, and what it prepares there is timed there."""

import dataclasses
import sys

import process
import remote

import peers


class RemotePeer:
    """Methods return a remote.Call, or None if the peer cannot do it. A peer that fails is left out from there on."""

    def __init__(self, kind, process_of_it, threads, say):
        self.name, self.threads, self.references = kind.name, threads, getattr(kind, "references", {})
        self.process, self.failure, self._say = process_of_it, None, say

    def _prepare(self, method, problem, arguments):
        try:
            return remote.prepare(self.process, method=method, problem=dataclasses.asdict(problem), **arguments)
        except process.Failed as reason:
            if self.name == "sharpmax":
                raise process.Failed(f"{self.name}: {reason}") from None
            if self.failure is None:
                self._say(f"  {self.name} is left out: {reason}")
            self.failure = self.failure or str(reason)
            return None

    def forward(self, problem, normalizer, **options):
        return self._prepare("forward", problem, {"normalizer": normalizer, **options})

    def forward_enable_gqa(self, problem):
        return self._prepare("forward_enable_gqa", problem, {})

    def backward(self, problem):
        return self._prepare("backward", problem, {})

    def row_facts(self, problem, normalizer):
        fields = dataclasses.asdict(problem)
        return remote.tell(self.process, method="row_facts", problem=fields, normalizer=normalizer)

    def machine(self):
        return remote.tell(self.process, method="machine")

    def forget(self):
        if not self.process.failure:
            remote.forget(self.process)


def _command(name, threads):
    return [sys.executable, "-m", "peers.serve", name, threads]


def start(names, threads, say, closing):
    """Peers by name, and why the others are missing. All load at the same time. closing: a contextlib.ExitStack."""
    started = {}
    for name in names:
        started[name] = process.Process(name, _command(name, threads), threads)
        closing.callback(started[name].close)
    found, skipped = {}, []
    for name, contender in started.items():
        try:
            found[name] = RemotePeer(peers.BY_NAME[name], contender.ready(), threads, say)
        except process.Failed as reason:
            if name == "sharpmax":
                raise process.Failed(f"{name}: {reason}") from None
            contender.close()
            skipped.append(f"{name}: {reason}")
            say(f"skipped {name}: {reason}")
    return found, skipped


class Limits:
    """The machine's own limits, asked in every round as one more contender, in a process of their own."""

    def __init__(self, threads, closing):
        self._process = process.start("limits", _command("limits", threads), threads)
        closing.callback(self._process.close)

    def turns(self, case):
        """name -> turn, of those that the case's fractions need."""
        wanted = (("fma_flops", case.flops), ("read_bytes", case.bytes))
        return {name: lambda _, name=name: remote.tell(self._process, limit=name) for name, work in wanted if work}
