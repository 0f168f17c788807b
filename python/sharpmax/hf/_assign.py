"""Assignment of one normalizer to each head, from the user's table."""

from __future__ import annotations

import dataclasses
import fnmatch
import numbers
import sys
import typing

import torch

from .._normalizers import as_normalizer, head_counts
from ._find import Layer
from ._heads import SOFTMAX, Heads


@dataclasses.dataclass
class Assignment:
    heads: list[Heads]  # one a layer
    learned: list[torch.nn.Module]  # Learnables, each once
    texts: list[str]  # what was put in, for people

    def describe(self) -> str:
        return ", ".join(dict.fromkeys(self.texts))


class _Known:
    """The normalizer as given. One without tensors is its text from here on: equal ones share a kernel call."""

    def __init__(self) -> None:
        self.learned: list[torch.nn.Module] = []
        self.texts: list[str] = []

    def read(self, normalizer: typing.Any) -> typing.Any:
        value = as_normalizer(normalizer)
        if not hasattr(normalizer, "__sharpmax_normalizer__"):
            self.texts.append(value.text)
            return sys.intern(value.text)
        self.texts.append(f"{value.name} (learned)")
        if isinstance(normalizer, torch.nn.Module) and all(normalizer is not other for other in self.learned):
            self.learned.append(normalizer)
        return normalizer


def _layer_names(layers: typing.Sequence[Layer]) -> str:
    if layers[0].number is None:
        return f"modules such as '{layers[0].name}'"
    known = [layer.number for layer in layers]
    if known == list(range(len(known))):
        return f"layers 0 to {len(known) - 1}"
    return "layers " + ", ".join(str(number) for number in known)


def _find(layers: typing.Sequence[Layer], key: typing.Any) -> list[int]:
    """Places in `layers` that a layer number or a name means."""
    if isinstance(key, bool) or not isinstance(key, (numbers.Integral, str)):
        raise TypeError(f"normalizer has the key {key!r}; it must be a layer, a module's name, or (layer, head)")
    if isinstance(key, str):
        places = [place for place, layer in enumerate(layers) if fnmatch.fnmatchcase(layer.name, key)]
    else:
        places = [place for place, layer in enumerate(layers) if layer.number == key]
    if not places:
        what = f"layer {key}" if isinstance(key, numbers.Integral) else f"the module '{key}'"
        raise ValueError(f"normalizer names {what}; the model's attention is in {_layer_names(layers)}")
    return places


def _one_each(layer: Layer, normalizers: typing.Sequence[typing.Any], known: _Known) -> list[typing.Any]:
    if layer.heads is not None and len(normalizers) != layer.heads:
        raise ValueError(f"{len(normalizers)} normalizers were given for '{layer.name}', which has {layer.heads} heads")
    return [known.read(SOFTMAX if normalizer is None else normalizer) for normalizer in normalizers]


def _check_head(layer: Layer, head: typing.Any) -> tuple[int, int]:
    """The head, and of how many."""
    if isinstance(head, bool) or not isinstance(head, numbers.Integral):
        raise TypeError(f"normalizer names head {head!r} of '{layer.name}'; it must be a number")
    if layer.heads is None:
        raise ValueError(f"'{layer.name}' does not say how many heads it has; give a list with one for each")
    number = int(head)
    if not 0 <= number < layer.heads:
        raise ValueError(f"normalizer names head {number} of '{layer.name}'; it has heads 0 to {layer.heads - 1}")
    return number, layer.heads


def _check_widths(layer: Layer, each: typing.Sequence[typing.Any]) -> None:
    """A normalizer with one value per head fits where it is used for just so many heads, side by side."""
    for normalizer in {id(one): one for one in each}.values():
        widths = head_counts(as_normalizer(normalizer))
        places = [head for head, one in enumerate(each) if one is normalizer]
        for width in widths - {1}:
            if len(places) != width or places[-1] - places[0] + 1 != width:
                raise ValueError(
                    f"{as_normalizer(normalizer).text} has {width} values, one per head; in '{layer.name}' it is "
                    f"put under {len(places)} heads, and it needs {width} that stand side by side"
                )


def assign(layers: typing.Sequence[Layer], normalizer: typing.Any) -> Assignment:
    """One Heads per layer; ValueError or TypeError for a place that the model does not have."""
    known = _Known()
    if not hasattr(normalizer, "items") or isinstance(normalizer, torch.nn.Module):
        one = known.read(normalizer)
        for layer in layers:
            _check_widths(layer, [one] * (layer.heads or 1) if layer.heads else [])
        return Assignment([Heads(one) for _ in layers], known.learned, known.texts)
    softmax = known.read(SOFTMAX)
    everywhere: list[typing.Any] = [softmax] * len(layers)
    each: list[list[typing.Any] | None] = [None] * len(layers)
    for key, value in sorted(normalizer.items(), key=lambda item: isinstance(item[0], tuple)):  # heads last: they win
        if isinstance(key, tuple) and len(key) != 2:
            raise TypeError(f"normalizer has the key {key!r}; it must be a layer, a module's name, or (layer, head)")
        for place in _find(layers, key[0] if isinstance(key, tuple) else key):
            layer = layers[place]
            if isinstance(key, tuple):
                head, heads = _check_head(layer, key[1])
                own = each[place] or [everywhere[place]] * heads
                own[head] = known.read(value)
                each[place] = own
            elif isinstance(value, (list, tuple)):
                each[place] = _one_each(layer, value, known)
            else:
                everywhere[place], each[place] = known.read(value), None
    for layer, one, many in zip(layers, everywhere, each):
        _check_widths(layer, many if many is not None else [one] * (layer.heads or 0))
    return Assignment([Heads(one, many) for one, many in zip(everywhere, each)], known.learned, known.texts)
