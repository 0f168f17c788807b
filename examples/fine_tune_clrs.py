#!/usr/bin/env python3
"""Fine-tunes a language model on `minimum` of CLRS-Text, with softmax and with adaptive temperature, through sharpmax.hf.

    examples/fine_tune_clrs.py SmolLM2-135M-Instruct.Q4_1.gguf --directory fine-tuned

Both arms start from the same weights and read the same examples. Each trains on sizes up to --largest and is tested on larger
ones, by the share of answers that are right to the last character. The directory keeps a checkpoint per arm. Killed at any
moment, the same command goes on from the last checkpoint, with the same examples. results.json is written at the end.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sys
import time

import numpy
import sharpmax.hf
import torch
import transformers

ARMS = {"softmax": "softmax", "adaptive": "adaptive"}
TRAINED_SIZES = (4, 5, 10, 11, 12, 15, 19, 23, 28, 31)  # of the paper
IGNORED = -100  # by transformers' loss


def example(random, size):
    """A prompt of CLRS-Text without its trace, and the answer."""
    numbers = numpy.trunc(random.uniform(0.0, 1.0, size) * 1000) / 1000
    return f"minimum:\nkey: [{' '.join(map(str, numbers))}]\nmin:\n", f"{int(numpy.argmin(numbers))}\n\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="GGUF file, folder, or name on the Hugging Face hub")
    parser.add_argument("--directory", type=pathlib.Path, required=True, help="checkpoints and results")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=4, help="examples per step")
    parser.add_argument("--rate", type=float, default=5e-5, help="learning rate, falling to 0 in a line")
    parser.add_argument("--largest", type=int, default=16, help="maximum size in training")
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 16, 24, 31, 40], help="sizes of the tests")
    parser.add_argument("--answers", type=int, default=100, help="tested per size")
    parser.add_argument("--every", type=int, default=50, help="steps between checkpoints")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    for name in ("steps", "batch", "answers", "every", "threads"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} is {getattr(arguments, name)}; it must be at least 1")
    if arguments.largest < min(TRAINED_SIZES):
        parser.error(f"--largest is {arguments.largest}; it must be at least {min(TRAINED_SIZES)}")
    return arguments


def load(name):
    path = pathlib.Path(name)
    more = {"gguf_file": path.name} if path.suffix == ".gguf" else {}
    where = str(path.parent) if more else name
    tokenizer = transformers.AutoTokenizer.from_pretrained(where, **more)
    return tokenizer, transformers.AutoModelForCausalLM.from_pretrained(where, dtype=torch.float32, **more)


def batch_of(tokenizer, examples):
    """Token ids padded on the right, and labels that ask for the answers alone."""
    rows = [(tokenizer(prompt).input_ids, tokenizer(answer, add_special_tokens=False).input_ids) for prompt, answer in examples]
    longest = max(len(prompt) + len(answer) for prompt, answer in rows)
    tokens = torch.zeros(len(rows), longest, dtype=torch.long)
    labels = torch.full_like(tokens, IGNORED)
    for i, (prompt, answer) in enumerate(rows):
        end = len(prompt) + len(answer)
        tokens[i, :end] = torch.tensor(prompt + answer)
        labels[i, len(prompt) : end] = torch.tensor(answer)
    return tokens, labels


def replace(path, write):
    """Written whole or not at all."""
    write(partial := path.with_suffix(path.suffix + ".partial"))
    os.replace(partial, path)


def train(tokenizer, model, arm, arguments):
    """From the checkpoint, if there is one. Returns the losses of all steps, and the number of tokens read."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.rate, weight_decay=0.0)
    checkpoint = arguments.directory / f"{arm}.pt"
    losses, read = [], 0
    if checkpoint.exists():
        kept = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        losses, read = kept["losses"], kept["tokens"]
        print(f"fine_tune_clrs: {arm}: going on after step {len(losses)} of {arguments.steps}", file=sys.stderr)
    sizes = [size for size in TRAINED_SIZES if size <= arguments.largest]
    model.train()
    began, before = time.monotonic(), read
    for step in range(len(losses), arguments.steps):
        random = numpy.random.RandomState(step)  # a step's examples do not depend on the steps before it
        size = sizes[random.randint(len(sizes))]
        tokens, labels = batch_of(tokenizer, [example(random, size) for _ in range(arguments.batch)])
        optimizer.param_groups[0]["lr"] = arguments.rate * (1 - step / arguments.steps)
        optimizer.zero_grad(set_to_none=True)
        loss = model(input_ids=tokens, labels=labels).loss
        if not torch.isfinite(loss):
            sys.exit(f"fine_tune_clrs: {arm}: the loss diverged at step {step}; the checkpoint before it is kept. Try a lower --rate")
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        read += tokens.numel()
        if len(losses) % arguments.every == 0 or len(losses) == arguments.steps:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "losses": losses, "tokens": read}
            replace(checkpoint, lambda path, state=state: torch.save(state, path))
            speed = (read - before) / (time.monotonic() - began)
            print(f"fine_tune_clrs: {arm}: step {len(losses)} of {arguments.steps}, loss {losses[-1]:.3f}, {read:,} tokens, "
                  f"{speed:.0f} tokens/s", file=sys.stderr, flush=True)
    return losses, read


@torch.no_grad()
def right_answers(tokenizer, model, size, arguments):
    """Answers whose every token is the likeliest one: as many as greedy decoding gets right."""
    model.eval()
    random, right = numpy.random.RandomState(1_000_000 + size), 0
    for _ in range(arguments.answers):
        tokens, labels = batch_of(tokenizer, [example(random, size)])
        likeliest = model(input_ids=tokens).logits[:, :-1].argmax(-1)
        asked = labels[:, 1:] != IGNORED
        right += int((likeliest == labels[:, 1:])[asked].all())
    return right


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    arguments.directory.mkdir(parents=True, exist_ok=True)
    settings = {name: value for name, value in vars(arguments).items() if name not in ("directory", "threads", "every")}
    begun = arguments.directory / "settings.json"
    if begun.exists() and json.loads(begun.read_text()) != settings:
        sys.exit(f"fine_tune_clrs: {begun} has other settings; give another --directory")
    replace(begun, lambda path: path.write_text(json.dumps(settings, indent=1) + "\n"))
    results = {"settings": settings, "arms": {}}
    for arm in arguments.arms:
        tokenizer, model = load(arguments.model)
        with sharpmax.hf.patch(model, ARMS[arm]) if arm != "softmax" else contextlib.nullcontext():
            losses, read = train(tokenizer, model, arm, arguments)
            right = {size: right_answers(tokenizer, model, size, arguments) for size in arguments.sizes}
        results["arms"][arm] = {"loss": sum(losses[-20:]) / len(losses[-20:]), "tokens": read, "right": right}
        print(f"{arm}: " + ", ".join(f"{size}: {count} of {arguments.answers}" for size, count in right.items()), flush=True)
    replace(arguments.directory / "results.json", lambda path: path.write_text(json.dumps(results, indent=1) + "\n"))


if __name__ == "__main__":
    main()
