"""Plain softmax in few operations per block: the same numbers as by blocks of any normalizer, and how little work it is."""

import math

import pytest
import sharpmax

torch = pytest.importorskip("torch")
from sharpmax.torch import _path, portable
from sharpmax.torch._kernel import Lengths, Masks, Rule, Wishes
from sharpmax.torch.portable import _attend, _blocks, _quick
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

ROWS = ("entropy", "effective_support", "log_partition", "peak_weight", "first_weight", "mass", "temperature")
EVERYTHING = {**dict.fromkeys((*ROWS, "support"), True), "gaps": [0.5, 2.0]}
EPS = torch.finfo(torch.float32).eps
HOLES = torch.randn(2, 1, 40, 50, generator=torch.Generator().manual_seed(7)) > -0.3
HOLES[0, 0, 2] = False
# Queries, keys, other options.
CASES = {
    "plain": (40, 50, {}),
    "causal": (48, 48, {"is_causal": True}),
    "causal, more queries": (70, 40, {"is_causal": True}),
    "causal from the end, more queries": (70, 40, {"causal": "bottom-right"}),
    "window": (60, 60, {"window": (7, 2)}),
    "wide window": (90, 70, {"window": (30, 20)}),
    "lengths": (20, 33, {"key_lengths": [0, 17], "causal": "bottom-right"}),
    "documents": (30, 30, {"documents": [0, 11, 11, 25], "is_causal": True}),
    "mask": (40, 50, {"attn_mask": HOLES}),
    "mask and causal": (40, 50, {"attn_mask": HOLES, "is_causal": True}),
    "scale and temperature": (20, 31, {"scale": 0.3, "normalizer": "softmax:beta=2.5"}),
    "one key": (3, 1, {}),
    "no key": (3, 0, {}),
    "no query": (0, 3, {}),
}
OTHERS = {
    "cap": {"soft_cap": 3.0},
    "bias": {"attn_mask": torch.zeros(16, 16)},
    "another normalizer": {"normalizer": "sink"},
    "negative temperature": {"normalizer": "softmax:beta=-1"},
    "temperature beyond all scores": {"normalizer": "softmax:beta=1e30"},
    "temperature by head": {"normalizer": "softmax:beta=1/2/3/4"},
    "another statistic": {"return_stats": ["entropy", "peak_key"]},
}


@pytest.fixture
def quick(monkeypatch):
    """How many calls it took."""
    taken, attend = [], _quick.attend
    monkeypatch.setattr(_path, "forced", True)
    monkeypatch.setattr(_quick, "attend", lambda *arguments: taken.append(1) or attend(*arguments))
    return taken


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(_blocks, "_CACHED_SCORES", 16 * 50)
    monkeypatch.setattr(_blocks, "_CACHED_ROWS", 16)


def drawn(queries, keys, sharp=1.0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(3)
    shapes = ((2, 4, queries, 16), (2, 2, keys, 16), (2, 2, keys, 9))
    query, *others = (torch.randn(shape, generator=generator).to(dtype) for shape in shapes)
    return [sharp * query, *others]


def run(tensors, options, wanted=EVERYTHING):
    out, stats = sharpmax.attention(*tensors, **{"enable_gqa": True, "return_stats": wanted, **options})
    return {"out": out, **{name: getattr(stats, name) for name in stats.names()}}


def furthest(found, wanted):
    """Relative to 1 + |wanted|; equal infinities and NaN are no distance, others are infinite."""
    found, wanted = found.double(), wanted.double()
    same = (found == wanted) | (found.isnan() & wanted.isnan())
    distance = torch.where(same, 0.0, (found - wanted).abs() / (1 + wanted.abs()))
    return distance.nan_to_num(nan=math.inf).max().item() if distance.numel() else 0.0


@pytest.mark.parametrize("case", CASES)
def test_in_double_everything_is_what_the_specification_says(monkeypatch, quick, small_blocks, case):
    queries, keys, options = CASES[case]
    tensors = drawn(queries, keys, dtype=torch.float64)
    found, fewer = run(tensors, options), run(tensors, options, ["entropy", "log_partition"])
    assert len(quick) == 2
    monkeypatch.setattr(_path, "forced", False)
    wanted = run(tensors, options)
    assert list(found) == list(wanted)
    for name in wanted:
        assert furthest(found[name], wanted[name]) < 2.0**-40, name
        assert found[name].dtype == wanted[name].dtype and found[name].shape == wanted[name].shape, name
    for name in fewer:  # without gaps scores are made in octaves from the start
        assert furthest(fewer[name], wanted[name]) < 2.0**-40, name


@pytest.mark.parametrize("sharp", [1.0, 8.0])
@pytest.mark.parametrize("case", CASES)
def test_in_float_it_is_as_near_to_the_double_specification_as_blocks_are(monkeypatch, quick, case, sharp):
    queries, keys, options = CASES[case]
    tensors = drawn(queries, keys, sharp)
    found = run(tensors, options)
    monkeypatch.setattr(_quick, "takes", lambda *_: False)
    blocks = run(tensors, options)
    assert len(quick) == 1
    monkeypatch.setattr(_path, "forced", False)
    exact = run([tensor.double() for tensor in tensors], options)
    # The last bits of a score: a sum of 16 products, scaled before (here) or after.
    last_bits = 0.0
    if keys and queries:
        largest = (tensors[0].abs().max() * tensors[1].abs().max()).item()
        last_bits = 16 * EPS * largest * options.get("scale", 0.25) * 2.5
    for name in exact:
        if name == "support":  # of weights that float32 has: 2^-149 and more before they are divided
            assert (found[name] >= blocks[name]).all() and (found[name] <= exact[name]).all()
            continue
        allowed = 2 * furthest(blocks[name], exact[name]) + 4 * EPS + last_bits
        assert furthest(found[name], exact[name]) <= allowed, name


def test_the_entropy_of_a_sharp_row_keeps_its_digits(quick):
    """All but one key far below: what is left is the tail, however large the scores themselves are."""
    query = torch.full((1, 1, 1, 1), 1.0)
    key = torch.tensor([1000.0, 993.0, 990.0, -1e30]).reshape(1, 1, 4, 1)
    found = run([query, key, key], {"scale": 1.0}, ["entropy", "peak_weight"])
    scores = key.double().flatten()
    weights = (scores - scores.max()).exp()
    weights /= weights.sum()
    wanted = -torch.xlogy(weights, weights).sum().item()
    assert found["entropy"].item() == pytest.approx(wanted, abs=2 * EPS)
    assert found["peak_weight"].item() == pytest.approx(weights.max().item(), rel=2 * EPS)
    assert len(quick) == 1


@pytest.mark.parametrize("case", OTHERS)
def test_what_it_cannot_answer_goes_by_blocks(quick, case):
    run(drawn(16, 16), OTHERS[case], ["entropy"] if "return_stats" not in OTHERS[case] else None)
    assert not quick


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_heads_may_come_after_positions_in_memory(quick, small_blocks, dtype):
    tensors = drawn(30, 40, dtype=dtype)
    turned = [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in tensors]
    wanted, found = run(tensors, {"is_causal": True}), run(turned, {"is_causal": True})
    assert all(torch.equal(found[name], rows) for name, rows in wanted.items() if name != "out") and len(quick) == 2
    torch.testing.assert_close(found["out"], wanted["out"])
    assert found["out"].stride(1) < found["out"].stride(2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float(quick, dtype):
    tensors = drawn(20, 30, dtype=dtype)
    found, wide = run(tensors, {}), run([tensor.float() for tensor in tensors], {})
    assert found["out"].dtype == dtype and torch.equal(found["out"], wide["out"].to(dtype))
    assert torch.equal(found["entropy"], wide["entropy"]) and len(quick) == 2


HIDING = {
    "causal": {"is_causal": True},
    "window": {"window": (5, 3)},
    "mask": {"attn_mask": torch.ones(24, 24, dtype=torch.bool).tril()},
}


@pytest.mark.parametrize("hiding", HIDING)
def test_what_is_hidden_never_matters_and_what_is_seen_is_never_lost(quick, small_blocks, hiding):
    options = HIDING[hiding]
    last = 15 if hiding == "window" else 23  # that sees key 10
    first = 7 if hiding == "window" else 10
    tensors = drawn(24, 24)
    clean = run(tensors, options)
    tensors[1][0, 0, 10, 3] = math.nan
    tensors[2][0, 1, 10, 2] = math.inf
    found = run(tensors, options)
    assert len(quick) == 2
    others = [row for row in range(24) if not first <= row <= last]
    for name, rows in found.items():
        poisoned = rows[0, :2, first : last + 1]
        assert (poisoned == 0).all() if name in ("support", "gap_counts") else poisoned.isnan().all(), name
        assert torch.equal(rows[0, :2, others], clean[name][0, :2, others]), name
        assert torch.equal(rows[1], clean[name][1]), name
    assert found["out"][0, 2:, first : last + 1].isnan().all() and found["entropy"][0, 2:].isfinite().all()
    assert torch.equal(found["out"][0, 2:, others], clean["out"][0, 2:, others])


class Passes(TorchDispatchMode):
    """How many operations make or change as many numbers as one block has scores."""

    def __init__(self, scores):
        super().__init__()
        self.scores, self.names = scores, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        sizes = [leaf.numel() for leaf in tree_leaves((args, kwargs, found)) if isinstance(leaf, torch.Tensor)]
        is_view = func._schema.returns and any(r.alias_info and not r.alias_info.is_write for r in func._schema.returns)
        if (
            max(sizes, default=0) >= self.scores
            and not is_view
            and not any(word in str(func) for word in ("empty", "view"))
        ):
            self.names.append(str(func).removeprefix("aten."))
        return found


@pytest.mark.parametrize(
    "names, wanted",
    [("", 6), ("entropy", 8), ("entropy,peak_weight,log_partition", 8), ("entropy,support", 10), ("gap_counts", 11)],
)
def test_it_goes_over_the_scores_few_times(names, wanted):
    """Products, top, difference, power, sum, product with values; the entropy and each of two gaps take two more."""
    query, key, value = (torch.randn(1, 1, 64, 8) for _ in range(3))
    with Passes(64 * 64) as passes:
        wishes = Wishes(names, gaps="0.5,2.0" if "gap" in names else "")
        portable.attend((query, key, value, None, None), Rule("softmax"), Masks(), Lengths(), wishes, 0)
    assert len(passes.names) == wanted, passes.names


def test_a_block_stays_in_the_cache_of_a_core():
    for heads, group, queries, keys in ((8, 1, 2048, 2048), (4, 2, 2048, 2048), (32, 1, 100, 300)):
        for block in _blocks.blocks_of(1, heads, group, queries, keys, "cpu", cached=True):
            rows = (block.queries.stop - block.queries.start) * (block.heads.stop - block.heads.start)
            assert rows * keys <= 1 << 18
    largest = _attend.blocks_of(1, 8, 1, 16384, 16384, "cpu", True)
    assert next(iter(largest)).queries == slice(0, 64)  # products want so many rows
