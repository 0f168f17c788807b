"""The package's own types hold, and its text is Python 3.9's."""

import ast
import importlib
import inspect
import pathlib
import re
import subprocess
import sys

import pytest
import sharpmax

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(sharpmax.__file__).parent
CACHE = REPOSITORY / "build" / "mypy-cache"
MODULES = sorted((REPOSITORY / "python/sharpmax").rglob("*.py"))


def test_the_package_is_strictly_typed():
    """What mypy found out about torch is kept beside the build: to read it all anew takes a minute."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", REPOSITORY / "pyproject.toml", "--cache-dir", CACHE],
        cwd=PACKAGE.parent,
        env={"MYPYPATH": str(PACKAGE.parent), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_function_of_the_extension_has_a_stub():
    stub = (PACKAGE / "_core.pyi").read_text()
    for name in dir(sharpmax._core):
        if not name.startswith("_"):
            assert re.search(rf"^(def|class) {name}\b|^{name}:", stub, re.MULTILINE), f"_core.pyi lacks {name}"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(REPOSITORY / "python")))
def test_modules_are_written_in_the_oldest_python_that_the_metadata_promise(module):
    oldest = re.search(r'requires-python = ">=3\.(\d+)"', (REPOSITORY / "pyproject.toml").read_text())
    tree = ast.parse(module.read_text(), feature_version=(3, int(oldest.group(1))))
    postponed = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    parts = [getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns")]
    for annotation in filter(None, parts):
        unions = [node for node in ast.walk(annotation) if isinstance(node, ast.BinOp)]
        assert postponed or not unions, f"line {annotation.lineno}: X | Y is evaluated, which Python 3.9 cannot"


@pytest.mark.parametrize("module", ["sharpmax", "sharpmax.torch", "sharpmax.hf", "sharpmax.jax"])
def test_every_public_function_says_the_types_of_its_arguments_and_its_answer(module):
    module = importlib.import_module(module)
    for name in module.__all__:
        function = getattr(module, name)
        if not inspect.isfunction(function):
            continue  # a class of nanobind has its stub, one of ours is mypy's
        signature = inspect.signature(function)
        for parameter in signature.parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty, f"{name}({parameter.name})"
        assert signature.return_annotation is not inspect.Signature.empty, name
