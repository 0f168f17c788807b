"""Rows over the processes of mpirun: the same bits on any number of them, in as many rounds and bytes as is documented."""
import shutil

import pytest
from ranks import BYTES_OF_NODE, KEYS, LENGTHS, MOST_BYTES_OF_NODE, hashes, lines, nodes, rounds, tool


@pytest.fixture(scope="module")
def alone():
    return lines(tool(), KEYS)


def over(ranks, *words):
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun here")
    return lines("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks, *words)


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_mpirun_has_the_bits_of_one_process_forward_and_backward(ranks, alone):
    found = over(ranks, tool(), KEYS)
    assert len(found) == 19
    assert hashes(found) == hashes(alone)
    assert rounds(found) == rounds(alone)
    for name, of_node in BYTES_OF_NODE.items():
        opening, *sent = found[name][1][0]
        assert sent == [nodes(KEYS, ranks) * (LENGTHS + count) for count in of_node], name
        assert opening == ranks * (alone[name][1][0][0]), name
    for name, of_node in MOST_BYTES_OF_NODE.items():
        first, last = [nodes(KEYS, ranks) * (LENGTHS + count) for count in of_node]
        assert found[name][1][0][1] == first and found[name][1][0][2] <= last, name


def test_more_ranks_than_shares(alone):
    keys = 16384 + 5
    assert hashes(over(4, tool(), keys, "softmax", "entmax15")) == hashes(lines(tool(), keys, "softmax", "entmax15"))


def test_the_search_for_a_threshold_takes_few_rounds(alone):
    for name in ("sparsemax", "entmax15", "entmax", "asentmax"):  # many candidates: an opening, a survey, Newton, the values
        assert len(alone[name][1][0]) <= 14, name
