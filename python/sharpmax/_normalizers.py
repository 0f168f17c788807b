"""Normalizers by text, or by name and parameters."""

from __future__ import annotations

import functools
import typing

from ._core import Normalizer, family

_parse = functools.lru_cache(maxsize=256)(Normalizer)


class HasNormalizer(typing.Protocol):
    """Anything that stands for a normalizer: a module with learnable parameters, say."""

    def __sharpmax_normalizer__(self) -> Normalizer: ...


NormalizerLike = typing.Union[str, Normalizer, HasNormalizer]


def as_normalizer(normalizer: NormalizerLike) -> Normalizer:
    if isinstance(normalizer, str):
        return _parse(normalizer)
    if isinstance(normalizer, Normalizer):
        return normalizer
    if hasattr(normalizer, "__sharpmax_normalizer__"):
        return normalizer.__sharpmax_normalizer__()
    raise TypeError(
        f"normalizer is a {type(normalizer).__name__}; it must be text such as 'softmax:beta=2' or a Normalizer"
    )


@functools.lru_cache(maxsize=None)
def parameter_names(name: str) -> tuple[str, ...]:
    """The parameters of one member, in the order of their gradients."""
    for member in family():
        if member["name"] == name:
            return tuple(parameter["name"] for parameter in member["parameters"])
    raise ValueError(f"there is no normalizer '{name}'")


def head_counts(normalizer: Normalizer) -> set[int]:
    """Number of heads that its parameters list one by one; a list shared by the heads does not count."""
    lists = {
        parameter["name"]
        for member in family()
        if member["name"] == normalizer.name
        for parameter in member["parameters"]
        if len(parameter["default"]) > 1
    }
    values = (value for name, value in normalizer.parameters.items() if name not in lists)
    return {len(value) for value in values if isinstance(value, list)}


__all__ = ["HasNormalizer", "Normalizer", "NormalizerLike", "as_normalizer", "family", "head_counts", "parameter_names"]
