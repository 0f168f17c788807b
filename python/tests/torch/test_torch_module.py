"""Attention, the layer: nn.MultiheadAttention's answers under softmax, any rule else, and training."""

import copy
import pickle

import pytest
import sharpmax

torch = pytest.importorskip("torch")
from sharpmax.torch import Attention, Learnable
from torch import nn


def tensors(*shapes, seed=1, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]


def seeded(function, seed=1):
    torch.manual_seed(seed)
    return function()


MULTIHEAD = {
    "plain": {},
    "no bias": {"bias": False},
    "other features": {"kdim": 10, "vdim": 6},
    "sequence first": {"batch_first": False},
}


@pytest.mark.parametrize("name", MULTIHEAD)
def test_it_computes_what_multihead_attention_computes(name):
    options = {"batch_first": True, **MULTIHEAD[name]}
    theirs = seeded(lambda: nn.MultiheadAttention(16, 4, dtype=torch.float64, **options))
    if theirs.in_proj_bias is not None:
        nn.init.normal_(theirs.in_proj_bias)
        nn.init.normal_(theirs.out_proj.bias)
    ours = Attention.from_multihead(theirs)
    shapes = (2, 5, 16), (2, 7, options.get("kdim", 16)), (2, 7, options.get("vdim", 16))
    inputs = [tensor.requires_grad_() for tensor in tensors(*shapes, dtype=torch.float64)]
    seen = torch.rand(5, 7, generator=torch.Generator().manual_seed(2)) > 0.3
    given = inputs if options["batch_first"] else [tensor.transpose(0, 1) for tensor in inputs]
    wanted = theirs(*given, attn_mask=~seen, need_weights=False)[0]  # there True hides a key
    found = ours(*given, attn_mask=seen)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    for a, b in zip(torch.autograd.grad(found.sum(), inputs), torch.autograd.grad(wanted.sum(), inputs)):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
    with torch.no_grad():
        theirs.out_proj.weight.zero_()
    assert ours.out_proj.weight.any()  # copies


def test_what_multihead_attention_has_and_this_has_not_is_refused():
    for options, words in (({"dropout": 0.1}, "dropout 0.1"), ({"add_bias_kv": True}, "keys of its own"),
                           ({"add_zero_attn": True}, "keys of its own")):  # fmt: skip
        with pytest.raises(NotImplementedError, match=words):
            Attention.from_multihead(nn.MultiheadAttention(8, 2, **options))
    with pytest.raises(TypeError, match="Linear"):
        Attention.from_multihead(nn.Linear(2, 2))


def test_causal_grouped_and_masked():
    (x,) = tensors((2, 6, 16))
    layer = seeded(lambda: Attention(16, 4, kv_heads=2, normalizer="entmax15", causal=True))
    assert layer.k_proj.out_features == 8
    out = layer(x)
    changed = x.clone()
    changed[:, 4:] += 1.0
    assert torch.equal(layer(changed)[:, :4], out[:, :4]) and not torch.equal(layer(changed)[:, 4:], out[:, 4:])
    short = layer(x[:1, :3])
    torch.testing.assert_close(layer(x, key_lengths=[3, 6])[:1, :3], short)
    last = Attention(16, 4, causal="bottom-right")
    torch.testing.assert_close(last(x[:, -1:], x), last(x)[:, -1:])  # one query over what came before


def test_statistics_on_request():
    (x,) = tensors((2, 6, 16))
    layer = seeded(lambda: Attention(16, 4, normalizer="sparsemax"))
    out, stats = layer(x, return_stats=["entropy", "support"])
    assert torch.equal(out, layer(x)) and stats.entropy.shape == (2, 4, 6) and (stats.support <= 6).all()


def test_it_trains_and_the_rule_trains_with_it():
    """Find the item that is marked, among noise: the temperature rises and the loss falls."""
    torch.manual_seed(3)
    layer = nn.Sequential(Attention(12, 2, normalizer="ssmax:s=0.3", learnable=True), nn.Linear(12, 4))
    optimizer = torch.optim.Adam(layer.parameters(), lr=1e-2)
    before = layer[0].normalizer.normalizer
    losses = []
    for _ in range(60):
        marked, classes = torch.randint(16, (32,)), torch.randint(4, (32, 16))
        x = torch.cat([nn.functional.one_hot(classes, 4).float(), 0.1 * torch.randn(32, 16, 8)], -1)
        x[torch.arange(32), marked, 4] = 3.0
        loss = nn.functional.cross_entropy(layer(x)[:, 0], classes[torch.arange(32), marked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-10:]) < 0.7 * sum(losses[:10])
    after = layer[0].normalizer.normalizer
    assert all(abs(a - b) > 0.05 for a, b in zip(after.s, before.s))


def test_learnable_per_head_shared_or_by_a_module_of_ones_own():
    assert Attention(16, 4, normalizer="ssmax", learnable=True).normalizer.raw_s.shape == (4,)
    assert Attention(16, 4, normalizer="ssmax", learnable="shared").normalizer.raw_s.shape == ()
    rule = Learnable("entmax", 4)
    layer = Attention(16, 4, normalizer=rule)
    assert layer.normalizer is rule and "normalizer.raw_alpha" in layer.state_dict()
    assert "normalizer" not in " ".join(Attention(16, 4, normalizer="ssmax").state_dict())
    layer(tensors((1, 3, 16))[0]).sum().backward()
    assert rule.raw_alpha.grad is not None


@pytest.mark.parametrize(
    "rule, learnable",
    [("entmax:alpha=1.25", True), (sharpmax.Normalizer("softmax:beta=2"), False)],
    ids=["learnt", "fixed"],
)
def test_copies_pickles_states_and_types(rule, learnable):
    (x,) = tensors((2, 5, 16))
    layer = seeded(lambda: Attention(16, 4, normalizer=rule, learnable=learnable, causal=True))
    wanted = layer(x)
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(copied(x), wanted)
    other = Attention(16, 4, normalizer=rule, learnable=learnable, causal=True)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x), wanted)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        moved = copy.deepcopy(layer).to(dtype)
        out = moved(x.to(dtype))
        assert out.dtype == dtype
        # A few roundings of the type in each of three products of at most 16 terms.
        torch.testing.assert_close(out.double(), wanted.double(), rtol=0, atol=32 * torch.finfo(dtype).eps + 1e-5)
        out.sum().backward()
    assert torch.equal(seeded(lambda: Attention(16, 4).half())(x.half()).isfinite().all(), torch.tensor(True))


def test_under_no_grad_inference_mode_and_the_compiler():
    (x,) = tensors((2, 5, 16))
    layer = seeded(lambda: Attention(16, 4, kv_heads=2, normalizer="ssmax", learnable=True))
    wanted = layer(x).detach()
    with torch.no_grad():
        assert torch.equal(layer(x), wanted)
    with torch.inference_mode():
        assert torch.equal(layer(x), wanted)
    torch._dynamo.reset()
    fast = torch.compile(layer, fullgraph=True, backend="aot_eager")
    assert torch.equal(fast(x).detach(), wanted)


def test_made_on_the_meta_device_first():
    with torch.device("meta"):
        layer = Attention(16, 4, normalizer="ssmax", learnable=True)
    assert layer.q_proj.weight.device.type == "meta" and "ssmax" in repr(layer)
    layer.load_state_dict(Attention(16, 4, normalizer="ssmax", learnable=True).state_dict(), assign=True)
    assert layer(tensors((1, 3, 16))[0]).shape == (1, 3, 16)


def test_its_repr_says_what_it_is():
    words = repr(Attention(16, 4, kv_heads=2, normalizer="entmax:alpha=1.25", causal=True))
    assert "16, 4, kv_heads=2, normalizer='entmax:alpha=1.25', causal='top-left'" in words


WRONG = {
    "heads": ((16, 3), {}, "embed_dim is 16; it must be a multiple of num_heads, 3"),
    "key heads": ((16, 4, 3), {}, "num_heads is 4; it must be a multiple of kv_heads, 3"),
    "nothing": ((0, 4), {}, "embed_dim is 0"),
    "fraction": ((16, 4.0), {}, "num_heads is 4.0"),
    "causal": ((16, 4), {"causal": "left"}, "causal is 'left'"),
    "learnable": ((16, 4), {"learnable": "both"}, "learnable is 'both'"),
    "no parameter": ((16, 4), {"normalizer": "sparsemax", "learnable": True}, "sparsemax has no parameter"),
    "rule of other heads": ((16, 4), {"normalizer": Learnable("entmax", 2)}, "2 heads; there are 4"),
    "unknown rule": ((16, 4), {"normalizer": "entmex"}, "entmex"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_named(name):
    arguments, options, words = WRONG[name]
    with pytest.raises(ValueError, match=words):
        Attention(*arguments, **options)
