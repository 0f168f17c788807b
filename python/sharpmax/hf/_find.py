"""The attention modules of a Hugging Face model: those that ask Transformers for their attention function."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing

import torch
import transformers

_CROSS = ("cross", "encdec", "encoder_attn")  # what models call attention to another sequence


@dataclasses.dataclass
class Layer:
    """One attention module."""

    name: str  # in model.named_modules()
    module: torch.nn.Module
    number: int | None  # None if the model has several stacks, so that a number would be ambiguous
    heads: int | None  # None where the module does not say
    cross: bool  # attends to another sequence than its own


@functools.lru_cache(maxsize=None)
def _asks_for_attention(module_class: typing.Any) -> bool:
    try:
        source = inspect.getsource(module_class.forward)
    except (OSError, TypeError):
        return False
    return "get_interface(" in source or "ALL_ATTENTION_FUNCTIONS" in source


def _heads_of(module: torch.nn.Module) -> int | None:
    places = (module, getattr(module, "config", None))
    for name in ("num_heads", "num_attention_heads", "n_heads", "n_head", "encoder_attention_heads"):
        for place in places:
            if isinstance(heads := getattr(place, name, None), int):
                return heads
    return None


def _is_cross(name: str, module: torch.nn.Module) -> bool:
    return bool(getattr(module, "is_cross_attention", False)) or any(word in name.lower() for word in _CROSS)


def _numbers(modules: typing.Sequence[torch.nn.Module]) -> list[int | None]:
    """Their layer_idx if all have one and no two are the same; their order if none has; else nothing."""
    given = [getattr(module, "layer_idx", None) for module in modules]
    if all(number is None for number in given):
        return list(range(len(modules))) if len({type(module) for module in modules}) == 1 else given
    if any(number is None for number in given) or len(set(given)) < len(given):
        return [None] * len(given)
    return given


def unwrap(model: typing.Any) -> typing.Any:
    """The model that torch.compile was given."""
    return getattr(model, "_orig_mod", model)


def find_layers(model: typing.Any) -> list[Layer]:
    """In the order in which the model lists them. ValueError if there is none."""
    if not isinstance(model, transformers.PreTrainedModel):
        raise TypeError(f"model is a {type(model).__name__}; it must be a transformers.PreTrainedModel")
    found = [(name, module) for name, module in model.named_modules() if _asks_for_attention(module.__class__)]
    if not found:
        name = type(model).__name__
        raise ValueError(f"{name} does not use Transformers' attention interface; nothing can be put in")
    numbers = _numbers([module for _, module in found])
    return [
        Layer(name, module, number, _heads_of(module), _is_cross(name, module))
        for (name, module), number in zip(found, numbers)
    ]


def configs_of(model: transformers.PreTrainedModel, layers: typing.Sequence[Layer]) -> list[typing.Any]:
    """Every config that says which attention these layers, or the models that make their masks, ask for."""
    wanted = {id(layer.module) for layer in layers}
    configs = []
    for module in model.modules():
        if id(module) in wanted:
            configs.append(getattr(module, "config", None))
        elif isinstance(module, transformers.PreTrainedModel):
            if any(id(part) in wanted for part in module.modules()):
                configs.append(module.config)
    return list({id(config): config for config in configs if hasattr(config, "_attn_implementation")}.values())
