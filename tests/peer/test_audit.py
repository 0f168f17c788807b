"""Rows that `sharpmax audit` keeps, against the attention matrices of transformers on the same tokens."""
import json
import os

import numpy
import pytest
import torch
import transformers

from fetched import MODEL, TEXT as BOOK, model_or_skip
from tiny_folder import BINARY, TEXT, sharpmax, write_tiny_folder

LENGTHS = [32, 96, 200]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tiny_folder(tmp_path_factory.mktemp("tiny"))


def written_out(weights, position):
    """Fields of one row, named as the results name them, from its weights in double."""
    outside = weights[1:] / weights[1:].sum()
    entropy = lambda p: -(p * numpy.log(p)).sum()  # noqa: E731
    return {"keys": position + 1, "entropy": entropy(weights), "peak": weights.max(), "first": weights[0],
            "peak_outside": outside.max(), "entropy_outside": entropy(outside),
            "distance_outside": position - 1 - outside.argmax()}


def test_kept_rows_are_those_of_transformers(folder, tmp_path):
    book = tmp_path / "book.txt"
    book.write_text(TEXT * 4)
    results = tmp_path / "audit.json"
    done = sharpmax("audit", folder, "--text", book, "--lengths", ",".join(map(str, LENGTHS)), "--excerpts", 2, "--json", results)
    assert done.returncode == 0, done
    found = json.loads(results.read_text())
    head = found["attention"]["heads"][0]
    names = [name for name, value in head.items() if isinstance(value, dict) and "median" in value]
    tokens = transformers.AutoTokenizer.from_pretrained(folder)(TEXT * 4).input_ids
    model = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager")
    rows = numpy.load(str(results) + ".rows.npz")
    for excerpt, start in enumerate(found["settings"]["starts"]):
        with torch.no_grad():
            attentions = model(torch.tensor([tokens[start:start + LENGTHS[-1]]]), output_attentions=True).attentions
        for length in LENGTHS:
            kept, positions = rows[f"excerpt{excerpt}_n{length}"], rows[f"excerpt{excerpt}_n{length}_positions"]
            assert positions[-1] == length - 1
            for layer, weights in enumerate(attentions):
                for head in range(weights.shape[1]):
                    for i, position in enumerate(positions):
                        wanted = written_out(weights[0, head, position, :position + 1].numpy(), position)
                        for name, value in wanted.items():
                            got = kept[layer, head, i, names.index(name)]
                            assert got == pytest.approx(value, rel=1e-3, abs=1e-4), (name, excerpt, length, layer, head, position)


def peak_memory(*words):
    """Bytes at the most, of one run in a process of its own."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(BINARY, [BINARY, *map(str, words)])
    _, status, usage = os.wait4(child, 0)
    assert status == 0
    return usage.ru_maxrss * 1024


def test_memory_grows_with_the_cache_and_not_with_its_square():
    model_or_skip()
    short, long = 1024, 2048
    used = [peak_memory("audit", MODEL, "--text", BOOK, "--lengths", f"64,{length}", "--excerpts", 1) for length in (short, long)]
    cache = 30 * 2 * 3 * 64 * 4 * (long - short)  # layers, keys and values, heads, features, bytes
    matrix = 9 * 4 * (long ** 2 - short ** 2)  # the weights of one layer's heads, if they were held
    assert used[1] - used[0] < cache + matrix / 8, (used, cache, matrix)
