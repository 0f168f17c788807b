"""Values of normalizer=, and their form for the ops."""

from __future__ import annotations

import functools
import typing

import torch

from .._normalizers import Normalizer, as_normalizer, family, parameter_names
from ._checks import check_device, check_floating
from ._kernel import Rule
from ._path import number_type

Tensor = torch.Tensor


class Parametrized:
    """A normalizer some of whose parameters are tensors: gradients reach them.

        beta = torch.tensor([1.0, 2.0], requires_grad=True)  # one value per query head
        out = sharpmax.attention(query, key, value, normalizer=sharpmax.torch.Parametrized("softmax", beta=beta))

    name is a normalizer's name or text, and holds any other parameter. A tensor has one element, or one per
    query head, and values in the parameter's domain; `Learnable` keeps its parameters there by itself.
    """

    def __init__(self, name: str, **tensors: Tensor) -> None:
        if not torch.compiler.is_compiling():
            _check_tensors(name, tensors)
        self.text = name
        self.tensors = tensors

    def __sharpmax_rule__(self) -> tuple[Rule, Tensor | None]:
        return rule_of(self.text, self.tensors)

    def __sharpmax_normalizer__(self) -> Normalizer:
        """The normalizer with the values that the tensors have now."""
        return normalizer_now(self.text, self.tensors)

    def __repr__(self) -> str:
        return ", ".join([f"Parametrized({self.text!r}", *(f"{name}=..." for name in self.tensors)]) + ")"


def normalizer_now(text: str, tensors: typing.Mapping[str, Tensor]) -> Normalizer:
    return as_normalizer(text).replace(**{name: tensor.detach().tolist() for name, tensor in tensors.items()})


def rule_of(text: str, tensors: typing.Mapping[str, Tensor]) -> tuple[Rule, Tensor | None]:
    if not tensors:
        return Rule(text), None
    return Rule(text, ",".join(tensors)), _stacked(list(tensors.values()))


def _stacked(tensors: typing.Sequence[Tensor]) -> Tensor:
    """[parameter, head] in float64, or what the device has; one head if every parameter is shared by all."""
    if len(tensors) == 1:
        return tensors[0].to(number_type(tensors[0])).reshape(1, -1)
    rows = [tensor.to(number_type(tensors[0])).reshape(-1) for tensor in tensors]
    heads = max(row.shape[0] for row in rows)
    if any(row.shape[0] not in (1, heads) for row in rows):
        raise ValueError(
            f"parameters have {', '.join(str(row.shape[0]) for row in rows)} values; each must have one, or one per head"
        )
    return torch.stack([row.expand(heads) for row in rows])


@functools.cache
def learnable_names(member: str) -> tuple[str, ...]:
    parameters = next(entry["parameters"] for entry in family() if entry["name"] == member)
    return tuple(parameter["name"] for parameter in parameters if parameter["learnable"])


def check_learnable(member: str, names: typing.Iterable[str]) -> None:
    for name in names:
        if name not in parameter_names(member):
            known = ", ".join(parameter_names(member)) or "none"
            raise ValueError(f"{member} has no parameter '{name}'; it has {known}")
        if name not in learnable_names(member):
            known = ", ".join(learnable_names(member)) or "none"
            raise ValueError(f"{name} of {member} has no gradient; those that have one: {known}")


def _check_tensors(name: str, tensors: typing.Mapping[str, typing.Any]) -> None:
    if not isinstance(name, str):
        raise TypeError(f"name is a {type(name).__name__}; it must be a normalizer's text")
    member = as_normalizer(name).name
    check_learnable(member, tensors)
    for parameter, tensor in tensors.items():
        check_floating(tensor, f"{parameter} of {member}")
        check_device(tensor, f"{parameter} of {member}", next(iter(tensors.values())), next(iter(tensors)))
        if tensor.dim() > 1 or tensor.numel() == 0:
            raise ValueError(
                f"{parameter} of {member} has shape {list(tensor.shape)}; it must be one value, or one for each head"
            )


# torch.compile takes a Normalizer for a constant, and compiles again for one that does not equal it. By itself
# it would go by the address, which the next Normalizer may have.
if hasattr(torch.utils._pytree, "register_constant"):  # from torch 2.7 on
    torch.utils._pytree.register_constant(Normalizer)


def resolve(normalizer: typing.Any) -> tuple[Rule, Tensor | None]:
    """The rule, and its parameters [parameter, head] if these are tensors."""
    if isinstance(normalizer, str):
        return Rule(normalizer), None
    if not isinstance(normalizer, Normalizer) and hasattr(normalizer, "__sharpmax_rule__"):
        return normalizer.__sharpmax_rule__()
    return Rule(as_normalizer(normalizer).text), None
