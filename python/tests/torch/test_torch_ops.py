"""The registered ops: what torch.library.opcheck, torch.compile and torch.export ask of them."""

import pytest
import sharpmax

torch = pytest.importorskip("torch")
import sharpmax.torch as st
from sharpmax.torch import _ops
from sharpmax.torch._kernel import SAVED, Lengths, Masks, Rule, Wishes

OPS = torch.ops.sharpmax


def tensors(*shapes, dtype=torch.float32, seed=1, grad=True):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_(grad) for shape in shapes]


SOFTMAX, ALL_KEYS, FULL_LENGTH, NO_WISHES = Rule("softmax"), Masks(), Lengths(), Wishes()


def arguments(inputs, rule=SOFTMAX, masks=ALL_KEYS, lengths=FULL_LENGTH, wishes=NO_WISHES):
    inputs = [*inputs, *[None] * (5 - len(inputs))]
    return (*_ops.flat(inputs, lengths, rule, masks), *wishes, 1)


QKV = ((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6))
PARAMETERS = torch.tensor([[1.2, 1.4, 1.6, 1.8]], dtype=torch.float64)
CONFIGURATIONS = {
    "softmax, saving": lambda: arguments(tensors(*QKV), wishes=SAVED),
    "float16, no gradient": lambda: arguments(tensors(*QKV, dtype=torch.float16, grad=False)),
    "bfloat16": lambda: arguments(tensors(*QKV, dtype=torch.bfloat16)),
    "two dimensions, causal": lambda: arguments(
        tensors((3, 8), (5, 8), (5, 8)), masks=Masks("bottom-right", 2, 1, 0.3, 5.0)
    ),
    "bool mask and lengths": lambda: arguments(
        [*tensors(*QKV), torch.tensor([True, False, True, True, True]).expand(3, 5)],
        lengths=Lengths(torch.tensor([4, 5])),
    ),
    "bias and parameters": lambda: arguments(
        [*tensors(*QKV, (3, 5)), PARAMETERS.clone().requires_grad_()], Rule("entmax", "alpha")
    ),
    "statistics": lambda: arguments(
        tensors(*QKV), wishes=Wishes("entropy,top_keys,top_weights,gap_counts,column_mass,map", 2, 3, 2, "1.0,2.0")
    ),
    "as models have them": lambda: arguments(
        [tensor.transpose(1, 2) for tensor in tensors((2, 3, 4, 8), (2, 5, 4, 8), (2, 5, 4, 6))]
    ),
    "last dimension strided": lambda: arguments([tensor.mT for tensor in tensors((2, 8, 3), (2, 8, 5), (2, 6, 5))]),
    "documents": lambda: arguments(
        tensors(*QKV), Rule("entmax15"), lengths=Lengths(None, torch.tensor([0, 1, 3]), torch.tensor([0, 2, 5]))
    ),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_opcheck_of_attention(name):
    torch.library.opcheck(OPS.attention.default, CONFIGURATIONS[name]())


@pytest.mark.parametrize("needs", [[True] * 5, [False, True, False, False, False]], ids=["all", "key"])
def test_opcheck_of_attention_backward(needs):
    inputs = [*tensors(*QKV, (3, 5), grad=False), PARAMETERS]
    d_out, out = tensors((2, 4, 3, 6), (2, 4, 3, 6), grad=False, seed=2)
    flat = _ops.flat(inputs, Lengths(), Rule("entmax", "alpha"), Masks())
    torch.library.opcheck(OPS.attention_backward.default, (d_out, *flat, None, None, None, needs, 1))
    flat = _ops.flat([*inputs[:4], None], Lengths(), Rule("softmax"), Masks())
    out, found = OPS.attention(*flat, *SAVED, 1)
    saved = (d_out, *flat, out, *found, [*needs[:4], False], 1)
    torch.library.opcheck(OPS.attention_backward.default, saved)
    halves = [tensor.bfloat16() for tensor in (d_out, *inputs[:4])]
    flat = _ops.flat([*halves[1:], None], Lengths(), Rule("softmax"), Masks())
    backward = (halves[0], *flat, None, None, None, [*needs[:4], False], 1)
    torch.library.opcheck(OPS.attention_backward.default, backward)


def test_opcheck_of_normalize_and_its_backward():
    scores, d_weights = tensors((2, 4, 3, 5), (2, 4, 3, 5))
    rest = (PARAMETERS.clone().requires_grad_(), "entmax", "alpha", *Wishes("entropy"), 1)
    torch.library.opcheck(OPS.normalize.default, (scores, *rest))
    torch.library.opcheck(OPS.normalize.default, (scores.detach().half(), None, "softmax", "", *Wishes(), 1))
    backward = (d_weights.detach(), scores.detach(), PARAMETERS, "entmax", "alpha", 1)
    torch.library.opcheck(OPS.normalize_backward.default, backward)
    torch.library.opcheck(OPS.normalize_backward.default, (*backward[:2], None, "entmax15", "", 1))


def compiled(function, dynamic=None, backend="aot_eager"):
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, dynamic=dynamic, backend=backend)


def agree(function, inputs, dynamic=None, backend="aot_eager"):
    """Bit for bit, forward and backward: it is the same kernel."""
    fast = compiled(function, dynamic, backend)
    leaves = [tensor for tensor in inputs if tensor.requires_grad]
    found, wanted = fast(*inputs), function(*inputs)
    assert torch.equal(found, wanted)
    gradients = torch.autograd.grad(found.square().sum(), leaves), torch.autograd.grad(wanted.square().sum(), leaves)
    for ours, theirs in zip(*gradients):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    return fast


def test_compiled_without_a_graph_break_by_inductor():
    query, key, value = tensors(*QKV)
    agree(lambda q, k, v: sharpmax.attention(q, k, v, enable_gqa=True), (query, key, value), backend="inductor")


def test_compiled_once_for_any_length():
    def function(query, key, value):
        return sharpmax.attention(query, key, value, is_causal=True, scale=query.shape[-1] ** -0.25)

    fast = agree(function, tensors((2, 2, 5, 8), (2, 2, 7, 8), (2, 2, 7, 8)), dynamic=True)
    with torch.compiler.set_stance("fail_on_recompile"):
        for queries, keys in ((6, 9), (11, 4)):
            inputs = tensors((2, 2, queries, 8), (2, 2, keys, 8), (2, 2, keys, 8))
            assert torch.equal(fast(*inputs), function(*inputs))


def test_compiled_with_a_learnable_rule_a_bias_lengths_and_broadcasting():
    rule = st.Learnable("entmax", heads=4, alpha=[1.2, 1.4, 1.6, 1.8])
    lengths = torch.tensor([5, 3])
    query, key, value, bias = tensors((2, 4, 3, 8), (1, 2, 5, 8), (2, 2, 5, 8), (3, 5))

    def function(query, key, value, bias, _):
        return sharpmax.attention(query, key, value, bias, enable_gqa=True, key_lengths=lengths, normalizer=rule)

    agree(function, (query, key, value, bias, rule.raw_alpha))


def test_compiled_with_a_normalizer_value_which_may_change():
    query, key, value = tensors(*QKV, grad=False)
    fast = compiled(lambda rule: sharpmax.attention(query, key, value, enable_gqa=True, normalizer=rule))
    for text in ("entmax:alpha=1.3", "entmax:alpha=1.9", "softmax", "entmax:alpha=1.3"):
        rule = sharpmax.Normalizer(text)
        assert torch.equal(fast(rule), sharpmax.attention(query, key, value, enable_gqa=True, normalizer=rule))


def test_compiled_with_statistics():
    query, key, value = tensors(*QKV)
    wish = {"entropy": True, "map": (3, 2), "gaps": [1, 2], "top": 2}

    def function(query, key, value):
        out, stats = sharpmax.attention(query, key, value, enable_gqa=True, return_stats=wish)
        return out, stats.entropy, stats.map, stats.gap_counts, stats.top_keys

    found, wanted = compiled(function)(query, key, value), function(query, key, value)
    assert found[0].requires_grad and not any(array.requires_grad for array in found[1:])
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(found, wanted))


def test_compiled_rows():
    (scores,) = tensors((2, 4, 3, 5))
    agree(lambda scores: sharpmax.normalize(scores, "entmax15", axis=1), (scores,))


def test_exported_programs_hold_the_op():
    class Head(torch.nn.Module):
        def forward(self, query, key, value):
            return sharpmax.attention(query, key, value, enable_gqa=True, normalizer="entmax15")

    inputs = tuple(tensors(*QKV, grad=False))
    program = torch.export.export(Head(), inputs)
    assert any("sharpmax.attention" in str(node.target) for node in program.graph.nodes)
    assert torch.equal(program.module()(*inputs), Head()(*inputs))


def test_a_compiled_graph_that_is_called_with_bad_numbers_says_so():
    query, key, value = tensors(*QKV, grad=False)
    beta = torch.tensor(1.0)

    def function(beta):
        rule = st.Parametrized("softmax", beta=beta)
        return sharpmax.attention(query, key, value, enable_gqa=True, normalizer=rule)

    fast = compiled(function)
    assert torch.equal(fast(beta), function(beta))
    with pytest.raises(ValueError, match="beta of softmax"):
        fast(torch.tensor(float("nan")))


def test_fake_and_meta_tensors_give_the_shapes():
    query, key, value = (tensor.to("meta") for tensor in tensors(*QKV, grad=False))
    out, found = OPS.attention(*arguments([query, key, value], wishes=SAVED))
    assert out.device.type == "meta" and out.shape == (2, 4, 3, 6) and found[0].shape == (2, 4, 3)
    with torch._subclasses.FakeTensorMode():
        query, key = torch.empty(3, 1, 2, 4, 8), torch.empty(2, 2, 5, 8)
        out, stats = sharpmax.attention(query, key, key, enable_gqa=True, return_stats=["entropy"])
        assert out.shape == (3, 2, 2, 4, 8) and stats.entropy.shape == (3, 2, 2, 4)


def test_who_looks_on_sees_the_op():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        seen = ()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen = (*self.seen, str(func))
            return func(*args, **(kwargs or {}))

    query, key, value = tensors(*QKV, grad=False)
    with Watch() as watch:
        sharpmax.attention(query, key, value, enable_gqa=True)
    assert "sharpmax.attention.default" in watch.seen
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        sharpmax.attention(query, key, value, enable_gqa=True)
    assert "sharpmax::attention" in {event.key for event in profile.key_averages()}
