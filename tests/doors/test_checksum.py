"""Results of a model say which model it was: by SHA-256, as sha256sum has it; and another one is not mistaken for it."""
import hashlib
import json
import re
import shutil
import subprocess

import pytest

from tiny_folder import refused, sharpmax, write_tiny_folder

PARTS = ("config.json", "model.safetensors", "tokenizer.json")  # in the order of their names


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tiny_folder(tmp_path_factory.mktemp("checksum") / "tiny")


def as_documented(folder):
    lines = subprocess.run(["sha256sum", *PARTS], cwd=folder, capture_output=True, check=True).stdout
    return hashlib.sha256(lines).hexdigest()


def words_of(folder, job):
    text = folder / "text.txt"
    return {"audit": ["audit", folder, "--text", text, "--lengths", "32"],
            "analysis": ["audit", folder, "--text", text, "--analysis", "distance-top", "--lengths", "32"],
            "probe": ["audit", folder, "--probe", "lookup", "--lengths", "64", "--questions", "1"],
            "perplexity": ["perplexity", folder, "--text", text, "--tokens", "64"],
            "bound": ["bound", folder],
            "fix": ["fix", folder, "--text", text, "--tokens", "64", "--length", "64", "--lengths", "96", "--questions",
                    "1", "--rule", "softmax:beta=2", "--no-search"]}[job]


@pytest.mark.parametrize("job", ["audit", "analysis", "probe", "perplexity", "bound", "fix"])
def test_results_say_which_model_and_when(folder, job):
    done = sharpmax(*words_of(folder, job), "--json", "-")
    assert done.returncode == 0, done
    results = json.loads(done.stdout)
    model = results["model"] if job == "bound" else results["settings"]["model"]
    assert model["sha256"] == as_documented(folder)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", results["created"])


def test_bounds_of_no_model_and_the_demonstration_say_when():
    for words in (["bound", "--spread", "3", "--json", "-"], ["attend", "--demo", "--sizes", "16", "--json", "-"]):
        done = sharpmax(*words)
        assert done.returncode == 0, done
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", json.loads(done.stdout)["created"])


def test_inspect_has_it_where_it_reads_everything(folder):
    assert "sha256" not in json.loads(sharpmax("inspect", folder, "--json", "-").stdout)
    assert json.loads(sharpmax("inspect", folder, "--check", "--json", "-").stdout)["sha256"] == as_documented(folder)
    words = sharpmax("inspect", folder, "--check").stdout.decode().split()
    assert words[words.index("SHA-256") + 1] == as_documented(folder)


@pytest.mark.parametrize("part", PARTS)
def test_another_byte_is_another_model(folder, tmp_path, part):
    other = shutil.copytree(folder, tmp_path / "other")
    before = as_documented(other)
    content = (other / part).read_bytes()
    # Still a model: JSON with a space more, or the last weight changed in its last bit.
    (other / part).write_bytes(content + b" " if part.endswith("json") else content[:-4] + bytes([content[-4] ^ 1])
                               + content[-3:])
    after = json.loads(sharpmax("inspect", other, "--check", "--json", "-").stdout)["sha256"]
    assert after == as_documented(other) != before


@pytest.mark.parametrize("job", ["audit", "probe", "perplexity", "fix"])
def test_a_run_of_a_changed_model_is_not_resumed(folder, tmp_path, job):
    model = shutil.copytree(folder, tmp_path / "model")
    words = [*words_of(model, job), "--json", tmp_path / "results.json"]
    assert sharpmax(*words).returncode == 0
    assert sharpmax(*words, "--resume").returncode == 0
    was = as_documented(model)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "rms_norm_eps": 1e-4}))
    done = sharpmax(*words, "--resume")
    sentence = done.stderr.decode().splitlines()[-1]  # fix says before it how little few questions show
    assert done.returncode == 3 and done.stdout == b"" and sentence.startswith("sharpmax: ")
    assert "measured on another model" in sentence
    if job != "audit":
        assert f"SHA-256 {was}, this one has {as_documented(model)}" in sentence


def test_results_without_a_checksum_are_not_resumed(folder, tmp_path):
    file = tmp_path / "old.json"
    words = [*words_of(folder, "perplexity"), "--json", file]
    assert sharpmax(*words).returncode == 0
    results = json.loads(file.read_text())
    del results["settings"]["model"]["sha256"]
    file.write_text(json.dumps(results))
    sentence = refused(3, *words, "--resume")
    assert "on a model whose checksum it does not hold, so it cannot be known to be this one" in sentence
