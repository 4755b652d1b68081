"""The costs of a sweep other than its cases: `python bench/sweep.py`, a few minutes.

Every ratio is between variants that took turns in one run. A *case* is the simulation of a transfer
of some thousand segments, about a millisecond; `--segments` makes it longer.
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
    """Return a sweep of so many cases, each a transfer of so many segments."""
    text = TEXT.format(stop="60 s", segments=segments, seeds=cases // 20, windows=10, delays=2)
    return Sweep.of(ns.Scenario.parse(text, "bench"))


class Watched:
    """An engine whose cases' time is added up."""

    def __init__(self, sweep: Sweep, maker: Maker) -> None:
        self._engine = maker(sweep)
        self.busy = 0.0
        self.prepare, self.submit = self._engine.prepare, self._engine.submit
        self.cancel = self._engine.cancel

    @property
    def room(self) -> int:
        """How many chunks it should have at once."""
        return self._engine.room

    def as_completed(self) -> Iterator[tuple[Chunk, Any]]:
        """Yield chunks as they are done."""
        for chunk, outcome in self._engine.as_completed():
            self.busy += outcome[6]
            yield chunk, outcome


def timed(sweep: Sweep, maker: Maker, chunk: int | None = None) -> tuple[float, float, float]:
    """Return seconds on the wall, seconds of the cases, and CPU seconds of this process."""
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
    """Time one thread and two in turns."""
    sweep = sweep_of(cases, segments)
    speed_up, share, added = [], [], []
    for _ in range(rounds):
        bare = time.process_time()
        sweep.run_chunk(0, cases)
        bare = time.process_time() - bare
        one, _, cpu = timed(sweep, partial(Threads, threads=1))
        two, busy_two, _ = timed(sweep, partial(Threads, threads=2))
        speed_up.append(one / two)
        share.append(busy_two / (2 * two))
        added.append(cpu / bare - 1)
    print(f"{cases} cases of {1e3 * bare / cases:.2f} ms, {rounds} rounds, median (least to most)")
    told("speed-up from 1 to 2 threads", speed_up)
    told("share of two threads' time spent in cases", share)
    told("CPU time beside the cases', of theirs", added)


def told(what: str, values: list[float]) -> None:
    """Print a ratio's median and ends."""
    print(f"  {what}: {statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})")


def fixed(rounds: int) -> None:
    """Time cases of one segment, which are all set-up, reading and summing up."""
    kinds = {"the same values, another seed": (250, 2), "other values": (1, 500)}
    for what, (seeds, delays) in kinds.items():
        text = TEXT.format(stop="2 s", segments=1, seeds=seeds, delays=delays, windows=2)
        sweep = Sweep.of(ns.Scenario.parse(text, "bench"))
        cost = []
        for _ in range(rounds):
            began = time.process_time()
            sweep.run_chunk(0, len(sweep))
            cost.append((time.process_time() - began) / len(sweep))
        print(f"  a case of one segment, {what}: {1e6 * min(cost):.0f} us at least")


def clustered(rounds: int, cases: int, segments: int) -> None:
    """Time the same sweep on Ray's workers and on threads of this process."""
    import ray

    from netspurt.sweep.cluster import Ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    sweep = sweep_of(cases, segments)
    for task_s in (0.1, 0.3, 1.0, 3.0):
        ratios = []
        for _ in range(rounds):
            near, _, _ = timed(sweep, partial(Threads, threads=2), chunk=50)
            far, _, _ = timed(sweep, partial(Ray, workers=2, task_s=task_s), chunk=50)
            ratios.append(far / near)
        told(f"Ray beside threads, tasks of {task_s:g} s", ratios)
    ray.shutdown()


def memory() -> None:
    """Print the peak memory of two sweeps, each in a process of its own."""
    home = str(Path(__file__).parent)
    for cases in (10_000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-c", _ALONE, home, str(cases), f"{folder}/s"]
            ran = subprocess.run(words, capture_output=True, text=True, check=True)
        print(f"  {cases} cases: peak {int(ran.stdout) / 1024:.0f} MB")


_ALONE = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from sweep import run_sweep, sweep_of
run_sweep(sweep_of(int(sys.argv[2]), 20), sys.argv[3])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--segments", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("threads", "fixed", "ray", "memory"))
    asked = parser.parse_args()
    parts = {
        "fixed": lambda: fixed(asked.rounds),
        "threads": lambda: threads(asked.rounds, asked.cases, asked.segments),
        "memory": memory,
        "ray": lambda: clustered(min(asked.rounds, 3), asked.cases, asked.segments),
    }
    for name, part in parts.items():
        if asked.only in (None, name):
            print(name)
            part()


if __name__ == "__main__":
    main()
