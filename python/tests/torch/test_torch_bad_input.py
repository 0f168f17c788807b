"""What is said of tensors that cannot be read, and of arguments that mean nothing; and what only looks bad."""

import numpy as np
import pytest
import sharpmax

torch = pytest.importorskip("torch")
from sharpmax.torch import Parametrized, attention, normalize


def tensors(*shapes, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]


QUERY, KEY, VALUE = tensors((2, 4, 5, 8), (2, 4, 7, 8), (2, 4, 7, 8))


def on_cuda():
    """A tensor of a device that this machine need not have."""
    with torch._subclasses.FakeTensorMode():
        return torch.empty(2, 4, 5, 8, device="cuda:0")


def without_memory():
    tensor = QUERY.clone()
    tensor.untyped_storage().resize_(0)
    return tensor


def nested(**options):
    return torch.nested.nested_tensor([torch.ones(3, 4), torch.ones(2, 4)], **options)


WRONG_TENSORS = {
    "numpy": (TypeError, "key is a ndarray; it must be a torch tensor", lambda: (QUERY, KEY.numpy(), VALUE)),
    "numpy query": (TypeError, "query is a ndarray", lambda: (QUERY.numpy(), KEY, VALUE)),
    "nothing": (TypeError, "value is a NoneType", lambda: (QUERY, KEY, None)),
    "cuda": (TypeError, r"key is on cpu and query on cuda:0; they must be on one device, so pass key.to\('cuda:0'\)",
             lambda: (on_cuda(), KEY, VALUE)),
    "meta": (TypeError, "key is on meta and query on cpu", lambda: (QUERY, KEY.to("meta"), VALUE)),
    "meta mask": (TypeError, "attn_mask is on meta", lambda: (QUERY, KEY, VALUE, torch.ones(5, 7, device="meta"))),
    "nested": (TypeError, "query is a nested tensor; pad it", lambda: (nested(),) * 3),
    "jagged": (TypeError, "query is a nested tensor; pad it", lambda: (nested(layout=torch.jagged),) * 3),
    "sparse": (TypeError, "key has layout torch.sparse_coo", lambda: (QUERY, KEY.to_sparse(), VALUE)),
    "quantized": (TypeError, "query is torch.quint8",
                  lambda: (torch.quantize_per_tensor(QUERY, 0.1, 0, torch.quint8), KEY, VALUE)),
    "integers": (TypeError, "query is torch.int32; it must be float32", lambda: (QUERY.int(), KEY, VALUE)),
    "complex": (TypeError, "value is torch.complex64", lambda: (QUERY, KEY, VALUE.to(torch.complex64))),
    "float8": (TypeError, "key is torch.float8", lambda: (QUERY, KEY.to(torch.float8_e4m3fn), VALUE)),
    "mixed": (TypeError, "query is torch.float64, key is torch.float32", lambda: (QUERY.double(), KEY, VALUE)),
    "mixed cache": (TypeError, "they must have one type", lambda: (QUERY, KEY.bfloat16(), VALUE)),
    "mask of integers": (TypeError, "attn_mask is torch.int32; it must be torch.bool",
                         lambda: (QUERY, KEY, VALUE, torch.ones(5, 7, dtype=torch.int32))),
    "mask of doubles": (TypeError, "attn_mask is torch.float64", lambda: (QUERY, KEY, VALUE, torch.ones(5, 7).double())),
    "mask shape": (ValueError, r"\[1, 1, 5, 8\]", lambda: (QUERY, KEY, VALUE, torch.ones(5, 8, dtype=torch.bool))),
    "mask of one dimension": (ValueError, "attn_mask has 1 dim", lambda: (QUERY, KEY, VALUE, torch.ones(7))),
    "mask list": (TypeError, "attn_mask is a list", lambda: (QUERY, KEY, VALUE, [[True]])),
    "features": (ValueError, "keys have 8 features, queries have 4", lambda: (QUERY[..., :4], KEY, VALUE)),
    "values": (ValueError, "5 values for 7 keys", lambda: (QUERY, KEY, VALUE[:, :, :5])),
    "heads": (ValueError, "these must be equal or 1", lambda: (QUERY, KEY[:, :2], VALUE[:, :2])),
    "one dimension": (ValueError, "query has 1 dimensions; it must have at least 2", lambda: (QUERY[0, 0, 0], KEY, VALUE)),
    "no memory": (ValueError, "has no memory", lambda: (without_memory(), KEY, VALUE)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's own, of nested and quantized tensors
@pytest.mark.parametrize("name", WRONG_TENSORS)
def test_wrong_tensors_are_named(name):
    kind, words, make = WRONG_TENSORS[name]
    inputs = make()
    with pytest.raises(kind, match=words) as caught:
        attention(*inputs)
    assert "\n" not in str(caught.value)
    if name not in ("numpy query",):
        with pytest.raises(kind, match=words):
            sharpmax.attention(*inputs)


WRONG_OPTIONS = {
    "dropout": (NotImplementedError, "dropout_p is 0.1", {"dropout_p": 0.1}),
    "unknown normalizer": (ValueError, "entmex.*did you mean entmax", {"normalizer": "entmex"}),
    "no normalizer": (TypeError, "normalizer is a NoneType", {"normalizer": None}),
    "scale tensor": (TypeError, "scale is a tensor", {"scale": torch.ones(1)}),
    "scale text": (TypeError, "scale is 'a'", {"scale": "a"}),
    "scale nan": (ValueError, "scale is nan", {"scale": float("nan")}),
    "scale list": (TypeError, "scale is a list", {"scale": [1.0]}),
    "cap": (ValueError, "soft_cap is -1", {"soft_cap": -1.0}),
    "causal": (ValueError, "causal is 'sideways'", {"causal": "sideways"}),
    "causal twice": (ValueError, "is_causal is set and causal too", {"is_causal": True, "causal": "top-left"}),
    "window": (TypeError, "window is 3", {"window": 3}),
    "window of fractions": (TypeError, r"window is \(1.5, 0\)", {"window": (1.5, 0)}),
    "window too wide": (TypeError, "pair of whole numbers", {"window": (10**30, 0)}),
    "lengths": (ValueError, "1 lengths for 2 batch entries", {"key_lengths": [3]}),
    "lengths too long": (ValueError, "99; there are 7 keys", {"key_lengths": torch.tensor([3, 99])}),
    "lengths of fractions": (TypeError, "whole numbers", {"key_lengths": [3.5, 1.0]}),
    "lengths as text": (TypeError, "whole numbers", {"key_lengths": "ab"}),
    "lengths too large": (TypeError, "whole numbers", {"key_lengths": [10**30, 1]}),
    "lengths on meta": (TypeError, "key_lengths is on meta", {"key_lengths": torch.ones(2, device="meta").long()}),
    "documents": (TypeError, "documents is 3", {"documents": 3}),
    "threads": (ValueError, "threads is -1", {"threads": -1}),
    "threads fraction": (TypeError, "threads is a float", {"threads": 1.5}),
    "statistic": (ValueError, "'entropie'", {"return_stats": ["entropie"]}),
    "statistics": (TypeError, "return_stats is a int", {"return_stats": 3}),
}


@pytest.mark.parametrize("name", WRONG_OPTIONS)
def test_wrong_options_are_named(name):
    kind, words, options = WRONG_OPTIONS[name]
    with pytest.raises(kind, match=words) as caught:
        attention(QUERY, KEY, VALUE, **options)
    assert "\n" not in str(caught.value)
    with pytest.raises(kind, match=words):
        attention(QUERY.clone().requires_grad_(), KEY, VALUE, **options)


WRONG_PARAMETERS = {
    "unknown": (ValueError, "entmax has no parameter 'beta'", "entmax", {"beta": torch.ones(1)}),
    "no gradient": (ValueError, "k of top_k has no gradient", "top_k", {"k": torch.tensor(3.0)}),
    "number": (TypeError, "beta of softmax is a float", "softmax", {"beta": 3.0}),
    "integer": (TypeError, "beta of softmax is torch.int64", "softmax", {"beta": torch.tensor(3)}),
    "meta": (TypeError, "the parameters of softmax are on meta", "softmax", {"beta": torch.ones(1, device="meta")}),
    "meta and not": (
        TypeError,
        "b of ssmax is on meta and s on cpu",
        "ssmax",
        {"s": torch.ones(4), "b": torch.ones(4, device="meta")},
    ),
    "matrix": (ValueError, r"has shape \[2, 2\]", "softmax", {"beta": torch.ones(2, 2)}),
    "empty": (ValueError, r"has shape \[0\]", "softmax", {"beta": torch.ones(0)}),
    "domain": (ValueError, "alpha of entmax is 20", "entmax", {"alpha": torch.full((4,), 20.0)}),
    "nan": (ValueError, "beta of softmax is 'nan'", "softmax", {"beta": torch.tensor(float("nan"))}),
    "heads": (ValueError, "3 values for 4 heads", "softmax", {"beta": torch.ones(3)}),
    "different heads": (ValueError, "4, 3 values", "ssmax", {"s": torch.ones(4), "b": torch.ones(3)}),
    "name": (TypeError, "name is a int", 3, {}),
}


@pytest.mark.parametrize("name", WRONG_PARAMETERS)
def test_wrong_parameters_are_named(name):
    kind, words, text, values = WRONG_PARAMETERS[name]
    with pytest.raises(kind, match=words):
        attention(QUERY, KEY, VALUE, normalizer=Parametrized(text, **values))


WRONG_SCORES = {
    "integers": (TypeError, "scores is torch.int64", lambda: (torch.ones(2, 3).long(),)),
    "no dimensions": (ValueError, "no dimensions", lambda: (torch.ones(()),)),
    "axis": (ValueError, "axis is 2", lambda: (torch.ones(2, 3), "softmax", 2)),
    "axis type": (TypeError, "axis is a float", lambda: (torch.ones(2, 3), "softmax", 1.0)),
    "linear": (NotImplementedError, "linear is not a function of scores", lambda: (torch.ones(2, 3), "linear")),
}


@pytest.mark.parametrize("name", WRONG_SCORES)
def test_wrong_scores_are_named(name):
    kind, words, make = WRONG_SCORES[name]
    with pytest.raises(kind, match=words):
        normalize(*make())


def test_no_backward_above_alpha_two_is_said_when_it_is_asked_for():
    query = QUERY.clone().requires_grad_()
    out = attention(query, KEY, VALUE, normalizer="entmax:alpha=3")
    with pytest.raises(NotImplementedError, match="above alpha = 2"):
        out.sum().backward()


def negated(tensor):
    """A view whose sign is turned by a flag, not in memory."""
    return torch._neg_view(-tensor)


class Mine(torch.Tensor):
    """A subclass that adds nothing."""


GOOD = {
    "last dimension strided": lambda t: t.mT.contiguous().mT,
    "every dimension strided": lambda t: t.repeat_interleave(2, 1).repeat_interleave(2, 2)[:, ::2, ::2],
    "broadcast view": lambda t: t[:1].expand(2, -1, -1, -1),
    "offset": lambda t: torch.cat([t[:1], t])[1:],
    "lazily negated": negated,
    "parameter": torch.nn.Parameter,
    "inference": lambda t: _in_inference_mode(t),
    "zero without memory": lambda t: torch._efficientzerotensor(t.shape),
    "subclass": lambda t: t.as_subclass(Mine),
}


def _in_inference_mode(tensor):
    with torch.inference_mode():
        return tensor.clone()


@pytest.mark.parametrize("name", GOOD)
def test_what_only_looks_bad_gives_what_a_copy_gives(name):
    made = [GOOD[name](tensor) for tensor in (QUERY, KEY, VALUE)]
    with torch.no_grad():
        copies = [torch.zeros(tensor.shape) + tensor.as_subclass(torch.Tensor) for tensor in made]
        assert torch.equal(
            attention(*made, is_causal=True).as_subclass(torch.Tensor), attention(*copies, is_causal=True)
        )
        weights = normalize(made[0], "entmax15", axis=1).as_subclass(torch.Tensor)
        assert torch.equal(weights, normalize(copies[0], "entmax15", axis=1))


def test_a_cache_in_16_bits_under_a_query_of_32():
    key, value = KEY.bfloat16(), VALUE.bfloat16()
    leaves = [QUERY.clone().requires_grad_(), key.clone().requires_grad_(), value.clone().requires_grad_()]
    out = attention(*leaves)
    torch.testing.assert_close(out, attention(QUERY, key.float(), value.float()), rtol=0, atol=1e-6)
    out.sum().backward()
    assert [leaf.grad.dtype for leaf in leaves] == [torch.float32, torch.bfloat16, torch.bfloat16]


def test_lengths_and_documents_of_any_kind():
    wanted = attention(QUERY, KEY, VALUE, key_lengths=[3, 7])
    for lengths in (torch.tensor([3, 7]), np.array([3, 7]), (3, 7), torch.tensor([3, 7], dtype=torch.int16)):
        assert torch.equal(attention(QUERY, KEY, VALUE, key_lengths=lengths), wanted)
    wanted = attention(QUERY, KEY, VALUE, documents=([0, 2, 5], [0, 3, 7]))
    pairs = torch.tensor([[0, 2, 5], [0, 3, 7]])
    for documents in (pairs, pairs.numpy(), (pairs[0], pairs[1]), [np.array([0, 2, 5]), [0, 3, 7]]):
        assert torch.equal(attention(QUERY, KEY, VALUE, documents=documents), wanted)


def test_a_default_device_elsewhere_changes_nothing():
    wanted = attention(QUERY, KEY, VALUE, key_lengths=[3, 7], return_stats=True)
    with torch.device("meta"):
        found = attention(QUERY, KEY, VALUE, key_lengths=[3, 7], return_stats=True)
    assert torch.equal(found[0], wanted[0]) and torch.equal(found[1].entropy, wanted[1].entropy)


def test_nothing_to_do_is_done():
    for queries, keys in ((0, 7), (5, 0), (0, 0)):
        inputs = [t.clone().requires_grad_() for t in (QUERY[:, :, :queries], KEY[:, :, :keys], VALUE[:, :, :keys])]
        out = attention(*inputs)
        assert out.shape == (2, 4, queries, 8) and not out.any()
        out.sum().backward()
        assert all(tensor.grad.shape == tensor.shape and not tensor.grad.any() for tensor in inputs)
    assert attention(QUERY[:0], KEY[:0], VALUE[:0]).shape == (0, 4, 5, 8)
    assert normalize(torch.ones(2, 0)).shape == (2, 0) and normalize(torch.ones(0, 2)).shape == (0, 2)
