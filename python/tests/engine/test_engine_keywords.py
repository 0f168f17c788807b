"""Keywords of the verbs: each reaches its field, and a wrong value is refused in the words of the command line."""

import ast
import inspect
import os
import pathlib
import subprocess

import pytest
import sharpmax
from sharpmax import _core
from sharpmax._engine._fields import VERBS

BINARY = os.environ["SHARPMAX_BINARY"]
STUB = pathlib.Path(sharpmax.__file__).parent / "_engine" / "_verbs.pyi"
FIELDS = [(verb, field) for verb in VERBS for field in _core.fields(verb.job)]
IDS = [f"{verb.name}-{field['name']}" for verb, field in FIELDS]


def call(verb, **keywords):
    """The verb with what it cannot do without."""
    needed = {name: "nothing-here" for name in verb.required}
    return getattr(sharpmax, verb.name)(**{**needed, **keywords})


@pytest.mark.parametrize("verb, field", FIELDS, ids=IDS)
def test_a_value_of_no_type_at_all_is_refused_by_name(verb, field):
    with pytest.raises(TypeError) as caught:
        call(verb, **{field["name"]: object()})
    assert str(caught.value).startswith(f"{field['name']} is a object; it must be ")


def outside(field):
    """A value that the domain of a field does not have, and the text for it; None if any will do."""
    words = field["domain"].split()
    if words[:2] == ["at", "least"] or words[:1] == ["from"]:
        least = float(words[2] if words[0] == "at" else words[1])
        value = int(least) - 1 if field["type"] == "int" else least - 1.0
        return value, repr(value)
    return ("nonsense", "nonsense") if words else None


WRONG = [(verb, field) for verb, field in FIELDS if outside(field)]


@pytest.mark.parametrize("verb, field", WRONG, ids=[f"{verb.name}-{field['name']}" for verb, field in WRONG])
def test_a_value_outside_its_domain_is_told_as_the_command_line_tells_it(verb, field):
    value, text = outside(field)
    with pytest.raises(ValueError) as caught:
        call(verb, **{field["name"]: value})
    done = subprocess.run([BINARY, verb.job, f"{field['option']}={text}"], capture_output=True, text=True)
    assert done.returncode == 2
    sentence = str(caught.value).replace(field["name"], field["option"], 1)
    assert done.stderr == f"sharpmax: {sentence}\n"


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_the_stub_is_the_signature(verb):
    """What a type checker reads is what the interpreter binds."""
    tree = ast.parse(STUB.read_text())
    stub = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == verb.name)
    parameters = inspect.signature(getattr(sharpmax, verb.name)).parameters.values()
    by_position = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    by_keyword = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    assert [a.arg for a in stub.args.args] == [p.name for p in by_position]
    assert [a.arg for a in stub.args.kwonlyargs] == [p.name for p in by_keyword]
    for argument, parameter in zip([*stub.args.args, *stub.args.kwonlyargs], [*by_position, *by_keyword]):
        assert ast.unparse(argument.annotation) == parameter.annotation
    assert [ast.literal_eval(default) for default in stub.args.kw_defaults] == [p.default for p in by_keyword]
    assert ast.get_docstring(stub) == inspect.getdoc(getattr(sharpmax, verb.name))


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_the_docstring_has_every_keyword_with_its_meaning(verb):
    words = " ".join(getattr(sharpmax, verb.name).__doc__.split())
    for field in _core.fields(verb.job):
        assert f"{field['name']} {' '.join(field['meaning'].split())}" in words, field["name"]


def test_annotations_can_be_resolved():
    import typing

    for verb in VERBS:
        assert typing.get_type_hints(getattr(sharpmax, verb.name))


def test_none_and_a_default_are_the_same_as_nothing_given():
    plain = sharpmax.bound(spread=3, n=4, normalizer="softmax")
    said = sharpmax.bound(
        None, spread=3, n=4, normalizer="softmax", peak=None, beta=1.0, level=None, json=None, report=None, figures=None,
        overwrite=False, all=False, rope_scaling=None, rope_base=None, threads=None, progress=None,
    )  # fmt: skip
    assert said.data["command"] == plain.data["command"] == "sharpmax bound --spread 3 --n 4 --normalizer softmax"


def test_arguments_that_are_no_keywords_or_are_missing():
    with pytest.raises(
        TypeError, match=r"^bound\(\) got an unexpected keyword argument 'sprad'; did you mean spread\?$"
    ):
        sharpmax.bound(sprad=1)
    with pytest.raises(TypeError, match=r"^fit\(\) missing a required argument: 'head'$"):
        sharpmax.fit()
    with pytest.raises(ValueError, match=r"^no model was given; model must be a file or a folder"):
        sharpmax.audit()  # which may take its model from a directory
    with pytest.raises(TypeError, match=r"^fit\(\) too many positional arguments$"):
        sharpmax.fit("head", 4)


def test_a_text_is_read_as_the_command_line_reads_it():
    by_values = sharpmax.bound(spread=5, n=[4, 16], normalizer=["softmax", "hard"])
    by_text = sharpmax.bound(spread="5", n="4,16", normalizer="softmax;hard")
    assert by_values.data["softmax"] == by_text.data["softmax"]
    assert by_values.data["normalizers"] == by_text.data["normalizers"]
