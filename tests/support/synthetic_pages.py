"""One page of every kind, of invented results or of small runs: what every page must hold to is tested on all of them.

A new kind of page is a line here.
"""
import json
import pathlib
import tempfile

import pytest
from page_in_browser import write_page
from synthetic_audit import synthetic_audit
from synthetic_kinds import EVERY_KIND, fix, model_bounds, refit, spread
from synthetic_results import synthetic_results


def two_audits(**shape):
    """The same heads before and after something that sharpens every other one."""
    before, after = (synthetic_audit(("attention",), **shape) for _ in range(2))
    after["settings"]["model"]["normalizer"] = "entropy_target:nats=1"
    after["command"] += " --normalizer entropy_target:nats=1"
    measured = after["attention"]
    for head in measured["heads"][::2]:
        for part in ("median", "low", "high"):
            head["peak_outside"][part] = [p and min(1.0, 1.5 * p + 0.1 * head["layer"]) for p in head["peak_outside"][part]]
            head["entropy"][part] = [e and 0.5 * e for e in head["entropy"][part]]
    measured["blunt_heads"] = [n // 2 for n in measured["blunt_heads"]]
    measured["median_over_heads"]["peak_outside"] = [min(1.0, 1.5 * p) for p in measured["median_over_heads"]["peak_outside"]]
    return [before, after]


def two_losses():
    """Loss by position, under two normalizers."""
    def losses(normalizer, shift):
        buckets = [{"from": a, "to": b, "tokens": 100 * i + 100, "loss": 4 - 0.3 * i + shift * i,
                    "low": 3.9 - 0.3 * i + shift * i, "high": 4.1 - 0.3 * i + shift * i, "perplexity": 50.0}
                   for i, (a, b) in enumerate([(0, 128), (128, 512), (512, 2048), (2048, 4096)])]
        return {"schema": "sharpmax.perplexity/1", "sharpmax": "0.0.0", "command": f"sharpmax perplexity --normalizer {normalizer}",
                "settings": {"model": {"file": "models/made-up.gguf", "architecture": "llama", "layers": 4, "heads": 3,
                                       "trained_context": 2048, "normalizer": normalizer},
                             "text": "book.txt", "tokens": 4096, "length": 4096, "fingerprint": "0123", "special": False},
                "complete": True, "seconds": 3.5, "all": {**buckets[2], "from": 0, "to": 4096}, "likeliest_right": 0.4,
                "buckets": buckets, "chunks": [{"first": 0, "likeliest": 3, "losses": [4.0, 3.5, None]}]}
    return [losses("softmax", 0.0), losses("adaptive", 0.05)]


def of_command(*words):
    """What a command writes with --json; `tiny` among the words is a model."""
    from tiny_folder import sharpmax, write_tiny_folder  # it imports torch

    with tempfile.TemporaryDirectory() as folder:
        tiny = pathlib.Path(folder) / "tiny"
        if "tiny" in words:
            write_tiny_folder(tiny)
        done = sharpmax(*(tiny if word == "tiny" else word for word in words), "--json", "results.json", cwd=folder)
        assert done.returncode == 0, done.stderr
        return json.loads((pathlib.Path(folder) / "results.json").read_text())


PAGES = {
    "retrieval": lambda: synthetic_results("both"),
    "audit": synthetic_audit,
    "combined": lambda: [synthetic_results("paper"), *two_audits()],
    "runs": lambda: [synthetic_results("paper"), synthetic_results("both"), synthetic_results("paper", seed=8)],
    "two losses": two_losses,
    "answers": lambda: [fix(), fix(helps=False), spread(), spread(sizes=(16.0, 4096.0)), model_bounds(), model_bounds(layers=2)],
    "fit": refit,
    "inspect": lambda: of_command("inspect", "tiny"),
    "train": lambda: of_command("train", "lookup", "--keys", 80, "--values", 4, "--width", 16, "--head-width", 8, "--steps", 4, "--batch", 4,
                                "--sizes", "8,64", "--answers", 64, "--arms", "softmax,ssmax"),
    **EVERY_KIND,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(results, file) of a kind of page, made once."""
    folder, known = tmp_path_factory.mktemp("pages"), {}

    def make(kind):
        if kind not in known:
            results = PAGES[kind]()
            known[kind] = results, write_page(results, folder / f"{kind}.html")
        return known[kind]
    return make


@pytest.fixture(scope="module")
def made_audit(tmp_path_factory):
    """(results, file) of an audit with every section."""
    results = synthetic_audit()
    return results, write_page(results, tmp_path_factory.mktemp("page") / "audit.html")
