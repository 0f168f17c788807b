"""The verbs have the options of the commands: none forgotten, none invented, the same defaults."""

import inspect
import os
import re
import subprocess

import pytest
import sharpmax
from sharpmax._engine import _audit, _bound, _fit, _fix, _inspect, _perplexity, _retrieve
from sharpmax._engine._words import given_of, in_python, option_of

BINARY = os.environ["SHARPMAX_BINARY"]
OPTION = re.compile(
    r"^  (?:-\w,)?(--[a-z0-9-]+)((?:,--[a-z0-9-]+)*)(?: (\S+))?(?: +(\S.*))?$"
)  # a value: one space after
# What a verb has in another way than as a keyword of the same name.
ELSEWHERE = {
    "fix": {"--normalizer", "--normalizers"},  # the command refuses them
}
OURS = {"progress", "text_string"}


def options_of(command):
    """{option: (its other names, whether it takes a value, its description)} of --help."""
    text = subprocess.run([BINARY, command, "--help-all"], capture_output=True, text=True).stdout
    options, last = {}, None
    for line in text.split("\nOptions:")[1].splitlines():
        match = OPTION.match(line)
        if match:
            last = match[1]
            options[last] = [match[2].split(",")[1:], match[3] is not None, match[4] or ""]
        elif line.startswith(" " * 26) and last:
            options[last][2] += " " + line.strip()
    for name in ("--help", "--help-all"):
        options.pop(name)
    return options


VERBS = {
    name: getattr(sharpmax, name) for name in ("retrieve", "fit", "audit", "bound", "fix", "perplexity", "inspect")
}
WORDINGS = {
    "retrieve": _retrieve._WORDING,
    "fit": _fit._WORDING,
    "audit": _audit._WORDING,
    "bound": _bound._WORDING,
    "fix": _fix._WORDING,
    "perplexity": _perplexity._WORDING,
    "inspect": _inspect._WORDING,
}


def keywords_of(verb):
    parameters = inspect.signature(verb).parameters
    return {name: parameter for name, parameter in parameters.items() if name not in OURS and name != "model"}


@pytest.mark.parametrize("command", VERBS)
def test_every_option_is_a_keyword_and_every_keyword_an_option(command):
    keywords = {option_of(name) for name in keywords_of(VERBS[command])} - ({"--head"} if command == "fit" else set())
    options = options_of(command)
    assert len(options) >= 3
    names = {name: {name, *others} for name, (others, _, _) in options.items()}
    missing = {name for name, all_names in names.items() if not all_names & keywords} - ELSEWHERE.get(command, set())
    assert not missing
    assert not keywords - set().union(*names.values())


@pytest.mark.parametrize("command", VERBS)
def test_flags_are_those_that_take_no_value(command):
    flags = {name for name, (_, takes, _) in options_of(command).items() if not takes}
    assert {option_of(name) for name in WORDINGS[command].flags} == flags - ELSEWHERE.get(command, set())


@pytest.mark.parametrize("command", VERBS)
def test_defaults_are_those_that_help_tells(command):
    keywords = {option_of(name): parameter for name, parameter in keywords_of(VERBS[command]).items()}
    compared = 0
    for option, (others, takes, described) in options_of(command).items():
        parameter = next((keywords[name] for name in (option, *others) if name in keywords), None)
        if parameter is None:
            continue
        if not takes:
            assert parameter.default is False, option
            continue
        match = re.search(r"\(default ([0-9][0-9.,]*)\)", described) or re.search(r"\(default ([a-z0-9]+)\)", described)
        if not match or match[1] in ("softmax", "all"):
            continue
        default = parameter.default
        shown = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
        if parameter.default is None:
            continue  # where the command's own default depends on something else
        compared += 1
        assert shown == match[1] or float(shown) == float(match[1]), option
    assert compared > 0 or command in ("retrieve", "inspect")


def test_every_keyword_has_a_type_and_stands_in_the_docstring():
    for command, verb in VERBS.items():
        assert verb.__doc__ and verb.__annotations__["return"]
        for name in inspect.signature(verb).parameters:
            assert name in verb.__annotations__, (command, name)
            if name != "progress":
                assert re.search(rf"\b{name}\b", verb.__doc__), (command, name)


def test_only_what_differs_from_its_default_is_said():
    def verb(a=1, *, b=(1, 2), c=None, d=False):
        return given_of(verb, locals())

    assert verb() == {} and verb(1, b=(1, 2), c=None, d=False) == {}
    assert verb(1.0, b=[1, 2]) == {"a": 1.0, "b": [1, 2]} and verb(True) == {"a": True}


@pytest.mark.parametrize(
    "said, spoken",
    [
        ("--threads: Value 0 not in range", "threads: Value 0 not in range"),
        ("--resume goes with --json FILE", "resume goes with json="),
        ("a smaller --context or --cache float16 takes less", "a smaller context or cache='float16' takes less"),
        ("--rope-scaling ntk:1.5 may serve", "rope_scaling='ntk:1.5' may serve"),
        ("`sharpmax retrieve --threads 2` does", "`sharpmax retrieve --threads 2` does"),
        ("file --threads-x and a--threads stay", "file --threads-x and a--threads stay"),
        ("--unknown stays", "--unknown stays"),
    ],
)
def test_options_are_spoken_of_as_keywords(said, spoken):
    assert in_python(said, ["threads", "resume", "json", "context", "cache", "rope_scaling"]) == spoken
