"""Broadcasting is torch's: what its attention takes we take, with the same answer, and refuse what it refuses."""

import random

import numpy as np
import pytest
import sharpmax
from sharpmax._shapes import common_shapes, fit

torch = pytest.importorskip("torch")

QUERIES, KEYS, FEATURES, VALUES = 3, 5, 4, 2


def some_of(lead, rng):
    """Leading dimensions that broadcast to `lead`: some are 1, some of the first are left out."""
    lead = [size if rng.random() < 0.7 else 1 for size in lead]
    return lead[rng.randint(0, len(lead)) :] if rng.random() < 0.3 else lead


def random_shapes(rng):
    grouped = rng.random() < 0.4
    lead = [rng.choice([1, 2, 3]) for _ in range(rng.randint(0, 4))]
    if grouped and lead:
        heads = rng.choice([4, 6])
        shared = [rng.choice([1, 2, 3, 4, 6]) for _ in range(2)]
        if rng.random() < 0.6:
            shared[1] = shared[0]
        leads = [some_of(lead[:-1], rng) + [count] for count in (heads, *shared)]
        lead = [*lead[:-1], heads]
    else:
        leads = [some_of(lead, rng) for _ in range(3)]
    if rng.random() < 0.08 and leads[0]:
        leads[0][0] = 7
    query, key, value = ((*a, *b) for a, b in zip(leads, ((QUERIES, FEATURES), (KEYS, FEATURES), (KEYS, VALUES))))
    mask = None
    if rng.random() < 0.5:
        mask = (*some_of(lead, rng), rng.choice([1, QUERIES]), rng.choice([1, KEYS]))
    return query, key, value, mask, grouped


def torch_attention(query, key, value, mask, grouped):
    """Written out, for torch's fused kernels take fewer shapes than its formula; None where torch refuses."""
    try:
        if grouped and query.dim() > 2:
            heads = query.shape[-3]
            key, value = (
                array.repeat_interleave(heads // array.shape[-3], -3) if array.dim() > 2 else array
                for array in (key, value)
            )
        scores = query @ key.transpose(-1, -2) / FEATURES**0.5
        plain = (scores @ value).shape
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        out = torch.nan_to_num(torch.softmax(scores, -1)) @ value
        return out if out.shape == plain else None  # a mask may not widen the answer
    except RuntimeError:
        return None


def test_random_shapes_broadcast_as_torch_broadcasts():
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    torch.manual_seed(seed)
    accepted = refused = 0
    for _ in range(400):
        query, key, value, mask, grouped = random_shapes(rng)
        tensors = [torch.randn(shape) for shape in (query, key, value)]
        mask = None if mask is None else torch.rand(mask) < 0.8
        wanted = torch_attention(*tensors, mask, grouped)
        arrays = [tensor.numpy() for tensor in tensors]
        seen = None if mask is None else mask.numpy()
        words = f"{[array.shape for array in arrays]}, mask {None if seen is None else seen.shape}, grouped {grouped}"
        if wanted is None:
            refused += 1
            with pytest.raises(ValueError, match="these must be equal or 1|attn_mask has shape|must divide"):
                sharpmax.attention(*arrays, attn_mask=seen, enable_gqa=grouped)
                print("not refused:", words)
            continue
        accepted += 1
        found = sharpmax.attention(*arrays, attn_mask=seen, enable_gqa=grouped)
        assert found.shape == tuple(wanted.shape), words
        assert np.allclose(found, wanted.numpy(), rtol=0, atol=2e-6), words
    assert accepted > 100 and refused > 10


def test_torch_itself_agrees_where_its_function_takes_the_shapes():
    rng = np.random.default_rng(3)
    for shapes in (((2, 3, 5, 8), (1, 3, 4, 8)), ((2, 3, 5, 8), (2, 1, 4, 8)), ((2, 3, 5, 8), (3, 4, 8)),
                   ((3, 8), (2, 4, 8)), ((2, 2, 3, 5, 8), (2, 3, 4, 8)), ((1, 3, 5, 8), (2, 3, 4, 8))):  # fmt: skip
        query, key, value = (rng.standard_normal(shape).astype(np.float32) for shape in (*shapes, shapes[1]))
        wanted = torch.nn.functional.scaled_dot_product_attention(*map(torch.from_numpy, (query, key, value)))
        found = sharpmax.attention(query, key, value)
        assert found.shape == tuple(wanted.shape) and np.allclose(found, wanted, rtol=0, atol=2e-6), shapes


def test_shapes_the_kernel_takes_are_left_alone():
    assert common_shapes((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4), (5, 7)) is None
    assert common_shapes((2, 6, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4), None, True) is None
    query, key = np.zeros((2, 1, 3, 5, 8)), np.zeros((4, 3, 7, 8))
    shapes = common_shapes(query.shape, key.shape, key.shape, None)
    assert shapes.lead == (2, 4, 3)
    assert [array.shape for array in fit(shapes, query, key, key, None, np.broadcast_to)[:3]] == [
        (8, 3, 5, 8), (8, 3, 7, 8), (8, 3, 7, 8)]  # fmt: skip


def test_statistics_have_the_leading_dimensions_of_the_answer():
    query, key = np.ones((2, 1, 3, 5, 8), np.float32), np.ones((4, 3, 7, 8), np.float32)
    out, stats = sharpmax.attention(query, key, key, return_stats={"entropy": True, "top": 2, "map": (2, 2)})
    assert out.shape == (2, 4, 3, 5, 8) and stats.entropy.shape == (2, 4, 3, 5)
    assert stats.top_keys.shape == (2, 4, 3, 5, 2) and stats.map.shape == (2, 4, 3, 2, 2)
    _, flat = sharpmax.attention(query[0, 0, 0], key[0, 0], key[0, 0], return_stats=["entropy", "column_mass"])
    assert flat.entropy.shape == (5,) and flat.column_mass.shape == (7,)
    assert np.allclose(flat.entropy, np.log(7))
