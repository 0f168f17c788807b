"""Progress of a verb, shown to the user."""

from __future__ import annotations

import sys
import time
import typing

Progress = typing.Union[None, bool, typing.Callable[[str], typing.Any]]

_SECONDS_BETWEEN_LINES = 10.0


class _Terminal:
    """One line on stderr that overwrites itself; if that is no terminal, a line every ten seconds."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._told = time.monotonic()

    def show(self, line: str) -> None:
        if self._terminal:
            sys.stderr.write("\r\x1b[K" + line)
        elif line and time.monotonic() - self._told >= _SECONDS_BETWEEN_LINES:
            self._told = time.monotonic()
            sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def end(self) -> None:
        if self._terminal:
            self.show("")

    def note(self, sentence: str) -> None:
        sys.stderr.write(sentence + "\n")
        sys.stderr.flush()


class _Notebook:
    """A line below the cell that is replaced as it changes, and is empty at the end."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle = display({"text/plain": ""}, raw=True, display_id=True)

    def show(self, line: str) -> None:
        self._handle.update({"text/plain": line}, raw=True)

    def end(self) -> None:
        self.show("")

    def note(self, sentence: str) -> None:
        print(sentence)


class _Callable:
    def __init__(self, call: typing.Callable[[str], typing.Any]) -> None:
        self._call = call

    def show(self, line: str) -> None:
        if line:
            self._call(line)

    def end(self) -> None: ...

    def note(self, sentence: str) -> None: ...


class _Nobody:
    def show(self, line: str) -> None: ...

    def end(self) -> None: ...

    def note(self, sentence: str) -> None: ...


def _in_a_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def teller_of(progress: Progress) -> typing.Union[_Nobody, _Terminal, _Notebook, _Callable]:
    if progress is None or progress is False:
        return _Nobody()
    if progress is True:
        return _Notebook() if _in_a_notebook() else _Terminal()
    if not callable(progress):
        raise TypeError(f"progress is a {type(progress).__name__}; it must be True, None or a function of one text")
    return _Callable(progress)
