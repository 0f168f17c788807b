"""jax.nn.dot_product_attention, jitted, in its own layout."""

import numpy as np

from .peer import BasePeer


def _to_jax(array):
    import jax

    return jax.numpy.asarray(np.ascontiguousarray(array.transpose(0, 2, 1, 3)))


class Peer(BasePeer):
    name = "JAX"
    module = "jax"

    def _attention(self, problem):
        import jax

        return lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=problem.causal)

    def _small_enough(self, problem):
        """It holds the whole matrix of scores, more than once."""
        return 4 * problem.heads * problem.queries * problem.keys <= (1 << 30)

    def forward(self, problem, normalizer):
        if normalizer != "softmax" or not self._small_enough(problem) or problem.heads != problem.key_heads:
            return None
        import jax

        compiled = jax.jit(self._attention(problem))
        inputs = tuple(_to_jax(array) for array in problem.arrays)
        return lambda: compiled(*inputs).block_until_ready()

    def backward(self, problem):
        if not self._small_enough(problem):
            return None
        import jax

        inputs = tuple(_to_jax(array) for array in problem.arrays)
        _, pull_back = jax.vjp(self._attention(problem), *inputs)
        compiled = jax.jit(lambda pull, d_out: pull(d_out))
        d_out = _to_jax(problem.d_out)
        return lambda: jax.block_until_ready(compiled(pull_back, d_out))

    def as_array(self, result):
        return np.asarray(result).transpose(0, 2, 1, 3)
