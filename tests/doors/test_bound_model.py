"""`sharpmax bound MODEL` as a user meets it: what it proves of small models of known weights, and what it refuses."""
import json
import math
import os
import pathlib
import subprocess

import pytest

gguf = pytest.importorskip("gguf")
np = pytest.importorskip("numpy")

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
LAYERS, HEADS, HEAD_WIDTH, WIDTH, VOCABULARY, CONTEXT = 3, 2, 8, 16, 40, 64


def run(*arguments, cwd):
    return subprocess.run([BINARY, "bound", *map(str, arguments)], capture_output=True, text=True, cwd=cwd)


def done(*arguments, cwd):
    finished = run(*arguments, cwd=cwd)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""
    return finished.stdout


def refused(code, *arguments, cwd):
    """One sentence on stderr, nothing on stdout, the right exit code; returns the sentence."""
    finished = run(*arguments, cwd=cwd)
    assert finished.returncode == code, (finished.returncode, finished.stdout, finished.stderr)
    assert finished.stdout == ""
    assert finished.stderr.startswith("sharpmax: ") and finished.stderr.count("\n") == 1, finished.stderr
    return finished.stderr


def write_model(path, size=0.3, architecture="llama", spoil=lambda name, values: values, tokens=None):
    """`size` of the query and key weights makes the heads flat or sharp."""
    random = np.random.default_rng(5)
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(24)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_value_length(HEAD_WIDTH)
    writer.add_rope_dimension_count(HEAD_WIDTH)
    writer.add_context_length(CONTEXT)
    writer.add_layer_norm_rms_eps(1e-5)
    if architecture == "gemma2":
        writer.add_attn_logit_softcapping(2.0)
        writer.add_sliding_window(9)
    if tokens:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("smollm")
        writer.add_token_list(tokens)
        writer.add_token_merges([])
    shapes = {"token_embd": (VOCABULARY, WIDTH), "output_norm": (WIDTH,)}
    for layer in range(LAYERS):
        shapes |= {f"blk.{layer}.{part}": shape for part, shape in {
            "attn_norm": (WIDTH,), "ffn_norm": (WIDTH,), "attn_q": (HEADS * HEAD_WIDTH, WIDTH),
            "attn_k": (HEAD_WIDTH, WIDTH), "attn_v": (HEAD_WIDTH, WIDTH), "attn_output": (WIDTH, HEADS * HEAD_WIDTH),
            "ffn_gate": (24, WIDTH), "ffn_up": (24, WIDTH), "ffn_down": (WIDTH, 24)}.items()}
        if architecture == "gemma2":
            shapes |= {f"blk.{layer}.post_attention_norm": (WIDTH,), f"blk.{layer}.post_ffw_norm": (WIDTH,)}
        if architecture == "qwen3":
            shapes |= {f"blk.{layer}.attn_q_norm": (HEAD_WIDTH,), f"blk.{layer}.attn_k_norm": (HEAD_WIDTH,)}
    for name, shape in shapes.items():
        values = np.ones(shape) if "norm" in name else random.normal(size=shape) / WIDTH ** 0.5
        if name.endswith(("attn_q", "attn_k")):
            values *= size
        writer.add_tensor(name + ".weight", spoil(name, values).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def assert_fits(text):
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("  sharpmax ")), max(text.splitlines(), key=len)
    assert text.isascii() and all(c.isprintable() or c == "\n" for c in text)


def test_flat_heads_are_proved_to_lose_half_and_the_length_is_one_plus_exp_spread(tmp_path):
    write_model(tmp_path / "flat.gguf")
    text = done("flat.gguf", "--all", "--json", "flat.json", cwd=tmp_path)
    assert_fits(text)
    verdict = " ".join(text.split("\n\n")[0].split())
    assert verdict.startswith("For every one of the 6 heads the weights alone prove a length within 1,000,000 tokens")
    found = json.loads((tmp_path / "flat.json").read_text())
    assert found["schema"] == "sharpmax.bound.model/1" and found["verdict"] == verdict
    assert [(h["layer"], h["head"]) for h in found["heads"]] == [(l, h) for l in range(LAYERS) for h in range(HEADS)]
    for head in found["heads"]:
        assert head["useful"]
        length = 1 + math.exp(head["spread"])
        assert head["log10_length"] == pytest.approx(math.log10(length), rel=1e-12)
        assert f" {math.ceil(length)}\n" in text
        assert (head["attained"] is not None) == (head["layer"] == 0)
        if head["attained"]:
            assert head["attained"]["spread"] <= head["spread"] == min(head["norm_spread"], head["vocabulary_spread"])
            assert head["attained"]["length"] == CONTEXT


def test_another_share_and_a_temperature_change_the_length_and_not_the_spread(tmp_path):
    write_model(tmp_path / "m.gguf")
    plain = json.loads(done("m.gguf", "--json", "-", cwd=tmp_path))
    other = json.loads(done("m.gguf", "--peak", "0.1", "--beta", "2", "--threads", "2", "--json", "-", cwd=tmp_path))
    for a, b in zip(plain["heads"], other["heads"]):
        assert a["spread"] == b["spread"]
        assert b["log10_length"] == pytest.approx(math.log10(1 + 9 * math.exp(2 * a["spread"])), rel=1e-12)
    assert other["heads"][0]["attained"]["peak"] > plain["heads"][0]["attained"]["peak"]


def test_sharp_heads_get_the_words_and_no_astronomic_number(tmp_path):
    write_model(tmp_path / "sharp.gguf", size=8.0)
    text = done("sharp.gguf", cwd=tmp_path)
    assert_fits(text)
    assert " ".join(text.split()).startswith("For all 6 heads the bound says nothing useful: it allows spreads of ")
    assert text.count("says nothing useful") == 1 + 5 + LAYERS
    assert "e+" not in text and "inf" not in text
    heads = json.loads(done("sharp.gguf", "--json", "-", cwd=tmp_path))["heads"]
    assert not any(head["useful"] for head in heads) and all(head["log10_length"] > 6 for head in heads)


def test_norms_of_queries_and_keys_bound_every_layer_whatever_the_projections_are(tmp_path):
    weights = {"attn_q_norm": 0.5, "attn_k_norm": 0.25}

    def shrink(name, values):
        layer = int(name.split(".")[1]) + 1 if name.startswith("blk") else 1
        return values * next((weight * layer for part, weight in weights.items() if name.endswith(part)), 1.0)

    spreads = []
    for size in (0.3, 1000.0):
        write_model(tmp_path / "m.gguf", size=size, architecture="qwen3", spoil=shrink)
        heads = json.loads(done("m.gguf", "--json", "-", cwd=tmp_path))["heads"]
        spreads.append([head["norm_spread"] for head in heads])
        for head in heads:
            # ||q|| and ||k|| are at most sqrt(width) times the weight, rotations keep them, and a spread has two signs.
            most = 2 * math.sqrt(HEAD_WIDTH) * 0.5 * 0.25 * (head["layer"] + 1) ** 2
            # A cache of float16 may move each of two keys by 2^-11 of its size; the other roundings are far smaller.
            assert 0.5 * most < head["norm_spread"] <= most * (1 + 2**-10 + 2**-14)
            assert head["useful"] and head["log10_length"] == pytest.approx(math.log10(1 + math.exp(head["spread"])), rel=1e-12)
    assert spreads[0] == pytest.approx(spreads[1], rel=1e-3)
    text = done("m.gguf", cwd=tmp_path)
    assert_fits(text)
    assert "For every one of the 6 heads" in " ".join(text.split())


def test_a_cap_bounds_the_spread_and_a_window_is_named(tmp_path):
    write_model(tmp_path / "m.gguf", size=8.0, architecture="gemma2")
    text = done("m.gguf", "--all", cwd=tmp_path)
    assert_fits(text)
    heads = json.loads(done("m.gguf", "--json", "-", cwd=tmp_path))["heads"]
    assert [head["window"] for head in heads] == [9, 9, None, None, 9, 9]
    assert all(3.9 < head["spread"] < 4.00001 for head in heads)
    assert [head["useful"] for head in heads] == [False, False, True, True, False, False]  # 1 + e^4 = 55.6
    assert "window 9" in text and "never has more than w keys" in text and " 56\n" in text
    assert "so lengths that no window has" in " ".join(text.split())


def test_positions_of_a_model_count_as_they_are_stretched(tmp_path):
    write_model(tmp_path / "m.gguf")
    plain = json.loads(done("m.gguf", "--json", "-", cwd=tmp_path))["heads"]
    yarn = json.loads(done("m.gguf", "--rope-scaling", "yarn:4", "--json", "-", cwd=tmp_path))["heads"]
    for a, b in zip(plain, yarn):  # yarn multiplies queries and keys by 0.1 ln 4 + 1
        assert b["spread"] == pytest.approx((0.1 * math.log(4) + 1) ** 2 * a["spread"], rel=1e-5)


def test_tokens_are_escaped(tmp_path):
    write_model(tmp_path / "m.gguf", tokens=[f"\x1b[{i}m" for i in range(VOCABULARY)])
    text = done("m.gguf", cwd=tmp_path)
    assert_fits(text)
    query = json.loads(done("m.gguf", "--json", "-", cwd=tmp_path))["heads"][0]["attained"]["query"]
    assert query["text"] == f"\x1b[{query['token']}m"
    assert f"'\\u001b[{query['token']}m'" in text


def test_words_that_do_not_go_with_a_model_are_refused_and_not_ignored(tmp_path):
    write_model(tmp_path / "m.gguf")
    for words in (["--spread", "3"], ["--n", "16"], ["--normalizer", "softmax"], ["--level", "1"]):
        assert "MODEL" in refused(2, "m.gguf", *words, cwd=tmp_path)
    for words in (["--all"], ["--threads", "2"], ["--rope-scaling", "yarn:2"], ["--rope-base", "100"]):
        assert "MODEL" in refused(2, "--spread", "3", *words, cwd=tmp_path)


def test_what_cannot_be_bounded_is_refused_in_one_sentence(tmp_path):
    write_model(tmp_path / "m.gguf")
    assert "--peak" in refused(2, "m.gguf", "--peak", "1", cwd=tmp_path)
    assert "--peak" in refused(2, "m.gguf", "--peak", "nan", cwd=tmp_path)
    assert "--beta" in refused(2, "m.gguf", "--beta", "0", cwd=tmp_path)
    refused(2, "m.gguf", "--threads", "0", cwd=tmp_path)
    refused(3, "absent.gguf", cwd=tmp_path)
    (tmp_path / "text.gguf").write_text("a text\n")
    assert "neither a GGUF nor a safetensors" in refused(3, "text.gguf", cwd=tmp_path)
    (tmp_path / "cut.gguf").write_bytes((tmp_path / "m.gguf").read_bytes()[:2000])
    refused(3, "cut.gguf", cwd=tmp_path)
    refused(3, "m.gguf", "--json", "absent/m.json", cwd=tmp_path)


@pytest.mark.parametrize("part, words", [("blk.1.attn_q", "layer 1, head 0"), ("blk.2.attn_k", "layer 2, head 0"),
                                         ("blk.1.attn_norm", "layer 1, head 0"), ("token_embd", "token 0")])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_not_numbers_are_named(tmp_path, part, words, value):
    def spoil(name, values):
        if name == part:
            values.flat[0] = value
        return values
    write_model(tmp_path / "m.gguf", spoil=spoil)
    sentence = refused(3, "m.gguf", "--threads", "1", cwd=tmp_path)
    assert words in sentence and "finite" in sentence
