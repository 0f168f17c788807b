"""Soft-capped attention against torch, written out: scores c * tanh(e / c), bias added after."""

import math

import pytest
import torch
from agreement import FromSaved, assert_as_good_as, differentiable, largest_error, random_tensors

import sharpmax

CAPS = [0.5, 2.0, 50.0, 1e6]  # of scores N(0, 1): most are beyond the first, none near the last
# batch, query heads, kv heads, queries, keys, features: prefill, a decode step, odd.
SHAPES = [(1, 4, 2, 64, 96, 64), (2, 4, 2, 1, 129, 64), (1, 2, 2, 37, 53, 40)]
SHUFFLES = 8


def written_out(query, key, value, cap, bias=None, order=None, saving=False):
    group = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(group, 1), value.repeat_interleave(group, 1)

    def scores_of(query, key):
        scores = cap * torch.tanh(query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1]) / cap)
        return scores if bias is None else scores + bias

    scores = scores_of(query, key) if order is None else scores_of(query[..., order], key[..., order])
    if not saving:
        return torch.softmax(scores, -1) @ value
    with torch.no_grad():
        before = scores_of(query, key)
    return FromSaved.apply(scores, value, order, before)


def inputs(shape, dtype, seed=21):
    batch, heads, kv_heads, queries, keys, features = shape
    key_shape = (batch, kv_heads, keys, features)
    return random_tensors(seed, (batch, heads, queries, features), key_shape, key_shape, dtype=dtype)


def orders(features):
    return [torch.randperm(features, generator=torch.Generator().manual_seed(seed)) for seed in range(SHUFFLES)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_outputs_agree(shape, cap, dtype):
    tensors = inputs(shape, dtype)
    (bias,) = random_tensors(22, (1, shape[1], shape[3], shape[4]))
    exact = written_out(*(tensor.double() for tensor in tensors), cap, bias.double())
    floats = [tensor.float() for tensor in tensors]
    plains = [written_out(*floats, cap, bias, order).to(dtype) for order in orders(shape[-1])]
    plain = max(plains, key=lambda answer: largest_error(answer, exact))
    found = sharpmax.attention(*tensors, attn_mask=bias, enable_gqa=True, soft_cap=cap)
    assert_as_good_as(found, plain, exact, f"cap {cap}, {shape}, {dtype}")


@pytest.mark.parametrize("saving", [False, True], ids=["recomputed", "saved"])
@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_agree(shape, cap, saving):
    tensors = inputs(shape, torch.float32)
    bias, d_out = random_tensors(23, (1, shape[1], shape[3], shape[4]), tensors[0].shape)

    def gradients(dtype, order=None, from_saved=False):
        *leaves, leaf_bias = differentiable(dtype, *tensors, bias)
        out = written_out(*leaves, cap, leaf_bias, order, from_saved)
        return torch.autograd.grad(out, (*leaves, leaf_bias), d_out.to(dtype))

    exact = gradients(torch.float64)
    plains = [gradients(torch.float32, order) for order in orders(shape[-1])]
    if saving:
        plains += [gradients(torch.float32, order, from_saved=True) for order in orders(shape[-1])]
    options = {"attn_mask": bias, "enable_gqa": True, "soft_cap": cap}
    saved = sharpmax.attention(*tensors, **options, return_stats=("log_partition", "temperature")) if saving else None
    found = sharpmax.attention_backward(d_out, *tensors, **options, saved=saved)
    for name, ours, wanted, *answers in zip(found._fields, found, exact, *plains):
        plain = max(answers, key=lambda answer: largest_error(answer, wanted))
        assert_as_good_as(ours, plain, wanted, f"{name}'s gradient, cap {cap}, {shape}")


def test_statistics_are_of_the_capped_scores():
    query, key, value = inputs((1, 1, 1, 5, 40, 16), torch.float32)
    _, stats = sharpmax.attention(query, key, value, soft_cap=2.0, return_stats=True)
    scores = 2.0 * torch.tanh(query.double() @ key.double().transpose(-1, -2) / 4.0 / 2.0)
    assert torch.allclose(torch.as_tensor(stats.log_partition), scores.logsumexp(-1), atol=1e-6)
    entropy = torch.distributions.Categorical(logits=scores).entropy()
    assert torch.allclose(torch.as_tensor(stats.entropy), entropy, atol=1e-6)


@pytest.mark.parametrize("cap", [-1.0, float("nan"), float("inf")])
def test_a_cap_that_is_none_is_refused(cap):
    with pytest.raises(ValueError, match="soft_cap is"):
        sharpmax.attention(*inputs((1, 1, 1, 2, 3, 4), torch.float32), soft_cap=cap)


def test_linear_has_no_scores_to_cap():
    with pytest.raises(NotImplementedError, match="linear has no scores to cap"):
        sharpmax.attention(*inputs((1, 1, 1, 2, 3, 4), torch.float32), normalizer="linear", soft_cap=1.0)
