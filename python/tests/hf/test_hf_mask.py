"""The mask function: a plan says what the written-out mask says, costs no memory, and survives being touched."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from sharpmax.hf._attention import attention_forward  # noqa: E402
from sharpmax.hf._call import plan_of, prepare  # noqa: E402
from sharpmax.hf._mask import CompactMask, make_mask  # noqa: E402
from sharpmax.hf._rows import rows_seen  # noqa: E402
from transformers import masking_utils  # noqa: E402

FUNCTIONS = {
    "causal": lambda window: masking_utils.causal_mask_function,
    "all": lambda window: masking_utils.bidirectional_mask_function,
    "window": masking_utils.sliding_window_causal_mask_function,
    "window both ways": masking_utils.sliding_window_bidirectional_mask_function,
}


def random_case(kind, seed):
    """Arguments of a mask function as Transformers gives them, with a cache that may have unused slots."""
    random = torch.Generator().manual_seed(seed)

    def number(low, high):
        return int(torch.randint(low, high + 1, (), generator=random))

    queries, before, unused, window = number(1, 9), max(0, number(-9, 9)), max(0, number(-5, 5)), number(1, 12)
    dropped = number(0, before) if number(0, 2) == 0 else 0
    keys = before - dropped + queries + unused
    padding = None
    if number(0, 1):  # anywhere, at the end, at the start; it may speak of slots that are not used yet
        known = before + queries + number(0, 1) * unused
        places, lengths = torch.arange(known), torch.tensor([[number(0, known)], [number(1, 9)]])
        anywhere = torch.rand(2, known, generator=random) < 0.7
        padding = (anywhere, places < lengths, places >= lengths)[number(0, 2)]
    return {
        "batch_size": 2,
        "q_length": queries,
        "kv_length": keys,
        "q_offset": torch.tensor(before) if unused else before,
        "kv_offset": dropped,
        "mask_function": FUNCTIONS[kind](window),
        "attention_mask": padding,
        "allow_is_causal_skip": kind in ("causal", "window") and bool(number(0, 1)),
        "allow_is_bidirectional_skip": kind not in ("causal", "window"),
    }, random


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_plan_lets_through_what_the_mask_lets_through(kind):
    left_out = planned = by_length = 0
    for seed in range(150):
        case, random = random_case(kind, seed)
        mask = make_mask(**case)
        written_out = masking_utils.sdpa_mask(
            **{**case, "allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
        )
        query = torch.randn(2, 4, case["q_length"], 8, generator=random)
        key, value = (torch.randn(2, 2, case["kv_length"], 8, generator=random) for _ in range(2))
        module = torch.nn.Identity()
        module.is_causal = kind in ("causal", "window")
        found, _ = attention_forward(module, query, key, value, mask)
        wanted, _ = attention_forward(module, query, key, value, written_out)
        assert torch.allclose(found, wanted, atol=1e-6), f"seed {seed}: {case}"
        rows = rows_seen(prepare(plan_of(module, query, key, mask, None, None), query, key, value, mask, None))
        lengths = written_out[:, 0].sum(-1)
        assert torch.equal(rows.lengths.expand_as(lengths), lengths), f"seed {seed}: {case}"
        if mask is not None and mask.plan.written_out is None:
            sees_first = written_out[:, 0, :, 0] & (case["kv_offset"] == 0)
            assert torch.equal(rows.sees_first.expand_as(sees_first), sees_first), f"seed {seed}: {case}"
        if mask is None:
            left_out += 1
            continue
        assert isinstance(mask, CompactMask) and mask.shape == written_out.shape and mask.dtype == torch.bool
        planned += mask.plan.written_out is None
        by_length += mask.plan.key_lengths is not None
        assert torch.equal(mask & True, written_out)
    assert planned >= 40 and left_out >= 5 and by_length >= 10, (planned, left_out, by_length)


def test_what_no_plan_says_is_written_out():
    def odd(batch, head, query, key):
        return (key % 2 == 1) | (key == query)

    mask = make_mask(2, 5, 5, mask_function=masking_utils.and_masks(masking_utils.causal_mask_function, odd))
    places = torch.arange(5)
    wanted = ((places % 2 == 1) | (places == places[:, None])) & (places <= places[:, None])
    assert mask.plan.written_out is not None
    assert torch.equal(mask[0, 0], wanted)


def test_packed_sequences_are_offsets():
    sequences = torch.tensor([[0, 0, 0, 1, 2, 2]])
    both = masking_utils.and_masks(
        masking_utils.causal_mask_function, masking_utils.packed_sequence_mask_function(sequences)
    )
    mask = make_mask(1, 6, 6, mask_function=both, allow_is_causal_skip=False)
    assert mask.plan.documents == [0, 3, 4, 6] and mask.plan.written_out is None
    interleaved = masking_utils.packed_sequence_mask_function(torch.tensor([[0, 1, 0, 1, 2, 2]]))
    assert make_mask(1, 6, 6, mask_function=interleaved).plan.written_out is not None


@pytest.mark.parametrize(
    "touch",
    [
        lambda mask: mask[:, :, :, :3],
        lambda mask: mask.to(torch.float32),
        lambda mask: ~mask,
        lambda mask: torch.where(mask, 0.0, -1.0),
        lambda mask: mask.expand(2, 4, -1, -1),
        lambda mask: torch.cat([mask, mask], dim=0),
        lambda mask: mask.clone(),
        lambda mask: mask.detach(),
        lambda mask: torch.nn.functional.pad(mask, (0, 1)),
    ],
)
def test_who_touches_a_mask_finds_it_written_out(touch):
    padding = torch.tensor([[False, True, True, True], [True, True, True, True]])
    mask = make_mask(2, 4, 4, attention_mask=padding)
    written_out = masking_utils.sdpa_mask(2, 4, 4, attention_mask=padding, allow_is_causal_skip=False)
    assert isinstance(mask, CompactMask) and mask.plan.written_out is None
    assert (mask.dim(), mask.ndim, mask.size(-1), tuple(mask.shape)) == (4, 4, 4, (2, 1, 4, 4))
    found = touch(mask)
    assert type(found) is torch.Tensor and torch.equal(found, touch(written_out))


@pytest.mark.parametrize("form", ["plan", "bool", "float"])
def test_a_bias_and_a_mask_both_hold(form):
    for seed in range(40):
        case, random = random_case("causal" if seed % 2 else "all", seed)
        mask = make_mask(**{**case, "allow_is_causal_skip": False, "allow_is_bidirectional_skip": False})
        query = torch.randn(2, 4, case["q_length"], 8, generator=random)
        key, value = (torch.randn(2, 4, case["kv_length"], 8, generator=random) for _ in range(2))
        bias = torch.randn(1, 4, case["q_length"], case["kv_length"], generator=random)
        both = torch.where(mask, bias, torch.finfo(torch.float32).min)
        given = {"plan": mask, "bool": mask & True, "float": torch.where(mask, 0.0, torch.finfo(torch.float32).min)}
        found, _ = attention_forward(torch.nn.Identity(), query, key, value, given[form], position_bias=bias)
        wanted, _ = attention_forward(torch.nn.Identity(), query, key, value, both)
        assert torch.allclose(found, wanted, atol=1e-6), f"seed {seed}: {case}"


@pytest.mark.parametrize("queries", [1, 4, 7])
@pytest.mark.parametrize("causal", [False, True])
def test_a_window_holds_where_no_mask_came(causal, queries):
    module = torch.nn.Identity()
    module.is_causal = causal
    random = torch.Generator().manual_seed(9)
    query = torch.randn(1, 2, queries, 8, generator=random)
    key, value = (torch.randn(1, 2, queries if causal else 7, 8, generator=random) for _ in range(2))
    own = torch.arange(queries)[:, None] + key.shape[2] - queries
    away = own - torch.arange(key.shape[2])
    allowed = (away.abs() < 3) & (away >= 0 if causal and queries > 1 else away > -3)
    found, _ = attention_forward(module, query, key, value, None, sliding_window=3)
    wanted, _ = attention_forward(module, query, key, value, allowed[None, None])
    assert torch.allclose(found, wanted, atol=1e-6)
    rows = rows_seen(prepare(plan_of(module, query, key, None, None, 3), query, key, value, None, None))
    assert torch.equal(rows.lengths[0], allowed.sum(-1))
