"""Plain softmax by a fused kernel of the device, its entropy from keys that ride along as values. Here by the CPU's own."""

import math

import pytest
import sharpmax

torch = pytest.importorskip("torch")
from sharpmax.torch import _path
from sharpmax.torch.portable import _attend, _fused

STATISTICS = ["entropy", "effective_support", "log_partition", "peak_weight", "first_weight", "mass", "temperature"]
EPS = torch.finfo(torch.float32).eps
# Queries, keys, other options: all that the kernel can answer.
CASES = {
    "plain": (37, 61, {}),
    "causal": (48, 48, {"is_causal": True}),
    "causal, more queries": (70, 40, {"is_causal": True}),
    "causal from the end, as many": (33, 33, {"causal": "bottom-right"}),
    "scale and temperature": (20, 31, {"scale": 0.3, "normalizer": "softmax:beta=2.5"}),
}
OTHERS = {
    "cap": {"soft_cap": 3.0},
    "window": {"window": (3, 3)},
    "lengths": {"key_lengths": [9]},
    "documents": {"documents": [0, 4, 16]},
    "bias": {"attn_mask": torch.zeros(16, 16)},
    "mask": {"attn_mask": torch.ones(16, 16, dtype=torch.bool)},
    "another normalizer": {"normalizer": "sink"},
    "negative temperature": {"normalizer": "softmax:beta=-1"},
    "another statistic": {"return_stats": ["entropy", "support"]},
}


def by_cpu(query, key, value, causal, scale):
    """Wants heads of one size: zeros in queries and keys change no score."""
    missing = (0, value.shape[-1] - query.shape[-1])
    query, key = (torch.nn.functional.pad(rows, missing) for rows in (query, key))
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(query, key, value, 0.0, causal, scale=scale)


@pytest.fixture
def fused(monkeypatch):
    """How often the kernel was called."""
    calls = []
    kernel = lambda *arguments: calls.append(1) or by_cpu(*arguments)  # noqa: E731
    monkeypatch.setattr(_path, "forced", True)
    monkeypatch.setitem(_fused.KERNELS, "cpu", kernel)
    return calls


def drawn(queries, keys, kv_heads=2, sharp=1.0):
    generator = torch.Generator().manual_seed(3)
    shapes = ((1, 4, queries, 16), (1, kv_heads, keys, 16), (1, kv_heads, keys, 9))
    query, *others = (torch.randn(shape, generator=generator) for shape in shapes)
    return [sharp * query, *others]


def run(tensors, options, names=STATISTICS):
    options = {"enable_gqa": True, "return_stats": names, **options}
    out, stats = sharpmax.attention(*tensors, **options)
    return {"out": out, **{name: getattr(stats, name) for name in stats.names()}}


@pytest.mark.parametrize("sharp", [1.0, 8.0])
@pytest.mark.parametrize("case", CASES)
def test_it_is_as_near_to_the_double_specification_as_blocks_are(monkeypatch, fused, case, sharp):
    queries, keys, options = CASES[case]
    tensors = drawn(queries, keys, sharp=sharp)
    found = run(tensors, options)
    assert len(fused) == 1
    monkeypatch.delitem(_fused.KERNELS, "cpu")
    blocks = run(tensors, options)
    monkeypatch.setattr(_path, "forced", False)
    exact = run([tensor.double() for tensor in tensors], options)
    # A score is a sum of 16 products; ln Z and the mean score are of its size, and their difference is the entropy.
    largest = (tensors[0].abs().max() * tensors[1].abs().max()).item() * 16 * options.get("scale", 0.25) * 2.5
    for name, wanted in exact.items():
        error = (found[name] - wanted).abs().max().item()
        size = max(wanted.abs().max().item(), 1.0)
        allowed = 2 * (blocks[name] - wanted).abs().max().item() + 4 * EPS * largest * size
        assert error <= allowed, name
        assert found[name].shape == blocks[name].shape and found[name].dtype == blocks[name].dtype, name


@pytest.mark.parametrize("case", OTHERS)
def test_what_it_cannot_answer_goes_by_blocks(fused, case):
    run(drawn(16, 16), OTHERS[case], ["entropy"] if "return_stats" not in OTHERS[case] else None)
    assert not fused


def test_float64_and_unequal_ends_go_by_blocks(fused):
    run([tensor.double() for tensor in drawn(9, 9)], {})
    run(drawn(9, 12), {"causal": "bottom-right"})
    run(drawn(9, 0), {})
    assert not fused


def test_gradients_are_those_of_blocks(monkeypatch, fused):
    gradients = []
    for _ in range(2):
        leaves = [tensor.requires_grad_() for tensor in drawn(20, 20)]
        out, stats = sharpmax.attention(*leaves, is_causal=True, enable_gqa=True, return_stats=["entropy"])
        assert not stats.entropy.requires_grad
        out.square().sum().backward()
        gradients.append([leaf.grad for leaf in leaves])
        monkeypatch.delitem(_fused.KERNELS, "cpu", raising=False)
    assert len(fused) == 1
    for one, other in zip(*gradients):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_what_is_hidden_never_matters_and_what_is_seen_is_never_lost(fused):
    tensors = drawn(24, 24)
    clean = run(tensors, {"is_causal": True})
    tensors[1][0, 0, 10, 3] = math.nan
    tensors[2][0, 1, 15, 2] = math.inf
    found = run(tensors, {"is_causal": True})
    assert len(fused) == 2
    for name, rows in found.items():
        assert rows[0, :2, 10:].isnan().all(), name  # a NaN in a key: every row that sees it
        torch.testing.assert_close(rows[0, :2, :10], clean[name][0, :2, :10])
    assert found["out"][0, 2:, 15:].isnan().all() and found["entropy"][0, 2:].isfinite().all()
    torch.testing.assert_close(found["out"][0, 2:, :15], clean["out"][0, 2:, :15])


def test_no_block_of_scores_is_made_for_the_entropy(monkeypatch, fused):
    def refuse(*_, **__):
        raise AssertionError("a block of scores was made")

    monkeypatch.setattr(_attend.ScoreMaker, "of", refuse)
    run(drawn(16, 16), {"is_causal": True}, ["entropy", "log_partition", "first_weight"])
    with pytest.raises(AssertionError, match="a block of scores was made"):
        run(drawn(16, 16), {"is_causal": True}, ["peak_weight"])


def test_the_kernel_of_cuda_takes_what_it_is_given():
    """As far as meta tensors tell: arguments, shapes, and that ln Z is cut to the rows there are."""
    assert _fused.KERNELS["cuda"] is _fused._efficient
    query, key, value = (torch.empty(1, 2, rows, width, device="meta") for rows, width in ((5, 8), (7, 8), (7, 12)))
    out, partition = _fused._efficient(query, key, value, True, 0.5)
    assert out.shape == (1, 2, 5, 12) and partition.shape == (1, 2, 5) and partition.dtype == torch.float32
