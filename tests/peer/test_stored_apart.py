"""Weights whose scales are tensors of their own, as gpt-oss (MXFP4) and models in FP8 are published: the same logits as the
same weights in float32, and as transformers where it reads them."""
import json
import shutil

import gguf
import numpy
import pytest
import safetensors.torch
import torch
import transformers
from gguf import GGMLQuantizationType

import tiny_gguf
from tiny_models import make, ours

MXFP4 = GGMLQuantizationType.MXFP4


def range_of(logits):
    return logits.max() - logits.min()


def logits_of(folder, tokens, **words):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", **words)
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0].float().numpy()


def with_weights(folder, to, change, **settings):
    """A copy of a model's folder with other weights, and settings in its config.json."""
    shutil.copytree(folder, to)
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    changed = {}
    for name, weight in weights.items():
        changed |= change(name, weight)
    safetensors.torch.save_file({name: weight.contiguous() for name, weight in changed.items()}, to / "model.safetensors",
                                metadata={"format": "pt"})
    config = json.loads((to / "config.json").read_text()) | settings
    (to / "config.json").write_text(json.dumps(config))


def is_expert(name):
    return name.endswith(("experts.gate_up_proj", "experts.down_proj"))


def blocks_of(weight):
    """[E, in, out] in float32 as [E, out, in / 32] blocks of GGUF's MXFP4."""
    rows = numpy.ascontiguousarray(weight.numpy().swapaxes(1, 2))
    return gguf.quantize(rows, MXFP4).reshape(*rows.shape[:2], -1, 17), rows.shape


def in_mxfp4(name, weight):
    if not is_expert(name):
        return {name: weight}
    blocks, _ = blocks_of(weight)
    halves = blocks[..., 1:]
    nibbles = numpy.concatenate([halves & 15, halves >> 4], -1)  # in the order of the weights
    pairs = nibbles[..., 0::2] | nibbles[..., 1::2] << 4
    return {f"{name}_blocks": torch.from_numpy(pairs), f"{name}_scales": torch.from_numpy(blocks[..., 0].copy())}


def rounded_to_mxfp4(name, weight):
    if not is_expert(name):
        return {name: weight}
    blocks, shape = blocks_of(weight)
    return {name: torch.from_numpy(gguf.dequantize(blocks.reshape(*shape[:2], -1), MXFP4).reshape(shape).swapaxes(1, 2).copy())}


def test_experts_in_mxfp4_give_the_logits_of_their_values(tmp_path):
    tokens, plain = make("gpt-oss", tmp_path / "model")
    with_weights(tmp_path / "model", tmp_path / "floats", rounded_to_mxfp4)
    with_weights(tmp_path / "model", tmp_path / "mxfp4", in_mxfp4,
                 quantization_config={"quant_method": "mxfp4", "modules_to_not_convert": [
                     "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]})
    tiny_gguf.write(tmp_path / "model", tmp_path / "model.gguf", experts_as=MXFP4)
    wanted = logits_of(tmp_path / "floats", tokens)
    bar = 1e-4 * range_of(wanted)
    assert numpy.abs(plain - wanted).max() > 10 * bar, "rounding does nothing"
    # That the folder is what others understand by it. transformers makes bfloat16 of some weights on the way.
    peer = logits_of(tmp_path / "mxfp4", tokens, quantization_config=transformers.Mxfp4Config(dequantize=True))
    assert numpy.abs(peer - wanted).max() <= 2e-2 * range_of(wanted)
    for file in ("mxfp4", "model.gguf"):
        for words in ({}, {"block": 7}, {"one_by_one": len(tokens), "threads": 2}):
            assert numpy.abs(ours(tmp_path / file, tokens, tmp_path, **words) - wanted).max() <= bar, (file, words)


def rounded_to_fp8(weight, rows, columns, scale_type):
    """Scales for rows x columns of a matrix, FP8 values, and the product of the two in float32."""
    padded = torch.nn.functional.pad(weight, (0, -weight.shape[1] % columns, 0, -weight.shape[0] % rows))
    tiles = padded.reshape(padded.shape[0] // rows, rows, padded.shape[1] // columns, columns)
    scales = (tiles.abs().amax((1, 3)) / 448).to(scale_type)
    values = (tiles / scales.float()[:, None, :, None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    back = (values.float() * scales.float()[:, None, :, None]).reshape(padded.shape)
    cut = slice(weight.shape[0]), slice(weight.shape[1])
    return scales, values.reshape(padded.shape)[cut], back[cut]


# Rows and columns that share a scale; None: all of them.
WAYS = {"blocks": (16, 32, torch.float32, "_scale_inv"), "blocks, scales in bfloat16": (16, 32, torch.bfloat16, "_scale_inv"),
        "one scale": (None, None, torch.float32, "_scale_inv"), "one scale per row": (1, None, torch.bfloat16, "_scale")}


@pytest.mark.parametrize("way", WAYS)
def test_weights_in_fp8_give_the_logits_of_their_values(way, tmp_path):
    rows, columns, scale_type, ending = WAYS[way]

    def fp8(name, weight, only_values=False):
        if "_proj" not in name:
            return {name: weight}
        scales, values, back = rounded_to_fp8(weight, rows or weight.shape[0], columns or weight.shape[1], scale_type)
        if only_values:
            return {name: back}
        return {name: values, name + ending: scales.reshape([]) if way == "one scale" else scales}

    tokens, plain = make("qwen3", tmp_path / "model")
    with_weights(tmp_path / "model", tmp_path / "floats", lambda name, weight: fp8(name, weight, only_values=True))
    with_weights(tmp_path / "model", tmp_path / "fp8", fp8,
                 quantization_config={"quant_method": "fp8", "weight_block_size": [rows, columns] if rows and columns else None})
    wanted = logits_of(tmp_path / "floats", tokens)
    bar = 1e-4 * range_of(wanted)
    assert numpy.abs(plain - wanted).max() > 10 * bar, "rounding does nothing"
    for words in ({}, {"block": 7}, {"one_by_one": len(tokens)}):
        assert numpy.abs(ours(tmp_path / "fp8", tokens, tmp_path, **words) - wanted).max() <= bar, words
