"""attention_backward and normalize_backward of tensors that the C++ kernels cannot read, beside those that they can."""

import pytest
import sharpmax

torch = pytest.importorskip("torch")
from sharpmax.torch import _path

RULES = [
    *(member["name"] for member in sharpmax.family()),
    "entropy_target:nats=0.4,gradient=full",
    "ssmax:s=0.4/0.7/-0.2/1",
    "asentmax:alpha=1.7,delta=0.5,gamma=0.7",
    "top_k:k=3,beta=2",
]
CASES = {
    "plain": {},
    "causal": {"causal": "bottom-right"},
    "lengths and a cap": {"key_lengths": [4, 13], "soft_cap": 2.0},
}
# Searches end within 4 eps of a root and sums go in another order; 2^22 roundings are far more than both.
CLOSE = {"rtol": 2.0**-30, "atol": 2.0**-30}


def drawn(*shape, seed, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def inputs(dtype=torch.float64):
    """d_out, query, key, value"""
    shapes = ((2, 4, 9, 5), (2, 4, 9, 8), (2, 2, 13, 8), (2, 2, 13, 5))
    return [drawn(*shape, seed=seed, dtype=dtype) for seed, shape in enumerate(shapes)]


def both(monkeypatch, call):
    """What the kernels answer, and what PyTorch operations do."""
    for forced in (False, True):
        monkeypatch.setattr(_path, "forced", forced)
        yield call()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("rule", RULES)
def test_the_gradients_of_attention_are_those_of_the_kernels(monkeypatch, rule, case):
    options, bias = CASES[case], None if case == "causal" or rule == "linear" else drawn(2, 4, 9, 13, seed=7)
    if rule == "linear" and "soft_cap" in options:
        options = {"key_lengths": options["key_lengths"]}

    def call():
        return sharpmax.attention_backward(*inputs(), bias, enable_gqa=True, normalizer=rule, **options)

    wanted, found = both(monkeypatch, call)
    for one, other in zip(found[:4], wanted[:4]):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, **CLOSE)
    assert list(found.parameters) == list(wanted.parameters)
    for name, gradient in wanted.parameters.items():
        torch.testing.assert_close(found.parameters[name], gradient, **CLOSE)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "linear"])
def test_the_gradients_of_rows_are_those_of_the_kernels(monkeypatch, rule):
    scores, d_weights = drawn(4, 5, 7, seed=1), drawn(4, 5, 7, seed=2)
    wanted, found = both(monkeypatch, lambda: sharpmax.normalize_backward(d_weights, scores, rule))
    torch.testing.assert_close(found[0], wanted[0], **CLOSE)
    assert list(found[1]) == list(wanted[1])
    for name, gradient in wanted[1].items():
        torch.testing.assert_close(found[1][name], gradient, **CLOSE)


def test_what_was_saved_spares_the_search_and_only_what_is_needed_is_computed(monkeypatch):
    monkeypatch.setattr(_path, "forced", True)
    rule = "entropy_target:nats=0.4"
    d_out, *tensors = inputs(torch.float32)
    saved = sharpmax.attention(
        *tensors, enable_gqa=True, normalizer=rule, return_stats=("log_partition", "temperature")
    )
    wanted = sharpmax.attention_backward(d_out, *tensors, enable_gqa=True, normalizer=rule)
    found = sharpmax.attention_backward(
        d_out, *tensors, enable_gqa=True, normalizer=rule, saved=saved, needs=("query",)
    )
    assert found.key is None and found.value is None and found.bias is None and found.parameters == {}
    assert torch.equal(found.query, wanted.query)
    wrong = (saved[0], saved[1].log_partition, torch.ones_like(saved[1].temperature))
    other = sharpmax.attention_backward(d_out, *tensors, enable_gqa=True, normalizer=rule, saved=wrong)
    assert not torch.allclose(other.query, wanted.query)  # it was looked at
    with pytest.raises(ValueError, match="saved must be"):
        sharpmax.attention_backward(d_out, *tensors, enable_gqa=True, saved=(saved[0], saved[0]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_has_gradients_in_float(monkeypatch, dtype):
    tensors = inputs(dtype)
    wanted, found = both(monkeypatch, lambda: sharpmax.attention_backward(*tensors, enable_gqa=True))
    for one, other in zip(found[:3], wanted[:3]):
        assert one.dtype == other.dtype == torch.float32
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_tensors_of_another_device_are_answered_there():
    d_out, *tensors = (tensor.to("meta", torch.float32) for tensor in inputs())
    found = sharpmax.attention_backward(d_out, *tensors, enable_gqa=True, normalizer="ssmax")
    assert [gradient.shape for gradient in found[:3]] == [tensor.shape for tensor in tensors]
    assert found.query.device.type == "meta" and found.parameters["s"].shape == (4,)
    scores = torch.ones(2, 4, 3, 5, device="meta")
    d_scores, parameters = sharpmax.normalize_backward(scores, scores, "entmax")
    assert d_scores.device.type == "meta" and parameters["alpha"].shape == (4,)


def test_tensors_of_two_devices_are_refused_by_name():
    d_out, *tensors = (tensor.to("meta", torch.float32) for tensor in inputs())
    here = [tensor.float() for tensor in inputs()]
    for call, words in (
        (lambda: sharpmax.attention_backward(here[0], *tensors, enable_gqa=True), "d_out is on cpu and query on meta"),
        (lambda: sharpmax.attention_backward(*here[:2], tensors[1], here[3], enable_gqa=True),
         "key is on meta and others in CPU memory; they must be on one device, so pass key.cpu()"),
        (lambda: sharpmax.normalize_backward(here[1], tensors[0]), "d_weights is on cpu and scores on meta"),
        (lambda: sharpmax.attention(here[1].numpy(), tensors[1], here[3].numpy(), enable_gqa=True), "key is on meta"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong, words", [
    (lambda d, q, k, v: sharpmax.attention_backward(d[..., :3], q, k, v, enable_gqa=True), "d_out has shape"),
    (lambda d, q, k, v: sharpmax.attention_backward(d, q[None], k[None], v[None], enable_gqa=True), "leading dimensions"),
    (lambda d, q, k, v: sharpmax.attention_backward(d, q, k, v, enable_gqa=True, needs=("keys",)), "needs has 'keys'"),
    (lambda d, q, k, v: sharpmax.normalize_backward(d, q), "they must be equal"),
])  # fmt: skip
def test_what_cannot_be_answered_is_refused_in_words(monkeypatch, wrong, words):
    monkeypatch.setattr(_path, "forced", True)
    with pytest.raises(ValueError, match=words):
        wrong(*inputs())
    with pytest.raises(TypeError, match="requires grad, which this function does not record"):
        tensors = inputs()
        sharpmax.attention_backward(tensors[0], tensors[1].requires_grad_(), *tensors[2:], enable_gqa=True)
