"""State that sharpmax keeps for an attention module: the normalizers of its heads, and its watches."""

from __future__ import annotations

import typing
import weakref

import torch

# In the module's own __dict__, so that a deep copy of a patched model is patched.
HEADS = "_sharpmax_heads"

_watchers: weakref.WeakKeyDictionary[torch.nn.Module, tuple[typing.Any, ...]] = weakref.WeakKeyDictionary()
watched = 0  # modules with a watcher: a plain number, which torch.compile can guard on


def watchers_of(module: torch.nn.Module) -> tuple[typing.Any, ...]:
    """Watches of this call. Calls made again in a backward pass (checkpointing) are not seen twice."""
    watchers = _watchers.get(module, ())
    if watchers and torch._C._current_graph_task_id() != -1:
        return ()
    return watchers


def add_watcher(module: torch.nn.Module, watcher: typing.Any) -> None:
    _set_watchers(module, (*_watchers.get(module, ()), watcher))


def remove_watcher(module: torch.nn.Module, watcher: typing.Any) -> None:
    _set_watchers(module, tuple(other for other in _watchers.get(module, ()) if other is not watcher))


def _set_watchers(module: torch.nn.Module, watchers: tuple[typing.Any, ...]) -> None:
    global watched
    if watchers:
        _watchers[module] = watchers
    else:
        _watchers.pop(module, None)
    watched = len(_watchers)
