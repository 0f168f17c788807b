"""Rows that `sharpmax audit` keeps, against the attention matrices of transformers on the same tokens."""
import json

import numpy
import pytest
import torch
import transformers

from tiny_folder import TEXT, sharpmax, write_tiny_folder

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
