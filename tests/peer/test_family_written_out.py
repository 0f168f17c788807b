"""Every member of the family against its formula in torch double with autograd: outputs, gradients of
queries, keys and values, and of its own parameters, one per head."""

import formulas
import pytest
import torch
from agreement import ROUNDINGS, assert_within, largest_error, random_tensors

import sharpmax

HEADS, QUERIES, KEYS, FEATURES = 2, 13, 41, 16
# At how many times 1/sqrt(feature) the scores are taken: blunt rows, usual ones, sharp ones.
SCALES = (0.1, 1.0, 3.0)
SHUFFLES = 8
# In double the two differ by rounding, which iterations and cancellation make some 1e-12; a formula that is
# wrong anywhere is off by far more than this part of the largest value.
FORMULA = 1e-9
# Kernels meet a target to this part of itself, on the sharp side (rows/temperature_search-inl.h).
TARGET_MET = 2.5e-6
FLOAT_EPS, DOUBLE_EPS = torch.finfo(torch.float32).eps, torch.finfo(torch.float64).eps

# name in text -> (formula, learnable parameters with a value per head, fixed ones)
CASES = {
    "softmax": (formulas.softmax, {"beta": (0.7, 1.6)}, {}),
    "adaptive": (formulas.adaptive, {}, {}),
    "adaptive:gradient=full": (lambda e, seen: formulas.adaptive(e, seen, full=True), {}, {}),
    "entropy_target": (formulas.entropy_target, {"nats": (0.5, 1.2)}, {}),
    "entropy_target:gradient=full": (
        lambda e, seen, nats: formulas.entropy_target(e, seen, nats, full=True),
        {"nats": (0.5, 1.2)},
        {},
    ),
    "peak_target": (formulas.peak_target, {"weight": (0.5, 0.9)}, {}),
    "peak_target:gradient=full": (
        lambda e, seen, weight: formulas.peak_target(e, seen, weight, full=True),
        {"weight": (0.5, 0.9)},
        {},
    ),
    "ssmax": (formulas.ssmax, {"s": (0.4, 0.9), "b": (0.1, -0.2)}, {}),
    "log_length:preset=qwen": (formulas.qwen, {}, {"length": 8.0}),
    "log_length:preset=llama4": (formulas.llama4, {}, {"a": 0.3, "floor": 9.0}),
    "log_length:preset=yarn": (formulas.yarn, {}, {"factor": 4.0}),
    "log_length:preset=yarn_dynamic": (formulas.yarn_dynamic, {}, {"length": 8.0}),
    "sparsemax": (formulas.sparsemax, {}, {}),
    "entmax15": (formulas.entmax15, {}, {}),
    "entmax": (formulas.entmax, {"alpha": (1.2, 1.7)}, {}),
    "asentmax": (
        formulas.asentmax,
        {"alpha": (1.5, 1.3), "delta": (0.6, 1.0), "beta": (0.2, 0.3), "gamma": (1.0, 0.5)},
        {},
    ),
    "top_k:k=5": (lambda e, seen, beta: formulas.top_k(e, seen, 5, beta), {"beta": (1.0, 0.7)}, {}),
    "hard": (formulas.hard, {}, {}),
    "sink": (formulas.sink, {"c": (1.0, 3.5)}, {}),
    "softpick": (formulas.softpick, {}, {}),
    "sigmoid": (formulas.sigmoid, {}, {}),
    "sigmoid:": (formulas.sigmoid, {"b": (-2.0, 0.5)}, {}),
    "stick_breaking": (formulas.stick_breaking, {}, {}),
    "self_adjust": (formulas.self_adjust, {}, {}),
    "self_adjust:form=plain": (lambda e, seen: formulas.self_adjust(e, seen, plain=True), {}, {}),
    "relu": (formulas.relu, {}, {}),
    "linear": (None, {}, {}),
}


def text_of(name):
    _, learnable, fixed = CASES[name]
    settings = [f"{key}={'/'.join(map(repr, values))}" for key, values in learnable.items()]
    settings += [f"{key}={value!r}" for key, value in fixed.items()]
    start, _, given = name.partition(":")
    parts = [part for part in (given, *settings) if part]
    return start + (":" + ",".join(parts) if parts else "")


def seen_keys(mask_kind):
    if mask_kind == "full":
        return torch.ones(1, HEADS, QUERIES, KEYS, dtype=torch.bool)
    (noise,) = random_tensors(21, (1, HEADS, QUERIES, KEYS))
    seen = noise > -0.5
    seen[..., 0, 1:] = False  # a row of one key
    seen[..., 0, 0] = True
    seen[..., 3, :] = False  # a row of none
    return seen


def weights_written_out(name, query, key, seen, scale, per_head):
    formula, _, fixed = CASES[name]
    # A row without keys has no weights. Its formula is shown one key, and its answer set to 0.
    empty = ~seen.any(-1, keepdim=True)
    shown = seen | (empty & (torch.arange(KEYS) == 0))
    if formula is None:
        weights = formulas.linear_attention(query, key, shown)
    else:
        scores = query @ key.transpose(-2, -1) * scale
        constants = [torch.tensor(value, dtype=query.dtype) for value in fixed.values()]
        weights = formula(scores, shown, *(p.view(-1, 1, 1) for p in per_head), *constants)
    return torch.where(empty, torch.zeros_like(weights), weights)


def written_out(name, dtype, tensors, d_out, seen, scale):
    """out, gradients of query, key, value, and of each parameter, by autograd in one precision."""
    query, key, value = leaves = [tensor.detach().to(dtype, copy=True).requires_grad_() for tensor in tensors]
    per_head = [torch.tensor(values, dtype=dtype).requires_grad_() for values in CASES[name][1].values()]
    out = weights_written_out(name, query, key, seen, scale, per_head) @ value
    wanted = [*leaves, *per_head]
    gradients = torch.autograd.grad(out, wanted, d_out.to(dtype), allow_unused=True)
    return [out.detach()] + [torch.zeros_like(w) if g is None else g for g, w in zip(gradients, wanted)]


def usual_errors(evaluate, problem, exact):
    """The largest error of each answer in float32: its median over orders of the features. They change
    nothing but the rounding, and one evaluation alone may be lucky or not."""
    (query, key, value), d_out, seen, scale = problem
    errors = []
    for seed in range(SHUFFLES):
        order = torch.randperm(FEATURES, generator=torch.Generator().manual_seed(seed))
        found = evaluate(torch.float32, (query[..., order], key[..., order], value), d_out, seen, scale)
        back = order.argsort()
        found[1], found[2] = found[1][..., back], found[2][..., back]
        errors.append([largest_error(f, e) for f, e in zip(found, exact)])
    return torch.tensor(errors, dtype=torch.float64).median(0).values.tolist()


def known_moves(name, problem, exact):
    """How far each answer moves, in double, by the two things ours does that the plain formula does not: it
    rounds scale * query before the product, and it meets a target only nearly."""
    (query, key, value), d_out, seen, scale = problem
    rounded = (query * scale).float().double() / scale
    formula, learnable, fixed = CASES[name]
    if "target" in name:
        sharper = 1 - TARGET_MET if name.startswith("entropy") else 1 + TARGET_MET
        learnable = {parameter: tuple(v * sharper for v in values) for parameter, values in learnable.items()}
    CASES["moved"] = formula, learnable, fixed
    try:
        moved = written_out("moved", torch.float64, (rounded, key, value), d_out, seen, scale)
    finally:
        del CASES["moved"]
    return [largest_error(m, e) for m, e in zip(moved, exact)]


def ours(name, dtype, tensors, d_out, seen, scale):
    tensors = [tensor.to(dtype) for tensor in tensors]
    options = {"attn_mask": seen, "normalizer": text_of(name)}
    if name != "linear":
        options["scale"] = scale
    found = sharpmax.attention_backward(d_out.to(dtype), *tensors, **options)
    parameters = [found.parameters[key] for key in CASES[name][1]]
    return [sharpmax.attention(*tensors, **options), found.query, found.key, found.value, *parameters]


@pytest.mark.parametrize("mask_kind", ["full", "masked"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", CASES)
def test_outputs_and_gradients_agree_with_the_formula(name, scale, mask_kind):
    shape = (1, HEADS, KEYS, FEATURES)
    tensors = random_tensors(5, (1, HEADS, QUERIES, FEATURES), shape, shape)
    (d_out,) = random_tensors(6, (1, HEADS, QUERIES, FEATURES))
    problem = (tensors, d_out, seen_keys(mask_kind), scale / FEATURES**0.5)
    exact = written_out(name, torch.float64, *problem)
    labels = ["out", "d_query", "d_key", "d_value", *CASES[name][1]]
    plain = usual_errors(lambda *p: written_out(name, *p), problem, exact)
    found = usual_errors(lambda *p: ours(name, *p), problem, exact)
    for label, f, p, move, e in zip(labels, found, plain, known_moves(name, problem, exact), exact):
        allowed = max(2 * p + move, ROUNDINGS * FLOAT_EPS * e.abs().max().item())
        assert f <= allowed, f"{name}, {label} in float32: off by {f:.3g}, allowed {allowed:.3g}"
    for label, found, e in zip(labels, ours(name, torch.float64, *problem), exact):
        assert_within(found, e, FORMULA * e.abs().max().item(), DOUBLE_EPS, f"{name}, {label} in float64")


def test_every_member_of_the_family_has_its_formula():
    assert {text.partition(":")[0] for text in CASES} == {member["name"] for member in sharpmax.family()}
