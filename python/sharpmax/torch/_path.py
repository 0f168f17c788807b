"""Two paths: the C++ kernels for tensors in CPU memory, PyTorch operations (portable/) for those on any other device.

SHARPMAX_TORCH_PATH=portable in the environment takes the second one for all tensors: to compare the two, and to test
what other devices would run. It is read when sharpmax.torch is first imported.
"""

from __future__ import annotations

import contextlib
import os
import re
import typing

import torch

from . import _kernel, portable
from ._kernel import SAVED, Gradients, Inputs, Lengths, Masks, Rule, Statistics, Wishes
from .portable._family import SEARCHES

Tensor = torch.Tensor


def _read_environment() -> bool:
    wanted = os.environ.get("SHARPMAX_TORCH_PATH", "")
    if wanted not in ("", "portable"):
        raise ValueError(f"SHARPMAX_TORCH_PATH is '{wanted}'; it must be 'portable', or not set")
    return wanted == "portable"


forced = _read_environment()


def is_portable(tensor: Tensor) -> bool:
    return forced or not tensor.is_cpu


def number_type(tensor: Tensor) -> torch.dtype:
    """The type of statistics and parameters beside this tensor. Some devices have no float64."""
    if is_portable(tensor) and tensor.dtype != torch.float64:
        return torch.float32
    return torch.float64


@contextlib.contextmanager
def _one_sentence(tensor: Tensor) -> typing.Iterator[None]:
    """What torch says at length of an operation that a device does not have."""
    try:
        yield
    except NotImplementedError as error:
        missing = re.search(r"'(aten::[\w.]+)'", str(error))
        if missing is None:
            raise
        raise NotImplementedError(
            f"{tensor.device} does not have the operation {missing[1]}, which this normalizer or statistic needs; "
            "tensors in CPU memory (.cpu()) have all of them"
        ) from error


def with_saved(wishes: Wishes, rule: Rule, query: Tensor) -> Wishes:
    """What was asked for, and what the backward pass wants to find again."""
    wanted = SAVED.names.split(",")
    if is_portable(query):
        wanted = ["temperature"] if rule.text.partition(":")[0] in SEARCHES else []
    asked = wishes.names.split(",") if wishes.names else []
    return wishes._replace(names=",".join([*asked, *(name for name in wanted if name not in asked)]))


def empty_statistics(like: Tensor, rows: tuple[typing.Any, ...], keys: typing.Any, wishes: Wishes) -> Statistics:
    return _kernel.empty_statistics(like, rows, keys, wishes, number_type(like))


def attend(
    inputs: Inputs, rule: Rule, masks: Masks, lengths: Lengths, wishes: Wishes, threads: int
) -> tuple[Tensor, Statistics]:
    if is_portable(inputs[0]):
        with _one_sentence(inputs[0]):
            return portable.attend(inputs, rule, masks, lengths, wishes, threads)
    return _kernel.attend(inputs, rule, masks, lengths, wishes, threads)


def attend_backward(
    d_out: Tensor,
    inputs: Inputs,
    needs: typing.Sequence[bool],
    rule: Rule,
    masks: Masks,
    lengths: Lengths,
    saved: typing.Sequence[typing.Any],  # out, log_partition, temperature; each may be None
    threads: int,
) -> Gradients:
    if is_portable(inputs[0]):
        with _one_sentence(inputs[0]):
            return portable.attend_backward(d_out, inputs, needs, rule, masks, lengths, saved[2], threads)
    known = None if any(part is None for part in saved) else (saved[0], saved[1], saved[2])
    return _kernel.attend_backward(d_out, inputs, needs, rule, masks, lengths, known, threads)


def weigh(
    scores: Tensor, parameters: Tensor | None, rule: Rule, wishes: Wishes, threads: int
) -> tuple[Tensor, Statistics]:
    if is_portable(scores):
        with _one_sentence(scores):
            return portable.weigh(scores, parameters, rule, wishes, threads)
    return _kernel.weigh(scores, parameters, rule, wishes, threads)


def weigh_backward(
    d_weights: Tensor, scores: Tensor, parameters: Tensor | None, rule: Rule, threads: int
) -> tuple[Tensor, Tensor | None]:
    if is_portable(scores):
        with _one_sentence(scores):
            return portable.weigh_backward(d_weights, scores, parameters, rule, threads)
    return _kernel.weigh_backward(d_weights, scores, parameters, rule, threads)
