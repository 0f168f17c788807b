"""GGUF against its own package: every type of stored weights to the last bit, every key and tensor of a file."""

import json
import os
import pathlib
import subprocess

import gguf
import numpy as np
import pytest
from fetched import model_or_skip
from gguf import GGMLQuantizationType

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("SHARPMAX_BINARY", ROOT / "build" / "sharpmax"))
TYPES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K", "Q2_K", "Q3_K", "IQ4_NL",
         "IQ4_XS", "MXFP4"]
# Where the float16 scales (and minima) of a block lie.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
          "Q2_K": [80, 82], "Q3_K": [108], "IQ4_NL": [0], "IQ4_XS": [0]}
HOSTILE = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 65504.0, -65504.0, 6e-8, -6e-8], np.float16)


def ours(name, blocks):
    tool = BINARY.parent / "tests" / "dequantize_blocks"
    found = subprocess.run([tool, name], input=blocks.tobytes(), capture_output=True, check=True).stdout
    return np.frombuffer(found, np.float32)


def assert_equal_bits(found, wanted):
    """A NaN is a NaN whatever its payload, which the order of two operands decides; all else to the last bit."""
    wanted = wanted.ravel()
    assert found.shape == wanted.shape
    nan = np.isnan(wanted)
    assert (np.isnan(found) == nan).all()
    differs = (found.view(np.uint32) != wanted.view(np.uint32)) & ~nan
    assert not differs.any(), (np.flatnonzero(differs)[:5], found[differs][:5], wanted[differs][:5])


def reference(name, blocks):
    with np.errstate(invalid="ignore", over="ignore"):
        return gguf.dequantize(blocks, GGMLQuantizationType[name])


def random_blocks(name, count):
    _, size = gguf.GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    return np.random.default_rng([count, TYPES.index(name)]).integers(0, 256, (count, size), dtype=np.uint8)


@pytest.mark.parametrize("name", TYPES)
def test_blocks_of_random_bits_give_the_same_weights(name):
    blocks = random_blocks(name, 4000)
    assert_equal_bits(ours(name, blocks), reference(name, blocks))


@pytest.mark.parametrize("name", SCALES)
def test_hostile_scales_give_the_same_weights(name):
    pairs = [(a, b) for a in HOSTILE for b in HOSTILE]
    blocks = random_blocks(name, len(pairs) * 4)
    for block, pair in zip(blocks, pairs * 4):
        for place, value in zip(SCALES[name], pair):
            block[place:place + 2] = np.array([value], np.float16).view(np.uint8)
    assert_equal_bits(ours(name, blocks), reference(name, blocks))


@pytest.mark.parametrize("name", ["F16", "BF16"])
def test_every_half_gives_the_same_float(name):
    halves = np.arange(65536, dtype=np.uint16).view(np.uint8).reshape(256, -1)
    assert_equal_bits(ours(name, halves), reference(name, halves))


def inspected(path):
    finished = subprocess.run([BINARY, "inspect", path, "--json", "-"], capture_output=True)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def plain(field):
    """What GGUFReader found, as JSON would have it; bytes that are not UTF-8 become the replacement character."""
    def text(part):
        return bytes(part).decode("utf-8", errors="replace")

    kinds = [kind.name for kind in field.types]
    if kinds[0] != "ARRAY":
        return text(field.parts[field.data[0]]) if kinds[0] == "STRING" else field.parts[field.data[0]][0].item()
    if kinds[-1] == "STRING":
        return [text(field.parts[index]) for index in field.data]
    return [field.parts[index][0].item() for index in field.data]


OUR_NAMES = {"BOOL": "boolean"}


def assert_same_as_reader(path):
    found, reader = inspected(path), gguf.GGUFReader(path)
    fields = [field for field in reader.fields.values() if not field.name.startswith("GGUF.")]
    assert [entry["key"] for entry in found["metadata"]] == [field.name for field in fields]
    for entry, field in zip(found["metadata"], fields):
        assert entry["type"] == OUR_NAMES.get(field.types[0].name, field.types[0].name.lower()), field.name
        assert entry["value"] == plain(field), field.name
    tensors = sorted(found["tensors"], key=lambda tensor: tensor["offset"])
    wanted = sorted(reader.tensors, key=lambda tensor: int(tensor.data_offset))
    assert [t["name"] for t in tensors] == [t.name for t in wanted]
    for ours_, theirs in zip(tensors, wanted):
        assert ours_["type"] == theirs.tensor_type.name
        assert ours_["shape"] == [int(extent) for extent in theirs.shape[::-1]]
        assert (ours_["elements"], ours_["bytes"], ours_["offset"]) == (theirs.n_elements, theirs.n_bytes, theirs.data_offset)


def write_tensors(writer, random):
    for kind in GGMLQuantizationType:
        block, size = gguf.GGML_QUANT_SIZES[kind]
        if kind.name in TYPES[:2]:
            values = random.standard_normal((3, 5)).astype(np.float32 if kind.name == "F32" else np.float16)
            writer.add_tensor(f"plain.{kind.name}", values)
        elif not kind.name.startswith(("I8", "I16", "I32", "I64", "F64")):
            data = random.integers(0, 256, (2, 3, size), dtype=np.uint8)
            writer.add_tensor(f"blocks.{kind.name}", data, raw_dtype=kind)


def test_a_file_with_every_type_is_read_as_its_own_package_reads_it(tmp_path):
    random = np.random.default_rng(5)
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_custom_alignment(128)
    for name, value in [("uint8", 255), ("int8", -128), ("uint16", 65535), ("int16", -32768), ("uint32", 2**32 - 1),
                        ("int32", -2**31), ("uint64", 2**64 - 1), ("int64", -2**63), ("float32", 0.1), ("float64", 0.1),
                        ("bool", True)]:
        getattr(writer, f"add_{name}")(f"a.{name}", value)
    writer.add_string("a.text", "λ\0'\\\n")
    writer.add_array("arrays.text", ["", "a", "λ" * 100])
    writer.add_array("arrays.integers", [1, -2, 3])
    writer.add_array("arrays.floats", [0.5, -1e30])
    writer.add_array("arrays.truths", [True, False])
    write_tensors(writer, random)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert_same_as_reader(tmp_path / "m.gguf")


def test_a_real_model_is_read_as_its_own_package_reads_it():
    assert_same_as_reader(model_or_skip())
