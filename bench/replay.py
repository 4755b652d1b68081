"""Measures how fast retransmission timers are replayed on recorded delays.

First run `cargo build --release --example replay`, then `python3 bench/replay.py`. For an estimator
in Rust, the time is the user time of a whole process, the minimum of three runs. The time that it
takes to make the recording is subtracted, except for the grid of settings. If netspurt is
installed, the program also measures the CPU time of one run of an estimator in Python, within this
process. The estimator `experts` is much slower than the others, so it gets a tenth of the samples.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

PROGRAM = Path(__file__).parent.parent / "target" / "release" / "examples" / "replay"
ALGORITHMS = (
    "rfc793 mills jacobson88 rfc6298 bsd44 linux quic fixed ns2 freebsd solaris ns3 smoltcp sctp "
    "datacenter cocoa eifel peak-hopper"
)
SAMPLES = 10_000_000
SETTINGS = 1_000_000
PROBES = 512


def user_time_and_memory(*words: str) -> tuple[float, int]:
    """Run the program thrice. Return its minimum user time [s] and its last peak memory [kB]."""
    user_s, memory_kb = float("inf"), 0
    for _ in range(3):
        timed = ["/usr/bin/time", "-f", "%U %M", str(PROGRAM), *words]
        result = subprocess.run(timed, capture_output=True, text=True, check=True)
        seconds, kilobytes = result.stderr.split()[-2:]
        user_s, memory_kb = min(user_s, float(seconds)), int(kilobytes)
    return user_s, memory_kb


class Thrice:
    """An estimator whose timer is three times the last round trip."""

    def __init__(self) -> None:
        self.timer = 1.0

    def on_sample(self, sample: object) -> None:
        """Set the timer from a sample."""
        self.timer = 3 * sample.rtt  # type: ignore[attr-defined]

    def on_timeout(self, _now: float) -> None:
        """Double the timer."""
        self.timer *= 2

    def rto(self) -> float:
        """Return the timer in seconds."""
        return self.timer


def python_samples_per_s() -> float:
    """Return how many samples per second an estimator written in Python handles."""
    import numpy as np

    import netspurt as ns
    from netspurt import _core

    count = 2_000_000
    path = ns.Delays.of(np.random.default_rng(1).uniform(0.02, 0.18, count), every=0.05)
    start = time.process_time()
    _core.replay(path._core, Thrice())
    return count / (time.process_time() - start)


def main() -> None:
    """Print the table."""
    grid_s, memory_kb = user_time_and_memory("grid", str(SETTINGS))
    rate = SETTINGS * PROBES / grid_s
    print(f"grid of {SETTINGS} settings: {rate / 1e6:.0f} M updates/s, {memory_kb} kB")
    recording_s, _ = user_time_and_memory("none", str(SAMPLES))
    for algorithm in ALGORITHMS.split():
        rates = [
            SAMPLES
            / max(user_time_and_memory(algorithm, str(SAMPLES), *order)[0] - recording_s, 0.001)
            for order in ((), ("causal",))
        ]
        print(
            f"{algorithm}: {rates[0] / 1e6:.0f} M samples/s in sequence, "
            f"{rates[1] / 1e6:.0f} in causal order"
        )
    experts_s, _ = user_time_and_memory("experts", str(SAMPLES // 10))
    print(f"experts: {SAMPLES / 10 / (experts_s - recording_s / 10) / 1e6:.1f} M samples/s")
    try:
        print(f"in Python: {python_samples_per_s() / 1e6:.1f} M samples/s")
    except ImportError:
        print("in Python: netspurt is not installed here")


if __name__ == "__main__":
    main()
