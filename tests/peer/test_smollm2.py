"""SmolLM2 as its file has it: equal to torch in float32 over the same weights, close to llama.cpp, which rounds
activations to 8 bits; bitwise the same for any number of threads; and no larger in memory than promised."""
import json
import os
import pathlib
import subprocess
import sys

import gguf
import llama_cpp
import numpy
import pytest
import torch
import transformers
from fetched import MODEL, TEXT, model_or_skip
from tiny_models import ours

BINARY = pathlib.Path(os.environ["SHARPMAX_BINARY"])


@pytest.fixture(scope="module", autouse=True)
def fetched_model():
    model_or_skip()


@pytest.fixture(scope="module")
def tokens(fetched_model):
    with llama_cpp.Model(str(MODEL), vocab_only=True) as model:
        return model.tokenize(TEXT.read_bytes()[:12000])[:2048]


def unpermuted(weight, heads):
    """Rows of queries or keys as transformers orders them: the file has the two halves of a head interleaved."""
    return weight.reshape(heads, weight.shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(weight.shape)


def torch_model():
    reader = gguf.GGUFReader(MODEL)
    weights = {t.name: torch.tensor(gguf.dequantize(t.data, t.tensor_type)).reshape(tuple(reversed(t.shape.tolist())))
               for t in reader.tensors}
    config = transformers.LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, max_position_embeddings=8192, rms_norm_eps=1e-5, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 100000.0})
    state = {"model.embed_tokens.weight": weights["token_embd.weight"], "lm_head.weight": weights["token_embd.weight"],
             "model.norm.weight": weights["output_norm.weight"]}
    names = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
             "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
             "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
    for layer in range(30):
        for short, long in names.items():
            weight = weights[f"blk.{layer}.{short}.weight"]
            weight = unpermuted(weight, {"attn_q": 9, "attn_k": 3}[short]) if short in ("attn_q", "attn_k") else weight
            state[f"model.layers.{layer}.{long}.weight"] = weight
    model = transformers.LlamaForCausalLM(config).float().eval()
    model.load_state_dict(state)
    return model


def test_logits_are_those_of_torch_over_the_same_weights(tokens, tmp_path):
    with torch.no_grad():
        wanted = torch_model()(torch.tensor([tokens[:512]])).logits[0].numpy()
    scale = wanted.max() - wanted.min()
    for words in ({"threads": 2}, {"threads": 1, "one_by_one": 40}, {"threads": 2, "cache": "float16"}):
        got = ours(MODEL, tokens[:512], tmp_path, **words)
        assert numpy.abs(got - wanted).max() <= 1e-3 * scale, words


def losses(logits, tokens):
    scores = torch.tensor(logits[:-1])
    return torch.nn.functional.cross_entropy(scores, torch.tensor(tokens[1:]), reduction="mean").item()


# What products of 16-bit integers may change: docs/reference/models.md promises it.
@pytest.mark.parametrize("text", ["real", "random"])
def test_products_of_16_bit_integers_change_logits_by_little(text, tokens, tmp_path):
    if text == "random":
        tokens = numpy.random.default_rng(7).integers(0, 49152, 512).tolist()
    tokens = tokens[:512]
    exact = ours(MODEL, tokens, tmp_path, threads=2).astype(numpy.float64)
    got = ours(MODEL, tokens, tmp_path, threads=2, products="int16").astype(numpy.float64)
    off, scale = got - exact, exact.max() - exact.min()
    assert 0 < numpy.abs(off).max() <= 3e-4 * scale
    assert numpy.sqrt((off**2).mean()) <= 5e-5 * scale
    assert abs(losses(got, tokens) - losses(exact, tokens)) <= 1e-4


def test_results_name_the_products_and_are_not_resumed_under_others(tmp_path):
    def perplexity(file, *words):
        done = subprocess.run([BINARY, "perplexity", MODEL, "--text", TEXT, "--tokens", "96", "--length", "48", "--json", file,
                               "--resume", *words], capture_output=True, text=True)  # fmt: skip
        return done, json.loads(file.read_text())

    done, floats = perplexity(tmp_path / "float.json")
    assert done.returncode == 0 and "products" not in floats["settings"]["model"]
    done, whole = perplexity(tmp_path / "int16.json", "--products", "int16")
    assert done.returncode == 0 and whole["settings"]["model"]["products"] == "int16"
    assert 0 < abs(whole["all"]["loss"] - floats["all"]["loss"]) <= 1e-4
    done, _ = perplexity(tmp_path / "int16.json")
    assert done.returncode == 3 and "model.products is given there only" in done.stderr
    done = subprocess.run([BINARY, "run", MODEL, "--prompt", "a", "--products", "int8"], capture_output=True, text=True)
    assert done.returncode == 2 and "must be float or int16" in done.stderr


@pytest.mark.parametrize("count", [512, pytest.param(2048, marks=pytest.mark.long)])
def test_losses_and_likeliest_tokens_are_near_those_of_llama_cpp(tokens, tmp_path, count):
    tokens = tokens[:count]
    got = ours(MODEL, tokens, tmp_path, threads=2)
    with llama_cpp.Model(str(MODEL)) as model, model.context(len(tokens), threads=2) as context:
        peer = numpy.asarray(context.logits(tokens))
    assert abs(losses(got, tokens) - losses(peer, tokens)) <= 0.01
    assert (got.argmax(1) == peer.argmax(1)).mean() >= 0.95


def test_any_number_of_threads_gives_the_same_bits(tokens, tmp_path):
    one = ours(MODEL, tokens[:150], tmp_path, threads=1, one_by_one=6, normalizer="adaptive")
    for threads in (2, 3):
        assert (ours(MODEL, tokens[:150], tmp_path, threads=threads, one_by_one=6, normalizer="adaptive") == one).all()


def test_memory_is_the_file_the_cache_and_little_else(tmp_path):
    program = ("import resource, subprocess, sys; code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; "
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024); sys.exit(code)")
    length = 1500
    command = [BINARY, "perplexity", MODEL, "--text", TEXT, "--tokens", str(length), "--length", str(length)]
    done = subprocess.run([sys.executable, "-c", program, *map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cache = 2 * 30 * 3 * 64 * 4 * length
    assert int(done.stdout) <= MODEL.stat().st_size + cache + 300e6
