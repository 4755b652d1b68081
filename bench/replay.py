"""Measures the speed of replays: `python3 bench/replay.py`.

First run `cargo build --release --example replay`. Each figure is the user time of a whole process,
the least of three runs, less the time that it takes to make the recording. Estimators in Python are
timed within this process, if netspurt is installed.
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


def user(*words: str) -> tuple[float, int]:
    """Run the program three times. Return its least user time [s] and its resident memory [kB]."""
    least, memory = float("inf"), 0
    for _ in range(3):
        timed = ["/usr/bin/time", "-f", "%U %M", str(PROGRAM), *words]
        ran = subprocess.run(timed, capture_output=True, text=True, check=True)
        seconds, kilobytes = ran.stderr.split()[-2:]
        least, memory = min(least, float(seconds)), int(kilobytes)
    return least, memory


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


def in_python() -> float:
    """Return how many samples per second an estimator written in Python handles."""
    import numpy as np

    import netspurt as ns
    from netspurt import _core

    count = 2_000_000
    path = ns.Delays.of(np.random.default_rng(1).uniform(0.02, 0.18, count), every=0.05)
    began = time.process_time()
    _core.replay(path._core, Thrice())
    return count / (time.process_time() - began)


def main() -> None:
    """Print the table."""
    spent, memory = user("grid", str(SETTINGS))
    rate = SETTINGS * PROBES / spent
    print(f"grid of {SETTINGS} settings: {rate / 1e6:.0f} M updates/s, {memory} kB")
    empty, _ = user("none", str(SAMPLES))
    for algorithm in ALGORITHMS.split():
        rates = [
            SAMPLES / max(user(algorithm, str(SAMPLES), *order)[0] - empty, 0.001)
            for order in ((), ("causal",))
        ]
        print(
            f"{algorithm}: {rates[0] / 1e6:.0f} M samples/s in sequence, "
            f"{rates[1] / 1e6:.0f} causal"
        )
    spent, _ = user("experts", str(SAMPLES // 10))
    print(f"experts: {SAMPLES / 10 / (spent - empty / 10) / 1e6:.1f} M samples/s")
    try:
        print(f"in Python: {in_python() / 1e6:.1f} M samples/s")
    except ImportError:
        print("in Python: netspurt is not installed here")


if __name__ == "__main__":
    main()
