"""What autograd records: the gradients of attention_backward, in the inputs' type, and nothing that is not needed."""

import pytest
import sharpmax

torch = pytest.importorskip("torch")
import sharpmax.torch as st
from sharpmax.torch import _kernel, _route

TYPES = [torch.float32, torch.bfloat16, torch.float16]
RULES = ["softmax", "entmax:alpha=1.3", "entropy_target:nats=0.4", "stick_breaking"]


def tensors(dtype=torch.float32, seed=1, queries=9, keys=17, heads=4, kv_heads=2, features=16):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(2, heads, queries, features), (2, kv_heads, keys, features), (2, kv_heads, keys, features)]
    shapes.append((2, heads, queries, features))
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


@pytest.fixture(params=["straight", "op"])
def way(request, monkeypatch):
    """The two ways to the kernel that have an autograd of their own."""
    if request.param == "op":
        monkeypatch.setattr(_route, "is_plain", lambda tensors: False)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_gradients_are_those_of_attention_backward_rounded_to_the_inputs_type(dtype, rule, way):
    *inputs, d_out = tensors(dtype)
    bias = torch.randn(9, 17, generator=torch.Generator().manual_seed(3)).to(dtype)
    options = {"enable_gqa": True, "causal": "bottom-right", "normalizer": rule}
    leaves = [tensor.clone().requires_grad_() for tensor in (*inputs, bias)]
    out = sharpmax.attention(*leaves, **options)
    out.backward(d_out)
    with torch.no_grad():
        plain, stats = sharpmax.attention(*inputs, bias, **options, return_stats=("log_partition", "temperature"))
    assert torch.equal(out.detach(), plain) and out.dtype == dtype
    wanted = sharpmax.attention_backward(
        d_out, *inputs, bias, **options, saved=(plain, stats), needs=("query", "key", "value", "bias")
    )
    for leaf, gradient in zip(leaves, wanted[:4]):
        assert gradient.dtype == torch.float32 and leaf.grad.dtype == dtype
        assert torch.equal(leaf.grad, gradient.to(dtype))


def test_only_wanted_gradients_are_computed(way):
    query, key, value, _ = tensors()
    value.requires_grad_()
    out = sharpmax.attention(query, key, value, enable_gqa=True)
    out.sum().backward()
    assert value.grad is not None and query.grad is None and key.grad is None


def test_nothing_is_saved_without_need(monkeypatch):
    query, key, value, _ = tensors()
    asked = []
    original = _kernel.empty_statistics
    monkeypatch.setattr(_kernel, "empty_statistics", lambda *a: asked.append(a[-1].names) or original(*a))
    sharpmax.attention(query, key, value, enable_gqa=True)
    query.requires_grad_()
    with torch.no_grad():
        assert not sharpmax.attention(query, key, value, enable_gqa=True).requires_grad
    with torch.inference_mode():
        sharpmax.attention(query, key, value, enable_gqa=True)
    assert asked == []
    assert sharpmax.attention(query, key, value, enable_gqa=True).requires_grad
    assert asked == ["log_partition,temperature"]


def test_statistics_come_with_a_recorded_answer_and_are_not_part_of_its_graph(way):
    query, key, value, d_out = tensors()
    _, wanted = sharpmax.attention(query, key, value, enable_gqa=True, return_stats="all")
    leaf = query.clone().requires_grad_()
    out, found = sharpmax.attention(leaf, key, value, enable_gqa=True, return_stats="all")
    assert found.names() == wanted.names() and found.gaps == wanted.gaps
    for name in found.names():
        array = getattr(found, name)
        assert not array.requires_grad, name
        torch.testing.assert_close(array, getattr(wanted, name), rtol=0, atol=0, equal_nan=True)
    out.backward(d_out)
    alone = query.clone().requires_grad_()
    sharpmax.attention(alone, key, value, enable_gqa=True).backward(d_out)
    exact = query.double().requires_grad_()
    sharpmax.attention(exact, key.double(), value.double(), enable_gqa=True).backward(d_out.double())
    # With statistics rows are kept whole, without them they are streamed: other sums, each within the bound of any.
    allowed = rounding_of_d_query(query, key, value, d_out)
    assert allowed.max() < 1e-3 * exact.grad.abs().max()
    for gradient in (leaf.grad, alone.grad):
        assert ((gradient - exact.grad).abs() <= allowed).all()


def rounding_of_d_query(query, key, value, d_out):
    """How far softmax's d_query in float32 may be from the exact one, element by element, to first order.

    Sums of m terms, in any order, err by m roundings of the sum of their sizes. So a score errs by (d + 4) u |q|.|k|,
    a weight relatively by twice the row's largest such error and by n + 8 roundings for exp and the sum, dw = d_out.v
    by (d + 2) u |d_out|.|v|, their mean by all of these; d_score is w (dw - mean), d_query the sum of d_score k.
    """
    unit, features, keys = torch.finfo(torch.float32).eps / 2, query.shape[-1], key.shape[-2]
    query, key, value, d_out = (tensor.double() for tensor in (query, key, value, d_out))
    key, value = (tensor.repeat_interleave(query.shape[1] // key.shape[1], 1) for tensor in (key, value))
    scale = features**-0.5
    weights = (query @ key.mT * scale).softmax(-1)
    of_score = (features + 4) * unit * (query.abs() @ key.abs().mT) * scale
    of_weight = 2 * of_score.amax(-1, keepdim=True) + (keys + 8) * unit  # relative
    slopes = d_out.abs() @ value.abs().mT  # dw is no larger
    mean = (weights * slopes).sum(-1, keepdim=True)
    of_mean = mean * (of_weight + (features + keys + 4) * unit)
    of_slope = (features + 2) * unit * slopes
    of_d_score = weights * ((of_weight + 2 * unit) * (slopes + mean) + of_slope + of_mean)
    return (of_d_score + (keys + 2) * unit * weights * (slopes + mean)) @ key.abs() * scale


def test_inputs_are_neither_written_nor_handed_out():
    inputs = [tensor.requires_grad_() for tensor in tensors()[:3]]
    versions, copies = [t._version for t in inputs], [t.detach().clone() for t in inputs]
    out = sharpmax.attention(*inputs, enable_gqa=True)
    torch.autograd.grad(out.sum(), inputs)
    weights = sharpmax.normalize(inputs[0])
    for tensor, version, copy in zip(inputs, versions, copies):
        assert tensor._version == version and torch.equal(tensor.detach(), copy)
        assert tensor.data_ptr() not in (out.data_ptr(), weights.data_ptr())


def test_changing_an_input_between_forward_and_backward_is_noticed():
    query, key, value, _ = (tensor.requires_grad_() for tensor in tensors())
    out = sharpmax.attention(query, key, value, enable_gqa=True)
    with torch.no_grad():
        key.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("make", [lambda g: g.expand(2, 4, 9, 16), lambda g: torch.zeros(2, 4, 16, 9).mT + g])
def test_gradients_of_any_stride_are_taken(make):
    query, key, value, _ = (tensor.requires_grad_() for tensor in tensors())
    d_out = make(torch.tensor(0.5))
    assert d_out.stride(-1) != 1
    found = torch.autograd.grad(sharpmax.attention(query, key, value, enable_gqa=True), (query, key, value), d_out)
    wanted = torch.autograd.grad(
        sharpmax.attention(query, key, value, enable_gqa=True), (query, key, value), d_out.contiguous()
    )
    assert all(torch.equal(a, b) for a, b in zip(found, wanted))


def test_heads_and_positions_lie_in_memory_as_query_has_them():
    query, key, value, d_out = (tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in tensors())
    leaf = query.detach().clone().requires_grad_()
    assert leaf.stride() == query.stride() and not leaf.is_contiguous()
    out = sharpmax.attention(leaf, key, value, enable_gqa=True)
    assert out.transpose(1, 2).is_contiguous()
    assert torch.equal(out, sharpmax.attention(query.contiguous(), key, value, enable_gqa=True))
    (gradient,) = torch.autograd.grad(out, leaf, d_out)
    assert gradient.stride() == leaf.stride()


def test_second_derivatives_are_refused_in_words(way):
    query, key, value, _ = (tensor.requires_grad_() for tensor in tensors())
    for out in (sharpmax.attention(query, key, value, enable_gqa=True), sharpmax.normalize(query)):
        (gradient,) = torch.autograd.grad(out.square().sum(), query, create_graph=True)
        with pytest.raises(NotImplementedError, match="no derivative of its own"):
            gradient.sum().backward()


def test_checkpointing_gives_the_same_gradients(way):
    from torch.utils.checkpoint import checkpoint

    query, key, value, d_out = tensors()
    grads = []
    for wrap in (lambda f, *a: f(*a), lambda f, *a: checkpoint(f, *a, use_reentrant=False)):
        leaf = query.clone().requires_grad_()
        wrap(lambda q: sharpmax.attention(q, key, value, enable_gqa=True, is_causal=True), leaf).backward(d_out)
        grads.append(leaf.grad)
    assert torch.equal(*grads)


def test_autocast_casts_as_it_does_for_torchs_own_function():
    query, key, value, _ = tensors()
    mask = torch.zeros(9, 17)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for inputs in ((query, key, value), (query.bfloat16(), key, value), tuple(t.double() for t in tensors()[:3])):
            theirs = sdpa(*inputs, attn_mask=mask.to(inputs[0].dtype), enable_gqa=True)
            leaf = inputs[0].clone().requires_grad_()
            ours = sharpmax.attention(leaf, *inputs[1:], mask.to(inputs[0].dtype), enable_gqa=True)
            assert ours.dtype == theirs.dtype
            ours.sum().backward()
            assert leaf.grad.dtype == leaf.dtype


def test_parameters_of_a_head_get_that_heads_gradient_and_shared_ones_the_sum(way):
    query, key, value, d_out = tensors()
    names = ("s", "b")
    per_head = [
        torch.tensor([0.3, 0.5, 0.7, 0.9]).requires_grad_(),
        torch.tensor([0.1, 0.2, 0.3, 0.4]).requires_grad_(),
    ]
    mixed = [torch.tensor([0.5], requires_grad=True), torch.full((4,), 0.2, requires_grad=True)]
    for values in (per_head, mixed):
        rule = st.Parametrized("ssmax", **dict(zip(names, values)))
        out = sharpmax.attention(query, key, value, enable_gqa=True, normalizer=rule)
        by_value = rule.__sharpmax_normalizer__()
        assert torch.equal(out.detach(), sharpmax.attention(query, key, value, enable_gqa=True, normalizer=by_value))
        found = torch.autograd.grad(out, values, d_out)
        wanted = sharpmax.attention_backward(
            d_out, query, key, value, enable_gqa=True, normalizer=by_value, needs=("parameters",)
        ).parameters
        for name, value_tensor, gradient in zip(names, values, found):
            exact = wanted[name] if value_tensor.numel() == 4 else wanted[name].sum().reshape(1)
            torch.testing.assert_close(gradient, exact.to(gradient.dtype), rtol=1e-5, atol=1e-6)
