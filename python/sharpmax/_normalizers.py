"""Normalizers by text, or by name and parameters."""

import functools

from . import _core
from ._core import Normalizer as _CoreNormalizer
from ._core import family

_parse = functools.lru_cache(maxsize=256)(_CoreNormalizer)


def _as_text(value):
    if isinstance(value, str):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return "/".join(repr(float(v)) for v in value)
    return repr(float(value))


def Normalizer(name, **parameters):  # noqa: N802  a constructor to whoever calls it
    """``Normalizer("softmax:beta=2")``, ``Normalizer("ssmax", s=[0.4, 0.5])``.

    A sequence gives one value per query head; choices are given by their word.
    """
    if not parameters:
        return _parse(name)
    settings = ",".join(f"{key}={_as_text(value)}" for key, value in parameters.items())
    return _parse(f"{name}:{settings}")


def as_normalizer(normalizer):
    if isinstance(normalizer, str):
        return _parse(normalizer)
    if isinstance(normalizer, _CoreNormalizer):
        return normalizer
    raise TypeError(
        f"normalizer is a {type(normalizer).__name__}; it must be text such as 'softmax:beta=2' or a Normalizer"
    )


@functools.lru_cache(maxsize=None)
def parameter_names(name):
    """The parameters of one member, in the order of their gradients."""
    for member in _core.family():
        if member["name"] == name:
            return tuple(parameter["name"] for parameter in member["parameters"])
    raise ValueError(f"there is no normalizer '{name}'")


__all__ = ["Normalizer", "as_normalizer", "family", "parameter_names"]
