"""The attention function of ``attn_implementation="sharpmax"``."""

from __future__ import annotations

import dataclasses
import typing

import torch

from .._stats import Stats
from ..torch import attention
from . import _state
from ._call import Call, plan_of, prepare, with_documents
from ._heads import Piece, pieces_of, with_sinks
from ._refuse import refuse_dropout, refuse_unknown
from ._rows import rows_seen


def _attend(call: Call, pieces: list[Piece], return_stats: typing.Any) -> tuple[torch.Tensor, Stats | None]:
    """[batch, query, head, feature], and Stats with every head if asked for."""
    outs, stats = [], []
    for normalizer, heads, kv_heads in pieces:
        query, key, value, options = call.query, call.key, call.value, call.options
        if len(pieces) > 1:
            query, key, value = query[:, heads], key[:, kv_heads], value[:, kv_heads]
            mask = options["attn_mask"]
            if mask is not None and mask.shape[1] > 1:
                options = {**options, "attn_mask": mask[:, heads]}
        gqa = query.shape[1] != key.shape[1]
        result = attention(
            query, key, value, enable_gqa=gqa, normalizer=normalizer, return_stats=return_stats, **options
        )
        if return_stats:
            result, found = result
            stats.append(found)
        outs.append(result.transpose(1, 2))
    out = outs[0] if len(outs) == 1 else torch.cat(outs, dim=2)
    return out.contiguous(), _join_heads(stats) if stats else None


def _every_wish(all_wishes: list[dict[str, typing.Any]]) -> dict[str, typing.Any]:
    """Union of the statistics that several watches ask of one call."""
    if len(all_wishes) == 1:
        return all_wishes[0]
    merged = {name: option for wishes in all_wishes for name, option in wishes.items()}
    gaps = sorted({gap for wishes in all_wishes for gap in wishes.get("gaps", ())})
    return {**merged, "gaps": tuple(gaps)} if gaps else merged


def _join_heads(stats: list[Stats]) -> Stats:
    if len(stats) == 1:
        return stats[0]
    joined = {
        field.name: torch.cat([getattr(part, field.name) for part in stats], dim=1)
        for field in dataclasses.fields(Stats)
        if isinstance(getattr(stats[0], field.name), torch.Tensor)
    }
    return Stats(**joined, gaps=stats[0].gaps)


def _attend_watched(module: torch.nn.Module, call: Call, pieces: list[Piece]) -> torch.Tensor:
    asked = [(watcher, wishes) for watcher in _state.watchers_of(module) if (wishes := watcher.wishes(module))]
    if not asked:
        return _attend(call, pieces, False)[0]
    out, stats = _attend(call, pieces, _every_wish([wishes for _, wishes in asked]))
    rows = rows_seen(call)
    for watcher, _ in asked:
        watcher.record(module, stats, rows)
    return out


_leave_graph = torch.compiler.disable(_attend_watched)  # a compiled model is watched outside its graph


def attention_forward(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    position_bias: torch.Tensor | None = None,
    cu_seq_lens_q: torch.Tensor | None = None,
    cu_seq_lens_k: torch.Tensor | None = None,
    s_aux: torch.Tensor | None = None,
    **kwargs: typing.Any,
) -> tuple[torch.Tensor, None]:
    """query [batch, head, query, feature], key and value [batch, kv_head, key, feature]; called by the model."""
    refuse_dropout(module, dropout)
    refuse_unknown(kwargs)
    plan = plan_of(module, query, key, attention_mask, is_causal, sliding_window)
    if cu_seq_lens_q is not None or cu_seq_lens_k is not None:
        plan = with_documents(plan, query, key, cu_seq_lens_q, cu_seq_lens_k)
    call = prepare(plan, query, key, value, attention_mask, position_bias)
    call.options["scale"] = scaling
    call.options["soft_cap"] = softcap or 0.0
    pieces = pieces_of(module, query.shape[1], key.shape[1])
    if s_aux is not None:
        pieces = with_sinks(pieces, s_aux)
    if _state.watched:
        watched = _leave_graph if torch.compiler.is_compiling() else _attend_watched
        return watched(module, call, pieces), None
    return _attend(call, pieces, False)[0], None
