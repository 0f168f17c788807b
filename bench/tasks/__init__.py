"""One file per task. Each has cases(peers, scale): a generator of measure.Case, so that only one
problem is in memory at a time."""

from . import backward, decode, normalizers, prefill, statistics, threads

ALL = {
    "prefill": prefill,
    "decode": decode,
    "backward": backward,
    "normalizers": normalizers,
    "statistics": statistics,
    "threads": threads,
}
