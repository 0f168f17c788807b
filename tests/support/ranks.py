"""ranks_tool, which splits rows over processes: its lines, and what they must be by the rounds of each normalizer."""
import pathlib
import subprocess

from sharing import PLAIN

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARE_KEYS = 16384
KEYS = 5 * SHARE_KEYS + 8080
# Bytes that one node of the share tree leaves in each round of a row of three value features, forward: its numbers and its
# sum of values, in double. The number of rounds of the other normalizers depends on the scores.
BYTES_OF_NODE = {
    "softmax": [48], "ssmax": [48], "log_length": [48], "sink": [48], "softpick": [88], "sigmoid": [88], "relu": [88],
    "linear": [88], "stick_breaking": [64], "adaptive": [24, 48], "self_adjust": [64, 88],
}
# Under these a node without weight leaves no sum of values.
MOST_BYTES_OF_NODE = {"top_k": [136, 24], "hard": [24, 24]}
LENGTHS = 16  # bytes before them that say how many there are


def tool(build="build"):
    return ROOT / build / "tests" / "ranks_tool"


def lines(*command, cwd=None):
    """By normalizer: hashes of the results, and the bytes of each call of the group, forward and backward."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd,
                          env={**PLAIN, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, (done.stdout, done.stderr)
    found = {}
    for line in done.stdout.splitlines():
        name, _, forward, _, backward, _, *sent = line.split()
        found[name] = (forward, backward), [[int(count) for count in calls.split(",")] for calls in sent]
    return found


def hashes(found):
    return {name: results for name, (results, _) in found.items()}


def rounds(found):
    return {name: [len(calls) for calls in sent] for name, (_, sent) in found.items()}


def nodes_of_rank(shares, rank, size):
    """Nodes of the share tree that a rank hands on, as sharpmax/fold.h cuts them."""
    grain = 1 << max(0, max(1, shares // size // 16).bit_length() - 1)
    at, end = (shares if p == size else shares * p // size // grain * grain for p in (rank, rank + 1))
    nodes = 0
    while at < end:
        node = at & -at if at else 1 << 62
        while end < shares and node > end - at:
            node //= 2
        at, nodes = min(end, at + node), nodes + 1
    return nodes


def nodes(keys, size):
    shares = -(-keys // SHARE_KEYS)
    return sum(nodes_of_rank(shares, rank, size) for rank in range(size))
