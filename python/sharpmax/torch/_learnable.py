"""Learnable: a normalizer whose parameters are trained."""

from __future__ import annotations

import typing

import torch
from torch import nn

from .._normalizers import Normalizer, NormalizerLike, as_normalizer, family
from ._domains import domain_of, raw_of
from ._path import number_type
from ._rows import normalize
from ._rules import check_learnable, normalizer_now, rule_of

Tensor = torch.Tensor


class Learnable(nn.Module):
    """A normalizer whose parameters are trained with the rest of a model.

        rule = sharpmax.torch.Learnable("ssmax", heads=12, s=0.4)
        out = sharpmax.attention(query, key, value, normalizer=rule)

    name     a normalizer's name, its text, or a Normalizer
    heads    None: one value shared by all heads; a number: one value for each
    learn    names of the parameters to train; None: all that have a gradient
    initial  parameters by name: values at the start of training, and settings that stay fixed

    What the optimizer sees is `raw_NAME`, any number; the value is kept in its domain by softplus (above 0),
    sigmoid (between 0 and 1) or 1 + sigmoid (alpha of entmax and asentmax, which has a gradient below 2
    only). It is computed in float64, and starts at what was given to a few roundings of the type of raw.
    A rule that chooses its own temperature is differentiated through that choice (``gradient="full"``).
    """

    def __init__(
        self,
        name: NormalizerLike,
        heads: int | None = None,
        *,
        learn: typing.Sequence[str] | None = None,
        device: typing.Any = None,
        dtype: torch.dtype | None = None,
        **initial: typing.Any,
    ) -> None:
        super().__init__()
        start = _start(name, initial)
        domains = {p["name"]: p["domain"] for p in _parameters(start.name) if p["learnable"]}
        if not domains:
            raise ValueError(f"{start.name} has no parameter that can be learnt; give it as it is")
        names = tuple(domains) if learn is None else tuple([learn] if isinstance(learn, str) else learn)
        check_learnable(start.name, names)
        if not names:
            raise ValueError(f"learn is empty; it may name {', '.join(domains)}")
        self.names = names
        self.heads = _heads(start, names, heads)
        self._domains = {parameter: domains[parameter] for parameter in names}  # in words: these can be pickled
        self._start = start
        # The text without what is learnt: only that is looked up for each call.
        self._fixed = Normalizer(
            start.name, **{p: value for p, value in start.parameters.items() if p not in names}
        ).text
        shape = () if self.heads is None else (self.heads,)
        for parameter in names:
            self.register_parameter(
                f"raw_{parameter}", nn.Parameter(torch.empty(shape, device=device, dtype=_floating(dtype)))
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the parameters to the start of training."""
        for parameter in self.names:
            start = self._start.parameters[parameter]
            values: list[typing.Any] = [*start] if isinstance(start, list) else [start]
            what, domain = f"{parameter} of {self._start.name}", domain_of(self._domains[parameter])
            raw = self.get_parameter(f"raw_{parameter}")
            raws = torch.tensor([raw_of(domain, value, what) for value in values], dtype=torch.float64, device="cpu")
            with torch.no_grad():
                raw.copy_(raws.expand(raw.numel()).reshape(raw.shape))

    def values(self) -> dict[str, Tensor]:
        """The parameters now, in their domain; gradients flow through them. float64, or float32 on other devices."""
        raws = {parameter: getattr(self, f"raw_{parameter}") for parameter in self.names}
        return {
            parameter: domain_of(self._domains[parameter]).value(raw.to(number_type(raw)))
            for parameter, raw in raws.items()
        }

    def __sharpmax_rule__(self) -> typing.Any:
        return rule_of(self._fixed, self.values())

    @property
    def normalizer(self) -> Normalizer:
        """A value: the normalizer as it is now."""
        return normalizer_now(self._fixed, self.values())

    def __sharpmax_normalizer__(self) -> Normalizer:
        return self.normalizer

    def forward(self, scores: Tensor, axis: int = -1) -> Tensor:
        """normalize(scores) by this rule."""
        return normalize(scores, self, axis)

    def extra_repr(self) -> str:
        words = [repr(self._fixed), *([] if self.heads is None else [f"heads={self.heads}"])]
        for parameter, value in self.values().items():
            words.append(parameter if value.device.type == "meta" else f"{parameter}={_short(value.tolist())}")
        return ", ".join(words)


def _short(value: typing.Any) -> str:
    if not isinstance(value, list):
        return f"{value:.6g}"
    shown = [f"{v:.6g}" for v in (value if len(value) <= 8 else value[:7])]
    return "[" + ", ".join(shown + (["..."] if len(value) > 8 else [])) + "]"


def _floating(dtype: torch.dtype | None) -> torch.dtype:
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        raise TypeError(f"dtype is {dtype}; it must be floating")
    return dtype


def _parameters(member: str) -> list[dict[str, typing.Any]]:
    return next(entry["parameters"] for entry in family() if entry["name"] == member)


def _start(name: NormalizerLike, initial: dict[str, typing.Any]) -> Normalizer:
    start = as_normalizer(name)
    initial = {p: v.tolist() if isinstance(v, torch.Tensor) else v for p, v in initial.items()}
    start = start.replace(**initial) if initial else start
    if start.parameters.get("gradient") == "stopped" and any(p["learnable"] for p in _parameters(start.name)):
        if initial.get("gradient") == "stopped" or (isinstance(name, str) and "gradient=stopped" in name):
            raise ValueError(f"gradient of {start.name} is stopped, so that nothing is learnt; it must be full")
        start = start.replace(gradient="full")
    return start


def _heads(start: Normalizer, names: typing.Sequence[str], heads: int | None) -> int | None:
    if heads is not None and (isinstance(heads, bool) or not isinstance(heads, int) or heads < 1):
        raise ValueError(f"heads is {heads!r}; it must be None or a whole number of at least 1")
    for name in names:
        value = start.parameters[name]
        if isinstance(value, list):
            if heads is not None and len(value) != heads:
                raise ValueError(f"{name} has {len(value)} values; there are {heads} heads")
            heads = len(value)
    return heads
