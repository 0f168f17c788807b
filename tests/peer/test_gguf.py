"""GGUF against its own package: every type of stored weights to the last bit, every key and tensor of a file."""

import os
import pathlib
import subprocess

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("SHARPMAX_BINARY", ROOT / "build" / "sharpmax"))
TYPES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"]
# Where the float16 scales (and minima) of a block lie.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
HOSTILE = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 65504.0, -65504.0, 6e-8, -6e-8], np.float16)


def ours(name, blocks):
    tool = BINARY.parent / "tests" / "dequantize_blocks"
    found = subprocess.run([tool, name], input=blocks.tobytes(), capture_output=True, timeout=60, check=True).stdout
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
