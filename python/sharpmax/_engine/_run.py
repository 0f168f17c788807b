"""A job run for a verb: what it found, the text that shows it, what it noted."""

from __future__ import annotations

import json
import typing

from .. import _core
from ._progress import Progress, teller_of


class Outcome(typing.NamedTuple):
    data: typing.Dict[str, typing.Any]
    text: str  # as the command line prints it
    notes: typing.Tuple[str, ...]
    ok: bool  # no check failed


def run(job: str, values: typing.Dict[str, typing.Any], progress: Progress = None) -> Outcome:
    """Runs a job with the fields that were given. The message of a KeyboardInterrupt says how to go on."""
    teller = teller_of(progress)
    notes: typing.List[str] = []
    try:
        ok, results, text = _core.run(job, values, None, notes.append, teller.show)
    finally:
        teller.end()
    for note in notes:
        teller.note(note)
    return Outcome(json.loads(results) if results else {}, text, tuple(notes), ok)
