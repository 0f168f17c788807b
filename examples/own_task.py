#!/usr/bin/env python3
"""Writes a task of one's own for `sharpmax train`: JSON lines with a size, a prompt and its answer.

    examples/own_task.py largest.jsonl
    sharpmax train largest.jsonl --layers 1 --heads 1 --local-heads 0 --head-width 128

The task: n numbers from 0 to 63, and the answer is the largest, which stands in one place. Sizes up to 16 are for training,
larger ones for the test. Change `record` and `SIZES`, and it is your task.
"""

import json
import random
import sys

SIZES = {4: 4000, 8: 4000, 12: 4000, 16: 4000, 64: 500, 256: 500, 1024: 200}  # size -> number of records


def record(chance, size):
    largest = chance.randint(1, 63)
    numbers = [chance.randrange(largest) for _ in range(size)]
    numbers[chance.randrange(size)] = largest
    return {"size": size, "prompt": " ".join(map(str, [*numbers, "?"])), "answer": str(largest)}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: own_task.py FILE.jsonl")
    chance = random.Random(0)
    with open(sys.argv[1], "w") as file:
        for size, count in SIZES.items():
            for _ in range(count):
                print(json.dumps(record(chance, size)), file=file)


if __name__ == "__main__":
    main()
