"""Between JAX's programs and functions of NumPy arrays."""

from __future__ import annotations

import typing

import jax
import jax.numpy as jnp
import numpy as np

from .._normalizers import Normalizer, family

Array = typing.Any
Parameters = typing.Mapping[str, typing.Any]
FLOATS = ("float32", "float64", "float16", "bfloat16")


def checked(name: str, array: Array, kinds: tuple[str, ...] = FLOATS) -> jax.Array:
    """An array of one of these types, as JAX has it."""
    if not isinstance(array, (jax.Array, np.ndarray)):
        raise TypeError(f"{name} is a {type(array).__name__}; it must be an array, as the first one is a JAX array")
    if array.dtype.name not in kinds:
        raise TypeError(f"{name} is an array of {array.dtype}; it must be {', '.join(kinds[:-1])} or {kinds[-1]}")
    return jnp.asarray(array)


def in_kernel_type(array: jax.Array) -> jax.Array:
    return array.astype(jnp.float32) if array.dtype.name in ("float16", "bfloat16") else array


def checked_parameters(normalizer: Normalizer, parameters: Parameters | None) -> dict[str, jax.Array]:
    """Learnable parameters that come as arrays, by name."""
    if not parameters:
        return {}
    members = (member for member in family() if member["name"] == normalizer.name)
    learnable = [entry["name"] for member in members for entry in member["parameters"] if entry["learnable"]]
    arrays = {}
    for name, value in parameters.items():
        if name not in learnable:
            raise ValueError(
                f"parameters has {name!r}; of {normalizer.name} there is to learn {', '.join(learnable) or 'nothing'}"
            )
        array = jnp.asarray(value)
        if array.dtype.kind not in "fiV" or array.ndim > 1:
            raise ValueError(
                f"parameters has {name} as {array.dtype}{list(array.shape)}; it must be numbers, one or one per head"
            )
        arrays[name] = array if array.dtype.kind == "f" and array.dtype.itemsize > 2 else array.astype(jnp.float32)
    return arrays


def with_values(normalizer: Normalizer, names: tuple[str, ...], values: typing.Sequence[Array]) -> Normalizer:
    if not values:
        return normalizer
    return normalizer.replace(**{name: np.asarray(value, np.float64) for name, value in zip(names, values)})


def of_shape(gradient: np.ndarray[typing.Any, typing.Any], shape: tuple[int, ...]) -> typing.Any:
    """The gradient by head of a parameter that may be shared by the heads."""
    return gradient.sum().reshape(shape) if shape in ((), (1,)) else gradient


def is_traced(*arguments: Array) -> bool:
    return any(isinstance(argument, jax.core.Tracer) for argument in jax.tree_util.tree_leaves(arguments))


def call_back(function: typing.Callable[..., typing.Any], results: typing.Any, *arguments: Array) -> typing.Any:
    """function(*arguments): immediately if all arguments are concrete, else when the traced program runs."""

    def typed(*given: Array) -> typing.Any:
        found = function(*given)
        return jax.tree_util.tree_map(
            lambda like, array: np.asarray(array, like.dtype).reshape(like.shape), results, found
        )

    if is_traced(*arguments):
        return jax.pure_callback(typed, results, *arguments, vmap_method="sequential")
    return jax.tree_util.tree_map(jnp.asarray, typed(*arguments))


def no_gradient(array: Array) -> typing.Any:
    return None if array is None else np.zeros(array.shape, jax.dtypes.float0)
