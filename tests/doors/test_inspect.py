"""`sharpmax inspect` as a user meets it: what it says of GGUF files and model folders, what it refuses."""
import json
import os
import pathlib
import subprocess

import pytest

gguf = pytest.importorskip("gguf")
np = pytest.importorskip("numpy")
safetensors = pytest.importorskip("safetensors.numpy")
tokenizers = pytest.importorskip("tokenizers")

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))


def run(*arguments, cwd):
    return subprocess.run([BINARY, "inspect", *map(str, arguments)], capture_output=True, text=True, cwd=cwd)


def done(*arguments, cwd, code=0):
    finished = run(*arguments, cwd=cwd)
    assert finished.returncode == code, (finished.returncode, finished.stderr)
    assert finished.stderr == ""
    return finished.stdout


def refused(code, *arguments, cwd):
    """One sentence on stderr, nothing on stdout, the right exit code; returns the sentence."""
    finished = run(*arguments, cwd=cwd)
    assert finished.returncode == code, (finished.returncode, finished.stdout, finished.stderr)
    assert finished.stdout == ""
    assert finished.stderr.startswith("sharpmax: ") and finished.stderr.count("\n") == 1, finished.stderr
    return finished.stderr


def assert_fits(text):
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("  sharpmax ")), max(text.splitlines(), key=len)
    assert all(c.isprintable() or c == "\n" for c in text)


def write_gguf(path, architecture="llama", extra=lambda writer: None, layers=3, tokenizer="gpt2"):
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(layers)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(96)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_context_length(512)
    writer.add_vocab_size(5)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model(tokenizer)
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(["a", "b", "<|x|>", "Ġt", "\x1b[31m"])
    writer.add_tensor("token_embd.weight", np.ones((5, 64), np.float32))
    for layer in range(layers):
        blocks = gguf.quantize(np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64), gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor(f"blk.{layer}.attn_q.weight", blocks, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    extra(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def model(tmp_path):
    return write_gguf(tmp_path / "m.gguf")


def write_folder(folder, tensors, configuration=None):
    folder.mkdir()
    safetensors.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    if configuration is not None:
        (folder / "config.json").write_text(json.dumps(configuration))
    return folder


def alphabet():
    return sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())


LLAMA = {"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
         "intermediate_size": 96, "max_position_embeddings": 512, "vocab_size": 5, "hidden_act": "silu", "rms_norm_eps": 1e-5}


def test_a_gguf_file_in_80_columns(model, tmp_path):
    text = done("m.gguf", cwd=tmp_path)
    assert_fits(text)
    words = " ".join(text.split())
    for fact in ("GGUF version 3", "architecture llama", "runs here no: there is no tensor 'blk.0.attn_norm.weight'", "layers 3", "width 64, feed-forward 96",
                 "heads 4 query, 2 key and value, 16 features each", "context 512 tokens", "vocabulary 5 tokens",
                 "tokenizer byte-level BPE, pre-tokenizer smollm, 5 tokens",
                 "blk.*.attn_q.weight 3 Q8_0 [64, 64] 13.1 kB", "F32 1 320 1.3 kB 8.9 %",
                 "llama.attention.layer_norm_rms_epsilon 1.0e-5"):
        assert fact in words, (fact, text)


def test_every_tensor_when_asked(model, tmp_path):
    text = done("m.gguf", "--tensors", cwd=tmp_path)
    assert_fits(text)
    names = ["blk.*.attn_q.weight", *(f"blk.{i}.attn_q.weight" for i in range(3))]
    assert [line.split()[0] for line in text.splitlines() if "attn_q" in line] == names
    assert "blk.0.attn_q" not in done("m.gguf", cwd=tmp_path)


def test_names_as_long_as_the_screen_allows_are_whole(tmp_path):
    long = "model.layers.12.post_attention_layernorm.weight"
    safetensors.save_file({long: np.ones((4, 4), np.float32)}, tmp_path / "a.safetensors")
    text = done("a.safetensors", "--tensors", cwd=tmp_path)
    assert_fits(text)
    assert any(line.split()[:1] == [long] for line in text.splitlines())


def test_json_holds_all(model, tmp_path):
    found = json.loads(done("m.gguf", "--json", "-", cwd=tmp_path))
    assert found["schema"] == "sharpmax.inspect/1"
    assert found["format"] == {"name": "GGUF", "version": 3, "alignment": 32}
    assert found["bytes"] == model.stat().st_size
    assert found["architecture"]["name"] == "llama" and not found["architecture"]["runs_here"]
    assert "there is no tensor" in found["architecture"]["why_not"]
    assert found["shape"] == {"layers": 3, "width": 64, "query_heads": 4, "kv_heads": 2, "head_width": 16, "feed_forward": 96,
                              "context": 512, "vocabulary": 5}
    assert [tensor["name"] for tensor in found["tensors"]][0] == "token_embd.weight"
    assert sum(kind["bytes"] for kind in found["types"]) == sum(tensor["bytes"] for tensor in found["tensors"])
    assert abs(sum(kind["share"] for kind in found["types"]) - 1) < 1e-12
    tokens = next(entry for entry in found["metadata"] if entry["key"] == "tokenizer.ggml.tokens")
    assert tokens["element"] == "string" and tokens["value"] == ["a", "b", "<|x|>", "Ġt", "\x1b[31m"]


def test_an_architecture_that_does_not_run_here_is_shown_and_said_so(tmp_path):
    write_gguf(tmp_path / "m.gguf", "mystery", tokenizer="riddle")
    text = done("m.gguf", cwd=tmp_path)
    assert_fits(text)
    words = " ".join(text.split())
    assert "runs here no: the architecture is 'mystery'; the ones that run here are" in words
    assert "layers 3" in words and "heads 4 query, 2 key and value" in words
    assert "tokenizer riddle, pre-tokenizer smollm; does not work here: " in words


def test_types_that_are_not_ours_are_listed(tmp_path):
    blocks = np.zeros((2, 82), np.uint8)
    write_gguf(tmp_path / "m.gguf", extra=lambda writer: writer.add_tensor(
        "output.weight", blocks, raw_dtype=gguf.GGMLQuantizationType.IQ2_S))
    found = json.loads(done("m.gguf", "--json", "-", "--check", cwd=tmp_path))
    assert not found["architecture"]["runs_here"] and "1 of type IQ2_S" in found["architecture"]["why_not"]
    assert found["tensors"][-1]["shape"] == [2, 256] and not found["tensors"][-1]["ours"]
    assert found["check"]["not_checked"] == 1
    assert_fits(done("m.gguf", cwd=tmp_path))


@pytest.mark.parametrize("path", ["folder", "folder/model.safetensors"])
def test_a_safetensors_folder(tmp_path, path):
    write_folder(tmp_path / "folder", {"model.layers.0.w": np.ones((64, 64), np.float16), "mask": np.ones((4, 4), bool)}, LLAMA)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({c: i for i, c in enumerate(alphabet())}, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.save(str(tmp_path / "folder" / "tokenizer.json"))
    text = done(path, cwd=tmp_path)
    assert_fits(text)
    words = " ".join(text.split())
    for fact in ("safetensors, ", "architecture llama", "runs here no: there is no tensor", "4 query, 2 key and value, 16 features each",
                 "tokenizer byte-level BPE", "256 tokens", "F16 1 4,096 8.2 kB", "BOOL 1 16 16 B", "model.layers.*.w 1 F16 [64, 64]", "model_type 'llama'"):
        assert fact in words, (fact, text)


def test_shards_are_one_model(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for part in (1, 2):
        safetensors.save_file({f"w{part}": np.ones((2, 2), np.float32)}, folder / f"model-{part}.safetensors")
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"w1": "model-1.safetensors", "w2": "model-2.safetensors"}}))
    found = json.loads(done("folder", "--json", "-", cwd=tmp_path))
    assert found["format"]["files"] == ["model-1.safetensors", "model-2.safetensors"]
    assert [tensor["name"] for tensor in found["tensors"]] == ["w1", "w2"]


def test_bare_safetensors_have_no_shape_but_are_shown(tmp_path):
    safetensors.save_file({"a": np.ones((2, 3), np.float64)}, tmp_path / "a.safetensors")
    found = json.loads(done("a.safetensors", "--json", "-", cwd=tmp_path))
    assert found["shape"] is None and found["architecture"]["name"] is None and not found["architecture"]["runs_here"]
    text = done("a.safetensors", cwd=tmp_path)
    assert_fits(text)
    assert "no config.json" in " ".join(text.split())


def test_check_finds_every_bad_weight(tmp_path):
    weights = np.zeros((300, 100), np.float32)
    weights[200, 5], weights[250, 0], weights[299, 99] = np.inf, np.nan, np.nan
    write_folder(tmp_path / "folder", {"bad": weights, "good": np.ones(5, np.float16)}, LLAMA)
    text = done("folder", "--check", cwd=tmp_path, code=1)
    assert_fits(text)
    assert "1 of 2 tensors have weights that are NaN or infinite" in text
    assert ["bad", "2", "1", "20,005"] in [line.split() for line in text.splitlines()]
    found = json.loads(done("folder", "--check", "--json", "-", "--threads", 2, cwd=tmp_path, code=1))
    assert found["check"] == {"tensors": 2, "not_checked": 0,
                              "bad": [{"name": "bad", "nan": 2, "infinite": 1, "elements": 30000, "first": 20005}]}


def test_check_passes_where_all_are_numbers(model, tmp_path):
    assert "every weight of 4 tensors is finite" in done("m.gguf", "--check", cwd=tmp_path)


def test_what_is_refused(model, tmp_path):
    assert "no model was given" in refused(2, cwd=tmp_path)
    assert "No such file" in refused(3, "absent.gguf", cwd=tmp_path)
    (tmp_path / "empty").mkdir()
    assert "holds no .safetensors file" in refused(3, "empty", cwd=tmp_path)
    whole = model.read_bytes()
    for length in (0, 3, 20, 100, len(whole) // 2, len(whole) - 1000):
        (tmp_path / "cut.gguf").write_bytes(whole[:length])
        assert "at byte" in refused(3, "cut.gguf", cwd=tmp_path)
    (tmp_path / "text.gguf").write_text("a text\n")
    assert "neither a GGUF nor a safetensors" in refused(3, "text.gguf", cwd=tmp_path)
    (tmp_path / "model.pt").write_bytes(b"PK\x03\x04 and so on")
    assert "never read" in refused(3, "model.pt", cwd=tmp_path)
    folder = write_folder(tmp_path / "folder", {"a": np.ones(3, np.float32)})
    (folder / "config.json").write_text('{"model_type": ')
    assert "config.json: at byte 15: the file is not JSON" in refused(3, "folder", cwd=tmp_path)


def test_names_from_the_file_cannot_write_to_the_terminal(tmp_path):
    evil = "\x1b[2J\x07" + "ä" * 50
    write_gguf(tmp_path / "m.gguf", extra=lambda writer: (writer.add_string("evil", evil), writer.add_string(evil, "x"),
                                                          writer.add_tensor(evil[:30], np.ones(1, np.float32))))
    assert_fits(done("m.gguf", cwd=tmp_path))
    write_gguf(tmp_path / "n.gguf", evil)
    assert_fits(done("n.gguf", cwd=tmp_path))


def test_help_fits_a_terminal(tmp_path):
    assert_fits(done("--help", cwd=tmp_path))
