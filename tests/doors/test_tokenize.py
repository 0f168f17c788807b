"""`sharpmax tokenize` at the command line: text to tokens and back, and what it refuses."""
import json

import pytest
import transformers

from tiny_folder import TEXT, refused, sharpmax, write_tiny_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tiny_folder(tmp_path_factory.mktemp("tiny"))


def found(folder, *words, **options):
    done = sharpmax("tokenize", folder, "--json", "-", *words, **options)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def tokens_of(result):
    return [piece["token"] for piece in result["tokens"]]


def test_tokens_are_those_of_transformers_and_come_back(folder, tmp_path):
    fast = transformers.AutoTokenizer.from_pretrained(folder)
    text = "It was the best of times, naïve 漢字\n \U0001f600"
    (tmp_path / "t").write_text(text)
    result = found(folder, "--text-string", text)
    assert tokens_of(result) == fast(text, add_special_tokens=False).input_ids
    assert result["schema"] == "sharpmax.tokenize/1" and result["text"] == text and result["comes_back"]
    assert [piece["spelling"] for piece in result["tokens"]] == fast.tokenize(text)
    assert tokens_of(found(folder, "--text", tmp_path / "t")) == tokens_of(result)
    assert tokens_of(found(folder, "--text", "-", input=text.encode())) == tokens_of(result)
    back = found(folder, "--decode", ",".join(map(str, tokens_of(result))))
    assert back["decoded"] and back["text"] == text and back["comes_back"] and back["tokens"] == result["tokens"]
    shown = sharpmax("tokenize", folder, "--decode", ",".join(map(str, tokens_of(result))))
    assert shown.stdout.decode() == text + "\n"


def test_special_words_are_text_unless_asked_for(folder):
    plain, special = found(folder, "--text-string", "a<|end|>"), found(folder, "--text-string", "a<|end|>", "--special")
    assert 0 not in tokens_of(plain) and plain["comes_back"]
    assert tokens_of(special)[-1] == 0 and special["tokens"][-1]["spelling"] == "<|end|>" and special["comes_back"]
    assert special["tokens"][-1]["text"] == ""


def test_chat_shows_what_the_template_makes_of_a_message(folder):
    fast = transformers.AutoTokenizer.from_pretrained(folder)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
    text = fast.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    result = found(folder, "--chat", "--system", "Be brief.", "--text-string", "Who?")
    assert result["text"] == text and result["comes_back"]
    assert tokens_of(result) == fast(text, add_special_tokens=False).input_ids


def test_the_table_shows_forty_tokens_or_all(folder):
    done = sharpmax("tokenize", folder, "--text-string", TEXT[:400])
    count = len(tokens_of(found(folder, "--text-string", TEXT[:400])))
    assert count > 45
    lines = done.stdout.decode().splitlines()
    assert f"... and {count - 40} more; --all prints them" in lines
    assert f"{count} tokens for 400 bytes" in lines[-2] and "the tokens give the text back" in " ".join(lines[-2:])
    every = sharpmax("tokenize", folder, "--text-string", TEXT[:400], "--all").stdout.decode()
    assert "more;" not in every and len(every.splitlines()) > count


def test_a_model_that_does_not_run_here_has_a_tokenizer(folder, tmp_path):
    model = tmp_path / "other"
    model.mkdir()
    for file in folder.iterdir():
        (model / file.name).write_bytes(file.read_bytes())
    config = json.loads((model / "config.json").read_text()) | {"model_type": "mamba2"}
    (model / "config.json").write_text(json.dumps(config))
    assert tokens_of(found(model, "--text-string", "It was")) == tokens_of(found(folder, "--text-string", "It was"))


def test_an_empty_text_has_no_tokens(folder):
    assert found(folder, "--text-string", "")["tokens"] == []


def test_bad_wishes_are_refused_in_one_sentence(folder, tmp_path):
    words = ("tokenize", folder)
    assert "--text FILE, the text itself, or --decode N,N..." in refused(2, *words)
    assert "both given" in refused(2, *words, "--text", "a", "--text-string", "b")
    assert "both given" in refused(2, *words, "--text-string", "b", "--decode", "1")
    size = found(folder, "--text-string", "a")["model"]["vocabulary"]
    assert f"there is no token {size}; the vocabulary has {size}, from 0 to {size - 1}" in refused(2, *words, "--decode", f"3,{size}")
    assert "--decode" in refused(2, *words, "--decode", "3,x")
    assert "--decode" in refused(2, *words, "--decode", "-3")
    assert "--decode excludes" in refused(2, *words, "--decode", "3", "--special")
    assert "--system goes with --chat" in refused(2, *words, "--text-string", "b", "--system", "s")
    assert "--chat excludes --ends" in refused(2, *words, "--text-string", "b", "--chat", "--ends")
    assert "absent" in refused(3, *words, "--text", tmp_path / "absent")
    assert "absent" in refused(3, "tokenize", tmp_path / "absent.gguf", "--text-string", "b")
    (tmp_path / "bytes").write_bytes(b"ab\xff")
    assert "byte 2 (0xff) is not UTF-8" in refused(3, *words, "--text", tmp_path / "bytes")
    (tmp_path / "notes").write_text("notes")
    assert "--overwrite" in refused(2, *words, "--text-string", "b", "--json", tmp_path / "notes")
