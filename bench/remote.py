"""The coordinator's side of serving.py: calls that were prepared in a contender's process."""

import contextlib
import json
import pathlib
import sys
import tempfile

import environment
import measure
import numpy as np
import process


def _packed(request):
    return json.dumps(request, separators=(",", ":"))


class Call:
    """One call, prepared there."""

    def __init__(self, process, number):
        self._process, self._number = process, number

    def output(self):
        """The arrays that it returns."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "output.npz"
            self._process.ask("output", self._number, path)
            with np.load(path) as file:
                return tuple(file.values())

    def seconds(self, warm):
        """One turn of it, timed there."""
        return float(self._process.ask("time", self._number, "warm" if warm else "cold")[0])


def prepare(process, **request):
    """A Call, or None if the contender cannot do it."""
    number = process.ask_line("prepare", _packed(request))
    return None if number == "none" else Call(process, int(number))


def tell(process, **request):
    return json.loads(process.ask_line("tell", _packed(request)))


def forget(process):
    process.ask("forget")


def measure_in_processes(script, labels, arguments, measure_them, programs=None):
    """The exit status of a benchmark whose script serves its own contenders (`script --serve LABEL`).

    arguments: threads, and output, a JSON file or None. measure_them(arguments, processes by label): the result.
    programs: label -> the program of a contender that the script does not serve."""
    with contextlib.ExitStack() as closing:
        processes = {}
        for label in labels:
            command = [sys.executable, script, *sys.argv[1:], "--threads", arguments.threads, "--serve", label]
            if programs and label in programs:
                command = [programs[label]]
            processes[label] = process.Process(label, command, arguments.threads)
            closing.callback(processes[label].close)
        try:
            for started in processes.values():
                started.ready()
            result = measure_them(arguments, processes)
        except process.Failed as reason:
            sys.exit(f"{pathlib.Path(script).name}: {reason}")
    if arguments.output:
        environment.write_atomically(arguments.output, json.dumps(result, indent=1) + "\n")
    wrong = list(measure.complaints(result))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0
