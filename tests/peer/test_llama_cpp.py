"""The wrapper round llama.cpp: what it sets holds, and a llama.cpp laid out otherwise is refused."""

import llama_cpp
import numpy
import pytest
from fetched import MODEL, model_or_skip


@pytest.fixture(scope="module")
def model():
    with llama_cpp.Model(model_or_skip()) as loaded:
        yield loaded


def defaults():
    return llama_cpp.library().functions.llama_context_default_params()


def test_a_vocabulary_alone_tokenizes_as_the_whole_model_does(model):
    text = "Grüße, <|im_start|> 12345\n\n\tΩ".encode()
    with llama_cpp.Model(MODEL, vocab_only=True) as vocabulary:
        assert vocabulary.tokenize(text) == model.tokenize(text)
        assert vocabulary.tokenize(text, special=True).count(1) == 1
        assert b"".join(vocabulary.piece(token) for token in vocabulary.tokenize(text)) == text


@pytest.mark.parametrize("flash_attention", [True, False])
def test_batches_of_any_size_give_the_same_logits(model, flash_attention):
    tokens = model.tokenize(b"The quick brown fox jumps over the lazy dog, and then it sleeps.")
    with model.context(64, batch=32, flash_attention=flash_attention, cache="f32") as context:
        whole = context.logits(tokens)
        context.shorten(0)
        parts = context.logits(tokens, step=5)
        assert context.length() == len(tokens)
    assert numpy.isfinite(whole).all()
    # Another split sums in another order; llama.cpp also rounds activations to 8 bits for its products.
    assert numpy.mean((whole - parts) ** 2) < 0.01 * numpy.var(whole)


def test_what_is_timed_leaves_the_cache_as_it_was(model):
    tokens = model.tokenize(b"one two three four five six seven eight")
    with model.context(64, threads=2) as context:
        context.read_prompt(tokens)
        assert context.length() == len(tokens)
        context.read_one_by_one(tokens[:3])
        assert context.length() == len(tokens)


@pytest.mark.parametrize("word", [0, 1, 2, 3, 10, 13])
def test_defaults_that_have_moved_are_refused(word):
    moved = defaults()
    moved.words[word] += 7
    with pytest.raises(llama_cpp.LayoutError, match="laid out in a way unknown here"):
        llama_cpp.context_offsets(moved)


def test_a_field_that_does_another_thing_is_noticed(model, monkeypatch):
    true_offsets = llama_cpp.context_offsets(defaults())
    swapped = true_offsets | {"n_threads": true_offsets["n_ctx"], "n_ctx": true_offsets["n_threads"]}
    monkeypatch.setattr(llama_cpp, "context_offsets", lambda defaults: swapped)
    with pytest.raises(llama_cpp.LayoutError, match="was set to"):
        model.context(512, threads=1)


def test_what_is_no_model_is_refused_with_its_name(tmp_path):
    (tmp_path / "not-a-model.gguf").write_bytes(b"GGUF")
    with pytest.raises(llama_cpp.LlamaError, match="not-a-model.gguf"):
        llama_cpp.Model(tmp_path / "not-a-model.gguf")
