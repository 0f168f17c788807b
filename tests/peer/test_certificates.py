"""What `sharpmax bound` certifies of SmolLM2, against numpy over the same weights: no row of a real text
spreads further, layer 0 is what all pairs of tokens give, and what is said to be attained is."""
import json
import os
import pathlib
import subprocess

import gguf
import numpy
import pytest

import llama_cpp
from fetched import MODEL, TEXT, model_or_skip

BINARY = pathlib.Path(os.environ["SHARPMAX_BINARY"])
WIDTH, HEADS, PER_KEY, FEATURES, PAIRS, CONTEXT = 576, 9, 3, 64, 32, 8192
FREQUENCIES = 1e5 ** (-numpy.arange(PAIRS) / PAIRS)


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    model_or_skip()
    file = tmp_path_factory.mktemp("bound") / "smollm2.json"
    done = subprocess.run([BINARY, "bound", MODEL, "--threads", "2", "--json", file], capture_output=True, text=True,
                          env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    assert done.returncode == 0, done.stderr
    return json.loads(file.read_text())


@pytest.fixture(scope="module")
def weights():
    model_or_skip()
    return {t.name: gguf.dequantize(t.data, t.tensor_type).reshape(tuple(reversed(t.shape.tolist())))
            for t in gguf.GGUFReader(MODEL).tensors if "attn" in t.name or t.name == "token_embd.weight"}


def folded(weights, layer, head):
    """Query and key weights times the norm's, a pair's features as one complex row: [pair, width]."""
    norm = weights[f"blk.{layer}.attn_norm.weight"].astype(float)
    def side(part, index):
        rows = weights[f"blk.{layer}.{part}.weight"][index * FEATURES:(index + 1) * FEATURES] * norm
        return rows[0::2] + 1j * rows[1::2]
    return side("attn_q", head), side("attn_k", head // PER_KEY)


def units(embeddings):
    x = embeddings.astype(float)
    return x / numpy.sqrt((x ** 2).mean(1, keepdims=True) + 1e-5)


def test_no_row_of_a_real_text_spreads_further(certified, weights):
    with llama_cpp.Model(str(MODEL), vocab_only=True) as model:
        tokens = model.tokenize(TEXT.read_bytes()[:6000])[:1024]
    inputs = units(weights["token_embd.weight"][tokens])
    turns = numpy.exp(1j * numpy.outer(numpy.arange(len(tokens)), FREQUENCIES))
    causal = numpy.tri(len(tokens), dtype=bool)
    for head in certified["heads"][:HEADS]:
        query, key = ((inputs @ side.T) * turns for side in folded(weights, 0, head["head"]))
        scores = (query @ key.conj().T).real / FEATURES ** 0.5
        most, least = numpy.where(causal, scores, -numpy.inf).max(1), numpy.where(causal, scores, numpy.inf).min(1)
        print(f"head {head['head']}: {(most - least).max():.1f} observed, {head['spread']:.1f} certified")
        assert 0.5 < (most - least).max() <= head["spread"]


def test_layer_0_is_what_all_pairs_of_tokens_give(certified, weights):
    """All keys against the longest queries, among which the best one is."""
    inputs = units(weights["token_embd.weight"])
    query, key = (numpy.abs(inputs @ side.T).astype(numpy.float32) for side in folded(weights, 0, 6))
    longest = query[numpy.argsort(-(query ** 2).sum(1))[:6144]]
    largest = max((longest[first:first + 1024] @ key.T).max() for first in range(0, len(longest), 1024))
    exact = 2 * float(largest) / FEATURES ** 0.5
    assert exact * (1 - 1e-5) <= certified["heads"][6]["vocabulary_spread"] <= 1.02 * exact


def test_attained_rows_are_attained(certified, weights):
    embeddings = weights["token_embd.weight"]
    for head in certified["heads"][:HEADS]:
        row = head["attained"]
        query, key = folded(weights, 0, head["head"])
        asked = units(embeddings[[row["query"]["token"]]])[0]
        def score(end):
            angles = numpy.exp(1j * end["offset"] * FREQUENCIES)
            return (query @ asked * angles * (key @ units(embeddings[[end["token"]]])[0]).conj()).real.sum() / 8
        assert row["length"] == CONTEXT and 0 <= row["high"]["offset"] < CONTEXT and 0 <= row["low"]["offset"] < CONTEXT
        assert score(row["high"]) - score(row["low"]) == pytest.approx(row["spread"], rel=1e-4)


def test_norms_bound_the_folded_product_at_every_offset(certified, weights):
    for index in (0, 130, 269):
        layer, head = divmod(index, HEADS)
        query, key = folded(weights, layer, head)
        def triangle(side):
            return numpy.linalg.qr(numpy.concatenate([side.real, side.imag]).T, mode="r")
        largest = max(numpy.linalg.norm(triangle(query * numpy.exp(1j * t * FREQUENCIES)[:, None]) @ triangle(key).T, 2)
                      for t in (0, 1, 7, 60))
        exact = 2 * WIDTH * largest / FEATURES ** 0.5
        assert 0.3 * certified["heads"][index]["norm_spread"] <= exact <= certified["heads"][index]["norm_spread"]
