"""A thousand ranks that SimGrid simulates in one process: the bits of one, in as many rounds."""
import pytest
from ranks import BYTES_OF_NODE, LENGTHS, SHARE_KEYS, hashes, lines, nodes, rounds, tool

KEYS = 5 * SHARE_KEYS + 8080  # most ranks have none: a row of a thousand shares takes half an hour to simulate
RULES = ("softmax", "stick_breaking", "hard")
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-1023" speed="1Gf" bw="1.18GBps" lat="10us"/>
</platform>
"""


def simulated(ranks, folder, *words):
    (folder / "network.xml").write_text(PLATFORM)
    (folder / "hosts").write_text("".join(f"n{host}\n" for host in range(1024)))
    return lines("smpirun", "-np", ranks, "-platform", "network.xml", "-hostfile", "hosts", "--cfg=smpi/privatization:no",
                 "--cfg=smpi/simulate-computation:no", "--cfg=smpi/allgather:rdb", "--cfg=smpi/allgatherv:mpich_rdb",
                 "--log=root.thresh:error", tool("build-simgrid"), *words, cwd=folder)


@pytest.fixture(scope="module")
def alone():
    return lines(tool(), KEYS, *RULES)


@pytest.mark.parametrize("ranks", [1000, 1024])
def test_a_thousand_ranks_have_the_bits_of_one_process(ranks, alone, tmp_path):
    found = simulated(ranks, tmp_path, KEYS, *RULES)
    assert hashes(found) == hashes(alone) and rounds(found) == rounds(alone)
    for name in set(RULES) & set(BYTES_OF_NODE):
        assert found[name][1][0][1:] == [nodes(KEYS, ranks) * (LENGTHS + count) for count in BYTES_OF_NODE[name]], name


def test_every_normalizer_on_64_ranks_of_which_most_have_no_key(tmp_path):
    assert hashes(simulated(64, tmp_path, KEYS)) == hashes(lines(tool(), KEYS))
