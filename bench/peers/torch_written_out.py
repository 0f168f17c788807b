"""What a torch user writes today: scores, a rule on the rows, a product with the values."""

from .peer import BasePeer
from .torch_tensors import tensors

# A matrix of scores larger than this is not worth waiting for.
MOST_SCORE_BYTES = 2 << 30


def softmax(torch, scores):
    return torch.softmax(scores, -1)


def adaptive(torch, scores):
    """As published (arXiv 2410.01104), with its 1e-9."""
    weights = torch.softmax(scores, -1)
    nats = -(weights * torch.log(weights + 1e-9)).sum(-1, keepdim=True)
    polynomial = nats.new_tensor([-0.037, 0.481, -2.3, 4.917, -1.791])
    beta = torch.zeros_like(nats)
    for coefficient in polynomial:
        beta = beta * nats + coefficient
    beta = torch.where(nats > 0.5, beta.clamp(min=1.0), torch.ones_like(nats))
    return torch.softmax(beta * scores, -1)


def _entropy(torch, shifted, beta):
    logits = beta * shifted
    log_partition = torch.logsumexp(logits, -1, keepdim=True)
    return log_partition - (torch.exp(logits - log_partition) * logits).sum(-1, keepdim=True)


def entropy_target(torch, scores, target=0.5, sweeps=28):
    """Bisection in log beta, the whole matrix a sweep. 28 of them leave 2^-28 of the bracket."""
    shifted = scores - scores.amax(-1, keepdim=True)
    low = torch.zeros_like(shifted[..., :1])
    high = torch.full_like(low, 12.0)
    for _ in range(sweeps):
        middle = (low + high) / 2
        above = _entropy(torch, shifted, middle.exp()) > target
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    blunt = _entropy(torch, shifted, torch.ones_like(low)) > target
    return torch.softmax(torch.where(blunt, high.exp(), torch.ones_like(high)) * shifted, -1)


RULES = {"softmax": softmax, "adaptive": adaptive, "entropy_target": entropy_target}


class Peer(BasePeer):
    name = "torch written out"
    module = "torch"
    references = {"adaptive": "adaptive_published"}

    def rules(self):
        return RULES

    def forward(self, problem, normalizer):
        score_bytes = 4 * problem.heads * problem.queries * problem.keys
        if normalizer not in self.rules() or problem.heads != problem.key_heads or score_bytes > MOST_SCORE_BYTES:
            return None
        import torch

        rule = self.rules()[normalizer]
        query, key, value = tensors(problem)
        scale = problem.features**-0.5
        hidden = None
        if problem.causal:
            hidden = torch.ones(problem.queries, problem.keys, dtype=torch.bool).triu(1)

        def run():
            torch.set_num_threads(self.threads)
            with torch.no_grad():
                scores = (query * scale) @ key.transpose(-2, -1)
                if hidden is not None:
                    scores.masked_fill_(hidden, float("-inf"))
                return rule(torch, scores) @ value

        return run

    def as_array(self, result):
        return result.numpy()
