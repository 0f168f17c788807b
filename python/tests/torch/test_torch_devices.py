"""Manners that other devices ask for: nobody waits, nothing is float64, four dimensions at most, one device, one op."""

import os
import subprocess
import sys

import pytest
import sharpmax

torch = pytest.importorskip("torch")
import sharpmax.torch as st
from sharpmax.torch import _kernel, _path, portable
from sharpmax.torch._kernel import Lengths, Masks, Rule, Wishes
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

RULES = [
    *(member["name"] for member in sharpmax.family()),
    "top_k:k=1/2/3/20",
    "entmax:alpha=1.3/1.5/1.7/1",
    "entropy_target:nats=0.2,gradient=full",
    "peak_target:weight=0.9,gradient=full",
]
NAMES = [name for name in sharpmax.Stats.__dataclass_fields__ if name != "gaps"]
WISHES = Wishes(",".join(NAMES), 40, 3, 4, "0.5,2.0")
QUICK = Wishes("entropy,peak_weight,support,first_weight,gap_counts", gaps="0.5,2.0")  # what _quick.py answers
MASKS = Masks("bottom-right", 5, -1, None, 30.0)
NEEDS = (True, True, True, False, False)
# What gives a number or a size to Python, for which it must wait until the device is done.
WAITS = (
    "_local_scalar_dense",
    "item",
    "is_nonzero",
    "nonzero",
    "equal",
    "masked_select",
    "unique",
    "bincount",
    "where.default",
)


class Strict(TorchDispatchMode):
    """Fails on operations that wait, on float64, and on more than four dimensions."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = str(func).removeprefix("aten.")
        assert not any(name.split(".")[0] == word or name == word for word in WAITS), f"{name} waits for the device"
        if name.startswith("index"):  # by a mask: how many it picks is not known before
            places = tree_leaves(args[1])
            assert all(place is None or place.dtype != torch.bool for place in places), f"{name} waits for the device"
        found = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(found):
            if isinstance(leaf, torch.Tensor):
                assert leaf.dtype not in (torch.float64, torch.complex128), f"{name} made a float64"
                assert leaf.dim() <= 4, f"{name} made {leaf.dim()} dimensions"
        return found


def made(device="cpu", dtype=torch.float32):
    """query, key, value, bias or None, parameters"""
    query = torch.ones(2, 4, 9, 8, device=device, dtype=dtype)
    key, value = (
        torch.ones(2, 2, 13, 8, device=device, dtype=dtype),
        torch.ones(2, 2, 13, 5, device=device, dtype=dtype),
    )
    return query, key, value, None, None


def compute(inputs, rule, lengths=None, wishes=WISHES):
    """Forward with statistics, and backward."""
    rule, lengths = Rule(rule), Lengths() if lengths is None else lengths
    masks = Masks("bottom-right", 5) if rule.text == "linear" or wishes == QUICK else MASKS
    out, found = portable.attend(inputs, rule, masks, lengths, wishes, 0)
    gradients = portable.attend_backward(out, inputs, NEEDS, rule, masks, lengths, None, 0)
    return out, found, gradients


LENGTHS = (Lengths(), Lengths(torch.tensor([4, 13])), Lengths(None, torch.tensor([0, 4, 9]), torch.tensor([0, 5, 13])))


@pytest.mark.parametrize("rule", RULES)
def test_nothing_waits_and_nothing_is_float64(rule):
    inputs = made()
    with Strict():
        for lengths in (LENGTHS[0], LENGTHS[1 + RULES.index(rule) % 2]):
            compute(inputs, rule, lengths)
        if rule != "linear":
            scores = torch.ones(2, 4, 5, 6)
            weights, _ = portable.weigh(scores, None, Rule(rule), WISHES, 0)
            portable.weigh_backward(weights, scores, None, Rule(rule), 0)


def test_nothing_waits_in_the_softmax_of_few_operations():
    inputs = made()
    with Strict():
        for lengths in LENGTHS:
            compute(inputs, "softmax", lengths, QUICK)
            compute((*inputs[:3], torch.ones(13, dtype=torch.bool), None), "softmax", lengths, QUICK)


def test_the_strict_mode_notices():
    with Strict():
        for wrong, words in (
            (lambda: torch.ones(3).sum().item(), "waits"),
            (lambda: torch.ones(3)[torch.tensor([True, False, True])], "waits"),
            (lambda: torch.ones(3, dtype=torch.float64), "float64"),
            (lambda: torch.ones(1, 1, 1, 1, 1), "5 dimensions"),
        ):
            with pytest.raises(AssertionError, match=words):
                wrong()


@pytest.mark.parametrize("rule, wishes", [*((rule, WISHES) for rule in RULES), ("softmax", QUICK)])
def test_fake_tensors_get_the_shapes_and_types_that_are_promised(rule, wishes):
    """FakeTensorMode fails on whatever depends on data."""
    with torch._subclasses.FakeTensorMode():
        inputs = made(dtype=torch.float16)
        for lengths in (Lengths(), Lengths(torch.ones(2, dtype=torch.int64))):
            out, found, gradients = compute(inputs, rule, lengths, wishes)
            assert out.shape == (2, 4, 9, 5) and out.dtype == torch.float16
            expected = _kernel.empty_statistics(inputs[0], (2, 4, 9), 13, wishes, torch.float32)
            assert {n: (t.shape, t.dtype) for n, t in found.items()} == {
                n: (t.shape, t.dtype) for n, t in expected.items()
            }
            assert [g.shape for g in gradients[:3]] == [t.shape for t in inputs[:3]]


@pytest.mark.parametrize("rule", ["softmax", "entropy_target", "entmax15"])
def test_meta_tensors_through_the_door(rule):
    query, key, value = (tensor.requires_grad_() for tensor in made("meta")[:3])
    out, stats = sharpmax.attention(query, key, value, enable_gqa=True, normalizer=rule, return_stats="all")
    out.sum().backward()
    assert out.device.type == "meta" and query.grad.shape == query.shape and stats.top_keys.shape == (2, 4, 9, 8)
    assert stats.entropy.dtype == torch.float32
    weights = sharpmax.normalize(torch.ones(2, 3, device="meta"), rule)
    assert weights.shape == (2, 3) and weights.device.type == "meta"


def test_learnable_parameters_need_no_float64_on_another_device():
    for name in ("softmax", "sink", "entmax", "peak_target", "ssmax"):
        rule = st.Learnable(name, heads=4, device="meta")
        query, key, value = made("meta")[:3]
        out = sharpmax.attention(query, key, value, enable_gqa=True, normalizer=rule)
        out.sum().backward()
        assert all(value.dtype == torch.float32 for value in rule.values().values())
        assert all(raw.grad.shape == (4,) for raw in rule.parameters())


@pytest.mark.parametrize("make", ["Learnable", "Parametrized"])
def test_a_normalizer_elsewhere_is_told_to_move(make):
    rule = (
        st.Learnable("sink", heads=4, device="meta")
        if make == "Learnable"
        else st.Parametrized("sink", c=torch.ones(4, device="meta"))
    )
    words = r"the parameters of sink\S* are on meta and {} on cpu; they must be on one device, so move them by \.to\('cpu'\)$"
    with pytest.raises(TypeError, match=words.format("query")):
        sharpmax.attention(*made()[:3], enable_gqa=True, normalizer=rule)
    with pytest.raises(TypeError, match=words.format("scores")):
        sharpmax.normalize(torch.ones(4, 3), rule)


@pytest.fixture
def forced(monkeypatch):
    monkeypatch.setattr(_path, "forced", True)


def drawn(*shapes, grad=True):
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(shape, generator=generator).requires_grad_(grad) for shape in shapes]


QKV = ((2, 4, 6, 8), (2, 2, 7, 8), (2, 2, 7, 5))


@pytest.mark.parametrize("rule", ["softmax", "entropy_target:gradient=full", "entmax15", "stick_breaking"])
def test_opcheck(forced, rule):
    from sharpmax.torch import _ops

    finite = Wishes("entropy,peak_key,top_keys,top_weights,gap_counts,column_mass,map", *WISHES[1:])
    for wishes in (Wishes(), finite):  # a NaN would differ from itself there
        arguments = (*_ops.flat([*drawn(*QKV), None, None], Lengths(), Rule(rule), MASKS), *wishes, 0)
        torch.library.opcheck(torch.ops.sharpmax.attention.default, arguments)
    (scores,) = drawn((2, 4, 3, 5))
    torch.library.opcheck(torch.ops.sharpmax.normalize.default, (scores, None, rule, "", *Wishes("entropy"), 0))


@pytest.mark.parametrize("rule", [member["name"] for member in sharpmax.family()])
def test_compiled_whole(forced, rule):
    def function(query, key, value):
        out, stats = sharpmax.attention(
            query, key, value, enable_gqa=True, is_causal=True, normalizer=rule, return_stats=["entropy"]
        )
        return out, stats.entropy

    leaves = drawn(*QKV)
    torch._dynamo.reset()
    found, wanted = torch.compile(function, fullgraph=True, backend="aot_eager")(*leaves), function(*leaves)
    assert torch.equal(found[0], wanted[0]) and torch.equal(found[1], wanted[1]) and found[1].dtype == torch.float32
    ours, theirs = (torch.autograd.grad(out.square().sum(), leaves) for out in (found[0], wanted[0]))
    assert all(torch.equal(one, other) for one, other in zip(ours, theirs))


def test_per_sample_gradients(forced):
    query, key, value = drawn(*QKV, grad=False)

    def loss(query, key, value):
        return sharpmax.attention(query, key, value, enable_gqa=True, normalizer="entmax15").square().sum()

    found = torch.func.vmap(torch.func.grad(loss))(query, key, value)
    wanted = torch.stack([torch.func.grad(loss)(*sample) for sample in zip(query, key, value)])
    torch.testing.assert_close(found, wanted)


CODE = "import sharpmax, sharpmax.torch, torch; q = torch.ones(1, 1, 2, 4); print(sharpmax.attention(q, q, q, return_stats=['entropy'])[1].entropy.dtype)"


@pytest.mark.parametrize(
    "value, wanted", [("portable", "torch.float32"), ("", "torch.float64"), ("cpp", "must be 'portable'")]
)
def test_the_environment_forces_the_path(value, wanted):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SHARPMAX_TORCH_PATH": value}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, env=environment)
    assert wanted in done.stdout + done.stderr


def test_a_device_without_an_operation_is_named(forced, monkeypatch):
    def missing(*_):
        raise NotImplementedError(
            "Could not run 'aten::argmax.out' with arguments from the 'XYZ' backend.\nOther lines."
        )

    monkeypatch.setattr(portable, "attend", missing)
    with pytest.raises(NotImplementedError, match="cpu does not have the operation aten::argmax.out") as caught:
        sharpmax.attention(*drawn(*QKV, grad=False), enable_gqa=True)
    assert "\n" not in str(caught.value)


REFUSED = {
    "scale": {"scale": float("inf")},
    "cap": {"soft_cap": -1.0},
    "length": {"key_lengths": [5, 8]},
    "documents": {"documents": [0, 9]},
    "gap of nothing": {"return_stats": {"gaps": [0.0]}},
    "gaps that fall": {"return_stats": {"gaps": [2.0, 1.0]}},
    "gap that is not a number": {"return_stats": {"gaps": [float("nan")]}},
    "temperatures": {"normalizer": "softmax:beta=1/2/3"},
}


@pytest.mark.parametrize("case", REFUSED)
def test_both_paths_refuse_with_one_sentence(monkeypatch, case):
    sentences = []
    for forced in (False, True):
        monkeypatch.setattr(_path, "forced", forced)
        with pytest.raises(ValueError) as caught:
            sharpmax.attention(*drawn(*QKV, grad=False), enable_gqa=True, **REFUSED[case])
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1] and sentences[0].startswith("attention: ")


def test_a_second_device_computes_the_same():
    script = os.path.join(os.path.dirname(__file__), "second_device.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert "the same on both devices" in done.stdout, done.stderr
