"""Softmax attention and its gradient against torch's scaled_dot_product_attention."""

import pytest
import torch
from agreement import FromSaved, assert_as_good_as, differentiable, largest_error, random_tensors
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as sdpa

import sharpmax

# batch, query heads, kv heads, queries, keys, features: aligned, odd, prime, single, decode, tiny heads.
SHAPES = [
    (1, 2, 2, 64, 64, 64),
    (2, 3, 3, 37, 53, 40),
    (1, 1, 1, 1, 1, 8),
    (1, 4, 4, 1, 129, 64),
    (2, 2, 2, 17, 16, 128),
    (1, 1, 1, 97, 31, 24),
    (1, 1, 1, 5, 257, 256),
    (1, 1, 1, 33, 65, 13),
]
SHUFFLES = 8
TYPES = [torch.float32, torch.bfloat16, torch.float16]


def inputs(shape, dtype, seed=7):
    batch, heads, kv_heads, queries, keys, features = shape
    key_shape = (batch, kv_heads, keys, features)
    return random_tensors(seed, (batch, heads, queries, features), key_shape, key_shape, dtype=dtype)


def plain_and_exact(tensors, **options):
    """torch's own answer in the inputs' type, and in double. Of a few answers with the features in
    another order, which changes nothing but the rounding, the worst: one alone may be good by luck."""
    query, key, value = tensors
    with sdpa_kernel(SDPBackend.MATH):
        exact = sdpa(*(tensor.double() for tensor in tensors), **_as(options, torch.float64))
        answers = []
        for seed in range(SHUFFLES):
            order = torch.randperm(query.shape[-1], generator=torch.Generator().manual_seed(seed))
            shuffled = (query[..., order].float(), key[..., order].float(), value.float())
            answers.append(sdpa(*shuffled, **_as(options, torch.float32)).to(query.dtype))
    return max(answers, key=lambda answer: (answer - exact).abs().nan_to_num().max() if exact.numel() else 0), exact


def _as(options, dtype):
    mask = options.get("attn_mask")
    return {**options, "attn_mask": mask.to(dtype)} if mask is not None and mask.is_floating_point() else options


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_forward_agrees_for_every_shape_and_type(shape, causal, dtype):
    tensors = inputs(shape, dtype)
    plain, exact = plain_and_exact(tensors, is_causal=causal)
    found = sharpmax.attention(*tensors, is_causal=causal)
    assert found.dtype == dtype
    assert_as_good_as(found, plain, exact, f"{shape}, {dtype}")


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("group", [2, 3, 8])
@pytest.mark.parametrize("queries", [1, 4, 19])
def test_grouped_queries_agree(group, queries, dtype):
    tensors = inputs((2, 2 * group, 2, queries, 45, 32), dtype)
    plain, exact = plain_and_exact(tensors, enable_gqa=True)
    assert_as_good_as(sharpmax.attention(*tensors, enable_gqa=True), plain, exact, f"group of {group}")


MASK_SHAPES = [(21, 34), (3, 21, 34), (2, 1, 21, 34), (2, 3, 21, 34), (2, 1, 1, 34), (1, 1, 21, 1)]


@pytest.mark.parametrize("mask_shape", MASK_SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks_of_every_shape_broadcast_as_torch_broadcasts_them(mask_shape, kind):
    tensors = inputs((2, 3, 3, 21, 34, 16), torch.float32)
    (noise,) = random_tensors(11, mask_shape)
    mask = noise > -1 if kind == "bool" else noise
    plain, exact = plain_and_exact(tensors, attn_mask=mask)
    seen = mask.expand(2, 3, 21, 34).any(-1, keepdim=True) if kind == "bool" else torch.tensor(True)
    found = sharpmax.attention(*tensors, attn_mask=mask)
    # Rows without a key: torch's answers differ by backend; ours is 0.
    assert (found * ~seen == 0).all()
    zero = torch.zeros(())
    exact, plain = torch.where(seen, exact, zero.double()), torch.where(seen, plain, zero)
    assert_as_good_as(found, plain, exact, f"{kind} mask {mask_shape}")


@pytest.mark.parametrize("blank", [float("-inf"), torch.finfo(torch.float32).min], ids=["-inf", "lowest"])
def test_left_padding_gives_zero_rows_and_zero_gradients_not_nan(blank):
    query, key, value, d_out = random_tensors(3, *[(2, 2, 12, 16)] * 4)
    padding = torch.tensor([5, 0])
    place = torch.arange(12)
    seen = (place[None, :] <= place[:, None]) & (place >= padding[:, None])[:, None, None, :]
    bias = torch.zeros(seen.shape).masked_fill(~seen, blank)
    out, stats = sharpmax.attention(query, key, value, attn_mask=bias, return_stats=True)
    empty = ~seen.any(-1).expand(2, 2, 12)
    assert empty.sum() == 2 * 5
    assert (out[empty] == 0).all() and stats.log_partition[empty].eq(float("-inf")).all()
    plain, exact = plain_and_exact((query, key, value), attn_mask=seen)
    assert_as_good_as(out[~empty], plain[~empty], exact[~empty], "rows with a key")
    gradients = sharpmax.attention_backward(d_out, query, key, value, attn_mask=bias)
    assert (gradients.query[empty] == 0).all()
    for gradient in gradients[:4]:
        assert gradient.isfinite().all()


def torchs_gradients(dtype, tensors, d_out, causal, grouped, seed=None):
    """Those of query, key and value, by autograd; with a seed, computed with the features in another order."""
    leaves = differentiable(dtype, *tensors)
    features = tensors[0].shape[-1]
    order = torch.arange(features)
    if seed is not None:
        order = torch.randperm(features, generator=torch.Generator().manual_seed(seed))
    query, key, value = leaves
    with sdpa_kernel(SDPBackend.MATH):
        out = sdpa(query[..., order], key[..., order], value, is_causal=causal, enable_gqa=grouped)
    return torch.autograd.grad(out, leaves, d_out.to(dtype))


def products_in_sequence(left, right):
    """left @ right in float32, every sum added up one product after the other, as a plain loop does. torch's own order, and
    with it its error, depends on the machine."""
    total = torch.zeros(*left.shape[:-1], right.shape[-1])
    for i in range(left.shape[-1]):
        total += left[..., :, i, None] * right[..., i, None, :]
    return total


def plain_gradients_in_sequence(tensors, d_out, causal, grouped, saving):
    """The gradients in float32, written out; if saving, from the answer and the log-partition of scores in torch's order."""
    query, key, value, d_out = (tensor.float() for tensor in (*tensors, d_out))
    group = query.shape[1] // key.shape[1] if grouped else 1
    key, value = (tensor.repeat_interleave(group, 1) for tensor in (key, value))
    scale = query.shape[-1] ** -0.5
    scores = products_in_sequence(query, key.transpose(-1, -2)) * scale
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool)
    unseen = ~(seen.tril() if causal else seen)
    scores = scores.masked_fill(unseen, float("-inf"))
    weights = torch.softmax(scores, -1)
    d_weights = products_in_sequence(d_out, value.transpose(-1, -2))
    row = (d_weights * weights).sum(-1, keepdim=True)
    if saving:
        before = (query @ key.transpose(-1, -2) * scale).masked_fill(unseen, float("-inf"))
        out = torch.softmax(before, -1) @ value
        weights = (scores - before.double().logsumexp(-1, keepdim=True)).exp().float()
        row = products_in_sequence(d_out[..., None, :], out[..., None])[..., 0]
    d_scores = weights * (d_weights - row) * scale
    d_key = products_in_sequence(d_scores.transpose(-1, -2), query)
    d_value = products_in_sequence(weights.transpose(-1, -2), d_out)
    return (products_in_sequence(d_scores, key), *(d.unflatten(1, (-1, group)).sum(2) for d in (d_key, d_value)))


def plain_gradients_from_saved(tensors, d_out, causal, grouped, seed):
    """The same in float32, by a backward that has the answer and not the weights."""
    query, key, value = leaves = differentiable(torch.float32, *tensors)
    order = torch.randperm(query.shape[-1], generator=torch.Generator().manual_seed(seed))
    if grouped:
        group = query.shape[1] // key.shape[1]
        key, value = (tensor.repeat_interleave(group, 1) for tensor in (key, value))

    def scores_of(query, key):
        scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool)
        return scores.masked_fill(~(seen.tril() if causal else seen), float("-inf"))

    with torch.no_grad():
        before = scores_of(query, key)
    scores = scores_of(query[..., order], key[..., order])
    return torch.autograd.grad(FromSaved.apply(scores, value, order, before), leaves, d_out.float())


@pytest.mark.parametrize("saving", [False, True], ids=["recomputed", "saved"])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("shape", [*SHAPES, (2, 6, 2, 19, 45, 32)], ids=str)
def test_gradients_agree_for_every_shape_and_type(shape, causal, dtype, saving):
    tensors = inputs(shape, dtype)
    (d_out,) = random_tensors(8, (*tensors[0].shape[:-1], tensors[2].shape[-1]), dtype=dtype)
    grouped = shape[1] != shape[2]
    exact = torchs_gradients(torch.float64, tensors, d_out, causal, grouped)
    plains = [torchs_gradients(torch.float32, tensors, d_out, causal, grouped, seed) for seed in range(SHUFFLES)]
    plains.append(plain_gradients_in_sequence(tensors, d_out, causal, grouped, saving))
    if saving:
        plains += [plain_gradients_from_saved(tensors, d_out, causal, grouped, seed) for seed in range(SHUFFLES)]
    options = {"is_causal": causal, "enable_gqa": grouped}
    saved = None
    if saving:
        saved = sharpmax.attention(*tensors, **options, return_stats=("log_partition", "temperature"))
    found = sharpmax.attention_backward(d_out, *tensors, **options, saved=saved)
    # The out that was saved is rounded to its type: the exact gradients see that rounding too.
    half = saving and dtype != torch.float32
    for name, ours, wanted, *answers in zip(found._fields, found, exact, *plains):
        plain = max(answers, key=lambda answer: largest_error(answer, wanted))
        plain = plain.to(dtype) if half else plain
        assert_as_good_as(ours, plain, wanted, f"{name}'s gradient, {shape}, {dtype}")


@pytest.mark.parametrize("bias_shape", [(21, 34), (3, 1, 34), (2, 1, 21, 34), (2, 3, 21, 34), (1, 1, 21, 1)], ids=str)
def test_bias_gradients_are_summed_over_what_was_broadcast(bias_shape):
    tensors = inputs((2, 3, 3, 21, 34, 16), torch.float32)
    bias, d_out = random_tensors(12, bias_shape, tensors[0].shape)
    gradients = {}
    for dtype in (torch.float32, torch.float64):
        *leaves, leaf_bias = differentiable(dtype, *tensors, bias)
        with sdpa_kernel(SDPBackend.MATH):
            out = sdpa(*leaves, attn_mask=leaf_bias)
        gradients[dtype] = torch.autograd.grad(out, leaf_bias, d_out.to(dtype))[0]
    found = sharpmax.attention_backward(d_out, *tensors, attn_mask=bias)
    assert_as_good_as(found.bias, gradients[torch.float32], gradients[torch.float64], f"bias {bias_shape}")


@pytest.mark.parametrize("scale", [0.0, 0.3, 4.0, -1.0])
def test_scale_is_torchs_scale(scale):
    tensors = inputs((1, 2, 2, 19, 23, 32), torch.float32)
    plain, exact = plain_and_exact(tensors, scale=scale)
    assert_as_good_as(sharpmax.attention(*tensors, scale=scale), plain, exact, f"scale {scale}")


def test_strided_inputs_as_models_have_them():
    packed = random_tensors(4, (2, 29, 3, 4, 32))[0]  # batch, position, q/k/v, head, feature
    tensors = tuple(packed[:, :, part].transpose(1, 2) for part in range(3))
    assert not tensors[0].is_contiguous()
    plain, exact = plain_and_exact(tensors, is_causal=True)
    assert_as_good_as(sharpmax.attention(*tensors, is_causal=True), plain, exact, "strided")
    with_strided_features = tuple(tensor.transpose(-1, -2).contiguous().transpose(-1, -2) for tensor in tensors)
    found = sharpmax.attention(*with_strided_features, is_causal=True)
    assert_as_good_as(found, plain, exact, "last dimension strided")


# Shapes of query, key, value and attn_mask that torch broadcasts; whether heads are grouped; what is hidden.
RECORDED = {
    "plain": ([(2, 3, 19, 16), (2, 3, 23, 16), (2, 3, 23, 16)], {}),
    "causal": ([(2, 3, 19, 16), (2, 3, 19, 16), (2, 3, 19, 16)], {"is_causal": True}),
    "grouped": ([(2, 6, 19, 16), (2, 2, 23, 16), (2, 2, 23, 16)], {"enable_gqa": True}),
    "two dimensions": ([(19, 16), (23, 16), (23, 16)], {}),
    "one key head": ([(2, 3, 19, 16), (2, 1, 23, 16), (2, 1, 23, 16)], {}),
    "one batch of keys": ([(2, 3, 19, 16), (1, 3, 23, 16), (1, 3, 23, 16)], {}),
    "five dimensions": ([(2, 2, 3, 9, 16), (2, 2, 3, 11, 16), (2, 2, 3, 11, 16)], {}),
    "bias": ([(2, 3, 19, 16), (2, 3, 23, 16), (2, 3, 23, 16), (3, 1, 23)], {}),
    "bias of all": ([(2, 3, 19, 16), (2, 3, 23, 16), (2, 3, 23, 16), (2, 3, 19, 23)], {"scale": 0.5}),
}


@pytest.mark.parametrize("name", RECORDED)
def test_autograd_gives_torchs_gradients_of_whatever_is_broadcast(name):
    shapes, options = RECORDED[name]
    tensors = random_tensors(21, *shapes)
    gradients = {}
    for dtype in (torch.float32, torch.float64):
        leaves = differentiable(dtype, *tensors)
        with sdpa_kernel(SDPBackend.MATH):
            out = sdpa(*leaves, **options)
        (d_out,) = random_tensors(22, out.shape)
        gradients[dtype] = torch.autograd.grad(out, leaves, d_out.to(dtype))
    leaves = differentiable(torch.float32, *tensors)
    found = torch.autograd.grad(sharpmax.attention(*leaves, **options), leaves, d_out)
    for ours, plain, exact in zip(found, gradients[torch.float32], gradients[torch.float64]):
        assert_as_good_as(ours, plain, exact, name)
