"""Waiting for another process: for the event itself, however long it takes.

No limit is set here. A test that hangs is ended by its runner: faulthandler_timeout in pyproject.toml.
"""
import os
import pathlib
import time


def wait_until(happened, process=None):
    """Whether it happened; False only if the process ended first."""
    while not happened():
        if process is not None and process.poll() is not None:
            return bool(happened())
        time.sleep(0.002)
    return True


def state_of(directory):
    """What a look into a folder at work finds: names, sizes, times. Files and folders may vanish during the look."""
    found = set()
    for folder, folders, names in os.walk(directory):  # passes over a folder that it cannot list
        for name in (*folders, *names):
            path = pathlib.Path(folder, name)
            try:
                now = path.stat()
            except FileNotFoundError:
                continue
            found.add((path, now.st_size, now.st_mtime_ns))
    return found


def catches(process, number):
    """Whether a started process has a handler of its own for this signal."""
    with open(f"/proc/{process.pid}/status") as status:
        mask = next(line.split()[1] for line in status if line.startswith("SigCgt:"))
    return bool(int(mask, 16) >> (number - 1) & 1)
