"""Normalizer and Stats: values that say what they are."""

import copy
import pickle

import numpy as np
import pytest
import sharpmax

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.mark.parametrize("member", sharpmax.family(), ids=lambda member: member["name"])
def test_every_member_goes_through_text_pickle_and_copy(member):
    normalizer = sharpmax.Normalizer(member["name"])
    assert isinstance(normalizer, sharpmax.Normalizer) and normalizer.name == member["name"]
    assert set(normalizer.parameters) == {parameter["name"] for parameter in member["parameters"]}
    for same in (pickle.loads(pickle.dumps(normalizer)), copy.copy(normalizer), copy.deepcopy(normalizer),
                 sharpmax.Normalizer(normalizer.text), normalizer.replace(), eval(repr(normalizer), vars(sharpmax))):  # fmt: skip
        assert same == normalizer and hash(same) == hash(normalizer)


def test_parameters_are_attributes_and_replace_leaves_the_value_alone():
    normalizer = sharpmax.Normalizer("ssmax", s=np.array([0.4, 0.5], np.float32), b=1)
    assert normalizer.s == [float(np.float32(0.4)), 0.5] and normalizer.b == 1.0
    other = normalizer.replace(b=2)
    assert other.b == 2.0 and normalizer.b == 1.0 and other != normalizer
    assert sharpmax.Normalizer("log_length:preset=yarn", factor=4).preset == "yarn"
    assert sharpmax.Normalizer("sigmoid").b == "auto"
    assert repr(sharpmax.Normalizer("entmax", alpha=2)) == "Normalizer('entmax:alpha=2')"
    with pytest.raises(AttributeError, match="gamma"):
        normalizer.gamma
    with pytest.raises(AttributeError):
        normalizer.b = 3


WRONG = {
    "name": (ValueError, "did you mean softmax", lambda: sharpmax.Normalizer("sofmax")),
    "parameter": (ValueError, "softmax has no parameter 'bta'", lambda: sharpmax.Normalizer("softmax", bta=2)),
    "value": (TypeError, "beta is a NoneType", lambda: sharpmax.Normalizer("softmax", beta=None)),
    "matrix": (TypeError, "beta is a list", lambda: sharpmax.Normalizer("softmax", beta=np.ones((2, 2)))),
    "domain": (ValueError, r"a number in \[1, 16\]", lambda: sharpmax.Normalizer("entmax", alpha=17)),
    "word": (ValueError, "qwen, llama4", lambda: sharpmax.Normalizer("log_length", preset="qwn")),
    "twice": (ValueError, "given twice", lambda: sharpmax.Normalizer("softmax:beta=1", beta=2)),
    "no text": (TypeError, "normalizer is a int", lambda: sharpmax.Normalizer(3)),
    "nothing": (TypeError, "normalizer is a NoneType", lambda: sharpmax.Normalizer(None)),
}


@pytest.mark.parametrize("name", WRONG)
def test_normalizers_that_are_none_are_named(name):
    kind, words, make = WRONG[name]
    with pytest.raises(kind, match=words):
        make()


def some_stats(heads=3, wish="all"):
    rng = np.random.default_rng(8)
    query, key = (rng.standard_normal((2, heads, size, 8)).astype(np.float32) for size in (6, 9))
    return sharpmax.attention(query, key, key, return_stats=wish)[1]


def test_stats_say_what_they_hold():
    stats = some_stats()
    assert stats.names()[:2] == ["log_partition", "entropy"] and "map" not in stats.names()
    words = repr(stats)
    assert "entropy           [2, 3, 6]" in words and f"median {np.median(stats.entropy):.6g}" in words
    assert "map" not in words and repr(sharpmax.Stats()) == "Stats()"
    assert max(map(len, words.splitlines())) <= 100


def drawn(ax):
    return [line.get_ydata() for line in ax.lines]


def test_plots_draw_the_numbers():
    few = some_stats(heads=3)
    lines = drawn(few.plot("peak_weight"))
    assert len(lines) == 6 and np.array_equal(np.stack(lines), few.peak_weight.reshape(6, 6))
    assert few.plot().get_ylabel() == "entropy (nats)"
    many = some_stats(heads=20, wish=["entropy"])
    (middle,) = drawn(many.plot())
    assert np.allclose(middle, np.median(many.entropy.reshape(40, 6), axis=0))
    figure, ax = matplotlib.pyplot.subplots()
    picture = some_stats(wish={"map": (3, 4)})
    assert picture.plot(ax=ax) is ax
    assert np.allclose(ax.images[0].get_array(), picture.map.reshape(-1, 3, 4).mean(0))
    matplotlib.pyplot.close("all")


def test_plots_of_what_is_not_there_are_refused():
    with pytest.raises(ValueError, match="no 'mass' to draw here; there is entropy"):
        some_stats(wish="entropy").plot("mass")
    with pytest.raises(ValueError, match="nothing to draw"):
        sharpmax.Stats().plot()


def test_importing_sharpmax_imports_no_optional_package():
    import subprocess
    import sys

    script = "import sys, sharpmax; print(sorted({'torch', 'jax', 'transformers', 'matplotlib'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
