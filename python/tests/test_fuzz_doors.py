"""Whatever comes through a door, either an answer of the right shape comes back or one sentence. Never a crash."""

import numpy as np
import pytest
import sharpmax
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

REFUSALS = (TypeError, ValueError, NotImplementedError)
NUMPY_TYPES = ["f4", "f8", "f2", ">f4", ">f8", "i4", "i8", "u1", "?", "c8", "O", "S3", "M8[s]", "f4,f4"]
TORCH_TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64]
SIZES = st.sampled_from([0, 1, 1, 2, 3, 5, 8])
SPECIAL = [0.0, -0.0, 1.0, -1.0, 1e30, -1e30, 1e-40, np.inf, -np.inf, np.nan]
JUNK = st.sampled_from([None, True, False, 0, 1, -1, 2**70, 0.5, float("nan"), "x", b"x", [], (1, 2), {}, [None], object(), np.float32(2), np.zeros(3), np.zeros((2, 2), bool), [[0, 1], [0, 2]], range(3), lambda: None])  # fmt: skip


def strided(draw, array):
    """The same elements, laid out in some other way."""
    how = draw(st.sampled_from(["as is", "as is", "reversed", "every other", "transposed", "read only", "unaligned"]))
    if how == "reversed" and array.ndim:
        return array[..., ::-1]
    if how == "every other" and array.ndim:
        return np.repeat(array, 2, axis=draw(st.integers(0, array.ndim - 1)))[..., ::2]
    if how == "transposed":
        return array.T
    if how == "read only":
        array.flags.writeable = False
    if how == "unaligned" and not array.dtype.hasobject:
        bytes_of = np.zeros(array.nbytes + 1, "u1")
        view = bytes_of[1:].view(array.dtype).reshape(array.shape) if array.size else array
        view[...] = array
        return view
    return array


@st.composite
def arrays(draw, shape=None, usual="f4"):
    shape = shape if shape is not None else tuple(draw(st.lists(SIZES, min_size=0, max_size=5)))
    kind = usual if draw(st.integers(0, 9)) else draw(st.sampled_from(NUMPY_TYPES))
    seed = draw(st.integers(0, 2**32 - 1))
    values = np.random.default_rng(seed).standard_normal(shape)
    if draw(st.integers(0, 4)) == 0 and values.size:
        values.flat[draw(st.integers(0, values.size - 1))] = draw(st.sampled_from(SPECIAL))
    with np.errstate(all="ignore"):
        array = np.zeros(shape, kind) if kind in ("f4,f4", "M8[s]", "c8") else values.astype(kind)
    return strided(draw, array)


@st.composite
def calls(draw):
    """(query, key, value, options), mostly of shapes that agree, with a few things wrong."""
    lead = draw(st.lists(SIZES, min_size=0, max_size=3))
    queries, keys, features = draw(SIZES), draw(SIZES), draw(SIZES)
    usual = draw(st.sampled_from(["f4", "f4", "f8", "f2"]))
    shapes = [(*lead, queries, features), (*lead, keys, features), (*lead, keys, draw(SIZES))]
    query, key, value = (
        draw(arrays(shape if draw(st.integers(0, 19)) else None, usual)) if draw(st.integers(0, 29)) else draw(JUNK)
        for shape in shapes
    )
    options = {}
    if draw(st.booleans()):
        mask_shape = (queries, keys) if draw(st.integers(0, 4)) else None
        options["attn_mask"] = draw(arrays(mask_shape, draw(st.sampled_from(["?", usual]))))
    names = [member["name"] for member in sharpmax.family()]
    options["normalizer"] = draw(
        st.sampled_from([*names, "softmax:beta=1/2", "entmax:alpha=1", "top_k:k=3", "nothing"])
    )
    for name in ("is_causal", "enable_gqa"):
        if draw(st.integers(0, 4)) == 0:
            options[name] = draw(st.booleans())
    for name, usual_values in {
        "causal": st.sampled_from(["top-left", "bottom-right", None]),
        "scale": st.sampled_from([None, 0.1, 1.0, 0.0, -1.0, float("inf")]),
        "window": st.tuples(st.integers(-2, 4), st.integers(-2, 4)),
        "key_lengths": st.lists(st.integers(-1, 9), max_size=4),
        "documents": st.lists(st.integers(-1, 9), max_size=4),
        "soft_cap": st.sampled_from([0.0, 5.0, -1.0]),
        "return_stats": st.sampled_from(
            [True, "all", "entropy", ["peak_key"], {"top": 3}, {"map": (2, 3)}, {"gaps": [1]}]
        ),
        "threads": st.integers(0, 3),
        "dropout_p": st.just(0.0),
    }.items():
        if draw(st.integers(0, 5)) == 0:
            options[name] = draw(usual_values if draw(st.integers(0, 4)) else JUNK)
    return query, key, value, options


def one_sentence(error):
    words = str(error)
    assert words and "\n" not in words and "incompatible function arguments" not in words, words


def describe(arguments, options):
    note(
        f"{[(getattr(a, 'shape', a), getattr(a, 'dtype', None), getattr(a, 'strides', None)) for a in arguments]} {options}"
    )


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(calls())
def test_attention_answers_or_refuses_in_one_sentence(call):
    *inputs, options = call
    describe(inputs, options)
    copies = [array.copy() if isinstance(array, np.ndarray) else array for array in inputs]
    try:
        found = sharpmax.attention(*inputs, **options)
    except REFUSALS as error:
        one_sentence(error)
        return
    out = found[0] if isinstance(found, tuple) else found
    query, _, value = inputs
    assert out.shape[-2:] == (query.shape[-2], value.shape[-1]) and out.dtype == query.dtype.newbyteorder("=")
    for before, after in zip(copies, inputs):
        assert np.array_equal(before, after, equal_nan=before.dtype.kind in "fc"), "an input was written to"


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(calls(), st.sampled_from([("query",), ("key", "value"), ("bias", "parameters"), ("nothing",), "query"]))
def test_attention_backward_answers_or_refuses_in_one_sentence(call, needs):
    query, key, value, options = call
    describe((query, key, value), options)
    for name in ("dropout_p", "return_stats"):
        options.pop(name, None)
    try:
        found = sharpmax.attention_backward(query, query, key, value, needs=needs, **options)
    except REFUSALS as error:
        one_sentence(error)
        return
    for gradient, array in zip(found, (query, key, value)):
        assert gradient is None or gradient.shape == array.shape


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(arrays(), calls(), st.one_of(st.integers(-6, 6), JUNK))
def test_normalize_answers_or_refuses_in_one_sentence(scores, call, axis):
    options = {name: call[3][name] for name in ("normalizer", "return_stats", "threads") if name in call[3]}
    describe((scores,), {**options, "axis": axis})
    try:
        found = sharpmax.normalize(scores, axis=axis, **options)
    except REFUSALS as error:
        one_sentence(error)
        return
    weights = found[0] if isinstance(found, tuple) else found
    assert weights.shape == scores.shape


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(
    st.one_of(st.text(max_size=20), JUNK),
    st.dictionaries(st.sampled_from(["beta", "alpha", "s", "k", "x"]), st.one_of(JUNK, st.floats()), max_size=2),
)
def test_normalizers_are_made_or_refused_in_one_sentence(text, parameters):
    for name in (text, "softmax", "entmax", "ssmax"):
        try:
            normalizer = sharpmax.Normalizer(name, **parameters)
        except REFUSALS as error:
            one_sentence(error)
            continue
        assert sharpmax.Normalizer(normalizer.text) == normalizer
