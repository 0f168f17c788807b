"""CLRS-Text against the package dm-clrs, byte for byte: nine tasks, both formats, sizes 4 to 32, five seeds.

The package asks for TensorFlow and Haiku, which text does not need: an empty module stands in for the one, bare packages keep
the other from being imported. Without the package the digests of its text are compared, which this file printed with it:
`python tests/peer/test_clrs_text.py`."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(os.environ.get("SHARPMAX_BINARY", ROOT / "build" / "sharpmax")).parent / "tests" / "clrs_tool"
DIGESTS = pathlib.Path(__file__).resolve().parents[1] / "support" / "clrs_text.json"
ALGORITHMS = ["activity_selector", "bfs", "binary_search", "find_maximum_subarray_kadane", "insertion_sort", "kmp_matcher", "minimum",
              "naive_string_matcher", "task_scheduling"]
SIZES, SEEDS, COUNT = range(4, 33), (0, 3, 14, 35, 81), 2


def has_ties(line):
    """Equal keys of a sort whose order NumPy leaves open."""
    name = {"activity_selector": "f: [", "task_scheduling": "w: ["}.get(line["algo"])
    if name is None or line["size"] <= 16:
        return False
    keys = line["question"].split(name)[1].split("]")[0].split()
    return len(set(keys)) < len(keys)


def ours(algorithm):
    words = [TOOL, algorithm, ",".join(map(str, SIZES)), ",".join(map(str, SEEDS)), str(COUNT)]
    return [json.loads(line) for line in subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()]


def theirs(algorithm):
    from clrs._src import samplers
    from clrs._src.clrs_text import clrs_utils
    lines = []
    for size in SIZES:
        for seed in SEEDS:
            for hints in (True, False):
                sampler, _ = samplers.build_sampler(algorithm, seed=seed, num_samples=-1, length=size, track_max_steps=False,
                                                    truncate_decimals=3)
                for _ in range(COUNT):
                    question, answer = clrs_utils.format_clrs_example(algorithm, sampler.next(batch_size=1), use_hints=hints)
                    lines.append({"algo": algorithm, "size": size, "seed": seed, "hints": hints, "question": question, "answer": answer})
    return lines


def open_package():
    """Whether the package is there; its text part can then be imported."""
    site = next((p for p in sys.path if os.path.isdir(os.path.join(p, "clrs", "_src"))), None)
    if site is None:
        return False
    tensorflow = types.ModuleType("tensorflow")
    tensorflow.Tensor = type("Tensor", (), {})
    sys.modules["tensorflow"] = tensorflow
    for name in ("clrs", "clrs._src", "clrs._src.clrs_text"):
        module = types.ModuleType(name)
        module.__path__ = [os.path.join(site, *name.split("."))]
        sys.modules[name] = module
    return True


def digest(lines):
    digests = {}
    for hints in (True, False):
        text = "".join(line["question"] + line["answer"] for line in lines if line["hints"] == hints and not has_ties(line))
        digests["with traces" if hints else "without traces"] = hashlib.sha256(text.encode()).hexdigest()
    return digests


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_text_is_that_of_the_package(algorithm):
    assert digest(ours(algorithm)) == json.loads(DIGESTS.read_text())[algorithm]


def test_the_first_example_is_the_published_one():
    first = ours("minimum")[0]
    assert first["question"] == "minimum:\nkey: [0.548 0.715 0.602 0.544], initial_trace: 0\ntrace | min:\n"
    assert first["answer"] == "0, 0 | 3\n\n"


@pytest.mark.parametrize("name, words", [("dijkstra", "is part of CLRS-Text, but is not generated here"),
                                         ("dijkstrA", "is not a task of CLRS-Text")])
def test_other_tasks_are_refused_by_name(name, words, tmp_path):
    binary = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
    done = subprocess.run([binary, "train", f"clrs:{name}"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and name in done.stderr and words in done.stderr and "minimum" in done.stderr


if __name__ == "__main__":
    if not open_package():
        sys.exit("the package dm-clrs is missing: pip install --no-deps dm-clrs, and numpy, jax, chex, absl-py, attrs")
    found = {}
    for algorithm in ALGORITHMS:
        lines, mine = theirs(algorithm), ours(algorithm) if TOOL.exists() else None
        found[algorithm] = digest(lines)
        different = [pair for pair in zip(lines, mine or []) if pair[0] != pair[1] and not has_ties(pair[0])]
        print(algorithm, len(lines), "examples,", len(different), "different", *different[:1], file=sys.stderr)
    print(json.dumps(found, indent=1))
