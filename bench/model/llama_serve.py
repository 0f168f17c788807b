"""llama.cpp behind the line protocol of bench/model/steps.cc."""

import argparse
import importlib.metadata
import os
import pathlib
import re
import sys
import time

import numpy as np

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/peer"))

import llama_cpp  # noqa: E402


def peak_memory():
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"^VmHWM:\s*(\d+)", status, re.MULTILINE)[1])


class Served:
    def __init__(self, arguments):
        self.memory_before = peak_memory()
        self.model = llama_cpp.Model(arguments.model)
        flash = {"auto": None, "on": True, "off": False}[arguments.flash_attention]
        self.context = self.model.context(
            arguments.capacity, threads=arguments.threads, cache=arguments.cache, flash_attention=flash
        )
        self.tokens = []

    def read_tokens(self, path):
        self.tokens = [int(word) for word in pathlib.Path(path).read_text().split()]
        return f"ok {len(self.tokens)}"

    def losses(self, count, path):
        self.context.shorten(0)
        logits = self.context.logits(self.tokens[: int(count)])[:-1].astype(np.float64)
        following = self.tokens[1 : int(count)]
        top = logits.max(-1)
        losses = np.log(np.exp(logits - top[:, None]).sum(-1)) + top - logits[np.arange(len(following)), following]
        lines = (f"{loss} {likeliest}\n" for loss, likeliest in zip(losses, logits.argmax(-1)))
        pathlib.Path(path).write_text("".join(lines))
        return "ok"

    def prompt(self, count):
        self.context.read_prompt(self.tokens[: int(count)])
        return "ok"

    def generate(self, length, count):
        length, count = int(length), int(count)
        if self.context.length() != length:
            self.context.read_prompt(self.tokens[:length])
        self.context.read_one_by_one(self.tokens[length : length + count])
        return "ok"

    def memory(self):
        return f"ok {peak_memory()} {self.memory_before}"

    def answer(self, name, *words):
        requests = {"tokens": self.read_tokens, "losses": self.losses, "prompt": self.prompt,
                    "generate": self.generate, "memory": self.memory}  # fmt: skip
        if name not in requests:
            raise llama_cpp.LlamaError(f"'{name}' is not a request")
        return requests[name](*words)


def version():
    if "SHARPMAX_LLAMA_CPP" not in os.environ:
        return importlib.metadata.version("xllamacpp")
    return "kernels:" + "+".join(llama_cpp.mapped_kernels())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--capacity", type=int, default=4352)
    parser.add_argument("--cache", choices=("f16", "f32"), default="f16")
    parser.add_argument("--flash-attention", choices=("auto", "on", "off"), default="auto")
    parser.add_argument("--library", help="folder with libllama, in place of xllamacpp")
    arguments = parser.parse_args()
    if arguments.library:
        os.environ["SHARPMAX_LLAMA_CPP"] = arguments.library
    llama_cpp.library()  # which loads 100 MB of code: no part of opening a model
    began = time.perf_counter()
    served = Served(arguments)
    print(f"ready {version()} {time.perf_counter() - began}", flush=True)
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        try:
            print(served.answer(*words), flush=True)
        except Exception as error:  # the caller reports it, whatever it is
            print(f"error {error}", flush=True)


if __name__ == "__main__":
    main()
