"""Small vocabularies, written as the peers write them: tokenizer.json in a folder, and GGUF files."""

import json
import random
import struct

import gguf
from tokenizer_texts import TEXTS, random_text
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
LLAMA3 = CONTRACTIONS + r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = CONTRACTIONS + r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPACE = "\u2581"


def corpus():
    draw = random.Random(5)
    words = "the of and to in a is that for it was on as with he be at by this had not are but from or have an they which one 's 'll don't".split()
    for _ in range(400):
        yield " ".join(draw.choice(words) for _ in range(12)) + draw.choice(["\n", ".\n\n", "  ", "!"])
        yield random_text(draw)
    yield from TEXTS


def byte_level_decoder():
    return decoders.ByteLevel()


def byte_level(normalizer, pre_tokenizer, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = byte_level_decoder()
    trainer = trainers.BpeTrainer(vocab_size=900, show_progress=False, special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def sentencepiece(normalizer, pre_tokenizer, decoder, fuse_unk=True, fallback=range(256)):
    """Trained without bytes, which are then put into the vocabulary."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse_unk))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(vocab_size=900, show_progress=False, special_tokens=["<unk>", "<s>", "</s>"], limit_alphabet=150)
    tokenizer.train_from_iterator(corpus(), trainer)
    written = json.loads(tokenizer.to_str())
    vocabulary = written["model"]["vocab"]
    written["model"]["byte_fallback"] = True
    for byte in fallback:
        vocabulary[f"<0x{byte:02X}>"] = len(vocabulary)
    tokenizer = Tokenizer.from_str(json.dumps(written))
    tokenizer.decoder = decoder
    return tokenizer


def spaces(*after):
    return decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), *after])


def gpt2():
    return byte_level(None, pre_tokenizers.ByteLevel(add_prefix_space=False))


def gpt2_with_prefix_space():
    tokenizer = byte_level(None, pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.add_tokens([AddedToken("foo", single_word=True), AddedToken("<l>", lstrip=True), AddedToken("<r>", rstrip=True, normalized=False),
                          AddedToken("bar baz", normalized=False)])
    tokenizer.add_special_tokens([AddedToken("<both>", lstrip=True, rstrip=True), AddedToken("<bothmore>")])
    return tokenizer


def llama3():
    cut = [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    tokenizer = byte_level(None, pre_tokenizers.Sequence(cut), ignore_merges=True)
    begin = tokenizer.token_to_id("<|endoftext|>")
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<|endoftext|> $A", pair="$A $B", special_tokens=[("<|endoftext|>", begin)])])
    return tokenizer


def qwen2():
    cut = [pre_tokenizers.Split(Regex(QWEN2), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    return byte_level(normalizers.NFC(), pre_tokenizers.Sequence(cut))


def smollm():
    return byte_level(None, pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]))


def cut_otherwise(behavior, invert, normalizer):
    steps = [pre_tokenizers.Split(Regex(r"\s+|[aeiou]\w"), behavior, invert), pre_tokenizers.Digits(individual_digits=False),
             pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    return byte_level(normalizer, pre_tokenizers.Sequence(steps))


def gemma():
    tokenizer = sentencepiece(normalizers.Replace(" ", SPACE), pre_tokenizers.Split(" ", "merged_with_previous"), spaces())
    tokenizer.add_special_tokens(["<start_of_turn>", "<end_of_turn>"])
    tokenizer.add_tokens([AddedToken("\n\n", normalized=False), AddedToken(SPACE * 2, normalized=False)])
    return tokenizer


def llama2():
    prefix = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    tokenizer = sentencepiece(prefix, None, spaces(decoders.Strip(" ", 1, 0)))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="$A $B", special_tokens=[("<s>", 1), ("</s>", 2)])
    tokenizer.add_tokens([AddedToken("monday", normalized=True)])
    return tokenizer


def mistral():
    space = pre_tokenizers.Metaspace(SPACE, prepend_scheme="first", split=False)
    return sentencepiece(None, space, spaces(decoders.Strip(" ", 1, 0)), fuse_unk=False)


def metaspace():
    return sentencepiece(None, pre_tokenizers.Metaspace(SPACE, prepend_scheme="always", split=True), decoders.Metaspace(SPACE, prepend_scheme="always"))


def unknown_characters(fuse_unk, fallback):
    return sentencepiece(normalizers.Replace(" ", SPACE), None, spaces(), fuse_unk, fallback)


# As Hugging Face's files have them: one expression after the other.
SEQUENCES = {
    "tekken": [r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
               r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "gpt-4o": [r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?"
               r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-\ud7ff]+"],
    "deepseek-llm": [r"[\r\n]", r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳΑ-ΡΣ-ϵА-ҁḀ-ἕ]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", "[一-龥ࠀ-一가-\ud7ff]+", r"\p{N}+"],
    "deepseek-v3": [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""],
}


def of_sequence(name):
    splits = [pre_tokenizers.Split(Regex(expression), "isolated") for expression in SEQUENCES[name]]
    digits = [pre_tokenizers.Digits(individual_digits=True)] * (name == "deepseek-coder")
    return byte_level(None, pre_tokenizers.Sequence([*splits, *digits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))


CONFIGURATIONS = {f.__name__: f for f in (gpt2, gpt2_with_prefix_space, llama3, qwen2, smollm, gemma, llama2, mistral, metaspace)} | {name: lambda n=name: of_sequence(n) for name in SEQUENCES} | {
    f"{behavior}{', inverted' * invert}, {form}": lambda b=behavior, i=invert, n=form: cut_otherwise(b, i, getattr(normalizers, n)())
    for behavior, invert, form in [("removed", False, "NFD"), ("contiguous", False, "NFKC"), ("merged_with_previous", False, "NFKD"),
                                   ("merged_with_next", False, "NFC"), ("isolated", True, "NFC"), ("merged_with_next", True, "NFC")]
} | {
    f"unknown characters{', fused' * fuse}, {len(fallback)} bytes": lambda f=fuse, b=fallback: unknown_characters(f, b)
    for fuse in (False, True) for fallback in (range(0), [byte for byte in range(0x80, 0x100) if byte % 16 != 6])
}


def write_folder(folder, tokenizer, **config):
    folder.mkdir(parents=True, exist_ok=True)
    header = b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_gguf(path, model, tokens, types, **entries):
    """entries: tokenizer.ggml.*; lists of text are merges, lists of float scores."""
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    add = {bool: writer.add_bool, int: writer.add_uint32, str: writer.add_string, list: writer.add_array}
    for name, value in entries.items():
        add[type(value)]("tokenizer.ggml." + name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def byte_level_gguf(path, tokenizer, **entries):
    """The vocabulary of a trained tokenizer, its special tokens and two of a user's."""
    written = json.loads(tokenizer.to_str())
    tokens = sorted(written["model"]["vocab"], key=written["model"]["vocab"].get) + ["<user>", "  \n", "<unused>"]
    special = {token["id"] for token in written["added_tokens"]}
    types = [3 if at in special else 1 for at in range(len(tokens) - 3)] + [4, 4, 5]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in written["model"]["merges"]]
    merges.append(merges[0])  # listed twice: the first counts
    return write_gguf(path, "gpt2", tokens, types, merges=merges, bos_token_id=0, eos_token_id=2, **entries)


def sentencepiece_gguf(path, seed, **entries):
    draw = random.Random(seed)
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    types = [2, 3, 3] + [6] * 256
    pieces = set(SPACE + "abcdefghijklmnoé漢字'.,0123456789\n\U0001f600")
    while len(pieces) < 500:
        joined = draw.choice(sorted(pieces)) + draw.choice(sorted(pieces))
        if len(joined) <= 8:
            pieces.add(joined)
    tokens += sorted(pieces)
    types += [1] * len(pieces)
    tokens += ["<user>", "    ", "<ctl>", "<ctl>more", "<free>"]
    types += [4, 4, 3, 3, 5]
    scores = [float(draw.randint(-40, 0)) for _ in tokens]  # many are equal: the leftmost counts
    return write_gguf(path, "llama", tokens, types, scores=scores, bos_token_id=1, eos_token_id=2, unknown_token_id=0, **entries)
