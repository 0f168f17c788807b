"""Gradients in double against finite differences: every normalizer, every input, every learnable parameter."""

import pytest
import sharpmax

torch = pytest.importorskip("torch")
from sharpmax.torch import Parametrized, attention, normalize

HEADS = 4
# A rule that can be differentiated as it stands, for every member; and what its learnable parameters are here.
SMOOTH = {
    "softmax": {"beta": [0.7, 1.3, -0.4, 2.0]},
    "adaptive:gradient=full": {},
    "entropy_target:gradient=full": {"nats": [0.2, 0.4, 0.3, 0.25]},
    "peak_target:gradient=full": {"weight": [0.7, 0.8, 0.9, 0.75]},
    "ssmax": {"s": [0.4, 0.9, 1.2, 0.1], "b": [0.1, -0.3, 0.5, 1.0]},
    "log_length:length=3": {},
    "log_length:preset=llama4,floor=2": {},
    "log_length:preset=yarn,factor=3": {},
    "log_length:preset=yarn_dynamic,length=2": {},
    "sparsemax": {},
    "entmax15": {},
    "entmax": {"alpha": [1.05, 1.3, 1.6, 1.9]},
    "entmax:alpha=1": {},
    "entmax:alpha=2": {},
    "asentmax": {
        "alpha": [1.1, 1.3, 1.6, 1.8],
        "delta": [0.5, 0.8, 1.0, 0.3],
        "beta": [0.2, 0.6, 0.4, 0.9],
        "gamma": [0.5, 1.0, 1.5, 2.0],
    },
    "top_k:k=2": {"beta": [0.7, 1.3, 0.4, 2.0]},
    "sink": {"c": [0.5, 1.0, 2.0, 0.1]},
    "softpick": {},
    "sigmoid": {},
    "sigmoid:b=-1": {"b": [-1.0, 0.5, -2.0, 0.0]},
    "stick_breaking": {},
    "self_adjust": {},
    "self_adjust:form=plain": {},
    "relu": {},
    "linear": {},
}
DIFFERENTIATED_OTHERWISE = {"hard"}  # straight-through: tested below


def doubles(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]


def test_the_table_has_every_member_and_every_learnable_parameter():
    for member in sharpmax.family():
        rules = [text for text in SMOOTH if text.partition(":")[0] == member["name"]]
        assert rules or member["name"] in DIFFERENTIATED_OTHERWISE, member["name"]
        learnable = {p["name"] for p in member["parameters"] if p["learnable"]}
        assert learnable == {name for text in rules for name in SMOOTH[text]}, member["name"]


@pytest.mark.parametrize("text", SMOOTH)
def test_query_key_value_and_bias(text):
    """Grouped heads, causal, a bias that is broadcast, a key that no query sees."""
    query, key, value, bias = doubles(1, (1, HEADS, 3, 4), (1, 2, 5, 4), (1, 2, 5, 3), (HEADS, 1, 5))
    unseen = torch.zeros(HEADS, 1, 5, dtype=torch.float64)
    unseen[:, :, 1] = float("-inf")

    def plain(query, key, value):
        return attention(query, key, value, enable_gqa=True, causal="bottom-right", normalizer=text)

    def biased(query, key, value, bias):
        return attention(query, key, value, bias + unseen, enable_gqa=True, causal="bottom-right", normalizer=text)

    assert torch.autograd.gradcheck(plain, (query, key, value))
    if text != "linear":  # it has no scores to add to
        assert torch.autograd.gradcheck(biased, (query, key, value, bias))


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "per head"])
@pytest.mark.parametrize("text", [text for text, parameters in SMOOTH.items() if parameters])
def test_learnable_parameters(text, shared):
    query, key, value = doubles(2, (2, HEADS, 3, 4), (2, HEADS, 5, 4), (2, HEADS, 5, 3))
    names = list(SMOOTH[text])
    values = [torch.tensor(v[0] if shared else v, dtype=torch.float64) for v in SMOOTH[text].values()]
    values = [value.requires_grad_() for value in values]

    def through_attention(*values):
        rule = Parametrized(text, **dict(zip(names, values)))
        return attention(query.detach(), key.detach(), value.detach(), normalizer=rule)

    def through_rows(scores, *values):
        return normalize(scores, Parametrized(text, **dict(zip(names, values))))

    assert torch.autograd.gradcheck(through_attention, values)
    assert torch.autograd.gradcheck(through_rows, (query, *values))


@pytest.mark.parametrize("text", [text for text in SMOOTH if text != "linear"])
def test_rows_of_scores_along_any_axis(text):
    (scores,) = doubles(3, (2, 5, 3))
    assert torch.autograd.gradcheck(lambda scores: normalize(scores, text), (scores,))
    assert torch.autograd.gradcheck(lambda scores: normalize(scores, text, axis=1), (scores,))


MASKS = {
    "bool": {"attn_mask": torch.tensor([[True, False, True, True], [False] * 4, [True, True, False, False]])},
    "mask and is_causal": {"attn_mask": torch.rand(3, 4, generator=torch.Generator().manual_seed(5)) > 0.3,
                           "is_causal": True},
    "window": {"window": (1, 0)},
    "lengths": {"key_lengths": [4, 2]},
    "documents": {"documents": ([0, 1, 3], [0, 2, 4])},
    "cap and scale": {"soft_cap": 1.5, "scale": 0.8},
}  # fmt: skip


@pytest.mark.parametrize("rule", ["softmax", "entmax15"])
@pytest.mark.parametrize("name", MASKS)
def test_whatever_hides_keys_or_bends_scores(name, rule):
    inputs = doubles(4, (2, 2, 3, 4), (2, 2, 4, 4), (2, 2, 4, 4))
    options = MASKS[name]
    assert torch.autograd.gradcheck(lambda q, k, v: attention(q, k, v, normalizer=rule, **options), inputs)


def test_broadcast_inputs_get_the_sum_of_their_gradients():
    inputs = doubles(6, (2, 3, 4, 3, 4), (4, 5, 4), (3, 1, 5, 4), (2, 1, 1, 3, 5))
    assert torch.autograd.gradcheck(lambda q, k, v, b: attention(q, k, v, b, normalizer="entmax15"), inputs)


def gradients(function, inputs, seed=9):
    out = function(*inputs)
    d_out = torch.randn(out.shape, generator=torch.Generator().manual_seed(seed), dtype=out.dtype)
    return torch.autograd.grad(out, inputs, d_out), d_out


@pytest.mark.parametrize("text", ["adaptive", "entropy_target:nats=0.3", "peak_target:weight=0.8"])
def test_a_stopped_temperature_is_a_constant(text):
    query, key, value = doubles(7, (1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4))
    _, stats = attention(query, key, value, normalizer=text, return_stats=["temperature"])
    assert (stats.temperature > 1).all()  # the rule has something to do in every row

    def with_the_temperature_given(query, key, value):
        scores = query @ key.transpose(-1, -2) / 2
        return torch.softmax(stats.temperature[..., None] * scores, -1) @ value

    found, _ = gradients(lambda q, k, v: attention(q, k, v, normalizer=text), (query, key, value))
    wanted, _ = gradients(with_the_temperature_given, (query, key, value))
    for ours, theirs in zip(found, wanted):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    full, _ = gradients(lambda q, k, v: attention(q, k, v, normalizer=_full(text)), (query, key, value))
    assert not torch.allclose(full[0], found[0])


def _full(text):
    return text + (",gradient=full" if ":" in text else ":gradient=full")


@pytest.mark.parametrize("name, parameter", [("entropy_target", "nats"), ("peak_target", "weight")])
def test_a_stopped_target_gets_no_gradient(name, parameter):
    query, key, value = doubles(7, (1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4))
    target = torch.tensor(0.6, requires_grad=True)
    attention(query, key, value, normalizer=Parametrized(name, **{parameter: target})).sum().backward()
    assert target.grad == 0 and query.grad.any()


def test_hard_attention_goes_straight_through_softmax():
    query, key, value = doubles(8, (1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4))
    found, d_out = gradients(lambda q, k, v: attention(q, k, v, normalizer="hard"), (query, key, value))
    weights = torch.softmax(query @ key.transpose(-1, -2) / 2, -1)
    hard = torch.zeros_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), 1.0)
    d_query, d_key = torch.autograd.grad(weights, (query, key), d_out @ value.detach().transpose(-1, -2))
    for ours, theirs in zip(found, (d_query, d_key, hard.transpose(-1, -2) @ d_out)):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_the_keys_that_top_k_leaves_out_get_no_gradient():
    (scores,) = doubles(10, (2, 6))
    normalize(scores, "top_k:k=2").square().sum().backward()
    left_out = torch.ones_like(scores, dtype=torch.bool).scatter(-1, scores.topk(2).indices, False)
    assert (scores.grad[left_out] == 0).all() and (scores.grad[~left_out] != 0).all()
