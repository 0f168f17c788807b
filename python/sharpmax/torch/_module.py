"""Attention: a layer with projections, under any normalizer."""

from __future__ import annotations

import typing

import torch
from torch import nn

from .._normalizers import NormalizerLike, as_normalizer
from ._attention import attention
from ._learnable import Learnable

Tensor = torch.Tensor


class Attention(nn.Module):
    """Multi-head attention with its projections, for self- and cross-attention, under any normalizer.

        layer = sharpmax.torch.Attention(64, 4, normalizer="entmax:alpha=1.5", learnable=True, causal=True)
        out = layer(x)                                # x [batch, position, 64]
        out, stats = layer(x, return_stats=True)

    embed_dim    number of features of the query and of the output
    num_heads    number of query heads; each has embed_dim / num_heads features
    kv_heads     number of key and value heads, each shared by a group of query heads; None: num_heads
    normalizer   text, a Normalizer, or a Learnable
    learnable    True: train the normalizer's parameters, one value per head; "shared": one for all heads
    bias         whether the projections have a bias
    causal       True: position i sees the first i + 1 keys; or "top-left" (the same), "bottom-right"
    kdim, vdim   number of features of key and value; None: embed_dim
    batch_first  False: inputs and output are [position, batch, feature], as nn.MultiheadAttention's default
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        kv_heads: int | None = None,
        normalizer: typing.Any = "softmax",
        learnable: bool | str = False,
        bias: bool = True,
        causal: bool | str = False,
        *,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = True,
        device: typing.Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        kv_heads = num_heads if kv_heads is None else kv_heads
        _check_heads(embed_dim, num_heads, kv_heads)
        self.embed_dim, self.num_heads, self.kv_heads = embed_dim, num_heads, kv_heads
        self.head_dim = embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.causal, self.batch_first = _causal(causal), bool(batch_first)
        make = {"bias": bias, "device": device, "dtype": dtype}
        self.q_proj = nn.Linear(embed_dim, embed_dim, **make)
        self.k_proj = nn.Linear(self.kdim, kv_heads * self.head_dim, **make)
        self.v_proj = nn.Linear(self.vdim, kv_heads * self.head_dim, **make)
        self.out_proj = nn.Linear(embed_dim, embed_dim, **make)
        self.normalizer = _rule(normalizer, learnable, num_heads, device, dtype)
        self._initialize()

    def _initialize(self) -> None:
        """As nn.MultiheadAttention: Xavier for what goes in, zero for every bias."""
        for projection in (self.q_proj, self.k_proj, self.v_proj):
            nn.init.xavier_uniform_(projection.weight)
        for projection in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):
            if projection.bias is not None:
                nn.init.zeros_(projection.bias)

    @classmethod
    def from_multihead(
        cls,
        module: nn.MultiheadAttention,
        normalizer: typing.Any = "softmax",
        learnable: bool | str = False,
        causal: bool | str = False,
    ) -> Attention:
        """Return a layer with copies of an nn.MultiheadAttention's weights; under softmax it computes the same.

        It takes inputs in the module's own order, [batch, position, feature] or [position, batch, feature].
        """
        if not isinstance(module, nn.MultiheadAttention):
            raise TypeError(f"module is a {type(module).__name__}; it must be an nn.MultiheadAttention")
        if module.dropout:
            raise NotImplementedError(f"the module has dropout {module.dropout}; attention has none, it must be 0")
        if module.bias_k is not None or module.add_zero_attn:
            raise NotImplementedError("the module adds keys of its own (add_bias_kv or add_zero_attn); this has none")
        weight, bias = module.out_proj.weight, module.in_proj_bias
        layer = cls(
            module.embed_dim, module.num_heads, None, normalizer, learnable, bias is not None, causal,
            kdim=module.kdim, vdim=module.vdim, batch_first=module.batch_first,
            device=weight.device, dtype=weight.dtype,
        )  # fmt: skip
        parts: typing.Sequence[Tensor] = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
        if module.in_proj_weight is not None:
            parts = module.in_proj_weight.chunk(3)
        with torch.no_grad():
            projections = (layer.q_proj, layer.k_proj, layer.v_proj)
            for projection, part in zip(projections, parts):
                projection.weight.copy_(part)
            for projection, shift in zip(projections, () if bias is None else bias.chunk(3)):
                projection.bias.copy_(shift)
            layer.out_proj.load_state_dict(module.out_proj.state_dict())
        return layer.train(module.training)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        attn_mask: Tensor | None = None,
        *,
        key_lengths: typing.Any = None,
        return_stats: typing.Any = False,
        threads: int = 0,
    ) -> typing.Any:
        """Return [.., position, embed_dim], or that and Stats.

        query [.., position, embed_dim]; key (None: query) [.., position, kdim]; value (None: key). With
        batch_first=False inputs of three dimensions, and the output, are [position, batch, feature]. attn_mask as
        sharpmax.attention has it: True means attend, broadcast to [.., head, query, key]. key_lengths: one per
        batch entry.
        """
        key = query if key is None else key
        value = key if value is None else value
        query, key, value = (self._turned(part) for part in (query, key, value))
        answer = attention(
            self._split(self.q_proj(query), self.num_heads),
            self._split(self.k_proj(key), self.kv_heads),
            self._split(self.v_proj(value), self.kv_heads),
            attn_mask,
            enable_gqa=self.kv_heads != self.num_heads,
            normalizer=self.normalizer,
            causal=self.causal,
            key_lengths=key_lengths,
            return_stats=return_stats,
            threads=threads,
        )
        if return_stats is False:
            return self._turned(self._join(answer))
        return self._turned(self._join(answer[0])), answer[1]

    def _turned(self, part: Tensor) -> Tensor:
        """The first two of three dimensions exchanged if position comes before batch."""
        return part if self.batch_first or part.dim() != 3 else part.transpose(0, 1)

    def _split(self, features: Tensor, heads: int) -> Tensor:
        """[.., position, head * feature] to [.., head, position, feature]"""
        return features.unflatten(-1, (heads, self.head_dim)).transpose(-2, -3)

    def _join(self, out: Tensor) -> Tensor:
        return self.out_proj(out.transpose(-2, -3).flatten(-2))

    def extra_repr(self) -> str:
        words = [f"{self.embed_dim}, {self.num_heads}"]
        if self.kv_heads != self.num_heads:
            words.append(f"kv_heads={self.kv_heads}")
        if not isinstance(self.normalizer, nn.Module):
            words.append(f"normalizer={self.normalizer.text!r}")
        if self.causal is not None:
            words.append(f"causal={self.causal!r}")
        if not self.batch_first:
            words.append("batch_first=False")
        return ", ".join(words)


def _check_heads(embed_dim: int, num_heads: int, kv_heads: int) -> None:
    for name, number in (("embed_dim", embed_dim), ("num_heads", num_heads), ("kv_heads", kv_heads)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise ValueError(f"{name} is {number!r}; it must be a whole number of at least 1")
    if embed_dim % num_heads:
        raise ValueError(f"embed_dim is {embed_dim}; it must be a multiple of num_heads, {num_heads}")
    if num_heads % kv_heads:
        raise ValueError(f"num_heads is {num_heads}; it must be a multiple of kv_heads, {kv_heads}")


def _causal(causal: bool | str) -> str | None:
    if isinstance(causal, bool):
        return "top-left" if causal else None
    if causal not in ("top-left", "bottom-right"):
        raise ValueError(f"causal is {causal!r}; it must be True, False, 'top-left' or 'bottom-right'")
    return causal


def _rule(
    normalizer: NormalizerLike,
    learnable: bool | str,
    heads: int,
    device: typing.Any,
    dtype: torch.dtype | None,
) -> typing.Any:
    if learnable not in (False, True, "shared"):
        raise ValueError(f"learnable is {learnable!r}; it must be False, True or 'shared'")
    if isinstance(normalizer, Learnable):
        if normalizer.heads not in (None, heads):
            raise ValueError(f"the normalizer has values for {normalizer.heads} heads; there are {heads}")
        return normalizer
    if learnable is False:
        return as_normalizer(normalizer)
    return Learnable(normalizer, None if learnable == "shared" else heads, device=device, dtype=dtype)
