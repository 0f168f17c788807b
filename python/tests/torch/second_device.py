"""A second device made in Python: test_torch_devices.py runs this in a process of its own, for torch knows but one.

Its tensors hold others in CPU memory. An operation computes with these; over tensors of two devices it fails.
"""

import sys

import sharpmax
import torch
from sharpmax.torch import portable
from sharpmax.torch._kernel import Lengths, Masks, Rule, Wishes
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

DEVICE = torch.device("privateuseone", 0)
MISSING = set()  # types that the device does not have


class Elsewhere(torch.Tensor):
    """A tensor of the second device."""

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(
            cls, held.shape, held.stride(), held.storage_offset(), dtype=held.dtype, device=DEVICE
        )

    def __init__(self, held):
        self.held = held

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return compute(func, args, kwargs or {})


class World(TorchDispatchMode):
    """Operations that make a tensor on the second device out of nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return compute(func, args, kwargs or {})


def compute(func, args, kwargs):
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    there = [isinstance(tensor, Elsewhere) for tensor in tensors]
    moved = func in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)
    if any(there) and not all(here or tensor.dim() == 0 for here, tensor in zip(there, tensors)) and not moved:
        raise AssertionError(f"{func} got tensors of two devices")
    wanted = kwargs.get("device") or (DEVICE if any(there) else torch.device("cpu"))
    inner = {**kwargs, "device": torch.device("cpu")} if kwargs.get("device") else kwargs
    found = func(*tree_map(held, args), **tree_map(held, inner))
    if wanted == DEVICE:
        types = {leaf.dtype for leaf in tree_leaves(found) if isinstance(leaf, torch.Tensor)}
        assert not types & MISSING, f"{func} made a tensor of {types & MISSING}"
    if func._schema.is_mutable:
        return kwargs.get("out", args[0])
    return tree_map(
        lambda leaf: Elsewhere(leaf) if isinstance(leaf, torch.Tensor) and wanted == DEVICE else leaf, found
    )


def held(leaf):
    return leaf.held if isinstance(leaf, Elsewhere) else leaf


EVERYTHING = Wishes("entropy,peak_key,temperature,top_keys,top_weights,gap_counts,column_mass,map", 3, 3, 4, "0.5,2.0")
WATCHED = Wishes("entropy,peak_weight,support,first_weight,temperature,gap_counts", gaps="0.5,2.0")  # by _quick.py


def both(rule, lengths, wishes):
    """The same call here and there."""
    generator = torch.Generator().manual_seed(1)
    shapes = ((2, 4, 9, 8), (2, 2, 13, 8), (2, 2, 13, 5))
    here = tuple(torch.randn(shape, generator=generator) for shape in shapes)
    masks = Masks("bottom-right", 5, -1, None, 0.0 if rule == "linear" or wishes == WATCHED else 30.0)
    for inputs in (here, tuple(Elsewhere(tensor) for tensor in here)):
        inputs = (*inputs, None, None)
        out, found = portable.attend(inputs, Rule(rule), masks, lengths, wishes, 0)
        needs = (True, True, True, False, False)
        gradients = portable.attend_backward(out, inputs, needs, Rule(rule), masks, lengths, found["temperature"], 0)
        yield [out, *found.values(), *gradients[:3]]


def main():
    _setup_privateuseone_for_python_backend()
    MISSING.add(torch.float64)
    lengths = (
        Lengths(),
        Lengths(torch.tensor([4, 13])),
        Lengths(None, torch.tensor([0, 4, 9]), torch.tensor([0, 5, 13])),
    )
    with World():
        # What hides keys does not depend on the rule: one kind for each of them, in turn, and all kinds for softmax.
        calls = [
            *((member["name"], lengths[place % 3], EVERYTHING) for place, member in enumerate(sharpmax.family())),
            *(("softmax", length, EVERYTHING) for length in lengths[1:]),
            *(("softmax", length, WATCHED) for length in lengths),
        ]
        for rule, length, wishes in calls:
            here, there = both(rule, length, wishes)
            assert all(tensor.device == DEVICE for tensor in there), rule
            for one, other in zip(here, there):
                assert held(other).shape == one.shape and held(other).dtype == one.dtype, rule
                torch.testing.assert_close(held(other), one, rtol=1e-5, atol=1e-5, equal_nan=True)
    print("the same on both devices")


if __name__ == "__main__":
    sys.exit(main())
