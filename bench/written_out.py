"""Every normalizer as one writes it in PyTorch with the whole matrix of scores at hand: the peer of the portable path.

scores [.., query, key], -inf for a masked key. Gradients are autograd's. Searches are plain bisections; a temperature
that was searched for gets no gradient, and a threshold gets its own by one more step of Newton's method.
"""

import math

import torch

STEPS = 30  # of a bisection in float32; it gains one bit each


def _seen(scores):
    return scores > -math.inf


def _count(scores):
    return _seen(scores).sum(-1, keepdim=True).clamp(min=1).to(scores.dtype)


def _softmax(scores, beta=1.0):
    logits = torch.where(_seen(scores), scores * beta, -math.inf)
    return torch.nan_to_num(logits.softmax(-1)) if not scores.isnan().any() else logits.softmax(-1)


def entropy(weights):
    return -torch.xlogy(weights, weights).sum(-1, keepdim=True)


def _least_temperature(scores, is_sharp):
    low, high = torch.zeros_like(scores[..., :1]), torch.full_like(scores[..., :1], math.log(1e6))
    for _ in range(STEPS):
        middle = (low + high) / 2
        sharp = is_sharp(_softmax(scores, middle.exp()))
        low, high = torch.where(sharp, low, middle), torch.where(sharp, middle, high)
    return torch.where(is_sharp(_softmax(scores)), torch.ones_like(high), high.exp())


def _target(scores, is_sharp):
    with torch.no_grad():
        beta = _least_temperature(scores, is_sharp)
    return _softmax(scores, beta)


def _adaptive(scores, polynomial=(-0.037, 0.481, -2.3, 4.917, -1.791), threshold=0.5):
    with torch.no_grad():
        found = entropy(_softmax(scores))
        fit = torch.zeros_like(found)
        for coefficient in polynomial:
            fit = fit * found + coefficient
        beta = torch.where((found > threshold) & (fit > 1), fit, torch.ones_like(fit))
    return _softmax(scores, beta)


def _sorted_threshold(scores, power):
    """sparsemax (power 1) and entmax15 (power 2) by sorting, as the entmax package has them."""
    z = (scores - scores.amax(-1, keepdim=True).clamp(min=-1e30)) / power
    largest = z.sort(-1, descending=True).values.clamp(min=-1e4)
    k = torch.arange(1, z.shape[-1] + 1, dtype=z.dtype, device=z.device)
    if power == 1:
        tau = (largest.cumsum(-1) - 1) / k
    else:
        mean = largest.cumsum(-1) / k
        scatter = k * ((largest**2).cumsum(-1) / k - mean**2)
        tau = mean - ((1 - scatter) / k).clamp(min=1e-30).sqrt()
    support = (tau <= largest).sum(-1, keepdim=True).clamp(min=1)
    lifts = (z - tau.gather(-1, support - 1)).clamp(min=0)
    return torch.where(_seen(scores), lifts**power, 0.0)


def _entmax(scores, alpha, beta=1.0):
    a = alpha - 1
    z = torch.where(_seen(scores), a * beta * scores, -1e30)
    with torch.no_grad():
        high = z.amax(-1, keepdim=True)
        low = high - 1
        for _ in range(STEPS):
            tau = (low + high) / 2
            enough = (z - tau).clamp(min=0).pow(1 / a).sum(-1, keepdim=True) >= 1
            low, high = torch.where(enough, tau, low), torch.where(enough, high, tau)
        tau = (low + high) / 2
        slopes = ((z - tau).clamp(min=0).pow(1 / a - 1) / a).sum(-1, keepdim=True)
        slopes = slopes.clamp(min=1e-30)
    weights = (z - tau).clamp(min=0).pow(1 / a)
    tau = tau + (weights.sum(-1, keepdim=True) - 1) / slopes
    return torch.where(_seen(scores), (z - tau).clamp(min=0).pow(1 / a), 0.0)


def _asentmax(scores, alpha=1.5, delta=1.0, beta=1.0, gamma=1.0):
    return _entmax(scores, alpha, delta + beta * (_count(scores) + 1).log() ** gamma)


def _top_k(scores, k=8, beta=1.0):
    largest = scores.sort(dim=-1, descending=True, stable=True).indices[..., : int(k)]
    kept = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, largest, True)
    return _softmax(torch.where(kept, scores, -math.inf), beta)


def _hard(scores):
    soft = _softmax(scores)
    one = torch.zeros_like(scores).scatter(-1, scores.argmax(-1, keepdim=True), 1.0)
    return torch.where(_seen(scores), one + soft - soft.detach(), 0.0)


def _sink(scores, c=1.0):
    partition = torch.logsumexp(scores, -1, keepdim=True)
    return _softmax(scores) * torch.sigmoid(partition - math.log(c))


def _softpick(scores):
    shift = scores.amax(-1, keepdim=True).clamp(min=0)
    lifted = (scores - shift).exp() - (-shift).exp()
    total = torch.where(_seen(scores), lifted.abs(), 0.0).sum(-1, keepdim=True)
    return torch.where(_seen(scores), lifted.clamp(min=0) / total.clamp(min=1e-30), 0.0)


def _sigmoid(scores, b=None):
    return torch.where(_seen(scores), torch.sigmoid(scores + (-_count(scores).log() if b is None else b)), 0.0)


def _stick_breaking(scores):
    safe = torch.where(_seen(scores), scores, -1e4)
    left = torch.nn.functional.logsigmoid(-safe)
    newer = left.flip(-1).cumsum(-1).flip(-1) - left
    return (torch.nn.functional.logsigmoid(safe) + newer).exp()


def _self_adjust(scores, form="scaled"):
    safe = torch.where(_seen(scores), scores, 0.0)
    if form == "plain":
        return safe * _softmax(scores)
    low = torch.where(_seen(scores), scores, math.inf).amin(-1, keepdim=True).clamp(max=0)
    high = scores.amax(-1, keepdim=True).clamp(min=0)
    return torch.where(_seen(scores), (safe - low) / (high - low).clamp(min=1e-30) * _softmax(scores), 0.0)


def _log_length(scores, length=1024.0):
    return _softmax(scores, (_count(scores).log() / math.log(length)).clamp(min=1))


def _linear(scores):
    safe = torch.where(_seen(scores), scores, 0.0)
    return safe / safe.sum(-1, keepdim=True).clamp(min=1e-30)


NORMALIZERS = {
    "softmax": _softmax,
    "adaptive": _adaptive,
    "entropy_target": lambda scores, nats=0.5: _target(scores, lambda weights: entropy(weights) <= nats),
    "peak_target": lambda scores, weight=0.5: _target(scores, lambda w: w.amax(-1, keepdim=True) >= weight),
    "ssmax": lambda scores, s=1.0, b=0.0: _softmax(scores, s * _count(scores).log() + b),
    "log_length": _log_length,
    "sparsemax": lambda scores: _sorted_threshold(scores, 1),
    "entmax15": lambda scores: _sorted_threshold(scores, 2),
    "entmax": lambda scores, alpha=1.5: _entmax(scores, alpha),
    "asentmax": _asentmax,
    "top_k": _top_k,
    "hard": _hard,
    "sink": _sink,
    "softpick": _softpick,
    "sigmoid": _sigmoid,
    "stick_breaking": _stick_breaking,
    "self_adjust": _self_adjust,
    "relu": lambda scores: scores.clamp(min=0) / _count(scores),
    "linear": _linear,
}


def attention(query, key, value, hidden, name, **parameters):
    """hidden: bool, broadcast to [.., query, key]; None: nothing. Returns the answer and the weights."""
    if name == "linear":
        query, key = (torch.nn.functional.elu(rows) + 1 for rows in (query, key))
        scores = query @ key.mT
    else:
        scores = (query @ key.mT) * query.shape[-1] ** -0.5
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    weights = NORMALIZERS[name](scores, **parameters)
    return weights @ value, weights
