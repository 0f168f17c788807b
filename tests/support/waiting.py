"""Waiting for another process: for the event itself, however long it takes.

No limit is set here. A test that hangs is ended by its runner: faulthandler_timeout in pyproject.toml.
"""
import time


def wait_until(happened, process=None):
    """Whether it happened; False only if the process ended first."""
    while not happened():
        if process is not None and process.poll() is not None:
            return bool(happened())
        time.sleep(0.002)
    return True


def catches(process, number):
    """Whether a started process has a handler of its own for this signal."""
    with open(f"/proc/{process.pid}/status") as status:
        mask = next(line.split()[1] for line in status if line.startswith("SigCgt:"))
    return bool(int(mask, 16) >> (number - 1) & 1)
