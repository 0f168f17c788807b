#!/usr/bin/env python3
"""What experts cost: a generated mixture beside a generated dense model that reads as many weights for a token.

    bench/model/experts.py            print the table
    bench/model/experts.py --page     and into docs/design/benchmarks.md

Both have the shape of Qwen 3 with experts, and random weights: 32 experts, of which a token uses four, and a dense part as
wide as four of them. A token of a prompt costs both the same products, but a prompt reads all experts, eight times the
bytes. Models take turns in every round, on one thread.
"""

import argparse
import datetime
import pathlib
import statistics
import sys
import tempfile
import time

import gguf
import numpy

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH.parent / "scripts")]

import environment  # noqa: E402
import process  # noqa: E402
from generated_blocks import fill  # noqa: E402

LAYERS, WIDTH, HEADS, KV_HEADS, HEAD, VOCABULARY, CONTEXT = 4, 1024, 8, 2, 128, 512, 1024
EXPERTS, USED, HIDDEN = 32, 4, 512
BLOCK, BYTES = 32, {gguf.GGMLQuantizationType.Q4_0: 18, gguf.GGMLQuantizationType.Q8_0: 34}
CASES = {"prompt of 512": ("prompt", 512), "generating 16 after 256": ("generate", 256, 16)}
PATIENCE = 120.0


def weights(random, kind, *shape):
    """Random blocks with a scale that keeps activations in bounds."""
    count = int(numpy.prod(shape)) // BLOCK
    blocks = random.integers(0, 256, (count, BYTES[kind]), numpy.uint8)
    scale = 1.0 / (shape[-1] ** 0.5 * (5 if BYTES[kind] == 18 else 74))
    blocks[:, :2] = numpy.frombuffer(numpy.float16(scale).tobytes(), numpy.uint8)
    return blocks.reshape(*shape[:-1], shape[-1] // BLOCK * BYTES[kind])


def write_model(path, kind, mixture):
    random = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "qwen3moe" if mixture else "qwen3")
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(USED * HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("no_vocab")
    if mixture:
        writer.add_expert_count(EXPERTS)
        writer.add_expert_used_count(USED)
        writer.add_expert_feed_forward_length(HIDDEN)

    def add(name, *shape):
        writer.add_tensor(f"{name}.weight", weights(random, kind, *shape), raw_dtype=kind)

    def add_floats(name, values):
        writer.add_tensor(f"{name}.weight", values.astype(numpy.float32))

    add("token_embd", VOCABULARY, WIDTH)
    add("output", VOCABULARY, WIDTH)
    add_floats("output_norm", numpy.ones(WIDTH))
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        for name, width in (("attn_norm", WIDTH), ("ffn_norm", WIDTH), ("attn_q_norm", HEAD), ("attn_k_norm", HEAD)):
            add_floats(f"{block}.{name}", numpy.ones(width))
        add(f"{block}.attn_q", HEADS * HEAD, WIDTH)
        add(f"{block}.attn_k", KV_HEADS * HEAD, WIDTH)
        add(f"{block}.attn_v", KV_HEADS * HEAD, WIDTH)
        add(f"{block}.attn_output", WIDTH, HEADS * HEAD)
        if mixture:
            add_floats(f"{block}.ffn_gate_inp", random.standard_normal((EXPERTS, WIDTH)) / WIDTH**0.5)
            add(f"{block}.ffn_gate_exps", EXPERTS, HIDDEN, WIDTH)
            add(f"{block}.ffn_up_exps", EXPERTS, HIDDEN, WIDTH)
            add(f"{block}.ffn_down_exps", EXPERTS, WIDTH, HIDDEN)
        else:
            add(f"{block}.ffn_gate", USED * HIDDEN, WIDTH)
            add(f"{block}.ffn_up", USED * HIDDEN, WIDTH)
            add(f"{block}.ffn_down", WIDTH, USED * HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def start(model, binary, tokens, options):
    command = [binary, "--model", model, "--threads", 1, "--capacity", CONTEXT, *options]
    started = process.start("sharpmax", command, 1, PATIENCE)
    started.ask("tokens", tokens)
    return started


def seconds_of(started, request):
    began = time.perf_counter()
    started.ask(*request)
    return time.perf_counter() - began


def measure(contenders, rounds):
    """{(model, case): seconds per call of every round}; the first call of each is not counted."""
    found = {(model, case): [] for case in CASES for model in contenders}
    for case, request in CASES.items():
        for model in contenders:
            contenders[model].ask(*request)
        for _ in range(rounds):
            for model, started in contenders.items():
                found[model, case].append(seconds_of(started, request))
    return found


def rows(kind, found):
    for case, (*_, tokens) in CASES.items():
        mixture, dense = found["mixture", case], found["dense", case]
        ratio = statistics.median(a / b for a, b in zip(mixture, dense))
        rates = (f"{tokens / statistics.median(seconds):.0f}/s" for seconds in (mixture, dense))
        yield "| " + " | ".join((kind.name, case, *rates, f"{ratio:.2f}")) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--page", action="store_true", help="fill the block of docs/design/benchmarks.md")
    parser.add_argument("--models", type=pathlib.Path, help="folder for the models, which are kept (default: a temporary one)")
    parser.add_argument("--binary", type=pathlib.Path, default=environment.REPOSITORY / "build/bench/model_steps")
    arguments = parser.parse_args()
    machine = environment.machine_facts()
    lines = ["| weights | what | mixture | dense | time of the mixture / dense |", "|---|---|---:|---:|---:|"]
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.models or pathlib.Path(name)
        tokens = folder / "tokens.txt"
        tokens.write_text(" ".join(map(str, numpy.random.default_rng(2).integers(0, VOCABULARY, CONTEXT))))
        for kind in BYTES:
            contenders = {}
            for model in ("mixture", "dense"):
                path = folder / f"{model}-{kind.name}.gguf"
                if not path.exists():
                    write_model(path, kind, model == "mixture")
                contenders[model] = start(path, arguments.binary, tokens, [])
            lines += rows(kind, measure(contenders, arguments.rounds))
            for started in contenders.values():
                started.close()
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    lines += ["", f"{LAYERS} layers of width {WIDTH}, {EXPERTS} experts of {HIDDEN}, {USED} used; one thread, medians of "
              f"{arguments.rounds} rounds. Measured {date} on {machine['processor']}."]  # fmt: skip
    print("\n".join(lines))
    if arguments.page:
        fill("docs/design/benchmarks.md", {"bench-experts": "\n".join(lines)})


if __name__ == "__main__":
    main()
