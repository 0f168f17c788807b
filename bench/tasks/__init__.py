"""One file per task. Each has cases(peers, scale): a generator of measure.Planned, so that only one
problem is in memory at a time, and none that is not wanted."""

from . import backward, decode, normalizers, prefill, small, statistics, threads

ALL = {
    "prefill": prefill,
    "decode": decode,
    "backward": backward,
    "normalizers": normalizers,
    "statistics": statistics,
    "threads": threads,
    "small": small,
}
