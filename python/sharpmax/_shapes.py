"""Broadcasting as torch's scaled_dot_product_attention does it, down to the four dimensions of the kernel."""

from __future__ import annotations

import typing

Shape = typing.Tuple[int, ...]


class Shapes(typing.NamedTuple):
    """Shapes that inputs are broadcast to before the kernel sees them. Leading dimensions are all but the last two."""

    lead: Shape  # of the answer: batch dimensions, then heads
    key_heads: int  # of key and value; fewer than lead's where groups of query heads share them


def _broadcast(shapes: typing.Sequence[Shape], what: str) -> Shape:
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result = []
    for sizes in zip(*padded):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            words = ", ".join(str(list(shape)) for shape in shapes)
            raise ValueError(f"query, key and value have {what} {words}; these must be equal or 1")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def _heads(query: Shape, key: Shape, value: Shape) -> typing.Tuple[int, int]:
    """Heads of the answer and of key and value, where heads may share keys."""
    of_query, of_key, of_value = (shape[-3] if len(shape) > 2 else 1 for shape in (query, key, value))
    if of_key < 1 or of_value < 1 or of_query % of_key or of_query % of_value:
        raise ValueError(
            f"query has {of_query} heads, key has {of_key} and value has {of_value}; with enable_gqa those of "
            "key and value must divide query's"
        )
    if of_key == of_value or of_value == 1:
        return of_query, of_key
    return of_query, of_value if of_key == 1 else of_query


def common_shapes(
    query: Shape, key: Shape, value: Shape, mask: typing.Optional[Shape], enable_gqa: bool = False
) -> typing.Optional[Shapes]:
    """None where the kernel takes the inputs as they are; else what to broadcast them to with `fit`.

    Raises ValueError in one sentence where no broadcasting makes them agree.
    """
    rank = len(query)
    if 2 <= rank <= 4 and rank == len(key) == len(value) and key[:-2] == value[:-2]:
        if query[:-2] == key[:-2] or (enable_gqa and rank > 2 and query[:-3] == key[:-3]):
            if mask is None or 2 <= len(mask) <= rank:
                return None
    for name, shape in (("query", query), ("key", key), ("value", value), ("attn_mask", mask)):
        if shape is not None and len(shape) < 2:
            raise ValueError(f"{name} has {len(shape)} dimensions; it must have at least 2")
    if enable_gqa:
        batch = _broadcast([query[:-3], key[:-3], value[:-3]], "batch dimensions")
        heads, key_heads = _heads(query, key, value)
        lead = (*batch, heads) if batch or max(len(query), len(key), len(value)) > 2 else ()
        shapes = Shapes(lead, key_heads)
    else:
        lead = _broadcast([query[:-2], key[:-2], value[:-2]], "leading dimensions")
        shapes = Shapes(lead, lead[-1] if lead else 1)
    if mask is not None:
        _check_mask(mask, (*shapes.lead, query[-2], key[-2]))
    return shapes


def _check_mask(mask: Shape, scores: Shape) -> None:
    sizes = (1,) * (len(scores) - len(mask)) + tuple(mask)
    if len(mask) > len(scores) or any(size not in (1, wanted) for size, wanted in zip(sizes, scores)):
        raise ValueError(f"attn_mask has shape {list(mask)}; it must broadcast to {list(scores)}")


def _share_heads(array: typing.Any, heads: int, expand: typing.Callable[..., typing.Any]) -> typing.Any:
    """Repeat each head of the array for its group of neighboring query heads."""
    shape = tuple(array.shape)
    if len(shape) < 3 or shape[-3] in (1, heads):
        return array
    group = heads // shape[-3]
    array = array.reshape((*shape[:-2], 1, *shape[-2:]))
    array = expand(array, (*shape[:-2], group, *shape[-2:]))
    return array.reshape((*shape[:-3], heads, *shape[-2:]))


def _fold(array: typing.Any, lead: Shape, expand: typing.Callable[..., typing.Any]) -> typing.Any:
    """[*lead, rows, columns] with all but the last of lead in one dimension: a copy where strides need it."""
    array = expand(array, (*lead, *array.shape[-2:]))
    if len(lead) <= 2:
        return array
    batch = 1
    for size in lead[:-1]:
        batch *= size
    return array.reshape((batch, lead[-1], *array.shape[-2:]))


def fit(
    shapes: Shapes, query: typing.Any, key: typing.Any, value: typing.Any, mask: typing.Any, expand: typing.Any
) -> typing.Tuple[typing.Any, typing.Any, typing.Any, typing.Any]:
    """The four inputs as the kernel takes them. expand(array, shape): the library's broadcast view.

    The kernel's answer then has shape [*folded lead, queries, features]; reshape it to
    (*shapes.lead, queries, features).
    """
    lead, key_lead = shapes.lead, (*shapes.lead[:-1], shapes.key_heads) if shapes.lead else ()
    query = _fold(query, lead, expand)
    key, value = (_fold(_share_heads(array, shapes.key_heads, expand), key_lead, expand) for array in (key, value))
    if mask is not None and len(lead) > 2:
        mask_lead = tuple(mask.shape[:-2])
        if all(size == 1 for size in mask_lead[:-1]):
            mask = mask.reshape((1, *mask.shape[-2:]) if not mask_lead else (mask_lead[-1], *mask.shape[-2:]))
        else:
            mask = _fold(mask, (*lead[:-1], mask_lead[-1]), expand)
    elif mask is not None and len(mask.shape) > 4:
        mask = mask.reshape(tuple(mask.shape[-4:]))
    return query, key, value, mask
