"""Learnable: parameters that stay in their domain, start where they were told to, and train."""

import copy
import io
import pickle

import pytest
import sharpmax

torch = pytest.importorskip("torch")
from sharpmax.torch import Learnable

LEARNABLE = {
    member["name"]: [p for p in member["parameters"] if p["learnable"]]
    for member in sharpmax.family()
    if any(p["learnable"] for p in member["parameters"])
}
START = {"sigmoid": {"b": -2.0}}  # where the default, auto, cannot be learnt


def tensors(*shapes, seed=1, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]


def is_inside(value, domain):
    ends = {
        "a number above 0": (0, float("inf")),
        "a number of at least 0": (0, float("inf")),
        "a number between 0 and 1, both excluded": (0, 1),
        "a number in [1, 16]": (1, 2.0000001),
    }
    low, high = ends.get(domain, (-float("inf"), float("inf")))
    return bool(((low <= value) & (value < high)).all())


@pytest.mark.parametrize("heads", [None, 3])
@pytest.mark.parametrize("name", LEARNABLE)
def test_it_starts_where_the_normalizer_stands(name, heads):
    rule = Learnable(name, heads, **START.get(name, {}))
    wanted = sharpmax.Normalizer(name, **START.get(name, {})).parameters
    for parameter, value in rule.values().items():
        assert value.dtype == torch.float64 and value.shape == (() if heads is None else (heads,))
        # raw is a float32 and no map is steeper than 1, so what raw lost by rounding bounds what the value lost.
        raw = getattr(rule, f"raw_{parameter}").detach()
        bound = raw.abs().double() * 2**-24 + 4 * 2**-52
        assert ((value - wanted[parameter]).abs() <= bound).all()
        assert getattr(rule.normalizer, parameter) == value.tolist()
    assert rule.normalizer.parameters.get("gradient", "full") == "full"


@pytest.mark.parametrize("name", LEARNABLE)
def test_no_step_of_an_optimizer_leaves_the_domain(name):
    rule = Learnable(name, 2, **START.get(name, {}))
    for push in (-1e3, -30.0, 30.0, 1e3):
        with torch.no_grad():
            for raw in rule.parameters():
                raw.fill_(push)
        values = rule.values()
        for parameter in LEARNABLE[name]:
            assert is_inside(values[parameter["name"]], parameter["domain"]), parameter["name"]
        assert rule.normalizer.name == name  # the library takes it


@pytest.mark.parametrize("name", LEARNABLE)
def test_every_parameter_of_every_rule_moves(name):
    query, key, value, target = tensors((1, 2, 6, 4), (1, 2, 9, 4), (1, 2, 9, 4), (1, 2, 6, 4))
    rule = Learnable(name, 2, **START.get(name, {}))
    before = {parameter: value.detach().clone() for parameter, value in rule.values().items()}
    optimizer = torch.optim.SGD(rule.parameters(), lr=0.1)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = (sharpmax.attention(query, key, value, normalizer=rule) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]
    for parameter, value in rule.values().items():
        assert (value != before[parameter]).all(), parameter


def test_the_value_is_a_normalizer_wherever_one_is_taken():
    rule = Learnable("entmax", alpha=1.25)
    scores = tensors((2, 3, 5))[0]
    by_text = sharpmax.normalize(scores, "entmax:alpha=1.25")
    for given in (rule, rule.normalizer):
        torch.testing.assert_close(sharpmax.normalize(scores, given).detach(), by_text, rtol=0, atol=1e-6)
    torch.testing.assert_close(rule(scores, axis=1).detach().mT, rule(scores.mT.contiguous()).detach())
    found = sharpmax.normalize(scores.numpy(), rule)  # NumPy gets the value as it is now
    torch.testing.assert_close(torch.from_numpy(found), by_text, rtol=0, atol=1e-6)


def test_some_are_learnt_and_the_rest_stays():
    rule = Learnable("asentmax", learn=["delta"], alpha=1.3, delta=[0.5, 0.75])
    assert [name for name, _ in rule.named_parameters()] == ["raw_delta"] and rule.heads == 2
    assert rule.normalizer == sharpmax.Normalizer("asentmax:alpha=1.3,delta=0.5/0.75")
    rule = Learnable(sharpmax.Normalizer("top_k:k=3,beta=2"))
    assert rule.normalizer == sharpmax.Normalizer("top_k:k=3,beta=2")
    assert Learnable("softmax1", c=torch.tensor(0.5)).normalizer.name == "sink"


def test_copies_pickles_and_states():
    rule = Learnable("ssmax", 3, s=[0.4, 0.5, 0.6], b=0.1)
    with torch.no_grad():
        rule.raw_s.add_(1.0)
    for copied in (copy.deepcopy(rule), pickle.loads(pickle.dumps(rule))):
        assert copied.normalizer == rule.normalizer
    stream = io.BytesIO()
    torch.save(rule.state_dict(), stream)
    stream.seek(0)
    other = Learnable("ssmax", 3)
    other.load_state_dict(torch.load(stream, weights_only=True))
    assert other.normalizer == rule.normalizer
    rule.reset_parameters()
    assert rule.normalizer == Learnable("ssmax", 3, s=[0.4, 0.5, 0.6], b=0.1).normalizer


def test_types_and_devices():
    rule = Learnable("entmax", 2, alpha=1.25)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        moved = copy.deepcopy(rule).to(dtype)
        assert moved.raw_alpha.dtype == dtype and moved.values()["alpha"].dtype == torch.float64
        kept = max(torch.finfo(dtype).eps, torch.finfo(torch.float32).eps)  # it was a float32 before
        assert abs(moved.normalizer.alpha[0] - 1.25) <= kept
        scores = tensors((2, 3, 4))[0].to(dtype)
        moved(scores).square().sum().backward()
        assert moved.raw_alpha.grad.dtype == dtype and moved.raw_alpha.grad.abs().sum() > 0
    empty = Learnable("entmax", 2, alpha=1.25, device="meta")
    assert "alpha" in repr(empty)
    empty.to_empty(device="cpu")
    empty.reset_parameters()
    assert empty.normalizer == rule.normalizer


def test_its_repr_says_what_it_is_now():
    assert repr(Learnable("ssmax", 2, s=[0.5, 0.25])) == "Learnable('ssmax', heads=2, s=[0.5, 0.25], b=[0, 0])"
    assert repr(Learnable("entropy_target", nats=0.5)) == "Learnable('entropy_target:gradient=full', nats=0.5)"
    assert repr(Learnable("softmax", 12)).endswith("1, ...])")


WRONG = {
    "nothing to learn": (ValueError, "sparsemax has no parameter that can be learnt", ("sparsemax",), {}),
    "auto": (ValueError, "b of sigmoid is auto", ("sigmoid",), {}),
    "end of the domain": (ValueError, "alpha of entmax is 1; .* between 1 and 2", ("entmax",), {"alpha": 1.0}),
    "no gradient there": (ValueError, "alpha of entmax is 3; .* between 1 and 2", ("entmax",), {"alpha": 3}),
    "zero": (ValueError, "c of sink is 0; .* above 0", ("sink",), {"c": 0}),
    "outside": (ValueError, "nats", ("entropy_target",), {"nats": -1}),
    "unknown parameter": (ValueError, "entmax has no parameter 'beta'", ("entmax",), {"beta": 1.0}),
    "unknown member": (ValueError, "entmex", ("entmex",), {}),
    "not learnable": (ValueError, "k of top_k has no gradient", ("top_k",), {"learn": ["k"]}),
    "nothing named": (ValueError, "learn is empty", ("top_k",), {"learn": []}),
    "stopped by keyword": (ValueError, "stopped", ("entropy_target",), {"gradient": "stopped"}),
    "stopped by text": (ValueError, "stopped", ("peak_target:gradient=stopped",), {}),
    "heads": (ValueError, "3 values; there are 2 heads", ("ssmax", 2), {"s": [1, 2, 3]}),
    "no heads": (ValueError, "heads is 0", ("ssmax", 0), {}),
    "type of heads": (ValueError, "heads is 1.5", ("ssmax", 1.5), {}),
    "type": (TypeError, "torch.int32", ("ssmax",), {"dtype": torch.int32}),
    "no normalizer": (TypeError, "normalizer is a int", (3,), {}),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_named(name):
    kind, words, arguments, options = WRONG[name]
    with pytest.raises(kind, match=words):
        Learnable(*arguments, **options)
