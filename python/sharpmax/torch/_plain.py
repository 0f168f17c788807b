"""Whether a call may go straight to the kernel, or a tracer must see an op."""

from __future__ import annotations

import typing

import torch
from torch.autograd import forward_ad

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_dispatch_modes = torch._C._len_torch_dispatch_stack
functorch_level = torch._C._functorch.maybe_current_level
_jit_tracing = torch._C._get_tracing_state
_profiling = torch.autograd._profiler_enabled  # type: ignore[attr-defined]


# torch.autograd.grad(is_grads_batched=True) has a vmap of its own, older than torch.func's.
_is_batched = torch._C._functorch.is_legacy_batchedtensor


def is_plain(tensors: typing.Iterable[torch.Tensor | None]) -> bool:
    """No tracing, no mode, no transform, no profiler, no subclass: nobody has to see an op."""
    if torch.compiler.is_compiling():
        return False
    if _dispatch_modes() or functorch_level() is not None or forward_ad._current_level >= 0:
        return False
    if _jit_tracing() is not None or _profiling():
        return False
    for tensor in tensors:
        if tensor is not None and type(tensor) not in _PLAIN:
            return False
    return True


def is_plain_gradient(gradient: torch.Tensor, tensors: typing.Iterable[torch.Tensor | None]) -> bool:
    """The same in a backward pass; with create_graph the op is there to say that it has no derivative."""
    return not torch.is_grad_enabled() and not _is_batched(gradient) and is_plain((gradient, *tensors))
