"""Max retrieval against torch: training step by step and testing, from torch's own first parameters, in double.

The head is torch as anyone would write it (bench/retrieval/peers/torch_head.py): every item through every matrix, padded
and masked. Ours folds the matrices and computes no padding; in exact arithmetic they are the same.
"""

import math
import os
import pathlib

import numpy as np
import pytest
import torch
from retrieval import checks, contender, data
from retrieval.peers import serve, torch_head

BINARY = pathlib.Path(os.environ.get("SHARPMAX_BINARY", contender.STEPS.parents[1] / "sharpmax")).parent
STEPS = 6
# A step is lr g / (|g| + epsilon): it moves by lr / epsilon = 1e5 times what rounding does to a gradient, some
# 1e-16 of gradients below 1e-1. Rules that search for their temperature stop where their own rounding ends.
ALLOWED = 1e-9


@pytest.fixture(autouse=True)
def one_thread():
    """Matrices of 128 x 128 gain nothing from more, and ours runs beside."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Ssmax(torch.nn.Module):
    def __init__(self, s, b):
        super().__init__()
        self.s, self.b = (torch.nn.Parameter(torch.tensor(value, dtype=torch.float64)) for value in (s, b))

    def forward(self, scores, sizes):
        beta = self.s * sizes.to(scores.dtype).log() + self.b
        padded = scores.isneginf()  # masked again after the product: -inf times a learned number has no gradient
        sharpened = beta[:, None] * scores.masked_fill(padded, 0.0)
        return torch.softmax(sharpened.masked_fill(padded, -math.inf), dim=-1)


def entropy_of(weights):
    return -torch.special.xlogy(weights, weights).sum(-1)


def entropy_target(nats):
    """The least beta >= 1 with entropy at most nats, by bisection; no gradient through it."""

    def weigh(scores, sizes):
        with torch.no_grad():
            low = torch.ones_like(scores[:, :1])
            high = torch.full_like(low, 2.0**60)
            meets = entropy_of(torch.softmax(scores, -1)) <= nats
            for _ in range(64):  # 6 halve the logarithm of high / low until it is below ln 4, the others the interval
                middle = torch.where(high > 4 * low, (low * high).sqrt(), (low + high) / 2)
                sharp = (entropy_of(torch.softmax(middle * scores, -1)) <= nats)[:, None]
                low, high = torch.where(sharp, low, middle), torch.where(sharp, middle, high)
            beta = torch.where(meets[:, None], 1.0, high)
        return torch.softmax(beta * scores, dim=-1)

    return weigh


RULES = {
    "softmax": lambda: torch_head.softmax,
    "entropy_target:nats=0.5": lambda: entropy_target(0.5),
    "ssmax:s=0.4,b=0.1": lambda: Ssmax(0.4, 0.1),
}


def our_process(**options):
    return contender.ours(1, binary=BINARY / "bench" / "retrieval_steps", **options)


def start(encoder, rule, tmp_path, precision="float64"):
    """torch's head and optimizer, and ours with the same parameters."""
    torch.manual_seed(11)
    head = torch_head.Head(encoder=encoder, weigh=RULES[rule]()).double()
    np.savez(tmp_path / "first.npz", **torch_head.dump(head, encoder=encoder))
    ours = our_process(encoder=encoder, normalizer=rule, precision=precision)
    ours.ask("load", tmp_path / "first.npz")
    named = torch_head.named_parameters(head, encoder)
    learned = [parameter for name, parameter in head.named_parameters() if name.startswith("weigh.")]
    groups = [{"params": list(named.values())}, {"params": learned, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=serve.LEARNING_RATE, betas=serve.BETAS, eps=serve.EPSILON, weight_decay=serve.WEIGHT_DECAY)  # fmt: skip
    return head, optimizer, ours


def tensors(sets):
    return tuple(torch.from_numpy(array) for array in (sets.items, sets.mask, sets.queries, sets.answers))


def train(head, optimizer, batch):
    items, mask, queries, answers = tensors(batch)
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(head(items, mask, queries), answers)
    loss.backward()
    optimizer.step()
    return loss.item()


def largest_difference(found, wanted):
    assert np.isfinite(found).all() and found.shape == wanted.shape
    return np.abs(found - wanted).max()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("encoder", ["mlp", "linear"])
def test_training_is_torchs_training_step_by_step(encoder, rule, tmp_path):
    head, optimizer, ours = start(encoder, rule, tmp_path)
    ours.ask("write_batches", STEPS, tmp_path / "batches.npz")
    batches = data.read_sets(tmp_path / "batches.npz", "float64")
    for step in range(STEPS):
        wanted = train(head, optimizer, batches[step])
        assert float(ours.ask("train", 1)[1]) == pytest.approx(wanted, abs=ALLOWED), f"loss of step {step}"
    ours.ask("dump", tmp_path / "last.npz")
    ours.close()
    last = data.read_state(tmp_path / "last.npz")
    for name, wanted in torch_head.dump(head, optimizer, encoder).items():
        assert largest_difference(last[name], wanted) <= ALLOWED, name
    if isinstance(head.weigh, Ssmax):
        wanted = np.array([head.weigh.s.item(), head.weigh.b.item()])
        assert np.abs(wanted - [0.4, 0.1]).min() > 1e-4, "nothing was learned: nothing was tested"
        assert largest_difference(last["normalizer"], wanted) <= ALLOWED


def test_training_in_single_errs_no_more_than_torchs(tmp_path):
    *_, ours = start("mlp", "softmax", tmp_path, precision="float32")
    ours.ask("write_batches", checks.STEPS, tmp_path / "batches.npz")
    first, batches = tmp_path / "first.npz", tmp_path / "batches.npz"
    exact, plain = (
        checks.train(InProcess(precision), first, batches, tmp_path) for precision in ("float64", "float32")
    )
    found = checks.train(ours, first, None, tmp_path)
    ours.close()
    assert checks.training_error(found, plain, exact) <= 1.0


class InProcess:
    """The torch peer without a process of its own."""

    def __init__(self, precision):
        from retrieval.peers import torch_eager

        self.session = serve.Session(torch_eager.Peer(1, precision))

    def ask(self, name, *words):
        names = {"batches": "batches_from", "sets": "sets_from"}
        return (getattr(self.session, names.get(name, name))(*words) or "").split()


@pytest.fixture(scope="module", params=["mlp", "linear"])
def trained(request, tmp_path_factory):
    """An encoder and a head that has learned something: before that, scores hardly differ."""
    path = tmp_path_factory.mktemp("head") / "trained.npz"
    ours = our_process(encoder=request.param)
    ours.ask("train", 300)
    ours.ask("dump", path)
    ours.close()
    return request.param, path


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [16, 1023])
def test_answers_are_torchs_answers(trained, rule, n, tmp_path):
    sets = 24
    encoder, path = trained
    head, _, ours = start(encoder, rule, tmp_path)
    torch_head.load(head, data.read_state(path), encoder)
    ours.ask("load", path)
    ours.ask("write_sets", n, sets, tmp_path / "sets.npz")
    ours.ask("logits", n, sets, tmp_path / "logits.npz")
    right, *means = (float(word) for word in ours.ask("test", n, sets)[1:])
    ours.close()
    items, mask, queries, answers = tensors(data.read_sets(tmp_path / "sets.npz", "float64"))
    with torch.no_grad():
        logits, weights = head(items, mask, queries), head.weights(items, mask, queries)
    assert largest_difference(np.load(tmp_path / "logits.npz")["logits"], logits.numpy()) <= ALLOWED
    assert right == (logits.argmax(-1) == answers).sum()
    best = items[..., 0].argmax(-1, keepdim=True)
    wanted = [entropy_of(weights), weights.amax(-1), weights.gather(-1, best)]
    # evaluate() weighs in float32: a gap is off by 6e-8 of itself and a target may be missed by 2.5e-6 of itself, which
    # exp multiplies by the gap in units of temperature, below 20 for any weight above 1e-9.
    for found, each in zip(means, wanted):
        assert math.isclose(found, each.mean().item(), rel_tol=1e-5, abs_tol=1e-6)
