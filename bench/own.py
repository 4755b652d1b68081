"""Compares the cost of an algorithm in Python and in Rust. `python bench/own.py` takes a minute.

Each workload runs alternately with the algorithm in Rust and with the algorithm in Python, within
this process. Times are CPU seconds of this process.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import netspurt as ns
from netspurt import _core

#: RFC 6298's timer and RFC 5681's congestion control, like the built-in `rfc6298` and `reno`.
CODE = """
class Timer:
    def __init__(self):
        self.s, self.v, self.backoff = None, 0.0, 1

    def on_sample(self, sample):
        if sample.ambiguous:
            return
        rtt = sample.rtt
        if self.s is None:
            self.s, self.v = rtt, rtt / 2
        else:
            self.v += (abs(self.s - rtt) - self.v) / 4
            self.s += (rtt - self.s) / 8
        self.backoff = 1

    def on_timeout(self, now):
        self.backoff *= 2

    def rto(self):
        timer = 1.0 if self.s is None else self.s + max(0.001, 4 * self.v)
        return min(max(timer, 1.0) * self.backoff, 60.0)


class Reno:
    def __init__(self):
        self.counted = 0

    def on_ack(self, ack, window):
        if not ack.window_limited:
            return
        if window.cwnd < window.ssthresh:
            most = ack.smss if ack.after_timeout else 2 * ack.smss
            window.cwnd += min(ack.acked_bytes, most)
            return
        self.counted += ack.acked_bytes
        if self.counted >= window.cwnd:
            self.counted -= window.cwnd
            window.cwnd += ack.smss

    def on_congestion(self, now, kind, flight_bytes, smss, window):
        self.counted = 0
        return max(flight_bytes // 2, 2 * smss)
"""

PATH = """
stop = "100 s"
[links.path]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "50 packets"
loss = { probability = 0.0005 }
[flows.x]
from = "a"
to = "b"
profile = "rfc-2026"
tcp.congestion = "reno"
tcp.rto = { estimator = "rfc6298:spread_gains=false", sampling = "each-ack" }
[record]
tables = []
"""

SAMPLES = 200_000
ROUNDS = 7

Work = Callable[[], object]


def cpu_s_of(work: Work) -> float:
    """Do a piece of work and return the CPU time that it took [s]."""
    start = time.process_time()
    work()
    return time.process_time() - start


def compare(title: str, count: int, unit: str, rust: Work, python: Work) -> None:
    """Print both variants' median CPU times, in total and for each `unit`, and their ratio."""
    rounds = [(cpu_s_of(rust), cpu_s_of(python)) for _ in range(ROUNDS)]
    medians = [statistics.median(times) for times in zip(*rounds, strict=True)]
    ratios = sorted(python / rust for rust, python in rounds)
    each = " and ".join(f"{1e9 * median / count:,.0f} ns" for median in medians)
    print(
        f"{title}: Rust {medians[0]:.3f} s, Python {medians[1]:.3f} s; {each} for each {unit}; "
        f"ratio {statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})"
    )


def main() -> None:
    """Measure all workloads."""
    print(f"netspurt {ns.__version__}, Python {sys.version.split()[0]}, {ROUNDS} rounds")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "own.py"
        file.write_text(CODE)
        trips = 0.1 * np.exp(np.random.default_rng(1).normal(0, 0.3, SAMPLES))
        compare(
            "a replay of samples",
            SAMPLES,
            "sample",
            lambda: _core.drive(ns.estimator("rfc6298:spread_gains=false"), trips),
            lambda: _core.drive(ns.estimator(f"{file}:Timer"), trips),
        )
        base = ns.Scenario.parse(PATH, folder=folder)
        segments = int(base.run().flows["sent"][0])
        for title, path, text in [
            ("a run with a timer", "flows.x.tcp.rto.estimator", f"{file}:Timer"),
            ("a run with congestion control", "flows.x.tcp.congestion", f"{file}:Reno"),
        ]:
            own = base.replace({path: text})
            assert own.run().flows["sent"][0] == segments, (
                "both variants must send the same segments"
            )
            compare(title, segments, "segment", base.run, own.run)


if __name__ == "__main__":
    main()
