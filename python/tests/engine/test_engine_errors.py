"""Errors of the verbs: the sentence of the job, in keywords, as the exception that fits."""

import errno
import os
import re

import numpy as np
import pytest
import sharpmax


def refused(kind, sentence, verb, *arguments, **keywords):
    with pytest.raises(kind) as caught:
        verb(*arguments, **keywords)
    assert type(caught.value) is kind
    assert re.fullmatch(sentence, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    "keywords, sentence",
    [
        ({"spread": -1}, r"spread is -1; it must be 0 or more, and finite"),
        ({"spread": float("nan")}, r"spread is nan; it must be 0 or more, and finite"),
        ({}, r"no spread was given; give spread= or model"),
        ({"spread": 1, "n": 0}, r"n is 0; it must be a whole number of keys from 1 to 1e300"),
        ({"spread": 1, "threads": 0}, r"threads is 0; it must be from 1 to 4096"),
        ({"spread": 1, "threads": 2}, r"threads goes with model; none was given"),
        ({"spread": 1, "normalizer": "softmix"}, r".*softmix.*softmax.*"),
        ({"spread": "wide"}, r"spread: 'wide' is not a number"),
        ({"spread": 1, "json": ""}, r"json is ''; it must be the path of a file"),
        ({"spread": 1, "json": "a\0b"}, r".* holds a null character; it must not"),
    ],
)
def test_values_that_make_no_sense(keywords, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where a file would be written if it were not refused
    refused(ValueError, sentence, sharpmax.bound, **keywords)


def test_values_of_the_wrong_type():
    refused(TypeError, "spread is a dict; it must be a number", sharpmax.bound, spread={})
    refused(TypeError, "all is a str; it must be True or False", sharpmax.bound, all="yes")
    refused(TypeError, "model is a int; it must be a path", sharpmax.inspect, 3)
    refused(TypeError, "json is a list; it must be a path", sharpmax.bound, spread=1, json=["x"])
    refused(
        TypeError,
        "progress is a int; it must be True, None or a function of one text",
        sharpmax.bound,
        spread=1,
        progress=3,
    )
    refused(TypeError, "lengths is a float; it must be a whole number", sharpmax.audit, "x", lengths=[32, 64.5])
    refused(TypeError, "normalizers is a int; it must be a path or a dict", sharpmax.perplexity, "x", normalizers=3)
    refused(
        TypeError, "normalizer is a int; it must be text .* or a Normalizer", sharpmax.bound, spread=1, normalizer=3
    )
    refused(TypeError, "text_string is a bytes; it must be a str", sharpmax.perplexity, "x", text_string=b"x")
    refused(ValueError, "text_string holds half a character at 2; .*", sharpmax.perplexity, "x", text_string="ab\ud800")


def test_files_that_are_not_there_or_not_what_they_should_be(tiny, tmp_path):
    missing = "nothing-here could not be opened: " + os.strerror(errno.ENOENT)
    refused(FileNotFoundError, missing, sharpmax.inspect, "nothing-here")
    refused(FileNotFoundError, missing, sharpmax.load_model, "nothing-here")
    refused(FileNotFoundError, missing, sharpmax.audit, tiny, "nothing-here")
    refused(FileNotFoundError, ".*could not be written: .*", sharpmax.bound, spread=1, json=tmp_path / "no" / "x.json")
    refused(IsADirectoryError, ".*could not be written: .*", sharpmax.bound, spread=1, json=tmp_path)
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(40))
    refused(ValueError, ".*model.gguf.*", sharpmax.inspect, tmp_path / "model.gguf")
    refused(ValueError, ".*model.gguf.*", sharpmax.load_model, tmp_path / "model.gguf")
    (tmp_path / "text").write_bytes(b"abc \xff def " * 20)
    refused(
        ValueError,
        r".*text: byte 4 \(0xff\) is not UTF-8; the text must be in UTF-8",
        sharpmax.audit,
        tiny,
        tmp_path / "text",
    )


def test_a_dash_is_the_name_of_a_file(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    missing = "./- could not be opened: " + os.strerror(errno.ENOENT)
    refused(FileNotFoundError, missing, sharpmax.perplexity, tiny, "-")
    found = sharpmax.bound(spread=1, n=4, normalizer="softmax", json="-")
    assert sharpmax.load_result("-").data == found.data
    (tmp_path / "--odd name").write_bytes((tiny / "text.txt").read_bytes())
    assert sharpmax.perplexity(tiny, "--odd name", tokens=20).ok


def test_what_does_not_go_together(tiny, tmp_path):
    refused(ValueError, "no text was given; text= must name one", sharpmax.audit, tiny)
    refused(
        ValueError, "resume=True goes with json= or directory=", sharpmax.audit, tiny, tiny / "text.txt", resume=True
    )
    both = {"resume": True, "overwrite": True, "directory": tmp_path}
    refused(ValueError, "resume=True and overwrite=True are two different things; give one", sharpmax.retrieve, **both)
    refused(ValueError, "head='9.9': there is no such head; .*", sharpmax.audit, tiny, tiny / "text.txt", head="9.9")
    refused(
        ValueError, "analysis excludes excerpts", sharpmax.audit, tiny, tiny / "text.txt", analysis="all", excerpts=3
    )
    refused(
        ValueError,
        "probe excludes text_string: a probe asks questions of its own",
        sharpmax.audit,
        tiny,
        text_string="x",
        probe="max",
    )
    refused(ValueError, "draws requires analysis", sharpmax.audit, tiny, tiny / "text.txt", draws=2)
    refused(ValueError, ".*n, normalizer and level do not go with model: .*", sharpmax.bound, tiny, n=4)
    refused(ValueError, "steps does not go with head: nothing is trained", sharpmax.retrieve, head="x", steps=3)
    short = dict(arms="paper", steps=2, sizes=16, normalizers="softmax", sets_scale=0.01, directory=tmp_path / "run")
    sharpmax.retrieve(**short)
    refused(ValueError, ".*resume.*overwrite.*", sharpmax.retrieve, **short)
    assert sharpmax.retrieve(**short, resume=True).ok


def test_what_is_too_much(tiny):
    refused(ValueError, "length=9999: the context has room for 256 tokens; context makes it larger",
            sharpmax.perplexity, tiny, tiny / "text.txt", length=9999)  # fmt: skip
    words = (
        "not enough memory: keys and values of .* tokens take .* GB .*; a smaller context or cache='float16' takes less"
    )
    refused(MemoryError, words, sharpmax.audit, tiny, probe="max", lengths=1 << 30, context=1 << 30)


def test_files_of_results_that_are_none(tmp_path):
    path = tmp_path / "x.json"
    for text, sentence in [
        ("{", ".*x.json is not JSON: .*"),
        ("[" * 100_000, ".*x.json is not JSON: .*"),
        ("[]", ".*x.json holds no results; the schema must be one of sharpmax.audit/1, .*"),
        ('{"schema": "other/1"}', ".*x.json holds no results; .*"),
        ('{"schema": ["sharpmax.audit/1"], "attention": 3}', ".*x.json holds no results; .*"),
    ]:
        path.write_text(text)
        refused(ValueError, sentence, sharpmax.load_result, path)
    for schema in (
        "retrieval/1",
        "fit/1",
        "perplexity/1",
        "inspect/1",
        "tokenize/1",
        "bound.spread/1",
        "bound.model/1",
        "fix/1",
        "train/1",
    ):
        for rest in ("", ', "settings": 3, "heads": 3, "sizes": "x", "architecture": [], "answer": null'):
            path.write_text(f'{{"schema": "sharpmax.{schema}"{rest}}}')
            refused(
                ValueError, f".*x.json holds no finished results of sharpmax.{schema}: .*", sharpmax.load_result, path
            )


def test_a_page_of_what_is_no_result():
    from sharpmax._engine import AuditResult, RetrievalResult

    for data in (
        {},
        [],
        {"schema": 3},
        {"schema": "sharpmax.retrieval/1", "sizes": 3},
        {"schema": "sharpmax.audit/1", "probe": []},
    ):
        for kind in (AuditResult, RetrievalResult):
            with pytest.raises(ValueError, match="^[^\n]*$"):
                kind(data).page()


def test_numbers_of_numpy_are_numbers():
    by_python = sharpmax.bound(spread=3.5, n=[4, 16], normalizer="softmax")
    by_numpy = sharpmax.bound(spread=np.float64(3.5), n=np.array([4, 16]), normalizer=["softmax"])
    assert by_python.data == by_numpy.data
