#!/usr/bin/env python3
"""make_seeds.py TARGET FOLDER: writes the seed corpus of one fuzz target."""
import io
import pathlib
import struct
import sys

NORMALIZER_TEXTS = [
    "softmax", "softmax:beta=2", "softmax:beta=1/2/3", "adaptive", "adaptive:polynomial=-0.037/0.481,threshold=0.5",
    "entropy_target:nats=0.5", "peak_target:weight=0.9,gradient=full", "ssmax:s=0.4/0.5,b=0",
    "log_length:preset=llama4,a=0.1,floor=8192", "log_length:preset=yarn,factor=4", "sparsemax", "entmax15",
    "entmax:alpha=1.5", "asentmax:alpha=1.5,delta=1,beta=1e-300,gamma=-0x1p-3", "top_k:k=8,beta=inf", "hard",
    "sink:c=1", "softmax1", "softpick", "sigmoid:b=nan", "stick_breaking", "self_adjust:form=plain", "relu",
    "linear", "softmax:", "softmax:beta", "softmax:beta=", "softmax:beta=1,beta=2", ":", ",", "=", "",
]


def npy(header: str, payload: bytes, version=(1, 0)) -> bytes:
    text = header.encode("latin-1")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    length = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text + payload


def npy_files():
    for descr, shape, size in [("<f4", (2, 3), 24), ("<f8", (4,), 32), ("<f2", (1, 2, 2), 8), ("|b1", (3,), 3),
                               ("<i8", (2,), 16), (">f4", (1,), 4), ("<f4", (), 4), ("<f4", (0, 5), 0)]:
        header = "{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (descr, shape)
        yield npy(header, bytes(size))
        yield npy(header, bytes(size), version=(2, 0))
    yield npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", bytes(16))
    yield npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", bytes(16))
    yield npy("{'descr': '<f4', 'shape': (2,", b"")
    yield b"\x93NUMPY"


def npz_files():
    import zipfile
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", compression) as archive:
            for name, content in zip(("query", "key", "value"), npy_files()):
                archive.writestr(zipfile.ZipInfo(name + ".npy"), content)
        yield buffer.getvalue()


def safetensors_files():
    def file(header: str, payload: bytes) -> bytes:
        return struct.pack("<Q", len(header)) + header.encode() + payload
    for dtype, shape, size in [("F32", "[2,3]", 24), ("F64", "[4]", 32), ("BF16", "[1,2,2]", 8), ("BOOL", "[3]", 3),
                               ("I64", "[2]", 16), ("F8_E4M3", "[2,3]", 6), ("F32", "[]", 4), ("U8", "[0,5]", 0)]:
        tensor = '{"dtype":"%s","shape":%s,"data_offsets":[0,%d]}' % (dtype, shape, size)
        yield file('{"a":%s}' % tensor, bytes(size))
        yield file('{"__metadata__":{"format":"pt"},"a":%s}  ' % tensor, bytes(size))
    yield file('{"b":{"dtype":"F16","shape":[2],"data_offsets":[4,8]},'
               '"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}', bytes(8))
    yield file("{}", b"")
    yield file('{"a":[[[[', b"")


def gguf_files():
    def text(words: bytes) -> bytes:
        return struct.pack("<Q", len(words)) + words

    def file(entries, tensors=(), data=b"", version=3) -> bytes:
        header = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries))
        header += b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in entries)
        for name, shape, kind, offset in tensors:
            header += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
        return header + (bytes(-len(header) % 32) + data if data else b"")

    numbers = [(b"k%d" % kind, kind, bytes(size)) for kind, size in
               [(0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (6, 4), (7, 1), (10, 8), (11, 8), (12, 8)]]
    arrays = [(b"texts", 9, struct.pack("<IQ", 8, 2) + text(b"a") + text(b"")),
              (b"floats", 9, struct.pack("<IQ", 6, 3) + bytes(12)), (b"truths", 9, struct.pack("<IQ", 7, 2) + b"\0\1")]
    yield file([])
    yield file(numbers)
    yield file(arrays + [(b"general.architecture", 8, text(b"llama"))], version=2)
    yield file([(b"general.alignment", 4, struct.pack("<I", 64))], [(b"a", (2,), 0, 0), (b"b", (1,), 0, 64)], bytes(100))
    for kind, block, size in [(0, 1, 4), (1, 1, 2), (2, 32, 18), (3, 32, 20), (6, 32, 22), (7, 32, 24), (8, 32, 34), (11, 256, 110),
                              (12, 256, 144), (13, 256, 176), (14, 256, 210), (30, 1, 2), (4, 32, 18), (10, 256, 84), (20, 32, 18),
                              (23, 256, 136), (39, 32, 17)]:
        yield file([], [(b"t", (block, 3), kind, 0)], bytes(3 * size))
    yield file([(b"nested", 9, struct.pack("<IQIQ", 9, 1, 0, 1) + b"\0")])
    yield file([], [(b"t", (1, 1, 1, 1), 0, 0), (b"u", (), 0, 32)], bytes(36))


def blocks_of_weights():
    for kind, size in enumerate([4, 2, 2, 34, 18, 20, 22, 24, 144, 176, 210, 84, 110, 18, 136, 17, 16, 1]):
        yield bytes([kind]) + bytes(range(256))[:size] * 2
        yield bytes([kind]) + b"\xff\x7c" * size


def tokenizers():
    import json
    texts = [b"abab ab 12 caf\xc3\xa9\n", b"", b"\xff\xed\xa0\x80<s> x", b"a" * 200]
    lines = "a\np %s\nm a b\nm ab ab\nt 1 0 ab\nt 1 0 abab\nt 3 0 <s>\nt 4 0 <user>\n"
    pieces = "t 2 0 <unk>\nt 3 0 <s>\nt 3 0 </s>\n%sn\nt 1 -1 ab\nt 1 -2 \u2581ab\nt 1 -1 a\nt 1 -3 b\nt 5 0 x\n"
    byte_level = {"type": "ByteLevel", "add_prefix_space": True}
    split = {"type": "Split", "pattern": {"Regex": "\\s+(?!\\S)|[^\\s\\p{L}]?\\p{L}+|\\w"}, "behavior": "MergedWithNext", "invert": False}
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    fused = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    stages = [(None, byte_level, {"type": "ByteLevel"}), ({"type": "NFC"}, {"type": "Sequence", "pretokenizers": [split, byte_level]}, {"type": "ByteLevel"}),
              ({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, replace]}, None, fused),
              (None, metaspace, {"type": "Metaspace", "replacement": "\u2581"})]
    chat = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}" \
           "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{% endif %}"
    for text in texts:
        for pre in ("default", "gpt-2", "smollm", "llama-bpe", "qwen2"):
            yield b"\0" + (lines % pre).encode() + b"\0" + text
        for all_bytes in ("", "a\n"):
            yield b"\1" + (pieces % all_bytes).encode() + b"\0" + text
        for normalizer, pre_tokenizer, decoder in stages:
            written = {"added_tokens": [{"id": 5, "content": "<s>", "special": True, "lstrip": True}, {"id": 6, "content": "x", "single_word": True}],
                       "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "decoder": decoder,
                       "model": {"vocab": {"a": 0, "b": 1, "ab": 2, "<unk>": 3, "\u2581": 4}, "merges": ["a b"], "unk_token": "<unk>", "fuse_unk": True}}
            yield b"\2" + json.dumps(written).encode() + b"\0" + text
    yield b"\3" + chat.encode() + b"\0hello"
    program = "{%- macro m(a, b='x') %}{{ a ~ b }}{% endmacro -%}{% set ns = namespace(n=0) %}{% for x in messages[::-1] if x.role is string %}" \
        "{% set ns.n = ns.n + loop.index %}{{ x['content'].split('a')[0] | trim }}{% else %}{% endfor %}{{ m(ns.n, b=[1, {'k': none}] | tojson) }}"
    yield b"\3" + program.encode() + b"\0banana"


CORPORA = {
    "dequantize": blocks_of_weights,
    "gguf": gguf_files,
    "normalizer_text": lambda: (text.encode() for text in NORMALIZER_TEXTS),
    "npy": npy_files,
    "npz": npz_files,
    "safetensors": safetensors_files,
    "tokenizer": tokenizers,
}


def main() -> None:
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    for index, content in enumerate(CORPORA[target]()):
        (folder / f"seed-{index:03d}").write_bytes(content)


if __name__ == "__main__":
    main()
