"""Arguments of a Model's methods, checked."""

from __future__ import annotations

import numbers
import os
import typing

Path = typing.Union[str, "os.PathLike[str]"]


def utf8(name: str, text: typing.Any) -> bytes:
    """The text as bytes. A str of Python can hold what no text can: halves of characters."""
    if not isinstance(text, str):
        raise TypeError(f"{name} is a {type(text).__name__}; it must be a str")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} holds half a character at {error.start}; it must be text that UTF-8 can hold"
        ) from None


def number(name: str, value: typing.Any, least: int = 0, most: int = 2**63 - 1) -> int:
    """The whole number, within bounds."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be a whole number")
    found = int(value)
    if not least <= found <= most:
        raise ValueError(f"{name} is {found}; it must be from {least} to {most}")
    return found


def real(name: str, value: typing.Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be a number")
    return float(value)


def path_text(name: str, value: typing.Any) -> str:
    """The path as text."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be a path")
    text = os.fsdecode(value)
    if not text:
        raise ValueError(f"{name} is {text!r}; it must be the path of a file")
    return text
