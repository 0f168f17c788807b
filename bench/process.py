"""A contender's process: pinned before it loads anything, asked line by line, asleep while others are timed."""

import os
import pathlib
import select
import signal
import subprocess
import tempfile
import time
import weakref

import environment

BENCH = pathlib.Path(__file__).resolve().parent
PATIENCE = 600.0  # seconds for any one answer, compilation included


class Failed(Exception):
    """A contender that did not start, died, or answered with an error; the message is the reason."""


class Process:
    """One request is one line, its answer is one line: `ok …`, or `error REASON`. The first line is `ready VERSION`."""

    def __init__(self, label, command, threads, patience=PATIENCE):
        self.label, self.version, self.failure = label, None, None
        self._patience = patience
        self._errors = tempfile.TemporaryFile(mode="w+")
        surroundings = environment.pinned_environment(threads)
        paths = [str(BENCH), surroundings["PYTHONPATH"]]
        surroundings["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        try:
            self._process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
                env=surroundings, preexec_fn=lambda: environment.pin(threads))  # fmt: skip
        except OSError as error:
            raise Failed(f"{command[0]} cannot be started ({error.strerror})") from None
        self.pid = self._process.pid
        _running.add(self)

    def ready(self):
        """Waits until everything is loaded. Returns the process."""
        self.version = self._answer("ready")
        return self

    def ask(self, *words):
        """The words of the answer."""
        return self.ask_line(*words).split()

    def ask_line(self, *words):
        """The answer as one string."""
        if self.failure:
            raise Failed(self.failure)
        try:
            self._process.stdin.write((" ".join(str(word) for word in words) + "\n").encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        return self._answer("ok")

    def close(self):
        """Ends the process; again does nothing."""
        _running.discard(self)
        if self._process.stdout.closed:
            return
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def _answer(self, expected):
        readable, _, _ = select.select([self._process.stdout], [], [], self._patience)
        if not readable:
            self._process.kill()
            self._process.wait()
            self.failure = f"no answer within {self._patience:.0f} seconds"
            raise Failed(self.failure)
        line = self._process.stdout.readline().decode().strip()
        if not line:
            raise self._ended()
        if not line.startswith(expected):
            raise Failed(line.removeprefix("error "))
        return line[len(expected) :].strip()

    def _ended(self):
        """The failure of a process that is gone: how it ended, and its last words if it had any."""
        status = self._process.wait()
        how = f"its process was ended by {signal.Signals(-status).name}" if status < 0 else f"its process ended with status {status}"
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        self.failure = f"{how} ({lines[-1].strip()})" if lines else how
        return Failed(self.failure)


def start(label, command, threads, patience=PATIENCE):
    """A process that is ready."""
    process = Process(label, command, threads, patience)
    try:
        return process.ready()
    except BaseException:
        process.close()
        raise


_running = weakref.WeakSet()

# Seconds over which a contender must stand still, and the share of them it may use: timers of a runtime wake it for
# microseconds, a pool that spins uses all of it. The kernel counts the time of a running thread once a tick (at most 10 ms), so
# the states of threads are looked at too.
STILL_SECONDS = 0.005
STILL_SHARE = 0.05
# Pools that spin before they sleep do so for some milliseconds; the longest known, OpenMP's by default, for some 100.
SETTLE_PATIENCE = 2.0


def _cpu_seconds(process):
    """Processor time of all threads of a process; clock_getcpuclockid(3) makes that clock's number so."""
    try:
        return time.clock_gettime((~process.pid << 3) | 2)
    except OSError:  # it has ended
        return 0.0


def _has_running_thread(process):
    try:
        for thread in os.scandir(f"/proc/{process.pid}/task"):
            with open(f"{thread.path}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] == b"R":
                    return True
    except OSError:  # the thread has ended
        pass
    return False


def wait_until_idle(patience=SETTLE_PATIENCE):
    """Returns once no contender uses the processor: none has a running thread, and processor times stand still.
    After `patience` seconds it gives up. Returns the labels of those that still run."""
    deadline = time.perf_counter() + patience
    while True:
        before = {process: _cpu_seconds(process) for process in _running}
        began = time.perf_counter()
        time.sleep(STILL_SECONDS)
        allowed = STILL_SHARE * (time.perf_counter() - began)
        busy = sorted(
            process.label
            for process, used in before.items()
            if _has_running_thread(process) or _cpu_seconds(process) - used > allowed
        )
        if not busy or time.perf_counter() > deadline:
            return busy
