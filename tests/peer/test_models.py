"""Tiny generated models of every architecture: the same logits as `transformers` in float32, at every position, in one
block, in several, and step by step; from folders, and from GGUF files, where llama.cpp says the same."""
import numpy
import pytest
import torch
import transformers

import llama_cpp
import tiny_gguf
from tiny_models import LENGTH, LLAMA, MODELS, make, ours, rope


@pytest.mark.parametrize("name", MODELS)
def test_logits_are_those_of_transformers(name, tmp_path):
    tokens, wanted = make(name, tmp_path / "model")
    bar = 1e-4 * (wanted.max() - wanted.min())
    for words in ({}, {"block": 7}, {"one_by_one": 20}, {"one_by_one": LENGTH, "threads": 2}):
        got = ours(tmp_path / "model", tokens, tmp_path, **words)
        assert numpy.abs(got - wanted).max() <= bar, words


@pytest.mark.parametrize("name", ["gpt2", "llama", "llama, tied", "llama with heads wider than its width", "llama 3", "llama, yarn",
                                  "qwen2", "gemma", "gemma2 with the scale that GGUF files imply", "qwen3", "gemma3", "smollm3",
                                  "ministral3", "olmo2", "olmo3", "granite", "phi3", "phi4-mini", "qwen3moe", "gpt-oss"])
def test_a_gguf_file_of_the_model_gives_the_same_logits_and_so_does_llama_cpp(name, tmp_path):
    tokens, wanted = make(name, tmp_path / "model")
    file = tmp_path / "model.gguf"
    tiny_gguf.write(tmp_path / "model", file)
    scale = wanted.max() - wanted.min()
    assert numpy.abs(ours(file, tokens, tmp_path) - wanted).max() <= 1e-4 * scale
    # That the file is what others understand by it. llama.cpp rounds keys, values and some products to 16 bits.
    with llama_cpp.Model(file) as model, model.context(64, cache="f32", flash_attention=False) as context:
        peer = context.logits(tokens)
    assert numpy.abs(peer - wanted).max() <= 1e-2 * scale


def test_a_model_in_several_files_is_the_model(tmp_path):
    tokens, _ = make("llama", tmp_path / "model")
    tiny_gguf.write(tmp_path / "model", tmp_path / "whole.gguf")
    tiny_gguf.write(tmp_path / "model", tmp_path / "split.gguf", tensors_per_file=11)
    first, *others = sorted(tmp_path.glob("split-*.gguf"))
    assert len(others) == 2
    assert (ours(first, tokens, tmp_path) == ours(tmp_path / "whole.gguf", tokens, tmp_path)).all()


def test_longrope_has_other_divisors_within_its_original_length(tmp_path):
    tokens, wanted = make("phi4-mini", tmp_path / "model", length=20)
    bar = 1e-4 * (wanted.max() - wanted.min())
    assert numpy.abs(ours(tmp_path / "model", tokens, tmp_path) - wanted).max() <= bar


SCALINGS = {
    "linear:2.5": rope(rope_type="linear", factor=2.5),
    "yarn:factor=4,original=16": rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=16),
    # A head has 8 features: the base grows by factor^(8 / 6).
    "ntk:2": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0 * 2 ** (8 / 6)}},
}


@pytest.mark.parametrize("text", SCALINGS)
def test_scaling_that_is_asked_for_is_scaling_of_the_file(text, tmp_path):
    tokens, plain = make("llama", tmp_path / "model")
    config = transformers.LlamaConfig(**LLAMA, **SCALINGS[text])
    scaled = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "model", config=config, dtype=torch.float32,
                                                           attn_implementation="eager")
    with torch.no_grad():
        wanted = scaled(torch.tensor([tokens])).logits[0].numpy()
    bar = 1e-4 * (wanted.max() - wanted.min())
    assert numpy.abs(ours(tmp_path / "model", tokens, tmp_path, rope=text) - wanted).max() <= bar
    assert numpy.abs(plain - wanted).max() > 10 * bar, "the scaling does nothing"
