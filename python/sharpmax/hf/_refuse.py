"""Arguments of Transformers that would change the answer and that sharpmax does not have: refused, never dropped."""

from __future__ import annotations

import typing

import torch
from transformers.utils import output_capturing

# What models hand down to every layer, and no attention function reads.
_HARMLESS = {
    "cache_position",
    "deterministic",
    "labels",
    "layer_idx",
    "logits_to_keep",
    "max_length_k",
    "max_length_q",
    "num_items_in_batch",
    "output_hidden_states",
    "output_router_logits",
    "past_key_values",
    "position_embeddings",
    "position_ids",
    "return_dict",
    "seq_idx",
    "use_cache",
}

_REASONS = {
    "head_mask": "head_mask, which it does not have",
    "indices": "indices (sparse attention), which it does not have",
    "block_indices": "block_indices (sparse attention), which it does not have",
    "cache": "cache (continuous batching), which it does not have",
}


def refuse_dropout(module: torch.nn.Module, dropout: float) -> None:
    if dropout:
        raise ValueError(
            f"{type(module).__name__} drops {dropout:g} of its attention weights in training, which sharpmax does not; "
            "set the attention dropout of the config to 0 before making the model, or call model.eval()"
        )


def refuse_unknown(kwargs: dict[str, typing.Any]) -> None:
    """Raise one sentence if an argument is set that is neither ours nor harmless."""
    collected = output_capturing._active_collector.get()
    if kwargs.get("output_attentions") or (collected and any("attentions" in name for name in collected)):
        raise ValueError(
            "output_attentions is set; sharpmax never holds the weights, so use attn_implementation='eager', "
            "or sharpmax.hf.watch for their statistics"
        )
    for name, value in kwargs.items():
        if value is None or value is False or name in _HARMLESS:
            continue
        reason = _REASONS.get(name, f"{name}, which it does not know")
        raise ValueError(f"the model gave attn_implementation='sharpmax' {reason}")
