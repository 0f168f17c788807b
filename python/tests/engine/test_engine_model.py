"""load_model(): the model that transformers has, run by us; errors in words; one call at a time."""

import json
import math
import os
import subprocess
import threading

import numpy as np
import pytest
import sharpmax
from fetched import TEXT as SHAKESPEARE
from fetched import model_or_skip

BINARY = os.environ["SHARPMAX_BINARY"]
PROMPT = "It was the best of times, it was the worst of times, it was"


@pytest.fixture(scope="module")
def model(tiny):
    return sharpmax.load_model(tiny)


@pytest.fixture(scope="module")
def peer(tiny):
    """(tokenizer, model) of transformers, with its attention written out."""
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    return tokenizer, transformers.AutoModelForCausalLM.from_pretrained(tiny, attn_implementation="eager").eval()


def test_what_it_is(model, tiny):
    assert model.config["architecture"] == "llama" and model.path == str(tiny)
    assert (model.layers, model.heads, model.context, model.vocabulary) == (2, 4, 256, 290)
    assert model.describe() == "llama, 2 layers of 4 heads (2 of keys) of width 8, context 256, vocabulary 290"


def test_tokens_are_the_tokenizers_own(model, peer):
    for text in (PROMPT, "", "élan \U0001f600", "a<|im_end|>b"):
        assert model.detokenize(model.tokenize(text)) == text
    assert model.tokenize(PROMPT) == peer[0](PROMPT)["input_ids"]
    assert len(model.tokenize("<|im_end|>", special=True)) == 1 < len(model.tokenize("<|im_end|>"))
    assert model.detokenize(np.array(model.tokenize(PROMPT))) == PROMPT


def test_logits_and_losses_are_those_of_transformers(model, peer):
    import torch

    tokens = model.tokenize(PROMPT * 3)
    with torch.no_grad():
        theirs = peer[1](torch.tensor([tokens])).logits[0]
    ours = model.logits(tokens)
    assert ours.dtype == np.float32 and ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs.numpy(), atol=2e-4)
    np.testing.assert_allclose(model.logits(tokens, block=7, last=True), theirs.numpy()[-1], atol=2e-4)
    np.testing.assert_array_equal(model.logits(tokens, threads=1), model.logits(tokens, threads=2))
    losses = torch.nn.functional.cross_entropy(theirs[:-1], torch.tensor(tokens[1:]), reduction="none").numpy()
    np.testing.assert_allclose(model.loss(tokens, per_token=True), losses, atol=2e-4)
    assert model.loss(tokens) == pytest.approx(losses.mean(), abs=1e-4) == model.loss(PROMPT * 3)


def test_statistics_are_those_of_the_weights_of_transformers(model, peer):
    import torch

    tokens = model.tokenize(PROMPT)
    with torch.no_grad():
        attentions = peer[1](torch.tensor([tokens]), output_attentions=True).attentions
    weights = torch.cat(attentions).double().numpy()  # [layer, head, query, key]
    wish = {"entropy": True, "peak_weight": True, "peak_key": True, "first_weight": True, "column_mass": True,
            "map": (4, 4), "top": 3, "gaps": [1.0, 4.0]}  # fmt: skip
    stats = model.attention_stats(tokens, wish)
    entropy = -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1)
    np.testing.assert_allclose(stats.entropy, entropy, atol=1e-4)
    np.testing.assert_allclose(stats.peak_weight, weights.max(-1), atol=1e-5)
    np.testing.assert_array_equal(stats.peak_key, weights.argmax(-1))
    np.testing.assert_allclose(stats.first_weight, weights[..., 0], atol=1e-5)
    np.testing.assert_allclose(stats.column_mass, weights.sum(-2), atol=1e-4)
    np.testing.assert_allclose(stats.map.sum((-1, -2)), len(tokens), atol=1e-6)
    np.testing.assert_allclose(stats.top_weights[:, :, 5:], -np.sort(-weights)[:, :, 5:, :3], atol=1e-5)
    assert stats.gaps == (1.0, 4.0) and (stats.gap_counts[..., 0] <= stats.gap_counts[..., 1]).all()
    in_blocks = model.attention_stats(tokens, ["entropy", "gaps"], block=3)
    np.testing.assert_allclose(in_blocks.entropy, entropy, atol=1e-4)
    assert in_blocks.peak_weight is None


def test_normalizers_of_all_heads_of_one_and_by_a_table(model, tmp_path):
    plain = model.attention_stats(PROMPT, ["peak_weight", "support"])
    table = {
        "schema": "sharpmax.normalizers/1",
        "default": "softmax",
        "heads": [{"layer": 1, "head": 2, "normalizer": "hard"}],
    }
    (tmp_path / "table.json").write_text(json.dumps(table))
    for normalizers in (table, tmp_path / "table.json"):
        mixed = model.attention_stats(PROMPT, ["peak_weight", "support"], normalizers=normalizers)
        assert (mixed.support[1, 2] == 1).all()
        np.testing.assert_allclose(mixed.peak_weight[0], plain.peak_weight[0], rtol=1e-5)
    hard = model.attention_stats(PROMPT, ["support"], normalizer=sharpmax.Normalizer("hard"))
    assert (hard.support == 1).all()
    assert model.loss(PROMPT, normalizer="hard") != model.loss(PROMPT) == model.loss(PROMPT, normalizer="softmax")
    assert model.loss(PROMPT, cache="float16") == pytest.approx(model.loss(PROMPT), abs=0.02)


@pytest.mark.parametrize(
    "keywords, words",
    [
        ({}, []),
        (
            {"temperature": 0.8, "seed": 3, "top_k": 20, "top_p": 0.9},
            "--temperature 0.8 --seed 3 --top-k 20 --top-p 0.9".split(),
        ),
        ({"chat": True, "system": "Be brief."}, ["--chat", "--system", "Be brief."]),
        ({"normalizer": "entmax:alpha=1.5", "special": True}, ["--normalizer", "entmax:alpha=1.5", "--special"]),
    ],
    ids=str,
)
def test_text_is_that_of_the_command(model, tiny, keywords, words):
    command = [BINARY, "run", tiny, "--prompt", PROMPT, "--tokens", "24", "--quiet", *words]
    printed = subprocess.run(command, capture_output=True).stdout.decode("utf-8", "replace")
    assert model.generate(PROMPT, max_tokens=24, **keywords) + "\n" == printed
    assert model.generate(PROMPT, max_new_tokens=24, **keywords) + "\n" == printed  # as Transformers spells it
    pieces = list(model.stream(PROMPT, max_tokens=24, **keywords))
    assert "".join(pieces) + "\n" == printed and len(pieces) > 4


def test_a_text_ends_where_the_context_does(tiny):
    model = sharpmax.load_model(tiny, context=20)
    tokens = model.tokenize(PROMPT)
    assert len(tokens) < 20
    generated = model.generate(tokens, max_tokens=1000)
    longer = sharpmax.load_model(tiny).generate(tokens, max_tokens=30)
    assert longer.startswith(generated[:-1]) and len(generated) < len(longer)
    assert model.generate(tokens, max_tokens=1 << 62) == generated


@pytest.mark.parametrize(
    "kind, sentence, call",
    [
        (ValueError, "there are no tokens; a model needs at least one", lambda m: m.logits([])),
        (ValueError, "there are no tokens; a model needs at least one", lambda m: m.attention_stats([])),
        (ValueError, "there are 1 tokens; a loss needs at least 2", lambda m: m.loss([3])),
        (ValueError, "there is no token 290; the model has 290", lambda m: m.logits([1, 290])),
        (ValueError, "there is no token -1; the model has 290", lambda m: m.loss([1, -1, 1])),
        (ValueError, "there is no token 12884901888", lambda m: m.logits([3 << 32])),
        (ValueError, "there is no token 5000; the tokenizer has 290", lambda m: m.detokenize([5000])),
        (ValueError, "there are 257 tokens, and the context has room for 256; give fewer tokens, or a larger "
                     "context to load_model\\(\\)", lambda m: m.logits([1] * 257)),
        (ValueError, "the prompt is empty; a model needs something to go on from", lambda m: m.generate("")),
        (ValueError, "max_tokens is 0; it must be from 1 to .*", lambda m: m.generate("a", max_tokens=0)),
        (TypeError, "max_tokens is a float; it must be a whole number", lambda m: m.generate("a", max_tokens=2.0)),
        (ValueError, "seed is -1; it must be from 0 to .*", lambda m: m.generate("a", seed=-1)),
        (TypeError, "temperature is a str; it must be a number", lambda m: m.generate("a", temperature="hot")),
        (TypeError, "threads is a NoneType; it must be a whole number", lambda m: m.loss(PROMPT, threads=None)),
        (ValueError, "block is -1; it must be from 0 to .*", lambda m: m.loss(PROMPT, block=-1)),
        (TypeError, "cache is a int; it must be a str", lambda m: m.loss(PROMPT, cache=16)),
        (ValueError, "text holds half a character at 1; it must be text that UTF-8 can hold",
         lambda m: m.tokenize("a\ud800")),
        (ValueError, "the text holds half a character at 0; it must be .*", lambda m: m.logits("\udcff")),
        (TypeError, "system is a int; it must be a str", lambda m: m.generate("a", chat=True, system=3)),
        (ValueError, ".*temperature.*", lambda m: m.generate("a", temperature=-1)),
        (ValueError, "system goes with chat=True", lambda m: m.generate("a", system="b")),
        (ValueError, "chat, special and system are for a prompt that is a str; these are tokens",
         lambda m: m.generate([1], chat=True)),
        (ValueError, "cache is 'int8'; it must be float32 or float16", lambda m: m.loss(PROMPT, cache="int8")),
        (ValueError, "products is 'int8'; it must be float or int16", lambda m: m.loss(PROMPT, products="int8")),
        (ValueError, "normalizer and normalizers were both given; give one of them",
         lambda m: m.loss(PROMPT, normalizer="hard", normalizers={})),
        (ValueError, ".*normalizers.*schema.*", lambda m: m.loss(PROMPT, normalizers={"a": 1})),
        (ValueError, ".*softmix.*", lambda m: m.loss(PROMPT, normalizer="softmix")),
        (TypeError, "tokens hold a float; they must be whole numbers in one dimension", lambda m: m.logits([1.5])),
        (TypeError, "tokens hold a list; they must be whole numbers in one dimension",
         lambda m: m.logits(np.ones((2, 2), int))),
        (TypeError, "tokens are a int; they must be a str or a sequence of token numbers", lambda m: m.logits(3)),
        (TypeError, "text is a list; it must be a str", lambda m: m.tokenize([1])),
        (ValueError, "return_stats asks for 'sharp'; there is .*", lambda m: m.attention_stats(PROMPT, "sharp")),
    ],
    ids=lambda value: None if callable(value) else str(value),  # the same in every process
)  # fmt: skip
def test_what_makes_no_sense_is_told_in_a_sentence(model, kind, sentence, call):
    with pytest.raises(kind, match=f"^{sentence}$"):
        call(model)
    assert math.isfinite(model.loss(PROMPT))


def test_positions_that_a_model_cannot_have(tiny, tmp_path):
    with pytest.raises(ValueError, match="^rope_base must be above 1$"):
        sharpmax.load_model(tiny, rope_base=0.5)
    with pytest.raises(ValueError, match="rope"):
        sharpmax.load_model(tiny, rope_scaling="stretch:2")
    with pytest.raises(TypeError, match="^rope_scaling is a float; it must be a str$"):
        sharpmax.load_model(tiny, rope_scaling=2.0)
    for context, kind in ((0, ValueError), (1 << 40, ValueError), ("8192", TypeError)):
        with pytest.raises(kind, match="^context is .*; it must be "):
            sharpmax.load_model(tiny, context=context)
    longer = sharpmax.load_model(tiny, context=600)
    assert longer.logits([1] * 600, last=True).shape == (290,)


def test_arrays_of_the_wrong_shape_never_reach_the_kernels(model):
    """The private door: what the package passes is right, but a wrong size must not write past an array."""
    from sharpmax import _core

    wish = _core.SessionWish()
    for call in (
        lambda: model._core.logits([1, 2, 3], wish, np.empty((2, 290), np.float32)),
        lambda: model._core.logits([1, 2, 3], wish, np.empty((3, 10), np.float32)),
        lambda: model._core.losses([1, 2, 3], wish, np.empty(1, np.float32)),
        lambda: model._core.statistics([1, 2, 3], wish, {"entropy": np.empty((2, 4, 2))}, []),
        lambda: model._core.statistics([1, 2, 3], wish, {"column_mass": np.empty((1, 4, 3))}, []),
        lambda: model._core.statistics([1, 2, 3], wish, {"column_mass": np.empty((2, 4, 2))}, []),
    ):
        with pytest.raises(ValueError):
            call()


def test_threads_wait_for_each_other(model):
    wanted = model.loss(PROMPT)
    found = []
    threads = [threading.Thread(target=lambda: found.extend(model.loss(PROMPT) for _ in range(10))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [wanted] * 40


def test_a_stream_that_is_left_costs_nothing_and_two_may_interleave(model):
    one, other = (model.stream(PROMPT, max_tokens=12) for _ in range(2))
    pieces = [piece for pair in zip(one, other) for piece in pair]
    assert pieces[::2] == pieces[1::2]
    left = model.stream(PROMPT, max_tokens=12)
    next(left)
    del left
    assert model.loss(PROMPT) > 0


def test_a_real_model_goes_on_and_its_heads_can_be_seen():
    model = sharpmax.load_model(model_or_skip())
    assert model.generate("The capital of France is", max_tokens=1).strip() == "Paris"
    stats = model.attention_stats(SHAKESPEARE.read_text()[:400], ["entropy", "peak_weight"])
    assert stats.entropy.shape[:2] == (30, 9) and np.isfinite(stats.entropy).all()
    assert ((stats.peak_weight > 0) & (stats.peak_weight <= 1 + 1e-12)).all()
