"""torch.nn.functional.scaled_dot_product_attention."""

from .peer import BasePeer
from .torch_tensors import grouped_as_queries, tensors


class Peer(BasePeer):
    name = "torch SDPA"
    module = "torch"

    def forward(self, problem, normalizer, threads=None):
        if normalizer != "softmax":
            return None
        import torch
        from torch.nn.functional import scaled_dot_product_attention

        query, key, value = tensors(problem)
        if problem.heads != problem.key_heads:
            query, key, value = grouped_as_queries(problem)
        threads = threads or self.threads

        def run():
            torch.set_num_threads(threads)
            with torch.no_grad():
                out = scaled_dot_product_attention(query, key, value, is_causal=problem.causal)
            return out.view(1, problem.heads, problem.queries, problem.features)

        return run

    def forward_enable_gqa(self, problem):
        """Grouped queries as torch spells them; slower than as queries, shown beside."""
        import torch
        from torch.nn.functional import scaled_dot_product_attention

        query, key, value = tensors(problem)

        def run():
            torch.set_num_threads(self.threads)
            with torch.no_grad():
                return scaled_dot_product_attention(query, key, value, enable_gqa=True)

        return run

    def backward(self, problem, threads=None):
        import torch
        from torch.nn.functional import scaled_dot_product_attention

        inputs = tuple(tensor.detach().requires_grad_() for tensor in tensors(problem))
        out = scaled_dot_product_attention(*inputs, is_causal=problem.causal)
        d_out = torch.from_numpy(problem.d_out)
        threads = threads or self.threads

        def run():
            torch.set_num_threads(threads)
            return torch.autograd.grad(out, inputs, d_out, retain_graph=True)

        return run

    def as_array(self, result):
        return result.numpy()
