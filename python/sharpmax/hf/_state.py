"""What sharpmax knows of an attention module: the normalizers of its heads, and who watches it."""

from __future__ import annotations

import typing
import weakref

import torch

# In the module's own __dict__, so that a deep copy of a patched model is patched.
HEADS = "_sharpmax_heads"

_watchers: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def watchers_of(module: torch.nn.Module) -> tuple[typing.Any, ...]:
    """Who watches this call. Calls made again in a backward pass (checkpointing) are not seen twice."""
    if not _watchers or torch.compiler.is_compiling():
        return ()
    watchers = _watchers.get(module, ())
    if watchers and torch._C._current_graph_task_id() != -1:
        return ()
    return watchers


def add_watcher(module: torch.nn.Module, watcher: typing.Any) -> None:
    _watchers[module] = (*_watchers.get(module, ()), watcher)


def remove_watcher(module: torch.nn.Module, watcher: typing.Any) -> None:
    left = tuple(other for other in _watchers.get(module, ()) if other is not watcher)
    if left:
        _watchers[module] = left
    else:
        _watchers.pop(module, None)
