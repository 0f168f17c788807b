"""A model whose layers are on two devices, patched and watched; test_hf_devices.py runs this in a process of its own.

The second device is that of tests/torch/second_device.py. Hooks move what enters a layer to where it is, as
device_map does it. Nothing may come back from the second device before somebody reads the watch.
"""

import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "torch")]
import conftest
import numpy as np
import second_device
import sharpmax.hf
import torch
from second_device import DEVICE, Elsewhere, World
from sharpmax.hf._mask import CompactMask
from torch.utils._pytree import tree_map


def there(value):
    if not isinstance(value, torch.Tensor) or isinstance(value, Elsewhere):
        return value
    return value.to(DEVICE)


def here(value):
    return value.held if isinstance(value, Elsewhere) else value


def make_compact(plan, shape, write_out, device, make=CompactMask.make):
    """Here, whatever it speaks of: one kind of tensor made in Python cannot stand on another. Nobody reads its memory."""
    return make(plan, shape, write_out, "cpu")


def put_elsewhere(layer):
    for module in layer.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            del module._parameters[name]
            module.__dict__[name] = Elsewhere(parameter.detach())
    layer.register_forward_pre_hook(lambda _, args, kwargs: tree_map(there, (args, kwargs)), with_kwargs=True)
    layer.register_forward_hook(lambda _, args, out: tree_map(here, out))


def run(model, tokens, mask):
    with sharpmax.hf.patch(model, {1: "entmax15"}), sharpmax.hf.watch(model) as watched, torch.no_grad():
        out = model(tokens, attention_mask=mask, use_cache=False).logits
    return out, watched


def main():
    second_device._setup_privateuseone_for_python_backend()
    tokens = torch.randint(3, conftest.VOCABULARY, (2, 12), generator=torch.Generator().manual_seed(5))
    mask = torch.ones_like(tokens)
    mask[0, :3] = 0
    model = conftest.make_model("llama")
    wanted, one = run(model, tokens, mask)
    put_elsewhere(model.model.layers[1])
    CompactMask.make = staticmethod(make_compact)
    with World():
        found, two = run(model, tokens, mask)
        waiting = [part for part in two._counted[1]._elsewhere]
        assert len(waiting) == 1 and isinstance(waiting[0], Elsewhere), (
            "the watch did not keep its sums where they were made"
        )
        assert all(isinstance(part, Elsewhere) for part in two._counted[1].sample)
        assert not two._counted[0]._elsewhere
        torch.testing.assert_close(found[:, 3:], wanted[:, 3:], rtol=1e-4, atol=1e-4)
        assert two.rows.tolist() == one.rows.tolist()
        for name in (*two.statistics, "gap_counts"):
            for what in ("mean", "median"):
                ours, theirs = getattr(two, what)(name), getattr(one, what)(name)
                np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5, err_msg=name)
    print("the same on two devices as on one")


if __name__ == "__main__":
    sys.exit(main())
