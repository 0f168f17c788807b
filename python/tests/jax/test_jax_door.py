"""The JAX door: the same answers, with gradients, under jit and vmap; mistakes are told when the program is made."""

import functools

import numpy as np
import pytest
import sharpmax

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
import sharpmax.jax  # noqa: E402


def inputs(shape=(2, 3, 5, 8), keys=7, seed=0):
    rng = np.random.default_rng(seed)
    query = rng.standard_normal(shape).astype(np.float32)
    return tuple(
        jnp.asarray(a)
        for a in (query, *(rng.standard_normal((*shape[:-2], keys, shape[-1])).astype(np.float32) for _ in "kv"))
    )


def softmax_attention(query, key, value, bias=0.0):
    return jax.nn.softmax(query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5 + bias, -1) @ value


def close(a, b, tolerance=1e-5):
    return np.allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("normalizer", [member["name"] for member in sharpmax.family()])
def test_every_normalizer_is_numpys_to_the_bit_with_and_without_jit(normalizer):
    arrays = inputs()
    attention = functools.partial(sharpmax.attention, normalizer=normalizer, is_causal=True)
    wanted = attention(*map(np.asarray, arrays))
    for function in (attention, jax.jit(attention)):
        found = function(*arrays)
        assert isinstance(found, jax.Array) and np.array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_gradients_of_queries_keys_values_and_bias_are_those_of_jax(transform):
    arrays = (*inputs(), jnp.asarray(np.random.default_rng(5).standard_normal((3, 1, 7)).astype(np.float32)))
    gradient = lambda f: jax.grad(lambda *a: (f(*a) ** 2).sum(), argnums=(0, 1, 2, 3))  # noqa: E731
    for found, wanted in zip(transform(gradient(sharpmax.attention))(*arrays), gradient(softmax_attention)(*arrays)):
        assert found.shape == wanted.shape and close(found, wanted)


@pytest.mark.parametrize("s", [0.7, [0.5, 0.6, 0.7]], ids=["shared", "per head"])
def test_gradients_reach_the_normalizers_parameters(s):
    query, key, value = inputs()

    def ours(s, query):
        return (sharpmax.jax.attention(query, key, value, normalizer="ssmax", parameters={"s": s}) ** 2).sum()

    def written_out(s, query):
        scores = query @ key.swapaxes(-1, -2) / 8**0.5 * jnp.reshape(s, (-1, 1, 1)) * np.log(7)
        return ((jax.nn.softmax(scores, -1) @ value) ** 2).sum()

    s = jnp.asarray(s)
    for transform in (lambda f: f, jax.jit):
        found = transform(jax.grad(ours, argnums=(0, 1)))(s, query)
        wanted = jax.grad(written_out, argnums=(0, 1))(s, query)
        assert found[0].shape == s.shape and close(found[0], wanted[0]) and close(found[1], wanted[1])


def test_a_normalizer_without_formula_in_jax_is_checked_by_differences():
    with jax.enable_x64(True):
        query, key, value = (array.astype(jnp.float64) for array in inputs((1, 2, 4, 8)))
        loss = lambda *a: (sharpmax.attention(*a, normalizer="entmax:alpha=1.3") ** 2).sum()  # noqa: E731
        from jax.test_util import check_grads

        check_grads(loss, (query, key, value), order=1, modes=["rev"], rtol=1e-6, atol=1e-7)


def test_broadcasting_and_grouped_heads_have_gradients_too():
    query, key, value = inputs()
    shared = lambda f: jax.grad(lambda k: (f(query, k, value[:, :1]) ** 2).sum())(key[:1, :1])  # noqa: E731
    found = shared(sharpmax.attention)
    assert found.shape == (1, 1, 7, 8) and close(found, shared(softmax_attention), 2e-5)
    grouped = jnp.concatenate([query, query + 1], 1)
    found = jax.grad(lambda k: sharpmax.attention(grouped, k, value, enable_gqa=True)[..., 0].sum())(key)
    wanted = jax.grad(lambda k: softmax_attention(grouped, jnp.repeat(k, 2, 1), jnp.repeat(value, 2, 1))[..., 0].sum())(
        key
    )
    assert close(found, wanted)


def test_vmap_calls_one_by_one_with_the_same_answer():
    query, key, value = inputs()
    mapped = jax.vmap(lambda q: sharpmax.attention(q, key[0], value[0]))(query)
    assert close(mapped, softmax_attention(query, key[:1], value[:1]))
    gradient = jax.vmap(jax.grad(lambda q: (sharpmax.attention(q, key[0], value[0]) ** 2).sum()))(query)
    assert close(gradient, jax.grad(lambda q: (softmax_attention(q, key[:1], value[:1]) ** 2).sum())(query))


def test_statistics_come_out_of_a_jitted_function():
    arrays = inputs()
    out, stats = jax.jit(lambda *a: sharpmax.attention(*a, return_stats="all"))(*arrays)
    _, wanted = sharpmax.attention(*map(np.asarray, arrays), return_stats="all")
    assert stats.gaps == wanted.gaps and stats.names() == wanted.names()
    for name in stats.names():
        assert np.allclose(getattr(stats, name), getattr(wanted, name), rtol=1e-6, atol=0, equal_nan=True), name
    loss = lambda q: sharpmax.attention(q, *arrays[1:], return_stats=True)[1].entropy.sum()  # noqa: E731
    assert not jax.grad(loss)(arrays[0]).any()  # statistics have no gradient


@pytest.mark.parametrize("kind", [jnp.bfloat16, jnp.float16])
def test_half_types_are_computed_in_float32(kind):
    arrays = [array.astype(kind) for array in inputs()]
    found = sharpmax.attention(*arrays)
    wanted = sharpmax.attention(*(array.astype(jnp.float32) for array in arrays))
    assert found.dtype == kind and np.array_equal(np.asarray(found), np.asarray(wanted.astype(kind)))
    gradient = jax.grad(lambda q: sharpmax.attention(q, *arrays[1:]).astype(jnp.float32).sum())(arrays[0])
    assert gradient.dtype == kind
    scores = arrays[0]
    assert sharpmax.normalize(scores).dtype == kind


@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_normalize_along_any_axis_with_gradient(axis):
    scores = inputs()[0]
    assert close(sharpmax.normalize(scores, axis=axis), jax.nn.softmax(scores, axis), 1e-6)
    ours = jax.jit(jax.grad(lambda x: (sharpmax.normalize(x, axis=axis) ** 2).sum()))(scores)
    assert close(ours, jax.grad(lambda x: (jax.nn.softmax(x, axis) ** 2).sum())(scores), 1e-6)
    slope = jax.grad(lambda b: (sharpmax.jax.normalize(scores, parameters={"beta": b}) ** 2).sum())(jnp.float32(1.5))
    assert close(slope, jax.grad(lambda b: (jax.nn.softmax(b * scores, -1) ** 2).sum())(jnp.float32(1.5)))


QUERY, KEY, VALUE = inputs()
WRONG = {
    "features": (ValueError, "features", lambda q: sharpmax.attention(q, KEY[..., :4], VALUE)),
    "values per head": (ValueError, "3 heads", lambda q: sharpmax.attention(q, KEY, VALUE, normalizer="softmax:beta=1/2")),
    "type": (TypeError, "int32", lambda q: sharpmax.attention(q, KEY.astype(jnp.int32), VALUE)),
    "mixed": (TypeError, "agree", lambda q: sharpmax.attention(q, KEY.astype(jnp.bfloat16), VALUE)),
    "no array": (TypeError, "NoneType", lambda q: sharpmax.attention(q, KEY, None)),
    "mask": (ValueError, "attn_mask", lambda q: sharpmax.attention(q, KEY, VALUE, jnp.ones((4, 7), bool))),
    "parameter": (ValueError, "to learn beta", lambda q: sharpmax.jax.attention(q, KEY, VALUE, parameters={"s": 1.0})),
    "dropout": (NotImplementedError, "dropout", lambda q: sharpmax.attention(q, KEY, VALUE, None, 0.5)),
    "normalizer": (ValueError, "softmax", lambda q: sharpmax.attention(q, KEY, VALUE, normalizer="sofmax")),
    "linear rows": (NotImplementedError, "linear", lambda q: sharpmax.normalize(q, "linear")),
    "statistics": (ValueError, "entropie", lambda q: sharpmax.attention(q, KEY, VALUE, return_stats="entropie")),
    "window": (ValueError, "pair", lambda q: sharpmax.attention(q, KEY, VALUE, window=(1, 2, 3))),
}  # fmt: skip


@pytest.mark.parametrize("jitted", [False, True], ids=["plain", "jit"])
@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_told_in_our_words_even_while_tracing(name, jitted):
    kind, words, function = WRONG[name]
    with pytest.raises(kind, match=words) as caught:
        (jax.jit(function) if jitted else function)(QUERY)
    assert "\n" not in str(caught.value).split("\n--")[0].strip()


def test_lengths_that_are_traced_are_refused():
    with pytest.raises(TypeError, match="key_lengths is"):
        jax.jit(lambda q, n: sharpmax.attention(q, KEY, VALUE, key_lengths=n))(QUERY, jnp.array([1, 2]))
