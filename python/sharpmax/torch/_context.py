"""Context parallel attention: a sequence in shards over the processes of a torch.distributed group.

Every rank has a run of the queries and a run of the keys and values; the sequence is the runs in order of rank. Keys
and values are gathered, so each rank has whole rows of its own queries: every normalizer and every statistic of a row
works as in one process. Gradients of keys and values go back to their ranks, where they are added in order of rank.
"""

from __future__ import annotations

import typing

import torch
import torch.distributed as dist

Tensor = torch.Tensor
Group = typing.Any  # torch.distributed.ProcessGroup

_SEQUENCE = -2  # dimension


def check_group(group: Group) -> None:
    if not dist.is_available() or not dist.is_initialized():
        raise ValueError("group is given, but torch.distributed is not initialized; call init_process_group first")
    if not isinstance(group, dist.ProcessGroup):
        raise TypeError(f"group is a {type(group).__name__}; it must be a process group of torch.distributed")
    if dist.get_rank(group) < 0:
        raise ValueError("this process is not in the group")


class Call(typing.NamedTuple):
    """What all ranks must know of each other's shards."""

    queries: list[int]  # of each rank
    keys: list[int]


def _shape_text(tensor: Tensor) -> str:
    shape = [str(size) for size in tensor.shape]
    shape[_SEQUENCE] = "*"
    return f"{str(tensor.dtype).removeprefix('torch.')} [{', '.join(shape)}]"


def agree(query: Tensor, key: Tensor, value: Tensor, settings: str, group: Group) -> Call:
    """Lengths of all shards. All ranks raise the same sentence if shards differ in anything else."""
    rank = dist.get_rank(group)
    mine = (f"query {_shape_text(query)}, key {_shape_text(key)}, value {_shape_text(value)}, {settings}",
            query.shape[_SEQUENCE], key.shape[_SEQUENCE], value.shape[_SEQUENCE])  # fmt: skip
    everyone: list[typing.Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(everyone, mine, group=group)
    for other, (call, _, keys, values) in enumerate(everyone):
        if call != everyone[0][0]:
            raise ValueError(f"shards must agree: rank 0 has {everyone[0][0]}; rank {other} has {call}")
        if keys != values:
            raise ValueError(f"rank {other} has {keys} keys and {values} values; they must be as many")
    assert everyone[rank][1] == query.shape[_SEQUENCE]
    return Call([entry[1] for entry in everyone], [entry[2] for entry in everyone])


def _gathered(shard: Tensor, lengths: typing.Sequence[int], group: Group) -> Tensor:
    """Shards may differ in length, and gloo gathers equal ones: they are filled up, and cut again."""
    longest = max(lengths)
    moved = shard.movedim(_SEQUENCE, 0).contiguous()
    padded = moved.new_zeros((longest, *moved.shape[1:]))
    padded[: moved.shape[0]] = moved
    parts = [torch.empty_like(padded) for _ in lengths]
    dist.all_gather(parts, padded, group=group)
    return torch.cat([part[:length] for part, length in zip(parts, lengths)]).movedim(0, _SEQUENCE)


class _Gather(torch.autograd.Function):
    """All shards, in order. Backward: what all ranks have found for this one's, added in order of rank."""

    @staticmethod
    def forward(ctx: typing.Any, shard: Tensor, lengths: typing.Sequence[int], group: Group) -> Tensor:
        ctx.lengths, ctx.group = lengths, group
        return _gathered(shard, lengths, group)

    @staticmethod
    def backward(ctx: typing.Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        rank, longest = dist.get_rank(ctx.group), max(ctx.lengths)
        exact = gradient if gradient.dtype == torch.float64 else gradient.float()
        moved = exact.movedim(_SEQUENCE, 0)
        outgoing = []
        for part in torch.split(moved, list(ctx.lengths)):
            padded = part.new_zeros((longest, *part.shape[1:]))
            padded[: part.shape[0]] = part
            outgoing.append(padded.contiguous())
        incoming = [torch.empty_like(part) for part in outgoing]
        dist.all_to_all(incoming, outgoing, group=ctx.group)
        total = incoming[0].clone()
        for part in incoming[1:]:
            total += part
        own = total[: ctx.lengths[rank]].movedim(0, _SEQUENCE)
        return own.to(gradient.dtype), None, None


def last_key(queries: int, call: Call, top_left: bool) -> int:
    """How many keys the last of the first `queries` queries sees under a causal mask."""
    every_query, every_key = sum(call.queries), sum(call.keys)
    end = queries if top_left else queries + every_key - every_query
    if not 0 < end <= every_key:
        raise ValueError(
            f"the causal mask shows {end} of {every_key} keys to the last query of a shard; with group= it must show at "
            "least 1 and at most all of them"
        )
    return end


def gather_context(
    query: Tensor, key: Tensor, value: Tensor, causal: str, settings: str, group: Group
) -> tuple[Tensor, Tensor, int]:
    """Keys and values that the queries of this rank may see, and how many. `causal`: "", "top-left", "bottom-right"."""
    call = agree(query, key, value, f"{settings}, causal '{causal}'", group)
    rank = dist.get_rank(group)
    ends = [sum(call.keys)] * len(call.queries)
    if causal:  # on all ranks, so that all raise what one has to
        ends = [last_key(sum(call.queries[: r + 1]), call, causal == "top-left") for r in range(len(call.queries))]
    keys = _Gather.apply(key, call.keys, group)
    values = _Gather.apply(value, call.keys, group)
    end = ends[rank]
    return keys[..., :end, :], values[..., :end, :], end
