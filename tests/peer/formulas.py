"""The family written out in torch, one formula each, differentiated by autograd.

Each takes scores [.., head, query, key] with `seen` (bool, which keys are not masked) and the rule's
parameters as tensors [head, 1, 1], and returns weights, 0 where not seen. Nothing here is shared
with the library: roots are found by bisection and made differentiable by one Newton step.
"""

import torch

NEGATIVE_INFINITY = float("-inf")


def masked_softmax(scores, seen):
    shifted = scores - scores.masked_fill(~seen, NEGATIVE_INFINITY).amax(-1, keepdim=True).nan_to_num(neginf=0.0)
    raised = torch.where(seen, shifted, torch.zeros_like(shifted)).exp() * seen
    return raised / raised.sum(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)


def _count(seen, scores):
    return seen.sum(-1, keepdim=True).clamp(min=1).to(scores.dtype)


def entropy(scores, seen):
    weights = masked_softmax(scores, seen)
    return -(weights * torch.where(weights > 0, weights, torch.ones_like(weights)).log()).sum(-1, keepdim=True)


def softmax(scores, seen, beta):
    return masked_softmax(beta * scores, seen)


def adaptive(scores, seen, full=False):
    nats = entropy(scores, seen)
    beta = torch.zeros_like(nats)
    for coefficient in (-0.037, 0.481, -2.3, 4.917, -1.791):
        beta = beta * nats + coefficient
    beta = torch.where(nats > 0.5, beta.clamp(min=1.0), torch.ones_like(beta))
    return masked_softmax((beta if full else beta.detach()) * scores, seen)


def _least_temperature(excess, like):
    """The least beta >= 1 with excess(beta) <= 0, differentiable; excess falls."""
    with torch.no_grad():
        low, high = torch.zeros_like(like), torch.full_like(like, 9.0)  # of ln beta
        for _ in range(80):
            middle = (low + high) / 2
            above = excess(middle.exp()) > 0
            low, high = torch.where(above, middle, low), torch.where(above, high, middle)
        root = high.exp()
    with torch.enable_grad():
        probe = root.clone().requires_grad_()
        slope = torch.autograd.grad(excess(probe).sum(), probe)[0].detach()
    sharpened = root - excess(root) / torch.where(slope == 0, torch.ones_like(slope), slope)
    blunt = excess(torch.ones_like(root)).detach() > 0
    return torch.where(blunt, sharpened, torch.ones_like(root))


def entropy_target(scores, seen, nats, full=False):
    beta = _least_temperature(lambda b: entropy(b * scores, seen) - nats, scores[..., :1].detach())
    return masked_softmax((beta if full else beta.detach()) * scores, seen)


def peak_target(scores, seen, weight, full=False):
    def excess(beta):
        return weight - masked_softmax(beta * scores, seen).amax(-1, keepdim=True)

    beta = _least_temperature(excess, scores[..., :1].detach())
    return masked_softmax((beta if full else beta.detach()) * scores, seen)


def ssmax(scores, seen, s, b):
    return masked_softmax((s * _count(seen, scores).log() + b) * scores, seen)


def qwen(scores, seen, length):
    return masked_softmax((_count(seen, scores).log() / length.log()).clamp(min=1.0) * scores, seen)


def llama4(scores, seen, a, floor):
    return masked_softmax((1 + a * torch.log1p(torch.floor(_count(seen, scores) / floor))) * scores, seen)


def yarn(scores, seen, factor):
    return masked_softmax((0.1 * factor.clamp(min=1.0).log() + 1) ** 2 * scores, seen)


def yarn_dynamic(scores, seen, length):
    return yarn(scores, seen, _count(seen, scores) / length)


def entmax(scores, seen, alpha):
    """[(alpha - 1) e - tau]+^(1 / (alpha - 1)), alpha > 1."""
    inverse = 1 / (alpha - 1)
    top = scores.masked_fill(~seen, NEGATIVE_INFINITY).amax(-1, keepdim=True).nan_to_num(neginf=0.0)
    lifted = (alpha - 1) * (scores - top)

    def weights_at(tau):
        room = lifted - tau
        inside = seen & (room > 0)
        return torch.where(inside, torch.where(inside, room, torch.ones_like(room)) ** inverse, torch.zeros_like(room))

    with torch.no_grad():
        low, high = -torch.ones_like(top), torch.zeros_like(top)
        for _ in range(100):
            middle = (low + high) / 2
            enough = weights_at(middle).sum(-1, keepdim=True) >= 1
            low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
    probe = low.clone().requires_grad_()
    with torch.enable_grad():
        slope = torch.autograd.grad(weights_at(probe).sum(), probe)[0]
    surplus = weights_at(low).sum(-1, keepdim=True) - 1
    safe_slope = torch.where(slope == 0, torch.ones_like(slope), slope)
    return weights_at(low - surplus / safe_slope.detach())


def sparsemax(scores, seen):
    return entmax(scores, seen, scores.new_tensor(2.0))


def entmax15(scores, seen):
    return entmax(scores, seen, scores.new_tensor(1.5))


def asentmax(scores, seen, alpha, delta, beta, gamma):
    return entmax((delta + beta * torch.log(_count(seen, scores) + 1) ** gamma) * scores, seen, alpha)


def top_k(scores, seen, k, beta):
    count = min(k, scores.shape[-1])
    chosen = scores.masked_fill(~seen, NEGATIVE_INFINITY).topk(count, -1).indices
    kept = torch.zeros_like(seen).scatter(-1, chosen, True) & seen
    return masked_softmax(beta * scores, kept)


def hard(scores, seen):
    """One-hot, with the gradient of softmax."""
    soft = masked_softmax(scores, seen)
    peak = scores.masked_fill(~seen, NEGATIVE_INFINITY).argmax(-1, keepdim=True)
    return torch.zeros_like(soft).scatter(-1, peak, 1.0) * seen + soft - soft.detach()


def sink(scores, seen, c):
    return torch.exp(scores) * seen / (c + (torch.exp(scores) * seen).sum(-1, keepdim=True))


def softpick(scores, seen):
    lifted = torch.expm1(scores) * seen
    return lifted.clamp(min=0) / lifted.abs().sum(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)


def sigmoid(scores, seen, b=None):
    return torch.sigmoid(scores + (-_count(seen, scores).log() if b is None else b)) * seen


def stick_breaking(scores, seen):
    left = torch.where(seen, torch.nn.functional.logsigmoid(-scores), torch.zeros_like(scores))
    after = left.flip(-1).cumsum(-1).flip(-1) - left
    return torch.exp(torch.nn.functional.logsigmoid(scores) + after) * seen


def self_adjust(scores, seen, plain=False):
    soft = masked_softmax(scores, seen)
    if plain:
        return scores * soft
    low = scores.masked_fill(~seen, float("inf")).amin(-1, keepdim=True).clamp(max=0.0)
    high = scores.masked_fill(~seen, NEGATIVE_INFINITY).amax(-1, keepdim=True).clamp(min=0.0)
    return (scores - low) / (high - low) * soft


def relu(scores, seen):
    return scores.clamp(min=0) * seen / _count(seen, scores)


def linear_attention(query, key, seen):
    """Not a function of the score: phi(q) . phi(k) over its sum."""
    product = (torch.nn.functional.elu(query) + 1) @ (torch.nn.functional.elu(key) + 1).transpose(-2, -1) * seen
    return product / product.sum(-1, keepdim=True).clamp(min=torch.finfo(query.dtype).tiny)
