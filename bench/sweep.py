"""Measures the overhead of sweeps, their speed with two threads and with Ray, and their memory.

`python bench/sweep.py` takes minutes.

A *sweep* runs one scenario many times with different values; each run is a *case*. Here a case is
the simulation of a transfer of a few thousand segments. A case takes about a millisecond, or longer
with a larger `--segments`. Most printed ratios compare two ways to run the same sweep,
such as one thread and two threads. Each round runs the sweep in both ways, one after the other.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import netspurt as ns
from netspurt.sweep import Chunk, Engine, Sweep, Threads, run_sweep

TEXT = """
stop = "{stop}"
[links.path]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "50 packets"
loss = {{ probability = 0.001 }}
[flows.x]
from = "a"
to = "b"
send = "{segments} segments"
tcp = {{ recovery = "sack" }}
[sweep]
seeds = {seeds}
[sweep.over.window]
path = "flows.x.tcp.initial_window"
from = "1 segment"
to = "10 segments"
count = {windows}
[sweep.over.delay]
path = "links.path.delay"
from = "20 ms"
to = "40 ms"
count = {delays}
"""

Maker = Callable[[Sweep], Engine]


def sweep_of(cases: int, segments: int) -> Sweep:
    """Return a sweep of `cases` cases. Each case is a transfer of `segments` segments."""
    text = TEXT.format(stop="60 s", segments=segments, seeds=cases // 20, windows=10, delays=2)
    return Sweep.of(ns.Scenario.parse(text, "bench"))


class Watched:
    """An engine that adds up the time that its cases take, in seconds."""

    def __init__(self, sweep: Sweep, maker: Maker) -> None:
        self._engine = maker(sweep)
        self.busy = 0.0
        self.prepare, self.submit = self._engine.prepare, self._engine.submit
        self.cancel = self._engine.cancel

    @property
    def room(self) -> int:
        """How many chunks must be submitted so that no worker is idle."""
        return self._engine.room

    def as_completed(self) -> Iterator[tuple[Chunk, Any]]:
        """Yield each chunk with its results when it is finished."""
        for chunk, outcome in self._engine.as_completed():
            self.busy += outcome[6]
            yield chunk, outcome


def timed(sweep: Sweep, maker: Maker, chunk: int | None = None) -> tuple[float, float, float]:
    """Run a sweep; return its wall-clock time, its cases' time and this process's CPU time [s]."""
    made: list[Watched] = []

    def watched(sweep: Sweep) -> Watched:
        made.append(Watched(sweep, maker))
        return made[0]

    with tempfile.TemporaryDirectory() as folder:
        cpu, wall = time.process_time(), time.perf_counter()
        run_sweep(sweep, Path(folder) / "s", engine=watched, chunk=chunk)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return wall, made[0].busy, cpu


def threads(rounds: int, cases: int, segments: int) -> None:
    """Run a sweep alternately on one thread and on two, and print the ratios of their times."""
    sweep = sweep_of(cases, segments)
    speed_up, share, added = [], [], []
    for _ in range(rounds):
        bare = time.process_time()
        sweep.run_chunk(0, cases)
        bare = time.process_time() - bare
        wall_1, _, cpu = timed(sweep, partial(Threads, threads=1))
        wall_2, busy_2, _ = timed(sweep, partial(Threads, threads=2))
        speed_up.append(wall_1 / wall_2)
        share.append(busy_2 / (2 * wall_2))
        added.append(cpu / bare - 1)
    case_ms = 1e3 * bare / cases
    print(f"{cases} cases of {case_ms:.2f} ms, {rounds} rounds, median (minimum to maximum)")
    print_ratio("speed-up from 1 to 2 threads", speed_up)
    print_ratio("share of two threads' time that is spent in cases", share)
    print_ratio("additional CPU time, as a share of the cases' CPU time", added)


def print_ratio(name: str, values: list[float]) -> None:
    """Print the median, the minimum and the maximum of a ratio."""
    print(f"  {name}: {statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})")


def fixed(rounds: int) -> None:
    """Print the CPU time of a case of one segment, which has almost no transfer.

    This is the time in which a case is read, set up and summed up.
    """
    kinds = {"the same values, another seed": (250, 2), "other values": (1, 500)}
    for kind, (seeds, delays) in kinds.items():
        text = TEXT.format(stop="2 s", segments=1, seeds=seeds, delays=delays, windows=2)
        sweep = Sweep.of(ns.Scenario.parse(text, "bench"))
        costs = []
        for _ in range(rounds):
            start = time.process_time()
            sweep.run_chunk(0, len(sweep))
            costs.append((time.process_time() - start) / len(sweep))
        print(f"  a case of one segment, {kind}: minimum {1e6 * min(costs):.0f} us")


def clustered(rounds: int, cases: int, segments: int) -> None:
    """Run the same sweep on Ray's workers and on threads, and print the ratios of their times."""
    import ray

    from netspurt.sweep.cluster import Ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    sweep = sweep_of(cases, segments)
    for task_s in (0.1, 0.3, 1.0, 3.0):
        ratios = []
        for _ in range(rounds):
            threads_s, _, _ = timed(sweep, partial(Threads, threads=2), chunk=50)
            ray_s, _, _ = timed(sweep, partial(Ray, workers=2, task_s=task_s), chunk=50)
            ratios.append(ray_s / threads_s)
        print_ratio(f"time with Ray over time with threads, tasks of {task_s:g} s", ratios)
    ray.shutdown()


def memory() -> None:
    """Print the peak memory of two sweeps, each in a process of its own."""
    home = str(Path(__file__).parent)
    for cases in (10_000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-c", _PEAK_MEMORY_OF_A_SWEEP, home, str(cases), f"{folder}/s"]
            result = subprocess.run(words, capture_output=True, text=True, check=True)
        print(f"  {cases} cases: peak {int(result.stdout) / 1024:.0f} MB")


_PEAK_MEMORY_OF_A_SWEEP = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from sweep import run_sweep, sweep_of
run_sweep(sweep_of(int(sys.argv[2]), 20), sys.argv[3])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def main() -> None:
    """Run the measurements that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--segments", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("threads", "fixed", "ray", "memory"))
    options = parser.parse_args()
    measurements = {
        "fixed": lambda: fixed(options.rounds),
        "threads": lambda: threads(options.rounds, options.cases, options.segments),
        "memory": memory,
        "ray": lambda: clustered(min(options.rounds, 3), options.cases, options.segments),
    }
    for name, measure in measurements.items():
        if options.only in (None, name):
            print(name)
            measure()


if __name__ == "__main__":
    main()
