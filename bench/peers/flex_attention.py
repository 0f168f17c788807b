"""torch FlexAttention, compiled. On the CPU it has no backward."""

from .peer import BasePeer
from .torch_tensors import tensors


class Peer(BasePeer):
    name = "FlexAttention"
    module = "torch"

    def __init__(self, threads):
        super().__init__(threads)
        self.compiled = None

    def missing(self):
        absent = super().missing()
        if absent:
            return absent
        import torch
        from torch.nn.attention.flex_attention import flex_attention

        compiled = torch.compile(flex_attention, dynamic=False)
        try:
            torch.set_num_threads(self.threads)
            with torch.no_grad():
                compiled(*(torch.zeros(1, 1, 128, 64) for _ in range(3)))
        except Exception as error:  # whatever its compiler throws
            return f"does not compile here ({type(error).__name__})"
        self.compiled = compiled
        return None

    def forward(self, problem, normalizer):
        if normalizer != "softmax" or problem.heads != problem.key_heads or problem.queries == 1:
            return None
        import torch
        from torch.nn.attention.flex_attention import create_block_mask

        query, key, value = tensors(problem)
        block_mask = None
        if problem.causal:
            block_mask = create_block_mask(
                lambda b, h, q, k: q >= k, None, None, problem.queries, problem.keys, device="cpu"
            )

        def run():
            torch.set_num_threads(self.threads)
            with torch.no_grad():
                return self.compiled(query, key, value, block_mask=block_mask)

        return run

    def as_array(self, result):
        return result.numpy()
