"""The numbers of a normalizer as one call needs them: Python numbers, or tensors with one value per head."""

from __future__ import annotations

import math
import typing

import torch

from ..._normalizers import as_normalizer, parameter_names
from .._kernel import Rule

Tensor = torch.Tensor
Number = typing.Union[float, Tensor]  # a tensor is [1, head or 1, 1, 1]


class Parameters:
    """Parameters of one call. A number that all heads share and nobody learns stays a Python number, known without waiting."""

    def __init__(self, rule: Rule, learned: Tensor | None, heads: int, like: Tensor, door: str) -> None:
        normalizer = as_normalizer(rule.text)
        self.name: str = normalizer.name
        self.text: str = normalizer.text
        self._values: dict[str, typing.Any] = dict(normalizer.parameters)
        self.learned = tuple(rule.names.split(",")) if rule.names else ()
        self._given = learned is not None
        if learned is not None:
            for name, row in zip(self.learned, learned):
                self._values[name] = row.detach().to(like.dtype)
        for name in self.learned if learned is None else ():  # a gradient of what the text holds
            if isinstance(self._values[name], float):
                self._values[name] = like.new_full((1,), self._values[name])
        for name, value in self._values.items():
            if isinstance(value, list) and name != "polynomial":
                self._values[name] = torch.tensor(value, dtype=like.dtype, device=like.device)
        for name, value in self._values.items():
            if isinstance(value, Tensor):
                count = value.shape[0]
                if count not in (1, heads):
                    raise ValueError(
                        f"{door}: {name} of {self.name} has {count} values for {heads} heads; it must have one, or one "
                        "a head"
                    )
                self._values[name] = value.reshape(1, count, 1, 1)

    def __getitem__(self, name: str) -> typing.Any:
        return self._values[name]

    def of_heads(self, heads: slice) -> Parameters:
        """As the heads of one block see them."""
        part = object.__new__(Parameters)
        part.name, part.text, part.learned, part._given = self.name, self.text, self.learned, self._given
        part._values = {
            name: value[:, heads] if isinstance(value, Tensor) and value.shape[1] > 1 else value
            for name, value in self._values.items()
        }
        return part

    def check_backward(self, door: str) -> None:
        """A learned alpha is not looked at: that would wait for the device."""
        alpha = as_normalizer(self.text).parameters.get("alpha")
        values = alpha if isinstance(alpha, list) else [alpha]
        if not (self._given and "alpha" in self.learned) and any(
            isinstance(value, float) and value > 2.0 for value in values
        ):
            raise NotImplementedError(
                f"{door}: {self.text} has no backward here: above alpha = 2 the slope at the edge of the support is "
                "unbounded"
            )


def log(number: Number) -> Number:
    """-inf of 0, as torch has it."""
    if isinstance(number, Tensor):
        return number.log()
    return math.log(number) if number > 0.0 else -math.inf


class ParameterSums:
    """Gradients of the learned parameters, [parameter, head], gathered block by block."""

    def __init__(self, parameters: Parameters, heads: int, like: Tensor) -> None:
        self.names = parameters.learned
        self._sums = {name: like.new_zeros(heads) for name in self.names}

    def add(self, heads: slice, found: typing.Mapping[str, Tensor]) -> None:
        """found: [batch, head, query, 1] by name."""
        for name in self.names:
            if name in found:
                self._sums[name][heads] += found[name].sum((0, 2, 3))

    def gradient(self, learned: Tensor | None) -> Tensor:
        """In the shape and type of the tensor that holds them: a value that heads share has the sum of theirs."""
        stacked = torch.stack([self._sums[name] for name in self.names])
        if learned is None:
            return stacked
        if learned.shape[1] == 1:
            stacked = stacked.sum(1, keepdim=True)
        return stacked.to(learned.dtype)


__all__ = ["Number", "ParameterSums", "Parameters", "log", "parameter_names"]
