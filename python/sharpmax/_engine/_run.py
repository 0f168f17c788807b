"""A command run in this process: what it printed, what it noted, what it found."""

from __future__ import annotations

import errno
import json
import os
import typing

from .. import _core
from ._progress import Progress, teller_of
from ._words import in_python


class Outcome(typing.NamedTuple):
    data: typing.Dict[str, typing.Any]
    text: str  # as the command printed it
    notes: typing.Tuple[str, ...]
    ok: bool  # no check failed


def _encoded(word: str) -> bytes:
    encoded = os.fsencode(word)
    if b"\0" in encoded:
        raise ValueError(f"{word!r} holds a null character; it must not")
    return encoded


_SYSTEM_ERRORS = {
    os.strerror(errno.ENOENT): FileNotFoundError,
    os.strerror(errno.EACCES): PermissionError,
    os.strerror(errno.EISDIR): IsADirectoryError,
}


def told_in_python(error: Exception, keywords: typing.Collection[str]) -> Exception:
    """An error of _core with the options of the command line as the keywords they are here."""
    sentence = in_python(str(error), keywords)
    kind = type(error)
    if kind is OSError:
        for words, system_error in _SYSTEM_ERRORS.items():
            kind = system_error if sentence.endswith(words) else kind
    return kind(sentence)


def run(
    words: typing.Sequence[str],
    keywords: typing.Collection[str],
    progress: Progress = None,
    standard_input: bytes = b"",
) -> Outcome:
    """Runs `sharpmax WORDS`; its errors are raised, with options spoken of as the keywords.

    The message of a KeyboardInterrupt says how to go on.
    """
    teller = teller_of(progress)
    printed: typing.List[str] = []
    notes: typing.List[str] = []
    raised: typing.List[BaseException] = []  # by whom progress is told to: not ours to reword

    def show(line: str) -> None:
        try:
            teller.show(line)
        except BaseException as error:
            raised.append(error)
            raise

    encoded = [_encoded(word) for word in words]
    try:
        code, results = _core.run(encoded, printed.append, notes.append, show, standard_input)
    except (ValueError, OSError, NotImplementedError, MemoryError) as error:
        if raised:
            raise
        raise told_in_python(error, keywords) from None
    except KeyboardInterrupt as error:
        if not str(error):  # it came when the command had ended
            raise
        raise KeyboardInterrupt(in_python(str(error), keywords)) from None
    finally:
        teller.end()
    spoken = tuple(in_python(note, keywords) for note in notes)
    for note in spoken:
        teller.note(note)
    return Outcome(json.loads(results) if results else {}, "".join(printed), spoken, code == 0)
