"""Keyword arguments to the words of a command, and a command's sentences back to keywords."""

from __future__ import annotations

import inspect
import numbers
import os
import re
import typing

from .._core import Normalizer

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


def option_of(keyword: str) -> str:
    """The option of a keyword: --learning-rate for learning_rate, --for for for_."""
    return "--" + keyword.rstrip("_").replace("_", "-")


def path_text(name: str, value: typing.Any, instead: str = "") -> str:
    """The path as text. "-" means standard input or output to the command line, which Python has otherwise."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be a path")
    text = os.fsdecode(value)
    if text == "-" or not text:
        raise ValueError(f"{name} is {text!r}; it must be the path of a file{instead}")
    return "." + os.sep + text if text.startswith("-") else text


def _is_sequence(value: typing.Any) -> bool:
    single = (str, bytes, os.PathLike, Normalizer, numbers.Number)
    return hasattr(value, "__iter__") and not isinstance(value, (*single, typing.Mapping))


def _one(keyword: str, value: typing.Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Normalizer):
        return value.text
    if hasattr(value, "__sharpmax_normalizer__"):
        return value.__sharpmax_normalizer__().text
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        text = repr(float(value))
        return text[:-2] if text.endswith(".0") else text
    raise TypeError(f"{keyword} is a {type(value).__name__}; it must be a number, a text or a sequence of them")


class Wording:
    """How one command takes its keywords: which are flags, files, or given once for each value."""

    def __init__(
        self,
        command: str,
        flags: typing.Sequence[str] = (),
        files: typing.Sequence[str] = (),
        repeated: typing.Sequence[str] = (),
    ) -> None:
        self.command = command
        self.flags = frozenset(flags)
        self.files = frozenset(files)
        self.repeated = frozenset(repeated)

    def _option(self, keyword: str, value: typing.Any) -> typing.List[str]:
        option = option_of(keyword)
        if keyword in self.flags:
            if not isinstance(value, (bool, numbers.Integral)):
                raise TypeError(f"{keyword} is a {type(value).__name__}; it must be True or False")
            return [option] if value else []
        if keyword in self.files:
            values = [path_text(keyword, value)]
        elif not _is_sequence(value):
            values = [_one(keyword, value)]
        elif keyword in self.repeated:
            values = [_one(keyword, each) for each in value]
        else:
            values = [",".join(_one(keyword, each) for each in value)]
        # One that begins with a dash would be taken for an option.
        return [word for text in values for word in ([f"{option}={text}"] if text.startswith("-") else [option, text])]

    def words(self, given: typing.Mapping[str, typing.Any], *operands: str) -> typing.List[str]:
        words = [self.command, *operands]
        for keyword, value in given.items():
            words += self._option(keyword, value)
        return words


def given_of(
    function: typing.Callable[..., typing.Any], arguments: typing.Mapping[str, typing.Any]
) -> typing.Dict[str, typing.Any]:
    """The arguments that differ from the function's defaults: only those are said to the command."""
    given = {}
    for name, parameter in inspect.signature(function).parameters.items():
        value = arguments[name]
        same = value is parameter.default or (type(value) is type(parameter.default) and value == parameter.default)
        if not same:
            given[name] = value
    return given


def keywords_of(function: typing.Callable[..., typing.Any]) -> typing.Tuple[str, ...]:
    """Those that are options of the command."""
    return tuple(name for name in inspect.signature(function).parameters if name not in ("model", "progress"))


_QUOTED = re.compile(r"(`[^`]*`)")
_OPERAND = re.compile(r"\((MODEL|HEAD)\)")
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?: (float16|[a-z]+:[0-9.]+)| ([A-Z]+)\b)?")


def in_python(sentence: str, keywords: typing.Collection[str]) -> str:
    """The sentence with the command's options as the keywords they are here; what is in backticks stays."""
    known = {option_of(keyword): keyword for keyword in keywords}
    known["--html"] = "report"

    def spoken(match: typing.Match[str]) -> str:
        keyword = known.get("--" + match[1])
        if keyword is None:
            return match[0]
        if match[2]:
            return f"{keyword}={match[2]!r}"
        return f"{keyword}=" if match[3] else keyword

    parts = _QUOTED.split(sentence)
    text = "".join(part if part.startswith("`") else _OPTION.sub(spoken, part) for part in parts)
    return _OPERAND.sub(lambda match: match[0].lower(), text)
