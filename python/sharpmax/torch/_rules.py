"""What may be given as normalizer=, and what the ops need of it."""

from __future__ import annotations

import typing

import torch

from .._normalizers import Normalizer, as_normalizer, parameter_names
from ._kernel import Rule

Tensor = torch.Tensor


class Parametrized:
    """A normalizer some of whose parameters are tensors: gradients reach them.

        beta = torch.tensor([1.0, 2.0], requires_grad=True)  # one value per query head
        out = sharpmax.torch.attention(query, key, value, normalizer=Parametrized("softmax", beta=beta))

    name is a normalizer's name or text; a tensor has one element, or one per query head, and holds
    values in the parameter's domain. Any other parameter is given in the text.
    """

    def __init__(self, name: str, **tensors: Tensor) -> None:
        self.text = name
        self.tensors = tensors
        for parameter, tensor in tensors.items():
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(f"{parameter} of {name} is a {type(tensor).__name__}; it must be a tensor")
            if tensor.dim() > 1 or not tensor.is_floating_point():
                raise ValueError(
                    f"{parameter} of {name} is {tensor.dtype} of shape {list(tensor.shape)}; it must be "
                    "floating, one value or one per head"
                )

    def __sharpmax_normalizer__(self) -> typing.Any:
        """The normalizer with the values that the tensors have now."""
        base = as_normalizer(self.text)
        check_names(base.name, self.tensors)
        return base.replace(**{name: tensor.detach().tolist() for name, tensor in self.tensors.items()})

    def __repr__(self) -> str:
        return f"Parametrized({self.text!r}, {', '.join(self.tensors)})"


def check_names(member: str, names: typing.Iterable[str]) -> None:
    for name in names:
        if name not in parameter_names(member):
            known = ", ".join(parameter_names(member)) or "none"
            raise ValueError(f"{member} has no parameter '{name}'; it has {known}")


def stacked(tensors: typing.Sequence[Tensor]) -> Tensor:
    """[parameter, head] in float64; one head where every parameter is shared by all."""
    rows = [tensor.to(torch.float64).reshape(-1) for tensor in tensors]
    heads = max(row.shape[0] for row in rows)
    return torch.stack([row.expand(heads) if row.shape[0] == 1 else row for row in rows])


def _text_of(normalizer: typing.Any) -> str:
    return as_normalizer(normalizer).text


# torch.compiler.assume_constant_result without importing the compiler, which takes seconds: a Normalizer is
# a constant of the graph, and the graph is guarded by which one it was.
_text_of._dynamo_marked_constant = True  # type: ignore[attr-defined]


def resolve(normalizer: typing.Any) -> typing.Tuple[Rule, typing.Optional[Tensor]]:
    """The rule, and its parameters [parameter, head] where these are tensors."""
    if isinstance(normalizer, str):
        return Rule(normalizer), None
    if not isinstance(normalizer, Normalizer) and hasattr(normalizer, "parametrized"):
        normalizer = normalizer.parametrized()
    if isinstance(normalizer, Parametrized):
        if not normalizer.tensors:
            return Rule(normalizer.text), None
        return Rule(normalizer.text, ",".join(normalizer.tensors)), stacked(list(normalizer.tensors.values()))
    return Rule(_text_of(normalizer)), None
