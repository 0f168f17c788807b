"""Masks described by their parts instead of [batch, 1, query, key] booleans.

Transformers describes a mask as a function of indices. Those that a kernel can walk by itself (causal, a sliding
window, padding, packed sequences) become a MaskPlan of a few numbers; any other is written out as for SDPA.
"""

from __future__ import annotations

import dataclasses
import functools
import typing

import torch
from torch.utils._pytree import tree_map
from transformers import masking_utils


@dataclasses.dataclass
class MaskPlan:
    """Conditions on the keys that a query sees: it sees those that pass every one."""

    shift: int = 0  # query i stands at key i + shift
    causal: bool = False
    first_key: int = 0  # position of key 0: a cache with a window has dropped those before it
    window: tuple[int, int] | None = None  # keys before and after that place; -1: no limit
    padding: torch.Tensor | None = None  # [batch, key]; False: not there
    key_lengths: list[int] | None = None  # the same where all padding is at the end: keys that no kernel need visit
    documents: list[int] | None = None  # offsets of packed sequences
    written_out: torch.Tensor | None = None  # [batch, 1, query, key]: none of the above says it
    _copied: torch.Tensor | None = None

    def padding_on_cpu(self) -> torch.Tensor | None:
        """Copied once, for the layers that are watched."""
        if self._copied is None and self.padding is not None:
            self._copied = self.padding.cpu()
        return self._copied

    def keys_in_use(self, queries: int, keys: int) -> int:
        """Keys past the last query's place are unused slots of a static cache."""
        return min(keys, queries + self.shift) if self.causal and self.written_out is None else keys


WriteOut = typing.Callable[[], typing.Any]


class CompactMask(torch.Tensor):
    """A bool mask [batch, 1, query, key] of no memory; touched by anything but our attention, it is written out."""

    plan: MaskPlan
    write_out: WriteOut

    @staticmethod
    def make(plan: MaskPlan, shape: tuple[int, ...], write_out: WriteOut, device: typing.Any) -> CompactMask:
        mask = torch.zeros((), dtype=torch.bool, device=device).expand(shape).as_subclass(CompactMask)
        mask.plan = plan
        mask.write_out = write_out
        return mask

    @classmethod
    def __torch_function__(
        cls,
        func: typing.Any,
        types: typing.Any,
        args: tuple[typing.Any, ...] = (),
        kwargs: dict[str, typing.Any] | None = None,
    ) -> typing.Any:
        if func in _METADATA:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        if func is torch.Tensor.to and type(args[0]) is CompactMask:
            moved = _moved(args[0], *args[1:], **(kwargs or {}))
            if moved is not None:
                return moved
        args, kwargs = tree_map(_written_out, (args, kwargs or {}))
        return func(*args, **kwargs)


def _moved(mask: CompactMask, *args: typing.Any, **kwargs: typing.Any) -> CompactMask | None:
    """The mask for layers on another device, as compact as it was; None where another type is asked for."""
    device, dtype, *_ = torch._C._nn._parse_to(*args, **kwargs)
    if dtype not in (None, torch.bool):
        return None
    if device is None or device == mask.device:
        return mask
    parts = {name: getattr(mask.plan, name) for name in ("padding", "written_out")}
    there: dict[str, typing.Any] = {name: None if part is None else part.to(device) for name, part in parts.items()}
    plan = dataclasses.replace(mask.plan, **there)
    return CompactMask.make(plan, tuple(mask.shape), lambda: mask.write_out().to(device), device)


def _written_out(value: typing.Any) -> typing.Any:
    return value.write_out() if type(value) is CompactMask else value


_METADATA = {
    *(getattr(torch.Tensor, name).__get__ for name in ("shape", "dtype", "device", "ndim", "requires_grad")),
    torch.Tensor.is_floating_point,
    torch.Tensor.dim,
    torch.Tensor.size,
    torch.Tensor.__len__,
}


def _captured(function: typing.Any, name: str) -> typing.Any:
    """A free variable of a closure, or None."""
    names = function.__code__.co_freevars
    return function.__closure__[names.index(name)].cell_contents if name in names else None


def _parts(mask_function: typing.Any) -> list[typing.Any]:
    """The functions whose conjunction this is."""
    name = getattr(mask_function, "__qualname__", "")
    if name != "and_masks.<locals>.and_mask":
        return [mask_function]
    return [leaf for part in _captured(mask_function, "mask_functions") for leaf in _parts(part)]


def _add_part(plan: MaskPlan, function: typing.Any, batch: int) -> bool:
    """Write one part of a mask into the plan; False if a plan cannot express it."""
    if function is masking_utils.causal_mask_function:
        plan.causal = True
        return True
    if function is masking_utils.bidirectional_mask_function:
        return True
    if getattr(function, "__module__", "") != masking_utils.__name__:
        return False
    name = function.__qualname__
    if name == "sliding_window_overlay.<locals>.inner_mask" and plan.window is None:
        plan.window = (_captured(function, "sliding_window") - 1, -1)
        return True
    if name == "sliding_window_bidirectional_overlay.<locals>.inner_mask" and plan.window is None:
        plan.window = (_captured(function, "sliding_window"),) * 2
        return True
    if name == "packed_sequence_mask_function.<locals>.inner_mask" and batch == 1 and plan.documents is None:
        sequence = _captured(function, "packed_sequence_mask")[0]
        steps = torch.nonzero(sequence.diff()).flatten() + 1
        plan.documents = [0, *steps.tolist(), len(sequence)]
        return bool((sequence.diff() >= 0).all())
    return False


def _complete(plan: MaskPlan, mask_function: typing.Any, batch: int, queries: int, keys: int) -> MaskPlan | None:
    """The plan of a mask function, or None if a plan cannot express it."""
    shift = plan.shift
    if not all(_add_part(plan, part, batch) for part in _parts(mask_function)):
        return None
    if plan.causal and queries + shift > keys:
        return None
    if plan.documents is not None and not queries == keys == plan.documents[-1]:
        return None
    if plan.window is not None:
        if plan.causal:
            plan.window = (plan.window[0], -1)
        elif shift + queries != keys:
            return None  # kernels place queries from the end
        reach = queries + shift - 1  # of the last query back to the first key
        if plan.window[0] >= reach and (plan.causal or plan.window[1] >= keys - 1):
            plan.window = None
    return plan


def _padding(attention_mask: torch.Tensor | None, keys: int, kv_offset: int) -> torch.Tensor | None:
    """[batch, keys] if some are padding, else None."""
    if attention_mask is None:
        return None
    padding = masking_utils.prepare_padding_mask(attention_mask, keys, kv_offset)
    padding = padding[:, kv_offset : kv_offset + keys].bool()
    return None if padding.all() else padding


def _lengths(padding: torch.Tensor | None) -> list[int] | None:
    """None where padding is elsewhere too, and on other devices, which would have to be waited for."""
    if padding is None or not padding.is_cpu:
        return None
    lengths = padding.sum(-1, keepdim=True)
    right = torch.equal(padding, torch.arange(padding.shape[1]) < lengths)
    return lengths[:, 0].tolist() if right else None


def _can_be_left_out(plan: MaskPlan, queries: int, keys: int, allow_causal: bool, allow_bidirectional: bool) -> bool:
    """None says it all: every key, or every key up to one's own if queries and keys are the same tokens."""
    if plan.window is not None or plan.padding is not None or plan.documents is not None:
        return False
    if not plan.causal:
        return allow_bidirectional
    return allow_causal and (queries == 1 or plan.shift == 0) and queries + plan.shift == keys


def make_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int = 0,
    kv_offset: int = 0,
    mask_function: typing.Callable[..., typing.Any] = masking_utils.causal_mask_function,
    attention_mask: torch.Tensor | None = None,
    allow_is_causal_skip: bool = True,
    allow_is_bidirectional_skip: bool = False,
    device: typing.Any = "cpu",
    **kwargs: typing.Any,
) -> torch.Tensor | None:
    """The mask function of ``attn_implementation="sharpmax"``; Transformers calls it, and documents the arguments."""
    write_out = functools.partial(
        masking_utils.sdpa_mask,
        batch_size=batch_size,
        q_length=q_length,
        kv_length=kv_length,
        q_offset=q_offset,
        kv_offset=kv_offset,
        mask_function=mask_function,
        attention_mask=attention_mask,
        allow_is_causal_skip=False,
        allow_is_bidirectional_skip=False,
        device=device,
        **kwargs,
    )
    if torch.compiler.is_compiling() or masking_utils.is_tracing(attention_mask):
        return write_out()
    q_offset, kv_offset = int(q_offset), int(kv_offset)
    padding = _padding(attention_mask, kv_length, kv_offset)
    start = MaskPlan(q_offset - kv_offset, first_key=kv_offset, padding=padding, key_lengths=_lengths(padding))
    plan = _complete(dataclasses.replace(start), mask_function, batch_size, q_length, kv_length)
    shape = (batch_size, 1, q_length, kv_length)
    if plan is None:
        plan = dataclasses.replace(start, written_out=write_out())
        return CompactMask.make(plan, shape, lambda: plan.written_out, device)
    if _can_be_left_out(plan, q_length, kv_length, allow_is_causal_skip, allow_is_bidirectional_skip):
        return None
    return CompactMask.make(plan, shape, write_out, device)
