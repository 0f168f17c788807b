"""torch.func: vmap by folding into heads, grad of anything, and one sentence for what there is not."""

import pytest
import sharpmax

torch = pytest.importorskip("torch")
from sharpmax.torch import Parametrized
from torch.func import grad, hessian, jacrev, jvp, vmap

SIZE = 3


def tensors(*shapes, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]


ALPHA = torch.tensor([[1.2, 1.4, 1.6, 1.8], [1.1, 1.3, 1.5, 1.7], [1.9, 1.5, 1.3, 1.2]])


def attend(query, key, value, bias, alpha):
    rule = Parametrized("entmax", alpha=alpha)
    return sharpmax.attention(query, key, value, bias, enable_gqa=True, causal="bottom-right", normalizer=rule)


def one(tensor, dim, index):
    return tensor if dim is None else tensor.select(dim, index)


# Of query, key, value, bias and alpha: shapes without the mapped dimension, and where that goes.
CASES = {
    "all mapped": (((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6), (3, 5), (4,)), (0, 0, 0, 0, 0)),
    "only query": (((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6), (3, 5), (4,)), (1, None, None, None, None)),
    "key and bias of heads": (((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6), (4, 3, 5), (1,)), (None, 2, None, 3, None)),
    "bias of heads not mapped": (((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6), (2, 4, 1, 5), ()), (0, 0, 3, None, None)),
    "two dimensions": (((3, 8), (5, 8), (5, 6), (3, 5), (1,)), (0, -1, 0, None, 0)),
    "three dimensions": (((4, 3, 8), (2, 5, 8), (2, 5, 6), (1, 3, 5), (4,)), (0, 0, 0, 1, None)),
}


def inputs_of(name):
    shapes, dims = CASES[name]
    made = []
    for shape, dim in zip(shapes[:4], dims[:4]):
        place = None if dim is None else dim % (len(shape) + 1)
        made.append(shape if place is None else (*shape[:place], SIZE, *shape[place:]))
    alpha = ALPHA[:, 0] if shapes[4] in ((), (1,)) else ALPHA
    alpha = alpha if dims[4] is not None else alpha[0]
    if shapes[4] == (1,):
        alpha = alpha.unsqueeze(-1)
    return [*tensors(*made), alpha], dims


@pytest.mark.parametrize("name", CASES)
def test_vmap_is_a_loop(name):
    inputs, dims = inputs_of(name)
    found = vmap(attend, dims)(*inputs)
    for index in range(SIZE):
        wanted = attend(*(one(tensor, dim, index) for tensor, dim in zip(inputs, dims)))
        torch.testing.assert_close(found[index], wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_every_sample(name):
    inputs, dims = inputs_of(name)

    def loss(*inputs):
        return attend(*inputs).square().sum()

    found = vmap(grad(loss, tuple(range(5))), dims)(*inputs)
    for index in range(SIZE):
        leaves = [one(t, dim, index).clone().requires_grad_() for t, dim in zip(inputs, dims)]
        wanted = torch.autograd.grad(loss(*leaves), leaves)
        for ours, theirs in zip(found, wanted):
            torch.testing.assert_close(ours[index], theirs, rtol=1e-4, atol=2e-5)


def test_gradients_of_a_mapped_sum_and_statistics():
    inputs, dims = inputs_of("all mapped")
    found = grad(lambda query: vmap(attend, dims)(query, *inputs[1:]).square().sum())(inputs[0])
    leaf = inputs[0].clone().requires_grad_()
    sum(attend(leaf[i], *(t[i] for t in inputs[1:])).square().sum() for i in range(SIZE)).backward()
    torch.testing.assert_close(found, leaf.grad, rtol=1e-4, atol=2e-5)

    def entropy(query, key, value):
        return sharpmax.attention(query, key, value, enable_gqa=True, return_stats=["entropy", "map"])[1].entropy

    wanted = torch.stack([entropy(*(t[i] for t in inputs[:3])) for i in range(SIZE)])
    torch.testing.assert_close(vmap(entropy)(*inputs[:3]), wanted, rtol=1e-6, atol=1e-6)


def test_rows_too():
    scores, alpha = tensors((SIZE, 2, 4, 3, 5))[0], ALPHA

    def loss(scores, alpha):
        return sharpmax.normalize(scores, Parametrized("entmax", alpha=alpha), axis=1).square().sum()

    found = vmap(grad(loss, (0, 1)))(scores.transpose(2, 4), ALPHA)
    for index in range(SIZE):
        leaves = [scores.transpose(2, 4)[index].clone().requires_grad_(), alpha[index].clone().requires_grad_()]
        for ours, theirs in zip(found, torch.autograd.grad(loss(*leaves), leaves)):
            torch.testing.assert_close(ours[index], theirs, rtol=1e-4, atol=1e-5)


def test_jacobians_by_reverse_mode():
    query, key = tensors((3, 4), (5, 4))
    found = jacrev(lambda query: sharpmax.attention(query.double(), key.double(), key.double()))(query)
    wanted = torch.autograd.functional.jacobian(
        lambda query: torch.nn.functional.scaled_dot_product_attention(query.double(), key.double(), key.double()),
        query,
    )
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)


def test_batched_gradients_as_gradcheck_wants_them():
    inputs = [tensor.double().requires_grad_() for tensor in tensors((2, 3, 4), (2, 5, 4), (2, 5, 4))]
    assert torch.autograd.gradcheck(sharpmax.attention, inputs, check_batched_grad=True)
    assert torch.autograd.gradcheck(sharpmax.normalize, inputs[:1], check_batched_grad=True)


def test_what_there_is_not_is_said_in_one_sentence():
    (query,) = tensors((2, 3, 4))
    with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
        jvp(lambda q: sharpmax.attention(q, query, query), (query,), (query,))
    with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
        with torch.autograd.forward_ad.dual_level():
            sharpmax.normalize(torch.autograd.forward_ad.make_dual(query, query))
    with torch.autograd.forward_ad.dual_level():
        assert torch.equal(sharpmax.normalize(query), sharpmax.normalize(query.clone()))
    with pytest.raises(NotImplementedError, match="no derivative of its own"):
        grad(lambda q: grad(lambda q: sharpmax.attention(q, q, q).sum())(q).sum())(query)
    with pytest.raises(NotImplementedError, match="no forward-mode derivative|no derivative of its own"):
        hessian(lambda q: sharpmax.normalize(q).square().sum())(query)
    lengths = torch.tensor([[3], [2]])
    with pytest.raises(NotImplementedError, match="must not be mapped"):
        vmap(lambda q, lengths: sharpmax.attention(q, q, q, key_lengths=lengths))(query, lengths)
