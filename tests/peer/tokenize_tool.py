"""Our tokenizers and chat templates, asked line by line."""

import json
import pathlib
import subprocess

import pytest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "build" / "tests" / "tokenize_tool"


class Tool:
    def __init__(self):
        self.process = subprocess.Popen([TOOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **wish):
        self.process.stdin.write(json.dumps(wish) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def encode(self, data, special, verb="encode"):
        return self.ask(**{verb: data.hex(), "special": special})["tokens"]

    def decode(self, tokens):
        return bytes.fromhex(self.ask(decode=tokens)["text"])

    def bytes_of(self, tokens):
        return [bytes.fromhex(text) for text in self.ask(bytes=tokens)["texts"]]


@pytest.fixture(scope="module")
def tool():
    made = Tool()
    yield made
    made.process.stdin.close()
    made.process.wait()
