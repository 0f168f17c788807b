"""The line protocol of a peer: bench/train/steps.cc has the same for ours.

    load FILE     parameters and what the steps read, which is gone over again and again    ok
    reset         begins again                                                               ok
    train K       K steps                                                                    ok SECONDS FIRST_LOSS LAST_LOSS
    gradient FILE begins again; the gradient of the first step, before clipping              ok LOSS
"""

import argparse
import time

import safetensors
import safetensors.torch
import torch

from serving import answer_lines
from train.peers.torch_model import Model

RATE, BETAS, EPSILON, CLIP = 1e-3, (0.9, 0.98), 1e-8, 1.0


class Session:
    """compiled(function): the function, or what a compiler makes of it."""

    def __init__(self, compiled, arguments):
        torch.set_num_threads(arguments.threads)
        self.compiled, self.normalizer = compiled, arguments.normalizer
        self.dtype = getattr(torch, arguments.precision)

    def load(self, path):
        tensors = safetensors.torch.load_file(path)
        with safetensors.safe_open(path, "pt") as file:
            self.shape = {name: int(value) for name, value in file.metadata().items() if value.isdigit()}
        self.places = tensors.pop("places")
        self.batches = []
        while f"tokens.{len(self.batches)}" in tensors:
            number = len(self.batches)
            self.batches.append((tensors.pop(f"tokens.{number}").long(), tensors.pop(f"answers.{number}").long()))
        self.initial = {name: tensor.to(self.dtype) for name, tensor in tensors.items()}
        self.reset()

    def reset(self):
        self.parameters = {name: tensor.clone().requires_grad_() for name, tensor in self.initial.items()}
        self.model = Model(self.parameters, self.places, self.shape, self.normalizer)
        self.loss = self.compiled(self.model.loss)
        self.optimizer = torch.optim.AdamW(self.parameters.values(), lr=RATE, betas=BETAS, eps=EPSILON, weight_decay=0.0, fused=True)
        self.position = 0

    def step(self):
        tokens, answers = self.batches[self.position % len(self.batches)]
        self.position += 1
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(tokens, answers)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters.values(), CLIP)
        self.optimizer.step()
        return loss.item()  # ours says it after every step, too

    def train(self, steps):
        before = time.perf_counter()
        losses = [self.step() for _ in range(int(steps))]
        return f"{time.perf_counter() - before!r} {losses[0]!r} {losses[-1]!r}"

    def gradient(self, path):
        self.reset()
        loss = self.loss(*self.batches[0])
        loss.backward()
        safetensors.torch.save_file({name: p.grad.clone() for name, p in self.parameters.items()}, path)
        self.reset()
        return repr(loss.item())


def serve(compiled):
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=("float32", "float64"), default="float32")
    parser.add_argument("--normalizer", default="softmax")
    session = Session(compiled, parser.parse_args())
    requests = {"load": session.load, "reset": session.reset, "train": session.train, "gradient": session.gradient}
    answer_lines(torch.__version__, requests)
