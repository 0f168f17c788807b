"""Adaptive temperature against the code of arXiv 2410.01104, which has log(p + 1e-9) for log p."""

import pytest
import torch
from agreement import assert_as_good_as, random_tensors

import sharpmax

LOG_FLOOR = 1e-9
POLYNOMIAL = (-0.037, 0.481, -2.3, 4.917, -1.791)


def published(scores, log_floor=LOG_FLOOR):
    """Returns weights and beta."""
    weights = torch.softmax(scores, -1)
    nats = -(weights * torch.log(weights + log_floor)).sum(-1, keepdim=True)
    beta = torch.zeros_like(nats)
    for coefficient in POLYNOMIAL:
        beta = beta * nats + coefficient
    beta = torch.where(nats > 0.5, beta.clamp(min=1.0), torch.ones_like(nats))
    return torch.softmax(beta * scores, -1), beta


# keys, spread: blunt rows that it leaves alone, rows in its range, sharp rows below its threshold.
ROWS = [(16, 1.0), (64, 1.0), (300, 1.5), (2000, 2.5), (2000, 0.1), (5, 20.0)]


@pytest.mark.parametrize("keys, spread", ROWS)
def test_weights_agree_with_the_published_code_to_its_bias(keys, spread):
    (scores,) = random_tensors(41, (1, 2, 50, keys))
    scores = scores.double() * spread
    theirs, their_beta = published(scores)
    ours, stats = sharpmax.normalize(scores, "adaptive", return_stats=("temperature",))
    # Their entropy is short by sum p log(1 + 1e-9 / p) <= n 1e-9; beta follows by the polynomial's slope,
    # at most 2 in the range where it exceeds 1 (and a row on the brink of a branch may take the other).
    bias = 2 * keys * LOG_FLOOR
    assert (stats.temperature - their_beta[..., 0]).abs().max() <= bias
    spread_of_rows = (scores.amax(-1) - scores.amin(-1)).max().item()
    assert (ours - theirs).abs().max() <= 2 * bias * spread_of_rows


@pytest.mark.parametrize("keys, spread", ROWS)
def test_without_the_bias_float32_is_as_good_as_torch(keys, spread):
    (scores,) = random_tensors(42, (1, 2, 50, keys))
    scores = scores * spread
    tiny = torch.finfo(torch.float64).tiny
    exact, _ = published(scores.double(), tiny)
    plain, _ = published(scores, torch.finfo(torch.float32).tiny)
    assert_as_good_as(sharpmax.normalize(scores, "adaptive"), plain, exact, f"{keys} keys of spread {spread}")


def test_a_mask_does_not_switch_it_off():
    """-inf in the scores makes the published entropy NaN (0 * log 0 apart), and the rule silently 1."""
    (scores,) = random_tensors(43, (1, 1, 8, 60))
    masked = torch.cat([scores, torch.full_like(scores, float("-inf"))], -1)
    assert torch.equal(sharpmax.normalize(masked, "adaptive")[..., :60], sharpmax.normalize(scores, "adaptive"))
    _, stats = sharpmax.normalize(masked, "adaptive", return_stats=True)
    assert (stats.temperature > 1).all()
