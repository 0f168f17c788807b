"""What the arguments mean, and what is said of those that mean nothing."""

import numpy as np
import pytest
import sharpmax


def inputs(queries=6, keys=9, heads=2, features=8, seed=2):
    random = np.random.default_rng(seed)
    query = random.standard_normal((1, heads, queries, features)).astype(np.float32)
    return query, *(random.standard_normal((1, heads, keys, features)).astype(np.float32) for _ in range(2))


def masked(query, key, value, seen, **options):
    return sharpmax.attention(query, key, value, attn_mask=seen, **options)


def test_is_causal_is_top_left_and_bottom_right_has_its_own_word():
    arrays = inputs()
    row, column = np.arange(6)[:, None], np.arange(9)[None, :]
    top_left = masked(*arrays, column <= row)
    assert np.allclose(sharpmax.attention(*arrays, is_causal=True), top_left, rtol=0, atol=1e-6)
    assert np.array_equal(sharpmax.attention(*arrays, causal="top-left"), sharpmax.attention(*arrays, is_causal=True))
    bottom_right = masked(*arrays, column <= row + 3)
    assert np.allclose(sharpmax.attention(*arrays, causal="bottom-right"), bottom_right, rtol=0, atol=1e-6)
    assert not np.allclose(top_left, bottom_right)


def test_window_lengths_and_documents_are_masks_with_a_shorter_name():
    query, key, value = inputs(queries=9)
    row, column = np.arange(9)[:, None], np.arange(9)[None, :]
    same = {
        "window": ({"window": (2, 1)}, (column >= row - 2) & (column <= row + 1)),
        "left window": ({"window": (3, -1)}, column >= row - 3),
        "lengths": ({"key_lengths": [5]}, np.broadcast_to(column < 5, (9, 9))),
        "documents": ({"documents": [0, 4, 9]}, (row < 4) == (column < 4)),
        "paired documents": ({"documents": ([0, 2, 9], [0, 4, 9])}, (row < 2) == (column < 4)),
    }
    for name, (options, seen) in same.items():
        short, long = sharpmax.attention(query, key, value, **options), masked(query, key, value, seen)
        assert np.allclose(short, long, rtol=0, atol=1e-6), name


def test_parameters_per_head_and_by_keyword_are_the_same_normalizer():
    rule = sharpmax.Normalizer("ssmax", s=[0.4, 0.5], b=0.1)
    assert rule == sharpmax.Normalizer("ssmax:s=0.4/0.5,b=0.1") and rule.name == "ssmax"
    assert rule.parameters == {"s": [0.4, 0.5], "b": 0.1} and rule.s == [0.4, 0.5]
    arrays = inputs()
    by_text = sharpmax.attention(*arrays, normalizer="ssmax:s=0.4/0.5,b=0.1")
    assert np.array_equal(sharpmax.attention(*arrays, normalizer=rule), by_text)
    one_head = sharpmax.attention(*(a[:, 1:] for a in arrays), normalizer="ssmax:s=0.5,b=0.1")
    assert np.array_equal(by_text[:, 1:], one_head)
    assert sharpmax.Normalizer("log_length", preset="llama4", a=0.2).text.startswith("log_length:")


def test_statistics_are_those_of_the_weights():
    random = np.random.default_rng(3)
    scores = random.standard_normal((1, 2, 5, 40))
    weights, stats = sharpmax.normalize(
        scores, return_stats={"entropy": True, "peak_weight": True, "peak_key": True, "support": True, "top": 3,
                              "gaps": [1.0, 2.0], "column_mass": True, "map": (5, 8), "mass": False},
    )  # fmt: skip
    exact = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    assert np.allclose(weights, exact, rtol=1e-14)
    assert np.allclose(stats.entropy, -(exact * np.log(exact)).sum(-1), rtol=1e-13)
    assert np.allclose(stats.peak_weight, exact.max(-1), rtol=1e-14)
    assert np.array_equal(stats.peak_key, exact.argmax(-1)) and (stats.support == 40).all()
    assert np.array_equal(stats.top_keys, np.argsort(-exact, -1)[..., :3])
    gaps = scores.max(-1, keepdims=True) - scores
    assert np.array_equal(stats.gap_counts, np.stack([(gaps <= g).sum(-1) for g in (1.0, 2.0)], -1))
    assert np.allclose(stats.column_mass, exact.sum(-2), rtol=1e-13)
    assert np.allclose(stats.map, exact.reshape(1, 2, 5, 8, 5).sum(-1), rtol=1e-13)
    assert stats.gaps == (1.0, 2.0) and stats.mass is None and stats.threshold is None


def test_a_mask_and_is_causal_hold_both():
    arrays = inputs()
    seen = np.random.default_rng(5).random((6, 9)) < 0.7
    row, column = np.arange(6)[:, None], np.arange(9)[None, :]
    both = sharpmax.attention(*arrays, attn_mask=seen, is_causal=True)
    assert np.allclose(both, masked(*arrays, seen & (column <= row)), rtol=0, atol=1e-6)
    assert not np.allclose(both, masked(*arrays, seen))


def test_only_the_gradients_that_are_needed_come_back():
    arrays = inputs()
    found = sharpmax.attention_backward(arrays[0], *arrays, needs=("key",))
    assert found.key is not None and found.query is None and found.value is None and found.parameters == {}
    everything = sharpmax.attention_backward(arrays[0], *arrays)
    # Parameters make another plan of it, whose sums round elsewhere.
    rounding = 16 * np.finfo(np.float32).eps * np.abs(everything.key).max()
    assert np.abs(found.key - everything.key).max() <= rounding and set(everything.parameters) == {"beta"}
    assert everything.bias is None


ARRAYS = inputs()
QUERY, KEY, VALUE = ARRAYS
WRONG = {
    "dropout": (NotImplementedError, "dropout_p", dict(dropout_p=0.1)),
    "causal twice": (ValueError, "causal", dict(is_causal=True, causal="top-left")),
    "causal type": (TypeError, "is_causal is 'x'; it must be True or False", dict(is_causal="x")),
    "causal word": (ValueError, "'bottom-right'", dict(causal="sideways")),
    "normalizer text": (ValueError, "sofmax", dict(normalizer="sofmax")),
    "normalizer type": (TypeError, "normalizer is a int", dict(normalizer=3)),
    "parameter domain": (ValueError, "alpha", dict(normalizer="entmax:alpha=17")),
    "parameters per head": (ValueError, "head", dict(normalizer="softmax:beta=1/2/3")),
    "statistic": (ValueError, "'entropie'", dict(return_stats=["entropie"])),
    "mask shape": (ValueError, "mask", dict(attn_mask=np.ones((6, 8), bool))),
    "mask type": (TypeError, "attn_mask", dict(attn_mask=np.ones((6, 9), np.int32))),
    "mask no array": (TypeError, "attn_mask", dict(attn_mask="none")),
    "length": (ValueError, "length", dict(key_lengths=[10])),
    "threads": (ValueError, "threads", dict(threads=-1)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_named(name):
    kind, words, options = WRONG[name]
    with pytest.raises(kind, match=words):
        sharpmax.attention(*ARRAYS, **options)


WRONG_ARRAYS = {
    "features": (ValueError, "features", (QUERY[..., :4].copy(), KEY, VALUE)),
    "heads": (ValueError, "leading dimensions", (QUERY, np.repeat(KEY, 3, 1), VALUE)),
    "keys and values": (ValueError, "value", (QUERY, KEY, VALUE[:, :, :5])),
    "integers": (TypeError, "query", (QUERY.astype(np.int64), KEY, VALUE)),
    "complex": (TypeError, "key", (QUERY, KEY.astype(np.complex64), VALUE)),
    "mixed types": (ValueError, "float64", (QUERY, KEY.astype(np.float64), VALUE)),
    "dimensions": (ValueError, "query has 1 dimensions", (QUERY[0, 0, 0], KEY, VALUE)),
}


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_wrong_arrays_are_named(name):
    kind, words, arrays = WRONG_ARRAYS[name]
    with pytest.raises(kind, match=words):
        sharpmax.attention(*arrays)


def test_things_that_are_no_arrays_are_named():
    with pytest.raises(TypeError, match="key is a str"):
        sharpmax.attention(QUERY, "key", VALUE)
    with pytest.raises(ValueError, match="saved must be"):
        sharpmax.attention_backward(QUERY, *ARRAYS, saved=(QUERY,))
    with pytest.raises(NotImplementedError):
        sharpmax.normalize(np.ones((2, 3)), "linear")


def test_what_the_machine_has():
    assert sharpmax.current_target() in sharpmax.targets()
    before = sharpmax.current_target()
    try:
        for target in sharpmax.targets():
            sharpmax.force_target(target)
            assert sharpmax.current_target() == target
            assert np.allclose(sharpmax.attention(*ARRAYS), sharpmax.attention(*ARRAYS), rtol=0, atol=0)
        with pytest.raises(ValueError):
            sharpmax.force_target("ABACUS")
    finally:
        sharpmax.force_target(before)
    assert sharpmax.version.count(".") == 2 and sharpmax.default_threads() >= 1
