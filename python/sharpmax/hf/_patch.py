"""patch(): another normalizer under a Hugging Face model, until it is taken out again."""

from __future__ import annotations

import typing

import torch

from ._assign import Assignment, assign
from ._find import configs_of, find_layers, unwrap
from ._state import HEADS

_STACK = "_sharpmax_patches"  # in the model's __dict__: the last one holds
_LEARNED = "sharpmax_normalizers"  # the submodule under which parameters are registered


class Patch:
    """Normalizers that patch() set; ``remove()`` or the end of a ``with`` block restores the model."""

    def __init__(self, model: typing.Any, assignment: Assignment):
        self.model = model
        self.assignment = assignment

    @property
    def active(self) -> bool:
        return self in self.model.__dict__.get(_STACK, {}).get("patches", ())

    def remove(self) -> None:
        """The model is as it was before; a second call does nothing."""
        if self.active:
            self.model.__dict__[_STACK]["patches"].remove(self)
            _apply(self.model)

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        state = "" if self.active else ", removed"
        return f"Patch({type(self.model).__name__}: {self.assignment.describe()}{state})"


def _set_implementation(stack: dict[str, typing.Any]) -> None:
    for config, _ in stack["before"]:
        config._attn_implementation_internal = "sharpmax"


def _apply(model: typing.Any) -> None:
    """Set the model as the last patch says, or as it was before the first."""
    stack = model.__dict__[_STACK]
    for layer in stack["layers"]:
        layer.module.__dict__.pop(HEADS, None)
    model._modules.pop(_LEARNED, None)
    if not stack["patches"]:
        for config, implementation in stack["before"]:
            config._attn_implementation_internal = implementation
        del model.__dict__[_STACK]
        return
    _set_implementation(stack)
    assignment = stack["patches"][-1].assignment
    for layer, heads in zip(stack["layers"], assignment.heads):
        layer.module.__dict__[HEADS] = heads
    if assignment.learned:
        model.add_module(_LEARNED, torch.nn.ModuleList(assignment.learned))


def patch(model: typing.Any, normalizer: typing.Any = "softmax") -> Patch:
    """Put a normalizer under every attention of a Hugging Face model, or under some layers and heads.

    model       any PreTrainedModel whose attention goes through Transformers' attention interface
    normalizer  text such as "entmax:alpha=1.5", a Normalizer or a Learnable: for every head; or a mapping

                    {3: "sparsemax"}                      layer 3
                    {(3, 5): "softmax:beta=1.3"}          head 5 of layer 3 (wins over the layer's)
                    {3: ["softmax", "entmax15", ...]}     one for each head of layer 3
                    {"encoder.*": "entmax15"}             modules by name, as model.named_modules() has them

                Heads that are not listed have softmax. A Learnable given to several places is shared by them; its
                parameters become parameters of the model, under ``sharpmax_normalizers``.

    Returns a Patch: ``remove()`` it, or use it as a context manager. Patches stack: the last one holds.
    """
    model = unwrap(model)
    layers = find_layers(model)
    assignment = assign(layers, normalizer)
    if _STACK not in model.__dict__:
        before = [(config, config._attn_implementation_internal) for config in configs_of(model, layers)]
        model.__dict__[_STACK] = {"layers": layers, "before": before, "patches": []}
    handle = Patch(model, assignment)
    model.__dict__[_STACK]["patches"].append(handle)
    _apply(model)
    return handle


def unpatch(model: typing.Any) -> None:
    """Remove every patch of a model; do nothing if it has none."""
    model = unwrap(model)
    if _STACK in getattr(model, "__dict__", {}):
        model.__dict__[_STACK]["patches"].clear()
        _apply(model)
