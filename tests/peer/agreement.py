"""The one rule by which a result is good enough, and the inputs of the tests."""

import torch


def largest_error(found, exact):
    if not exact.numel():
        return 0.0
    error = (found.double() - exact.double()).abs()
    assert not error.isnan().any(), "NaN where the exact answer has none (or the other way round)"
    return error.max().item()


def assert_as_good_as(found, plain, exact, what):
    """At most twice the error of the plain implementation in the same precision, both against double;
    and never asked for more than a few roundings of the largest value in the found type."""
    rounding = torch.finfo(plain.dtype).eps
    assert_within(found, exact, 2 * largest_error(plain, exact), rounding, what)


# Where the plain implementation is exact by luck. Ours rounds in four places that it does not have: the
# scale goes into the query, the temperature after it, the weights stay undivided until the values are
# summed, and that sum is rounded once more when it is divided.
ROUNDINGS = 4


def assert_within(found, exact, allowed, rounding, what):
    assert found.shape == exact.shape, what
    if not exact.numel():
        return
    allowed = max(allowed, ROUNDINGS * rounding * exact.abs().max().item())
    error = largest_error(found, exact)
    assert error <= allowed, f"{what}: off by {error:.3g}, allowed {allowed:.3g}"


def random_tensors(seed, *shapes, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator).to(dtype) for shape in shapes)


def differentiable(dtype, *tensors):
    return tuple(tensor.detach().to(dtype).requires_grad_() for tensor in tensors)


class FromSaved(torch.autograd.Function):
    """softmax(scores) @ value, whose backward has what a fused forward leaves: the answer and the log-partition, of
    scores that were summed in another order. Weights are computed again from these and need not sum to one; and
    where d_out . out and d_out . value should cancel, each has its own rounding. The plain form of every backward
    that saves no weights."""

    @staticmethod
    def forward(ctx, scores, value, order, saved_scores):
        out = torch.softmax(saved_scores, -1) @ value
        ctx.save_for_backward(scores, value, order, out, saved_scores.double().logsumexp(-1, keepdim=True))
        return out

    @staticmethod
    def backward(ctx, d_out):
        scores, value, order, out, log_partition = ctx.saved_tensors
        weights = (scores - log_partition).exp().float()
        d_weights = d_out[..., order] @ value[..., order].transpose(-1, -2)
        row = (d_out * out)[..., order].sum(-1, keepdim=True)
        return weights * (d_weights - row), weights.transpose(-1, -2) @ d_out, None, None
