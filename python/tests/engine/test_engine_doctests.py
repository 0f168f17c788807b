"""The examples in the docstrings of the verbs hold."""

import doctest
import importlib

import pytest

MODULES = ("model", "result", "verbs")


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testmod(importlib.import_module(f"sharpmax._engine._{name}"))
    assert failed == 0
    assert tried > 0 or name == "model"
