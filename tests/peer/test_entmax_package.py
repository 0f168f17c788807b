"""sparsemax, entmax-1.5 and entmax-alpha against deep-spin/entmax, and where theirs fails."""

import entmax
import pytest
import torch
from agreement import assert_as_good_as, largest_error, random_tensors

import sharpmax

RULES = {
    "sparsemax": lambda scores: entmax.sparsemax(scores, dim=-1),
    "entmax15": lambda scores: entmax.entmax15(scores, dim=-1),
    "entmax:alpha=1.5": lambda scores: entmax.entmax_bisect(scores, alpha=1.5, dim=-1, n_iter=100),
    "entmax:alpha=1.25": lambda scores: entmax.entmax_bisect(scores, alpha=1.25, dim=-1, n_iter=100),
    "entmax:alpha=2": lambda scores: entmax.entmax_bisect(scores, alpha=2.0, dim=-1, n_iter=100),
}
SHAPES = [(1, 1, 1, 1), (2, 3, 5, 7), (1, 2, 9, 64), (1, 1, 3, 1000)]


@pytest.mark.parametrize("spread", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("rule", RULES)
def test_weights_and_gradients_agree(rule, shape, spread):
    scores, d_weights = random_tensors(31, shape, shape)
    scores = scores * spread
    theirs = {}
    for dtype in (torch.float32, torch.float64):
        leaf = scores.detach().to(dtype, copy=True).requires_grad_()
        weights = RULES[rule](leaf)
        theirs[dtype] = weights.detach(), torch.autograd.grad(weights, leaf, d_weights.to(dtype))[0]
    weights = sharpmax.normalize(scores, rule)
    d_scores, _ = sharpmax.normalize_backward(d_weights, scores, rule)
    for what, found, plain, exact in zip(("weights", "gradient"), (weights, d_scores), *theirs.values()):
        assert_as_good_as(found, plain, exact, f"{rule}, {what}")


@pytest.mark.parametrize("alpha", [1.2, 1.5, 1.9])
def test_the_gradient_by_alpha_agrees(alpha):
    scores, d_weights = (t.double() for t in random_tensors(32, (1, 1, 6, 30), (1, 1, 6, 30)))
    leaf = torch.full((1, 1, 6, 1), alpha, dtype=torch.float64, requires_grad=True)
    weights = entmax.entmax_bisect(scores, alpha=leaf, dim=-1, n_iter=200)
    exact = torch.autograd.grad(weights, leaf, d_weights)[0].sum()
    _, found = sharpmax.normalize_backward(d_weights, scores, f"entmax:alpha={alpha}")
    # Their derivative is exact given the weights, which bisection knows to a rounding of tau: p^(2 - alpha)
    # turns that into sqrt(eps) of the weights at the edge of the support.
    assert abs(found["alpha"].item() - exact.item()) <= torch.finfo(torch.float64).eps ** 0.5 * abs(exact.item())


@pytest.mark.parametrize("rule", ["sparsemax", "entmax15", "entmax:alpha=1.3"])
def test_masks_of_minus_infinity_where_theirs_fails(rule):
    (scores,) = random_tensors(33, (1, 1, 4, 20))
    masked = scores.clone()
    masked[..., 1, 3:] = float("-inf")
    masked[..., 2, :] = float("-inf")
    weights = sharpmax.normalize(masked, rule)
    assert weights.isfinite().all()
    assert (weights[..., 2, :] == 0).all()
    assert torch.equal(weights[..., 1, :3], sharpmax.normalize(scores[..., 1:2, :3].clone(), rule)[..., 0, :])
    d_scores, _ = sharpmax.normalize_backward(scores, masked, rule)
    assert d_scores.isfinite().all() and (d_scores[..., 2, :] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("rule", ["sparsemax", "entmax15"])
def test_half_precision_inputs_where_theirs_fails(rule, dtype):
    tensors = random_tensors(34, *[(1, 2, 40, 32)] * 3, dtype=dtype)
    query, key, value = (tensor.double() for tensor in tensors)
    exact = RULES[rule](query @ key.transpose(-2, -1) / 32**0.5) @ value
    query, key, value = (tensor.float() for tensor in tensors)
    plain = (RULES[rule](query @ key.transpose(-2, -1) / 32**0.5) @ value).to(dtype)
    assert_as_good_as(sharpmax.attention(*tensors, normalizer=rule), plain, exact, f"{rule} in {dtype}")


def test_long_rows_that_cancel_in_a_sorted_recursion():
    """Scores far from 0: the cumulative sums of a sort-based solver lose what the rows differ by."""
    (scores,) = random_tensors(35, (1, 1, 2, 100_000))
    lifted = scores * 0.01 + 3000.0
    exact = RULES["entmax15"](lifted.double())
    found = sharpmax.normalize(lifted, "entmax15")
    # Shifting by the maximum is exact here, so only the map itself rounds.
    assert largest_error(found, exact) <= 8 * torch.finfo(torch.float32).eps * exact.max().item()
    assert abs(found.double().sum(-1) - 1).max() <= 100_000**0.5 * torch.finfo(torch.float32).eps
