"""Rows of a call that belong to real tokens, and the number of keys that each of them sees. All in CPU memory."""

from __future__ import annotations

import dataclasses

import torch

from ._call import Call
from ._mask import MaskPlan


@dataclasses.dataclass
class Rows:
    lengths: torch.Tensor  # [batch or 1, query]: keys that the row sees; 0: it sees none
    padding: torch.Tensor | None  # [batch, query]: True where the query's own token is padding; None: nowhere
    sees_first: torch.Tensor  # [batch or 1, query]: key 0 is the first token of the row's sequence, and it sees it


def _count(mask: torch.Tensor, padding: torch.Tensor | None = None) -> Rows:
    """The rows of a mask [batch, head or 1, query, key] that came as numbers."""
    if mask.dtype != torch.bool:
        mask = mask > torch.finfo(mask.dtype).min / 2
    return Rows(mask[:, 0].sum(-1).cpu(), padding, mask[:, 0, :, 0].cpu())


def _intervals(plan: MaskPlan, queries: int, keys: int) -> tuple[torch.Tensor, torch.Tensor]:
    """[query]: first key seen, and one past the last, before padding is left out."""
    place = torch.arange(queries) + plan.shift
    begin, end = torch.zeros_like(place), torch.full_like(place, keys)
    if plan.causal:
        end = (place + 1).clamp(max=keys)
    if plan.window is not None:
        left, right = plan.window
        begin = (place - left).clamp(min=0) if left >= 0 else begin
        end = torch.minimum(end, place + right + 1) if right >= 0 else end
    if plan.documents is not None:
        bounds = torch.tensor(plan.documents)
        document = torch.searchsorted(bounds, place, right=True) - 1
        begin, end = torch.maximum(begin, bounds[document]), torch.minimum(end, bounds[document + 1])
    return begin, torch.maximum(begin, end)


def _padding_rows(plan: MaskPlan, queries: int) -> torch.Tensor | None:
    padding = plan.padding_on_cpu()
    if padding is None:
        return None
    place = torch.arange(queries) + plan.shift
    known = place < padding.shape[1]
    return ~padding[:, place.clamp(max=padding.shape[1] - 1)] & known


def rows_seen(call: Call) -> Rows:
    """The rows of one attention call. Its plan knows; a mask that came as numbers is counted."""
    plan, mask = call.plan, call.options["attn_mask"]
    queries, keys = call.query.shape[2], call.key.shape[2]
    if plan is None:
        return _count(mask)
    if plan.written_out is not None:
        return _count(plan.written_out, _padding_rows(plan, queries))
    if queries == 1 and plan.padding is None and plan.documents is None:  # a step of decoding
        seen = keys if plan.window is None or plan.window[0] < 0 else min(keys, plan.window[0] + 1)
        return Rows(torch.tensor([[seen]]), None, torch.tensor([[seen == keys and plan.first_key == 0]]))
    begin, end = _intervals(plan, queries, keys)
    sees_first = ((begin == 0) & (end > 0) & (plan.first_key == 0))[None]
    padding = plan.padding_on_cpu()
    if padding is None:
        return Rows((end - begin)[None], None, sees_first)
    counted = torch.nn.functional.pad(padding[:, :keys].cumsum(-1), (1, 0))
    lengths = counted[:, end] - counted[:, begin]
    return Rows(lengths, _padding_rows(plan, queries), sees_first & padding[:, :1])
