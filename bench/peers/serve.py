"""One peer, or the machine's limits, behind the line protocol of serving.py.

    python -m peers.serve NAME THREADS      NAME: a peer's, or "limits"
"""

import argparse
import statistics

import peers
import serving
from problem import Problem


class Missing(Exception):
    """The peer cannot run here."""


class Attention:
    """A peer. Requests name its method, the problem's fields, and further arguments of the method."""

    def __init__(self, peer):
        reason = peer.missing()
        if reason is not None:
            raise Missing(reason)
        self._peer, self._problems, self.version = peer, {}, peer.version()

    def _problem(self, fields):
        """The same object for the same problem: its arrays are made once."""
        problem = Problem(**fields)
        return self._problems.setdefault(problem, problem)

    def prepare(self, method, problem, **arguments):
        return getattr(self._peer, method)(self._problem(problem), **arguments)

    def tell(self, method, problem=None, **arguments):
        problems = [self._problem(problem)] if problem else []
        return getattr(self._peer, method)(*problems, **arguments)

    def arrays(self, result):
        return self._peer.as_arrays(result)

    def forget(self):
        self._problems.clear()


class Limits:
    """The FMA peak in FLOP/s and the read bandwidth in bytes/s."""

    version = ""

    def __init__(self, threads):
        from sharpmax import _core

        self._measures = {"fma_flops": lambda: _core.measure_fma_peak(threads, 0.004),
                          "read_bytes": _core.ReadBandwidth(threads).measure}  # fmt: skip

    def tell(self, limit):
        """A turn as a contender's: a warm-up, then the median over as long."""
        measure, values = self._measures[limit], []
        serving.seconds_until(measure, serving.WARM_SECONDS)
        serving.seconds_until(lambda: values.append(measure()), serving.TIMED_SECONDS)
        return statistics.median(values)

    def forget(self):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=[*peers.BY_NAME, "limits"])
    parser.add_argument("threads", type=int)
    arguments = parser.parse_args()
    name, threads = arguments.name, arguments.threads
    serving.serve(lambda: Limits(threads) if name == "limits" else Attention(peers.BY_NAME[name](threads)))


if __name__ == "__main__":
    main()
