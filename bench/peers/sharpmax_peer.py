"""Ours."""

import environment

from .peer import BasePeer


class Peer(BasePeer):
    name = "sharpmax"
    module = "sharpmax"

    def version(self):
        import sharpmax

        return f"{sharpmax.version} ({sharpmax.current_target()})"

    def forward(self, problem, normalizer, return_stats=False, threads=None, cache="float32"):
        import sharpmax

        query, key, value = problem.arrays
        key, value = (array.astype(cache, copy=False) for array in (key, value))
        rule = sharpmax.Normalizer(normalizer)
        threads = threads or self.threads
        return_stats = tuple(return_stats) if isinstance(return_stats, list) else return_stats
        grouped = problem.heads != problem.key_heads

        def run():
            return sharpmax.attention(
                query, key, value, is_causal=problem.causal, enable_gqa=grouped, normalizer=rule,
                return_stats=return_stats, threads=threads,
            )  # fmt: skip

        return run

    def backward(self, problem, threads=None):
        import sharpmax

        query, key, value = problem.arrays
        wanted = ("log_partition", "temperature")
        saved = sharpmax.attention(query, key, value, is_causal=problem.causal, return_stats=wanted)
        d_out, threads = problem.d_out, threads or self.threads

        def run():
            gradients = sharpmax.attention_backward(
                d_out, query, key, value, is_causal=problem.causal, saved=saved,
                needs=("query", "key", "value"), threads=threads,
            )  # fmt: skip
            return gradients.query, gradients.key, gradients.value

        return run

    def row_facts(self, problem, normalizer):
        """What the rule did to the rows: that all were sharpened, that none was sparse, is a fact to record, not to assume."""
        _, stats = self.forward(problem, normalizer, return_stats=("temperature", "support"))()
        return {
            "sharpened_fraction": float((stats.temperature > 1).mean()),
            "mean_support": float(stats.support.mean()),
        }

    def machine(self):
        return environment.targets()

    def as_array(self, result):
        return result[0] if isinstance(result, tuple) else result
