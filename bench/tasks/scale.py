"""How much to run."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Scale:
    """lengths above `longest` are left out."""

    longest_prefill: int
    longest_decode: int

    def prefill(self, *lengths):
        return [n for n in lengths if n <= self.longest_prefill] or [self.longest_prefill]

    def decode(self, *lengths):
        return [n for n in lengths if n <= self.longest_decode] or [self.longest_decode]


THOROUGH = Scale(longest_prefill=8192, longest_decode=131072)
QUICK = Scale(longest_prefill=2048, longest_decode=16384)
# For trying the harness itself, and for --check-only in the tests.
TINY = Scale(longest_prefill=48, longest_decode=200)

# Heads by head size, as the models have them that such sizes are from.
HEADS = {64: 12, 128: 8}
