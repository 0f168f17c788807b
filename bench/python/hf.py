#!/usr/bin/env python3
"""Transformers models over sharpmax beside their own SDPA path, in interleaved rounds; logits are compared first.

bench/python/hf.py                       2,048 tokens through a tiny Llama: forward, watched, patched; training
bench/python/hf.py -o build/hf.json      the numbers as JSON too
bench/python/hf.py --quick --threads 1   shorter, one thread
"""

import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import environment  # noqa: E402
import measure  # noqa: E402

SCHEMA = "sharpmax.bench.hf/1"
THOROUGH = measure.Effort(seconds=40.0, least_rounds=9, most_rounds=101, slow_seconds=1e9)
QUICK = measure.Effort(seconds=5.0, least_rounds=5, most_rounds=25, slow_seconds=1e9)
STEPS = 16  # of a decoding run
ALLOWED = 1e-5  # between logits, over the largest of them

# What the bars are about: a forward of all tokens at once. Decoding adds token by token to those in the cache.
BARS = {
    "forward": ("sharpmax", "sdpa", 1.0, "not slower than SDPA"),
    "watch": ("watched", "sharpmax", 1.15, "watch costs at most 15 %"),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=pathlib.Path, help="write the numbers to this JSON file")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cases", default="forward,decode,train", help="which of them")
    return parser.parse_args()


def make_model(torch, layers, tokens):
    import transformers

    torch.manual_seed(7)
    config = transformers.LlamaConfig(
        vocab_size=256, hidden_size=256, intermediate_size=688, num_hidden_layers=layers, num_attention_heads=8,
        num_key_value_heads=4, head_dim=64, max_position_embeddings=2 * tokens, initializer_range=0.1,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


class Runs:
    """The same model under each attention. Putting one in is not timed: who does it does it once."""

    def __init__(self, torch, model, ids):
        import sharpmax.hf

        self.torch, self.hf, self.model, self.ids = torch, sharpmax.hf, model, ids

    def under(self, implementation, work):
        def run():
            self.model.set_attn_implementation(implementation)
            return work()

        return run

    def patched(self, normalizer, work):
        def run():
            with self.hf.patch(self.model, normalizer):
                return work()

        return run

    def watched(self, work, **options):
        def run():
            self.model.set_attn_implementation("sharpmax")
            with self.hf.watch(self.model, **options):
                return work()

        return run

    def contenders(self, work, reference):
        """reference: what SDPA gives."""

        def error(run):
            return lambda: float((run() - reference).abs().max() / reference.abs().max()) / ALLOWED

        made = {
            "sdpa": self.under("sdpa", work),
            "sharpmax": self.under("sharpmax", work),
            "watched": self.watched(work),
            "watched, without gap counts": self.watched(work, gaps=()),
        }
        listed = [
            measure.Contender(label, "sharpmax" if label != "sdpa" else label, run, error(run))
            for label, run in made.items()
        ]
        target = self.patched("entropy_target:nats=2", work)
        return [*listed, measure.Contender("patched, entropy_target", "sharpmax", target)]


def forward_case(runs, arguments):
    def work():
        with runs.torch.no_grad():
            return runs.model(runs.ids, use_cache=False).logits

    reference = runs.under("sdpa", work)()
    return measure.Case(f"forward/n{arguments.tokens}", runs.contenders(work, reference), {"tokens": arguments.tokens})


def decode_case(runs, arguments):
    import transformers

    cache = transformers.DynamicCache(config=runs.model.config)
    with runs.torch.no_grad():
        runs.model(runs.ids[:, :-STEPS], past_key_values=cache)

    def work():
        with runs.torch.no_grad():
            steps = runs.ids[:, -STEPS:].split(1, dim=1)
            logits = [runs.model(step, past_key_values=cache).logits for step in steps]
        cache.crop(-STEPS)
        return runs.torch.cat(logits, dim=1)

    reference = runs.under("sdpa", work)()
    facts = {"tokens": arguments.tokens, "steps": STEPS}
    return measure.Case(f"decode/n{arguments.tokens}", runs.contenders(work, reference), facts)


def train_case(runs, arguments):
    def work():
        runs.model.zero_grad()
        loss = runs.model(runs.ids, labels=runs.ids, use_cache=False).loss
        loss.backward()
        return runs.model.model.layers[0].self_attn.q_proj.weight.grad.clone()

    reference = runs.under("sdpa", work)()

    def error(run):  # gradients are sums over all tokens in another order
        return lambda: float((run() - reference).norm() / reference.norm()) / 1e-4

    listed = [
        measure.Contender(name, name, runs.under(name, work), error(runs.under(name, work)))
        for name in ("sdpa", "sharpmax")
    ]
    return measure.Case(f"train/n{arguments.tokens}", listed, {"tokens": arguments.tokens})


def say(line):
    print(line, flush=True)


def say_bars(entry):
    if "ratios" not in entry or not entry["case"].startswith("forward/"):
        return
    for name, (ours, theirs, most, words) in BARS.items():
        ratio = entry["ratios"][ours][theirs]
        verdict = "holds" if ratio["median"] <= most else "does not hold"
        say(f"  bar {name}: {ratio['median']:.3f} [{ratio['q1']:.3f}, {ratio['q3']:.3f}], {words}: {verdict}")


def measure_here(arguments):
    import torch
    import transformers

    environment.pin(arguments.threads)
    torch.set_num_threads(arguments.threads)
    runs = Runs(torch, make_model(torch, arguments.layers, arguments.tokens), None)
    runs.ids = torch.randint(0, 256, (1, arguments.tokens), generator=torch.Generator().manual_seed(1))
    cases = {"forward": forward_case, "decode": decode_case, "train": train_case}
    result = {
        "schema": SCHEMA,
        "date": environment.now(),
        "machine": environment.describe_machine(),
        "threads": arguments.threads,
        "layers": arguments.layers,
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "cases": [],
    }
    say(f"load before: {result['machine']['load_average_before']:.2f}, {arguments.threads} threads")
    for name in arguments.cases.split(","):
        case = cases[name](runs, arguments)
        entry = measure.run_case(case, QUICK if arguments.quick else THOROUGH, None, say)
        say_bars(entry)
        result["cases"].append(entry)
    return result


if __name__ == "__main__":
    sys.exit(environment.measure_pinned(parse_arguments(), measure_here))
