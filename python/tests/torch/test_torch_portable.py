"""The path of other devices, run on this one: PyTorch operations against the C++ specification and the written-out form."""

import math

import pytest
import sharpmax

torch = pytest.importorskip("torch")
import sharpmax.torch as st
import written_out
from sharpmax.torch import _path
from sharpmax.torch.portable import _blocks

RULES = [
    *(member["name"] for member in sharpmax.family()),
    "softmax:beta=2.5",
    "softmax:beta=-1.5",
    "adaptive:gradient=full",
    "entropy_target:nats=0.2,gradient=full",
    "peak_target:weight=0.9,gradient=full",
    "entmax:alpha=1.3",
    "entmax:alpha=1.9",
    "entmax:alpha=1",
    "top_k:k=3,beta=2",
    "top_k:k=2,beta=-1",
    "self_adjust:form=plain",
    "sigmoid:b=0.5",
    "sink:c=0",
    "sink:c=3",
    "log_length:length=4",
    "log_length:preset=llama4,floor=4",
    "log_length:preset=yarn,factor=8",
    "log_length:preset=yarn_dynamic,length=8",
    "ssmax:s=0.4/0.7/-0.2/1",
    "top_k:k=1/2/3/20",
    "asentmax:alpha=1.7,delta=0.5,gamma=0.7",
]
EVERYTHING = {
    **dict.fromkeys(("log_partition", "entropy", "peak_weight", "peak_key", "effective_support", "support"), True),
    **dict.fromkeys(("mass", "temperature", "threshold", "score_spread", "first_weight", "column_mass"), True),
    "top": 3,
    "gaps": [0.5, 2.0],
    "map": (3, 4),
}
# Queries, keys, what hides keys (of a mask), other options.
CASES = {
    "plain": (9, 13, None, {}),
    "causal": (9, 13, None, {"is_causal": True}),
    "causal from the end, more queries": (13, 9, None, {"causal": "bottom-right"}),
    "window": (11, 11, None, {"window": (2, 1)}),
    "window of one side, several blocks": (70, 90, None, {"window": (5, -1), "causal": "bottom-right"}),
    "wide window, several blocks": (90, 70, None, {"window": (30, 20)}),
    "lengths": (5, 9, None, {"key_lengths": [4, 0]}),
    "lengths, causal, window": (5, 9, None, {"key_lengths": [4, 9], "causal": "bottom-right", "window": (3, -1)}),
    "documents": (8, 9, None, {"documents": ([0, 3, 3, 7], [0, 2, 5, 9]), "causal": "bottom-right"}),
    "documents from their start": (8, 9, None, {"documents": ([0, 3, 3, 7], [0, 2, 5, 9]), "is_causal": True}),
    "soft cap and scale": (5, 9, None, {"soft_cap": 1.5, "scale": 0.7}),
    "bool mask": (6, 9, "bool", {}),
    "bias and causal": (6, 9, "bias", {"is_causal": True}),
    "bias, soft cap and window": (6, 9, "bias", {"soft_cap": 1.5, "window": (4, 2)}),
    "bias of each head, one key head at a time": (9, 150, "bias", {}),
    "one key": (1, 1, None, {}),
    "no key": (3, 0, None, {}),
    "no query": (0, 3, None, {}),
}


def randn(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def inputs_of(queries, keys):
    return randn(2, 4, queries, 8, seed=1), randn(2, 2, keys, 8, seed=2), randn(2, 2, keys, 5, seed=3)


def mask_of(kind, queries, keys):
    if kind == "bool":
        mask = randn(2, 1, queries, keys, seed=5) > -0.3
        mask[0, 0, 2] = False
        return mask
    bias = randn(4, queries, keys, seed=5)
    bias[1, 2, :] = bias[0, :, 3] = -math.inf
    return bias


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that shapes of a test are cut in all directions."""
    monkeypatch.setattr(_blocks, "_CPU_SCORES", 40 * 90)
    monkeypatch.setattr(_blocks, "_LEAST_ROWS", 8)


def run(monkeypatch, rule, case, dtype, portable):
    """Every number of one call, by name: answer, statistics, gradients."""
    queries, keys, kind, options = CASES[case]
    monkeypatch.setattr(_path, "forced", portable)
    leaves = [tensor.to(dtype).clone().requires_grad_() for tensor in inputs_of(queries, keys)]
    mask = None if kind is None else mask_of(kind, queries, keys)
    if kind == "bias":
        mask = mask.to(dtype).requires_grad_()
        leaves.append(mask)
    out, stats = st.attention(*leaves[:3], mask, enable_gqa=True, normalizer=rule, return_stats=EVERYTHING, **options)
    out.backward(randn(2, 4, queries, 5, seed=4).to(dtype))
    gradients = dict(zip(("d_query", "d_key", "d_value", "d_bias"), (leaf.grad for leaf in leaves)))
    return {"out": out.detach(), **gradients, **{name: getattr(stats, name) for name in stats.names()}}


def furthest(found, wanted):
    """Relative to 1 + |wanted|; equal infinities and NaN are no distance, others are infinite."""
    found, wanted = found.double(), wanted.double()
    same = (found == wanted) | (found.isnan() & wanted.isnan())
    distance = torch.where(same, 0.0, (found - wanted).abs() / (1 + wanted.abs()))
    return distance.nan_to_num(nan=math.inf).max().item() if distance.numel() else 0.0


def refused(rule, case):
    return rule == "linear" and case in (
        "bias and causal",
        "soft cap and scale",
        "bias, soft cap and window",
        "bias of each head, one key head at a time",
    )


@pytest.mark.parametrize("rule", RULES)
def test_in_double_everything_is_what_the_specification_says(monkeypatch, rule):
    for case in CASES:
        if refused(rule, case):
            continue
        wanted = run(monkeypatch, rule, case, torch.float64, portable=False)
        found = run(monkeypatch, rule, case, torch.float64, portable=True)
        assert list(found) == list(wanted)
        for name in wanted:
            # Two searches that end within 4 eps of a root, and sums in another order: 2^22 roundings are far more.
            assert furthest(found[name], wanted[name]) < 2.0**-30, f"{case}: {name}"
            assert found[name].dtype == wanted[name].dtype and found[name].shape == wanted[name].shape, name


EPS = torch.finfo(torch.float32).eps
SHAPES = {"plain": (37, 61, None), "causal": (64, 64, "causal"), "holes": (33, 50, "holes")}


def hidden_of(kind, queries, keys):
    if kind is None:
        return None
    if kind == "causal":
        return torch.ones(queries, keys).tril().logical_not()
    hidden = randn(queries, keys, seed=8) > 0.5
    hidden[:, 0] = False
    return hidden


def by_path(rule, tensors, hidden, d_out, dtype):
    leaves = [tensor.to(dtype).clone().requires_grad_() for tensor in tensors]
    mask = None if hidden is None else ~hidden
    st.attention(*leaves, mask, normalizer=rule).backward(d_out.to(dtype))
    out = st.attention(*(leaf.detach() for leaf in leaves), mask, normalizer=rule)
    return [out, *(leaf.grad for leaf in leaves)]


def by_hand(name, tensors, hidden, d_out):
    leaves = [tensor.float().clone().requires_grad_() for tensor in tensors]
    out, _ = written_out.attention(*leaves, hidden, name)
    out.backward(d_out.float())
    return [out.detach(), *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", written_out.NORMALIZERS)
def test_in_float_it_errs_at_most_twice_as_much_as_the_written_out_form(monkeypatch, name, shape):
    queries, keys, kind = SHAPES[shape]
    tensors = [randn(1, 3, size, 16, seed=seed).float().double() for seed, size in ((1, queries), (2, keys), (3, keys))]
    hidden, d_out = hidden_of(kind, queries, keys), randn(1, 3, queries, 16, seed=4).float().double()
    monkeypatch.setattr(_path, "forced", False)
    exact = by_path(name, tensors, hidden, d_out, torch.float64)
    # Near ties make a target's temperature large, and gradients move far by the last bit of a query: no float32 is nearer.
    last_bits = EPS * randn(*tensors[0].shape, seed=9).sign()
    moved = by_path(name, [tensors[0] * (1 + last_bits), *tensors[1:]], hidden, d_out, torch.float64)
    plain = by_hand(name, tensors, hidden, d_out)
    monkeypatch.setattr(_path, "forced", True)
    found = by_path(name, tensors, hidden, d_out, torch.float32)
    for what, ours, theirs, near, wanted in zip(("out", "d_query", "d_key", "d_value"), found, plain, moved, exact):
        error, by_hand_error, by_last_bits, size = (
            rows.abs().max().item() for rows in (ours - wanted, theirs - wanted, near - wanted, wanted)
        )
        rounding = 4 * EPS * size  # what any float32 of this size may be off by
        assert error <= max(2 * by_hand_error, by_last_bits) + rounding, what


@pytest.mark.parametrize("rule", ["softmax", "softmax:beta=1e30"])
def test_the_entropy_of_a_row_with_scores_of_any_size(monkeypatch, rule):
    """Weights of exactly 0 have no logarithm, and scores of -inf or far below leave a row as it is."""
    query, key, value = torch.ones(1, 1, 3, 4), randn(1, 1, 12, 4, seed=1).float(), randn(1, 1, 12, 4, seed=2).float()
    key[..., 3, :], key[..., 5, :] = -math.inf, -1e9
    mask = torch.arange(12) != 7
    found = []
    for portable in (False, True):
        monkeypatch.setattr(_path, "forced", portable)
        stats = st.attention(query, key, value, mask.expand(3, 12), normalizer=rule, return_stats=["entropy"])[1]
        found.append(stats.entropy.double())
    assert found[1].isfinite().all()
    torch.testing.assert_close(found[1], found[0], rtol=1e-5, atol=1e-6, equal_nan=True)


def test_poisoned_rows_and_no_other(monkeypatch):
    query, key, value = (tensor.float() for tensor in inputs_of(9, 13))
    key[0, 0, 5, 2] = math.nan
    value[1, 1, 7, 0] = math.inf
    for rule in (member["name"] for member in sharpmax.family()):
        monkeypatch.setattr(_path, "forced", True)
        leaves = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
        out = st.attention(*leaves, is_causal=True, enable_gqa=True, normalizer=rule)
        assert out[0, :2, 5:].isnan().all() and out[0, :2, :5].isfinite().all() and out[0, 2:].isfinite().all(), rule
        assert out[1, :2].isfinite().all() and out[1, 2:, :7].isfinite().all(), rule
        d_out = torch.ones_like(out)
        d_out[0, 3, 4] = math.nan  # of one row: keys that it does not see learn nothing of it
        out.backward(d_out)
        assert leaves[2].grad[0, 1, 5:].isfinite().all() and leaves[1].grad[0, 1, 5:].isfinite().all(), rule
        assert leaves[2].grad[0, 1, :4].isnan().any(), rule


@pytest.mark.parametrize("rule", RULES)
def test_what_lies_behind_a_mask_or_a_length_never_matters(monkeypatch, rule):
    monkeypatch.setattr(_path, "forced", True)
    tensors = [tensor.float() for tensor in inputs_of(6, 9)]
    lengths, mask = [4, 7], torch.arange(9) != 2
    answers = []
    for garbage in (0.0, math.nan, math.inf):
        leaves = [tensor.clone() for tensor in tensors]
        for leaf in leaves[1:]:
            leaf[0, :, 4:], leaf[1, :, 7:], leaf[:, :, 2] = garbage, garbage, garbage
        for leaf in leaves:
            leaf.requires_grad_()
        out = st.attention(*leaves, mask.expand(6, 9), enable_gqa=True, key_lengths=lengths, normalizer=rule)
        out.square().sum().backward()
        answers.append([out.detach(), *(leaf.grad for leaf in leaves)])
    assert all(tensor.isfinite().all() for tensor in answers[0])
    for other in answers[1:]:
        assert all(torch.equal(one, two) for one, two in zip(answers[0], other))


LEARNED = {
    "softmax": {"beta": [1.5]},
    "ssmax": {"s": [0.4, 0.5, 0.6, -0.7], "b": [0.1, 0.2, 0.3, 0.4]},
    "sink": {"c": [0.5, 1.0, 2.0, 4.0]},
    "entmax": {"alpha": [1.2, 1.5, 1.8, 1.9]},
    "asentmax": {"alpha": [1.6], "delta": [0.4], "beta": [0.7], "gamma": [0.8]},
    "top_k:k=3": {"beta": [1.2, 0.8, -0.5, 2.0]},
    "sigmoid": {"b": [-1.0]},
    "entropy_target:gradient=full": {"nats": [0.3, 0.6, 0.9, 1.2]},
    "peak_target:gradient=full": {"weight": [0.3, 0.6, 0.9, 0.95]},
}


@pytest.mark.parametrize("rule", LEARNED)
def test_parameters_learn_what_the_specification_says(monkeypatch, rule):
    gradients = []
    for portable in (False, True):
        monkeypatch.setattr(_path, "forced", portable)
        tensors = {name: torch.tensor(values, dtype=torch.float64, requires_grad=True)
                   for name, values in LEARNED[rule].items()}  # fmt: skip
        out = st.attention(
            *inputs_of(9, 13), is_causal=True, enable_gqa=True, normalizer=st.Parametrized(rule, **tensors)
        )
        weights = st.normalize(randn(4, 7, 11, seed=6), st.Parametrized(rule, **tensors))
        (out * randn(2, 4, 9, 5, seed=4)).sum().add((weights * randn(4, 7, 11, seed=7)).sum()).backward()
        gradients.append([tensor.grad for tensor in tensors.values()])
    for wanted, found in zip(*gradients):
        torch.testing.assert_close(found, wanted, rtol=2.0**-30, atol=2.0**-30)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "linear"])
def test_rows_of_scores(monkeypatch, rule):
    scores = randn(2, 4, 6, 11, seed=6)
    scores[0, 0, 1, 3:7] = scores[1, 2, 4] = -math.inf
    scores[1, 1, 2, 0] = math.nan
    if not rule.startswith("peak_target"):  # two that share the first place hold its target exactly: rounding decides
        scores[0, 1] = scores[0, 1].round()  # ties, for the first place and others
    answers = []
    for portable in (False, True):
        monkeypatch.setattr(_path, "forced", portable)
        leaf = scores.clone().requires_grad_()
        weights, stats = st.normalize(leaf, rule, return_stats=EVERYTHING)
        weights.backward(randn(2, 4, 6, 11, seed=7))
        answers.append([weights.detach(), leaf.grad, stats.entropy, stats.mass, stats.top_keys, stats.log_partition])
    for wanted, found in zip(*answers):
        assert furthest(found, wanted) < 2.0**-30


def test_many_of_the_heaviest_keys_come_sorted(monkeypatch):
    monkeypatch.setattr(_path, "forced", True)
    tensors = [tensor.float() for tensor in inputs_of(3, 50)]
    found = st.attention(*tensors, enable_gqa=True, normalizer="sparsemax", return_stats={"top": 60})[1]
    few = st.attention(*tensors, enable_gqa=True, normalizer="sparsemax", return_stats={"top": 20})[1]
    assert torch.equal(found.top_keys[..., :20], few.top_keys) and (found.top_keys[..., 50:] == -1).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float(monkeypatch, dtype):
    monkeypatch.setattr(_path, "forced", True)
    tensors = [tensor.to(dtype) for tensor in inputs_of(9, 13)]
    wide = st.attention(*(tensor.float() for tensor in tensors), enable_gqa=True, normalizer="entmax15")
    out = st.attention(*tensors, enable_gqa=True, normalizer="entmax15")
    assert out.dtype == dtype and torch.equal(out, wide.to(dtype))


def test_memory_grows_with_the_number_of_keys_only(monkeypatch):
    """With 64 times as many scores no array is larger than with some: counted, not timed."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Largest(TorchDispatchMode):
        elements = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            found = func(*args, **(kwargs or {}))
            sizes = (
                leaf.untyped_storage().nbytes() // 4 for leaf in tree_leaves(found) if isinstance(leaf, torch.Tensor)
            )
            self.elements = max(self.elements, *sizes, 0)
            return found

    monkeypatch.setattr(_blocks, "_CPU_SCORES", 1 << 14)
    from sharpmax.torch._kernel import Lengths, Masks, Rule, Wishes
    from sharpmax.torch.portable import attend, attend_backward

    for size in (64, 512):
        query, key, value = (torch.randn(1, 2, size, 8) for _ in range(3))
        inputs, rule = (query, key, value, None, None), Rule("entropy_target")
        with Largest() as largest:
            out, _ = attend(inputs, rule, Masks(), Lengths(), Wishes("entropy,column_mass"), 0)
            attend_backward(out, inputs, (True, True, True, False, False), rule, Masks(), Lengths(), None, 0)
        assert largest.elements <= max(1 << 14, 8 * 2 * size * 2), size
