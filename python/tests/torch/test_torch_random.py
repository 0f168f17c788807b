"""Random shapes, types, strides, masks and rules: forward and backward answer, or refuse in one sentence."""

import random

import pytest
import sharpmax

torch = pytest.importorskip("torch")
from sharpmax.torch import Learnable, attention

CASES = 60
TYPES = [torch.float32, torch.float32, torch.bfloat16, torch.float16, torch.float64]
RULES = [
    *(member["name"] for member in sharpmax.family()),
    "entmax:alpha=1",
    "entmax:alpha=1.9",
    "adaptive:gradient=full",
    "entropy_target:nats=0.1,gradient=full",
    "peak_target:weight=0.9,gradient=full",
    "softmax:beta=-1",
]


class Case:
    """One call of attention: everything about it follows from the seed."""

    def __init__(self, seed):
        self.choice, self.number = random.Random(seed).choice, random.Random(seed + 1).random
        self.generator = torch.Generator().manual_seed(seed)
        self.dtype = self.choice(TYPES)
        heads = self.choice([1, 2, 4, 6])
        lead = self.choice([(), (1,), (3,), (2, 2)])
        rows, keys = self.choice([0, 1, 3, 8, 17]), self.choice([0, 1, 2, 7, 16, 33])
        features, values = self.choice([1, 3, 8, 33]), self.choice([1, 4, 17])
        group = self.choice([g for g in (1, 2, 3) if heads % g == 0])
        query_lead, key_lead = (*lead, heads), (*lead, heads // group)
        self.inputs = [
            self.tensor((*query_lead, rows, features)),
            self.tensor((*key_lead, keys, features)),
            self.tensor((*key_lead, keys, values)),
        ]
        self.options = {"enable_gqa": True, "normalizer": self.choice(RULES)}
        if self.number() < 0.2:
            name = self.choice(["softmax", "ssmax", "entmax", "sink", "entropy_target", "peak_target"])
            self.options["normalizer"] = Learnable(name, self.choice([None, heads]))
        self.hide((*query_lead, rows, keys))

    def tensor(self, shape):
        tensor = torch.randn(shape, generator=self.generator).to(self.dtype)
        layout = self.choice(["dense", "dense", "columns first", "positions first", "cut"])
        if layout == "columns first":
            tensor = tensor.mT.contiguous().mT
        elif layout == "positions first":
            tensor = tensor.transpose(-2, -3).contiguous().transpose(-2, -3)
        elif layout == "cut":
            tensor = torch.cat([tensor, tensor], -1)[..., : shape[-1]]
        return tensor.requires_grad_(self.number() < 0.7)

    def hide(self, scores):
        kind = self.choice(["nothing", "bool", "bias", "causal", "window", "cap"])
        shape = [self.choice([1, size]) for size in scores]
        if kind == "bool":
            self.options["attn_mask"] = torch.rand(shape, generator=self.generator) > 0.4
        elif kind == "bias":
            self.options["attn_mask"] = self.tensor(tuple(shape))
        elif kind == "causal":
            self.options["causal"] = self.choice(["top-left", "bottom-right"])
        elif kind == "window":
            self.options["window"] = (self.choice([-1, 0, 2]), self.choice([-1, 0, 2]))
        elif kind == "cap":
            self.options["soft_cap"] = 3.0


@pytest.mark.parametrize("block", range(4))
def test_whatever_is_asked(block):
    answered = 0
    for seed in range(block * CASES, (block + 1) * CASES):
        case = Case(seed)
        try:
            out, stats = attention(*case.inputs, **case.options, return_stats="all")
            if out.requires_grad:
                out.backward(torch.ones_like(out))
        except NotImplementedError as refused:
            assert case.options["normalizer"] == "linear" and "\n" not in str(refused), f"seed {seed}"
            continue
        answered += 1
        assert out.dtype == case.dtype and out.isfinite().all(), f"seed {seed}"
        assert stats.entropy.shape == out.shape[:-1], f"seed {seed}"
        for leaf in (*case.inputs, case.options.get("attn_mask")):
            if leaf is not None and leaf.requires_grad:
                assert leaf.grad.shape == leaf.shape and leaf.grad.dtype == leaf.dtype, f"seed {seed}"
                assert leaf.grad.isfinite().all(), f"seed {seed}"
    assert answered > CASES // 2
