"""Processes of the retrieval benchmark: ours and the peers, each driven line by line (process.py)."""

import sys

import environment
import process

from retrieval import peers

STEPS = environment.REPOSITORY / "build" / "bench" / "retrieval_steps"
PATIENCE = 60.0  # seconds for any one answer, compilation included


def ours(threads, heads=1, binary=STEPS, **options):
    words = [f for name, value in options.items() for f in (f"--{name}", value)]
    return process.start("sharpmax", [binary, "--threads", threads, "--heads", heads, *words], threads, PATIENCE)


def peer(module, threads, precision="float32"):
    command = [sys.executable, "-m", f"retrieval.peers.{module}", "--threads", threads, "--precision", precision]
    return process.start(peers.ALL[module], command, threads, PATIENCE)
