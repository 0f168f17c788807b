"""Our tokenizers against `tokenizers` and llama.cpp, token for token, on texts made to be hard.

Every property test draws from the seed in its name; SHARPMAX_SEED sets another."""

import json
import os
import pathlib
import random
import struct

import llama_cpp
import pytest
import tokenizer_files
from fetched import model_or_skip
from tokenize_tool import tool  # noqa: F401  a fixture
from tokenizer_texts import TEXTS, assigned, broken, random_text
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("SHARPMAX_SEED", "20"))
RUNS = [unit * count for unit in ("a", " ", "1", "!", "\n", "漢", "ab", " a") for count in (2, 3, 7, 100)] + [" " * 1000 + "x"]
LONG_RUNS = [unit * 20_000 + end for unit in ("a", " ", "1", "!", "\n", "漢", "ab", " a") for end in ("", "x")]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """One small byte-level vocabulary for all GGUF files."""
    return tokenizer_files.gpt2()


def texts(count, name):
    draw = random.Random(f"{SEED} {name}")
    print(f"seed {SEED}")
    specials = ["<|im_start|>", "<|endoftext|>", "<s>", "</s>", "foo", "foobar", "<l>", "  <r>  ", " <both> ", "<bothmore>", "bar baz", "monday", "<user>", "    ",
                "<ctl>", "<ctl>more", "<unk>", "<free>", "<start_of_turn>", "\n\n", "▁▁"]
    for text in TEXTS + RUNS:
        yield text
    for _ in range(count):
        text = random_text(draw)
        while draw.random() < 0.4:
            at = draw.randint(0, len(text))
            text = text[:at] + draw.choice(specials) + text[at:]
        yield text


def assert_equal_to_tokenizers(tool, peer, cases):
    for text in cases:
        data = text.encode()
        for special in (True, False):
            peer.encode_special_tokens = not special
            theirs = peer.encode(text, add_special_tokens=False).ids
            assert tool.encode(data, special) == theirs, (text, special)
        peer.encode_special_tokens = False
        assert tool.encode(data, True, "whole") == peer.encode(text).ids, text
        ours, decoded = tool.decode(theirs), peer.decode(theirs)
        if "\ufffd" not in decoded:  # theirs is text, ours bytes
            assert ours.decode() == decoded, text


@pytest.mark.parametrize("name", tokenizer_files.CONFIGURATIONS)
def test_a_tokenizer_json_gives_the_tokens_of_tokenizers(tool, tmp_path, name):
    peer = tokenizer_files.CONFIGURATIONS[name]()
    opened = tool.ask(open=str(tokenizer_files.write_folder(tmp_path / "model", peer)))
    assert opened.get("size") == peer.get_vocab_size(), opened
    assert_equal_to_tokenizers(tool, peer, texts(40, name))


def test_merges_as_text_and_as_pairs_are_the_same(tool, tmp_path, trained):
    folder = tokenizer_files.write_folder(tmp_path / "model", trained)
    written = json.loads((folder / "tokenizer.json").read_text())
    assert isinstance(written["model"]["merges"][0], list)
    written["model"]["merges"] = [" ".join(pair) for pair in written["model"]["merges"]]
    (folder / "tokenizer.json").write_text(json.dumps(written))
    tool.ask(open=str(folder))
    assert_equal_to_tokenizers(tool, trained, TEXTS)


def test_invalid_bytes_in_a_tokenizer_json_are_what_python_replaces_them_by(tool, tmp_path, trained):
    tool.ask(open=str(tokenizer_files.write_folder(tmp_path / "model", trained)))
    draw = random.Random(SEED)
    for text in texts(60, "broken"):
        data = broken(draw, text) + bytes(draw.randrange(256) for _ in range(4))
        assert tool.encode(data, False) == tool.encode(data.decode(errors="replace").encode(), False), data


CLASSES = [r"\s", r"\S", r"\w", r"\W", r"\d", r"\p{L}", r"\p{N}", r"\p{P}", r"\p{M}", r"\p{S}", r"\p{Z}", r"\p{Lu}", r"\p{Ll}", r"\p{Lm}", r"\p{Lo}", r"\p{Han}",
           r"\p{Latin}", r"\p{Arabic}", r"[^\s\p{L}\p{N}]", "(?i:s)", "(?i:k)", r"\P{L}"]


@pytest.mark.parametrize("expression", CLASSES)
def test_classes_of_characters_are_those_of_tokenizers(tool, tmp_path, expression):
    characters = "".join(chr(c) for c in [*range(0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0x11000), *range(0x1D400, 0x1FB00)] if assigned(c))
    cut = pre_tokenizers.Split(Regex(expression), "removed")
    peer = Tokenizer(models.BPE(vocab={c: at for at, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, merges=[]))
    peer.pre_tokenizer = pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    peer.decoder = decoders.ByteLevel()
    opened = tool.ask(open=str(tokenizer_files.write_folder(tmp_path / "model", peer)))
    assert "error" not in opened, opened
    left = "".join(word for word, _ in cut.pre_tokenize_str(characters))
    assert 0 < len(left) < len(characters)
    assert tool.decode(tool.encode(characters.encode(), False)).decode() == left


def assert_equal_to_llama(tool, peer, cases):
    for data in cases:
        for special in (False, True):
            ours = tool.encode(data, special)
            assert ours == peer.tokenize(data, special=special), (data, special)
            assert tool.encode(data, special, "whole") == peer.tokenize(data, special=special, add_special=True), data
        assert tool.bytes_of(ours) == [peer.piece(token, special=False) for token in ours], data


def gguf_cases(name, count):
    draw = random.Random(f"{SEED} broken {name}")
    for text in texts(count, name):
        yield text.encode()
        yield broken(draw, text)


def known_pre_tokenizers():
    source = (ROOT / "src/model/tokenizer/byte_level_bpe.cc").read_text()
    rows = source[source.index("constexpr Row kRows"):]
    return [line.split('"')[1] for line in rows.split("\n") if line.startswith('    {"')]


@pytest.mark.parametrize("pre", known_pre_tokenizers())
def test_byte_level_gguf_files_give_the_tokens_of_llama_cpp(tool, tmp_path, trained, pre):
    path = tokenizer_files.byte_level_gguf(tmp_path / "model.gguf", trained, pre=pre)
    assert "error" not in (opened := tool.ask(open=str(path))), opened
    with llama_cpp.Model(path, vocab_only=True) as peer:
        own = pre in ("default", "gpt-2", "smollm", "falcon", "llama-bpe", "qwen2", "qwen35", "tekken", "gpt-4o",
                      "deepseek-v3", "deepseek-llm", "deepseek-coder")  # the others share theirs
        assert_equal_to_llama(tool, peer, gguf_cases(pre, 60) if own else [text.encode() for text in TEXTS])


@pytest.mark.parametrize("entries", [{}, {"add_space_prefix": False}, {"add_space_prefix": True, "add_eos_token": True, "add_bos_token": False},
                                     {"remove_extra_whitespaces": True}], ids=str)
def test_sentencepiece_gguf_files_give_the_tokens_of_llama_cpp(tool, tmp_path, entries):
    path = tokenizer_files.sentencepiece_gguf(tmp_path / "model.gguf", SEED, **entries)
    assert "error" not in (opened := tool.ask(open=str(path))), opened
    with llama_cpp.Model(path, vocab_only=True) as peer:
        assert_equal_to_llama(tool, peer, gguf_cases("sentencepiece", 60))


@pytest.fixture(scope="module")
def smollm2():
    return model_or_skip()


def texts_in(path, key):
    """A list of texts in a GGUF file; `gguf` takes seconds for it."""
    data = path.read_bytes()[: 8 << 20]
    at = data.index(key.encode()) + len(key) + 8  # past the types: an array, of texts
    (count,) = struct.unpack_from("<Q", data, at)
    found, at = [], at + 8
    for _ in range(count):
        (size,) = struct.unpack_from("<Q", data, at)
        found.append(data[at + 8 : at + 8 + size].decode())
        at += 8 + size
    return found


def test_smollm2_gives_the_tokens_of_llama_cpp(tool, smollm2):
    tool.ask(open=str(smollm2))
    with llama_cpp.Model(smollm2, vocab_only=True) as peer:
        assert_equal_to_llama(tool, peer, gguf_cases("smollm2", 200))
        for text in LONG_RUNS:
            assert tool.encode(text.encode(), False) == peer.tokenize(text.encode()), text[:3]


def test_smollm2s_vocabulary_gives_the_tokens_of_tokenizers(tool, smollm2, tmp_path):
    tokens, merges = (texts_in(smollm2, "tokenizer.ggml." + name) for name in ("tokens", "merges"))
    peer = Tokenizer(models.BPE(vocab={token: at for at, token in enumerate(tokens)}, merges=[tuple(merge.split(" ")) for merge in merges]))
    peer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    peer.decoder = decoders.ByteLevel()
    peer.add_special_tokens(tokens[:17])
    opened = tool.ask(open=str(tokenizer_files.write_folder(tmp_path / "model", peer, eos_token="<|im_end|>", bos_token={"content": "<|im_start|>"})))
    assert opened["ends"] == {"begin": 1, "end": 2, "add_begin": False, "add_end": False, "stops": [2]}
    assert_equal_to_tokenizers(tool, peer, texts(100, "smollm2"))
    for text in LONG_RUNS:
        assert tool.encode(text.encode(), False) == peer.encode(text, add_special_tokens=False).ids, text[:3]
