"""The head in torch as anyone would write it: modules, a padded batch, a mask."""

import math

import torch
from torch import nn

# Names of retrieval/head/head.h -> names of the module below, for either encoder.
NAMES = {
    "mlp": {"item_in": "items.0", "item": "items.2", "query_in": "query.0", "query": "query.2"},
    "linear": {"item": "items", "query": "query"},
}
COMMON = {"w_q.weight": "w_q", "w_k.weight": "w_k", "w_v.weight": "w_v"}


def file_names(encoder):
    """parameter of the module -> name in files"""
    pairs = {**NAMES[encoder], "hidden": "read_out.0", "out": "read_out.2"}
    return COMMON | {f"{there}.{kind}": f"{here}.{kind}" for here, there in pairs.items() for kind in ("weight", "bias")}


def softmax(scores, sizes):
    return torch.softmax(scores, dim=-1)


def perceptron(inputs, width, outputs):
    return nn.Sequential(nn.Linear(inputs, width), nn.GELU(approximate="tanh"), nn.Linear(width, outputs))


class Head(nn.Module):
    """weigh: (scores, -inf where padded [batch, n]; sizes [batch]) -> weights; a module if it has parameters."""

    def __init__(self, encoder="mlp", width=128, classes=10, weigh=softmax):
        super().__init__()
        mlp = encoder == "mlp"
        self.items = perceptron(1 + classes, width, width) if mlp else nn.Linear(1 + classes, width)
        self.query = perceptron(1, width, width) if mlp else nn.Linear(1, width)
        self.w_q = nn.Linear(width, width, bias=False)
        self.w_k = nn.Linear(width, width, bias=False)
        self.w_v = nn.Linear(width, width, bias=False)
        self.read_out = perceptron(width, width, classes)
        self.weigh = weigh
        self.width = width

    def forward(self, items, mask, queries):
        """items [batch, n, 1 + classes], mask [batch, n], queries [batch, 1] -> logits [batch, classes]"""
        encoded = self.items(items)
        query = self.w_q(self.query(queries))
        keys, values = self.w_k(encoded), self.w_v(encoded)
        scores = (keys @ query.unsqueeze(-1)).squeeze(-1) / math.sqrt(self.width)
        weights = self.weigh(scores.masked_fill(~mask, -math.inf), mask.sum(-1))
        return self.read_out((weights.unsqueeze(1) @ values).squeeze(1))

    def weights(self, items, mask, queries):
        """What forward gives the items: for checks."""
        scores = (self.w_k(self.items(items)) @ self.w_q(self.query(queries)).unsqueeze(-1)).squeeze(-1)
        return self.weigh((scores / math.sqrt(self.width)).masked_fill(~mask, -math.inf), mask.sum(-1))


def named_parameters(head, encoder="mlp"):
    """name in files -> parameter, without those of the normalizer"""
    names = file_names(encoder)
    return {names[name]: parameter for name, parameter in head.named_parameters() if name in names}


def load(head, arrays, encoder="mlp"):
    with torch.no_grad():
        for name, parameter in named_parameters(head, encoder).items():
            parameter.copy_(torch.from_numpy(arrays[name]))


def dump(head, optimizer=None, encoder="mlp"):
    found = {}
    for name, parameter in named_parameters(head, encoder).items():
        found[name] = parameter.detach().double().numpy()
        if optimizer and parameter in optimizer.state:
            found["moment." + name] = optimizer.state[parameter]["exp_avg"].double().numpy()
    return found
