"""The transformer of src/train/decoder in torch: scaled_dot_product_attention under softmax, other normalizers written out.

It takes the same shortcut as ours: the last layer computes the asked part of a sequence alone.
"""

import math

import entmax
import torch
import torch.nn.functional as F

# Halvings of the logarithm of a temperature between 1 and 2^40: three digits for what is timed, all digits for what it is
# compared with. Scores of new weights are so close that targets take temperatures of thousands.
BISECTIONS = {torch.float32: 16, torch.float64: 62}
NATS = 0.5


def entropy_of(scores):
    weights = torch.softmax(scores, -1)
    return -torch.special.xlogy(weights, weights).sum(-1, keepdim=True)


def entropy_target(scores):
    """The least temperature of at least 1 with at most NATS; no gradient through it."""
    with torch.no_grad():
        low, high = torch.ones_like(scores[..., :1]), torch.full_like(scores[..., :1], 2.0**40)
        meets = entropy_of(scores) <= NATS
        for _ in range(BISECTIONS[scores.dtype]):
            middle = (low * high).sqrt()
            sharp = entropy_of(middle * scores) <= NATS
            low, high = torch.where(sharp, low, middle), torch.where(sharp, middle, high)
        beta = torch.where(meets, torch.ones_like(high), high)
    return torch.softmax(beta * scores, -1)


def entmax15(scores):
    return entmax.entmax15(scores, -1)


WRITTEN_OUT = {"entmax15": entmax15, "entropy_target": entropy_target}
FAR_BELOW = -1e4  # a masked score; entmax has no gradient at -inf


class Model:
    """parameters: name -> tensor, the names of src/train/decoder/layer.cc. shape: the settings of the decoder."""

    def __init__(self, parameters, places, shape, normalizer):
        self.parameters, self.shape, self.weigh = parameters, shape, WRITTEN_OUT.get(normalizer)
        self.places, self.length = places, int(places[-1]) + 1
        self.tail = self.length - int(places[0])
        behind = torch.arange(self.length)[:, None] - torch.arange(self.length)
        self.everything, self.window = behind >= 0, (behind >= 0) & (behind < shape["window"])
        half = shape["head_width"] // 2
        angles = torch.arange(self.length)[:, None] * 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
        dtype = parameters["head"].dtype
        self.cosine, self.sine = angles.cos().float().to(dtype), angles.sin().float().to(dtype)

    def turned(self, x):
        half = x.shape[-1] // 2
        cosine, sine = self.cosine[-x.shape[-2] :], self.sine[-x.shape[-2] :]
        a, b = x[..., :half], x[..., half:]
        return torch.cat((a * cosine - b * sine, a * sine + b * cosine), -1)

    def attend(self, query, key, value, mask, weigh):
        rows = query.shape[-2]
        if weigh is None:
            if rows == self.length and mask is self.everything:
                return F.scaled_dot_product_attention(query, key, value, is_causal=True)
            return F.scaled_dot_product_attention(query, key, value, attn_mask=mask[-rows:])
        scores = (query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])).masked_fill(~mask[-rows:], FAR_BELOW)
        return weigh(scores) @ value

    def heads(self, rows, parts=1):
        return rows.unflatten(-1, (parts * self.shape["heads"], self.shape["head_width"])).transpose(1, 2)

    def layer(self, x, index, rows):
        of = lambda name: self.parameters[f"layers.{index}.{name}"]  # noqa: E731
        heads = self.shape["heads"]
        local = heads if index < self.shape["local_layers"] else self.shape["local_heads"]
        normed = F.rms_norm(x, x.shape[-1:], of("attention_norm"), 1e-6)
        query = self.heads(F.linear(normed[:, -rows:], of("query")))
        key, value = self.heads(F.linear(normed, of("key_value")), 2).split(heads, 1)
        found = []
        if local:
            found.append(self.attend(self.turned(query[:, :local]), self.turned(key[:, :local]), value[:, :local], self.window, None))
        if local < heads:
            found.append(self.attend(query[:, local:], key[:, local:], value[:, local:], self.everything, self.weigh))
        attended = torch.cat(found, 1) if len(found) > 1 else found[0]
        x = x[:, -rows:] + F.linear(attended.transpose(1, 2).flatten(2), of("attention_out"))
        normed = F.rms_norm(x, x.shape[-1:], of("feed_forward_norm"), 1e-6)
        return x + F.linear(F.gelu(F.linear(normed, of("up")), approximate="tanh"), of("down"))

    def loss(self, tokens, answers):
        """tokens: [sequence, place, slot]; answers: [sequence, asked]."""
        x = F.embedding(tokens, self.parameters["embedding"])
        x = x.sum(-2) if tokens.shape[-1] > 1 else x.squeeze(-2)
        for index in range(self.shape["layers"]):
            last = index + 1 == self.shape["layers"]
            x = self.layer(x, index, self.tail if last else self.length)
        asked = x[:, self.places - self.places[0]]
        normed = F.rms_norm(asked, x.shape[-1:], self.parameters["final_norm"], 1e-6)
        return F.cross_entropy(F.linear(normed, self.parameters["head"]).flatten(0, 1), answers.flatten())
