#!/usr/bin/env python3
"""Transformers models over sharpmax beside their own SDPA path, each in a process of its own, in rounds; logits are compared first.

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
import numpy as np  # noqa: E402
import remote  # noqa: E402
import rounds  # noqa: E402
import serving  # noqa: E402

SCHEMA = "sharpmax.bench.hf/1"
THOROUGH = rounds.Effort(seconds=40.0, least_rounds=9, most_rounds=101, slow_seconds=1e9)
QUICK = rounds.Effort(seconds=5.0, least_rounds=5, most_rounds=25, slow_seconds=1e9)
STEPS = 16  # of a decoding run
ALLOWED = 1e-5  # between logits, over the largest of them
GRADIENT_ALLOWED = 1e-4  # between gradients, by their norms
LABELS = ("sdpa", "sharpmax", "watched", "watched, without gap counts", "patched, entropy_target")
TRAINED = LABELS[:2]

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
    parser.add_argument("--serve", choices=LABELS, help=argparse.SUPPRESS)
    return parser.parse_args()


def make_model(torch, layers, tokens):
    import transformers

    torch.manual_seed(7)
    config = transformers.LlamaConfig(
        vocab_size=256, hidden_size=256, intermediate_size=688, num_hidden_layers=layers, num_attention_heads=8,
        num_key_value_heads=4, head_dim=64, max_position_embeddings=2 * tokens, initializer_range=0.1,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


class Attention:
    """The same model under one attention, in a process of its own. Putting it in is not timed: that is done once."""

    def __init__(self, label, arguments):
        import sharpmax.hf
        import torch
        import transformers

        torch.set_num_threads(arguments.threads)
        self._torch, self._hf, self._transformers = torch, sharpmax.hf, transformers
        self._label, self._tokens = label, arguments.tokens
        self._model = make_model(torch, arguments.layers, arguments.tokens)
        self._ids = torch.randint(0, 256, (1, arguments.tokens), generator=torch.Generator().manual_seed(1))
        self.version = sharpmax.version

    def prepare(self, what):
        self._model.set_attn_implementation("sdpa")  # the cache is filled alike for all
        work = {"forward": self._forward, "decode": self._decode, "train": self._train}[what]()
        self._model.set_attn_implementation("sdpa" if self._label == "sdpa" else "sharpmax")
        return self._surrounded(work)

    def _surrounded(self, work):
        contexts = {
            "watched": lambda: self._hf.watch(self._model),
            "watched, without gap counts": lambda: self._hf.watch(self._model, gaps=()),
            "patched, entropy_target": lambda: self._hf.patch(self._model, "entropy_target:nats=2"),
        }
        if self._label not in contexts:
            return work

        def run():
            with contexts[self._label]():
                return work()

        return run

    def _forward(self):
        def work():
            with self._torch.no_grad():
                return self._model(self._ids, use_cache=False).logits

        return work

    def _decode(self):
        cache = self._transformers.DynamicCache(config=self._model.config)
        with self._torch.no_grad():
            self._model(self._ids[:, :-STEPS], past_key_values=cache)

        def work():
            with self._torch.no_grad():
                steps = self._ids[:, -STEPS:].split(1, dim=1)
                logits = [self._model(step, past_key_values=cache).logits for step in steps]
            cache.crop(-STEPS)
            return self._torch.cat(logits, dim=1)

        return work

    def _train(self):
        def work():
            self._model.zero_grad()
            loss = self._model(self._ids, labels=self._ids, use_cache=False).loss
            loss.backward()
            return self._model.model.layers[0].self_attn.q_proj.weight.grad.clone()

        return work

    def arrays(self, result):
        return [result.numpy()]

    def tell(self):
        versions = {"torch": self._torch.__version__, "transformers": self._transformers.__version__}
        return {"machine": environment.targets(), "versions": versions}

    def forget(self):
        pass


def largest_error(found, wanted):
    return float(np.abs(found - wanted).max() / np.abs(wanted).max()) / ALLOWED


def gradient_error(found, wanted):
    """By norms: gradients are sums over all tokens in another order."""
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted)) / GRADIENT_ALLOWED


def case_of(what, arguments, processes):
    labels = [label for label in processes if what != "train" or label in TRAINED]
    calls = {label: remote.prepare(processes[label], what=what) for label in labels}
    error = gradient_error if what == "train" else largest_error
    wanted = calls["sdpa"].output()[0]

    def contender(label, call):
        check = None if label.startswith("patched") else lambda: error(call.output()[0], wanted)
        return measure.Contender(label, "sdpa" if label == "sdpa" else "sharpmax", call.seconds, check)

    facts = {"tokens": arguments.tokens} | ({"steps": STEPS} if what == "decode" else {})
    contenders = [contender(label, call) for label, call in calls.items()]
    return measure.Case(f"{what}/n{arguments.tokens}", contenders, facts)


def say(line):
    print(line, flush=True)


def say_bars(entry):
    if "ratios" not in entry or not entry["case"].startswith("forward/"):
        return
    for name, (ours, theirs, most, words) in BARS.items():
        ratio = entry["ratios"][ours][theirs]
        verdict = "holds" if ratio["median"] <= most else "does not hold"
        say(f"  bar {name}: {ratio['median']:.3f} [{ratio['q1']:.3f}, {ratio['q3']:.3f}], {words}: {verdict}")


def measure_models(arguments, processes):
    told = remote.tell(processes["sharpmax"])
    result = {
        "schema": SCHEMA,
        "date": environment.now(),
        "machine": environment.machine_facts() | told["machine"],
        "threads": arguments.threads,
        "layers": arguments.layers,
        "versions": told["versions"],
        "cases": [],
    }
    say(f"load before: {result['machine']['load_average_before']:.2f}, {arguments.threads} threads")
    for what in arguments.cases.split(","):
        case = case_of(what, arguments, processes)
        entry = measure.run_case(case, QUICK if arguments.quick else THOROUGH, None, say)
        say_bars(entry)
        result["cases"].append(entry)
        for started in processes.values():
            remote.forget(started)
    return result


def main():
    arguments = parse_arguments()
    if arguments.serve:
        serving.serve(lambda: Attention(arguments.serve, arguments))
        return 0
    return remote.measure_in_processes(__file__, LABELS, arguments, measure_models)


if __name__ == "__main__":
    sys.exit(main())
