"""A contender is a process of its own that answers line by line, pinned before it loads anything."""

import os
import pathlib
import select
import subprocess
import sys
import tempfile

import environment

BENCH = pathlib.Path(__file__).resolve().parents[1]
STEPS = environment.REPOSITORY / "build" / "bench" / "retrieval_steps"
PATIENCE = 60.0  # seconds for any one answer, compilation included


class Failed(Exception):
    """It did not start, or did not answer as wanted; the message says why."""


class Contender:
    """version: what its ready line says."""

    def __init__(self, command, threads, patience=PATIENCE):
        self._patience = patience
        self._errors = tempfile.TemporaryFile(mode="w+")
        surroundings = environment.pinned_environment(threads)
        paths = [str(BENCH), surroundings["PYTHONPATH"]]
        surroundings["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        self._process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            env=surroundings, preexec_fn=lambda: environment.pin(threads))  # fmt: skip
        self.version = self._answer("ready")

    def ask(self, *words):
        """The words of the answer."""
        self._process.stdin.write((" ".join(str(word) for word in words) + "\n").encode())
        self._process.stdin.flush()
        return self._answer("ok").split()

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def _answer(self, wanted):
        readable, _, _ = select.select([self._process.stdout], [], [], self._patience)
        if not readable:
            self._process.kill()
            raise Failed(f"no answer within {self._patience:.0f} seconds")
        line = self._process.stdout.readline().decode().strip()
        if not line.startswith(wanted):
            raise Failed(line.removeprefix("error ") or self._last_words())
        return line[len(wanted) :].strip()

    def _last_words(self):
        self._process.wait(5.0)
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return lines[-1] if lines else f"ended with status {self._process.returncode}"


def ours(threads, heads=1, binary=STEPS, **options):
    words = [f for name, value in options.items() for f in (f"--{name}", value)]
    return Contender([binary, "--threads", threads, "--heads", heads, *words], threads)


def peer(module, threads, precision="float32"):
    command = [sys.executable, "-m", f"retrieval.peers.{module}", "--threads", threads, "--precision", precision]
    return Contender(command, threads)
