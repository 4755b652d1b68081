"""Measures how late real packets are delivered in live runs while every core is busy.

The lateness of a packet is the time from the instant at which it is due until its delivery.

Run `cargo build --release -p netspurt-live`, then, as root, `python3 bench/lateness.py`. Each run
is a transfer at 10 Mbit/s with a delay of 5 ms in each direction. It has about 1 200 deliveries a
second. Meanwhile, a busy loop runs on each core. Two variants alternate. In the first, an ordinary
user runs netspurt-live. In the second, root runs it with SCHED_FIFO, and netspurt-live polls the
clock during the last 60 us before each deadline. Both variants have a timer slack of 1 ns.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "target" / "release" / "netspurt-live"
NOBODY = 65534
SPIN_NS = 60_000

SCENARIO = """
stop = "{seconds} s"
[links]
wire = {{ between = ["a", "b"], rate = "10 Mbit/s", delay = "5 ms", queue = "30 packets" }}
[flows.transfer]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "linux-default"
[record]
tables  = ["drops"]
capture = false
"""
QUANTILES = ("p50_ns", "p99_ns", "p999_ns", "max_ns")


def count() -> None:
    """Keep a core busy without end."""
    number = 0
    while True:
        number += 1


def run(program: Path, seconds: int, user: int | None, spin_ns: int) -> dict[str, Any]:
    """Run the scenario and return its `live.json`. Without `user`, the run keeps root's rights."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        order = {
            "parent": os.getpid(),
            "folder": folder,
            "source": "lateness",
            "scenario": SCENARIO.format(seconds=seconds),
            "code": {},
            "budget_ns": 5_000_000,
            "spin_ns": spin_ns,
            "wire": "veth",
            "offload": False,
            "programs": None,
        }
        identity = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        done = subprocess.run(
            [str(program)],
            input=json.dumps(order),
            capture_output=True,
            text=True,
            check=False,
            **identity,
        )
        if done.returncode != 0:
            sys.exit(f"netspurt-live failed: {done.stderr.strip()}")
        return json.loads((Path(folder) / "live.json").read_text())


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--idle", action="store_true", help="run no busy loops")
    options = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(
            f"{PROGRAM.relative_to(ROOT)} is missing: run `cargo build --release -p netspurt-live`"
        )
    if os.geteuid() != 0:
        sys.exit("run this as root: one variant needs another user, the other real-time priority")
    busy = [multiprocessing.Process(target=count, daemon=True) for _ in range(os.cpu_count() or 1)]
    print(f"load before: {os.getloadavg()[0]:.1f} on {len(busy)} cores")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        program = Path(shutil.copy(PROGRAM, folder))
        if not options.idle:
            for process in busy:
                process.start()
        variants = {"ordinary user": (NOBODY, 0), "SCHED_FIFO + spin": (None, SPIN_NS)}
        results: dict[str, list[dict[str, Any]]] = {variant: [] for variant in variants}
        try:
            for _ in range(options.rounds):
                for variant, (user, spin) in variants.items():
                    results[variant].append(run(program, options.seconds, user, spin))
        finally:
            for process in busy:
                if process.is_alive():
                    process.terminate()
    report(results)


def report(results: dict[str, list[dict[str, Any]]]) -> None:
    """Print quantiles of the lateness: the median, minimum and maximum of each over all rounds."""
    print("| | deliveries in a run | p50 us | p99 us | p99.9 us | max us |")
    print("|---|---|---|---|---|---|")
    for variant, runs in results.items():
        if variant.startswith("SCHED") and not all(live["real_time"] for live in runs):
            print(f"| {variant} | real-time priority is not allowed here | | | | |")
            continue
        deliveries = statistics.median(live["lateness"]["deliveries"] for live in runs)
        cells = []
        for name in QUANTILES:
            late_us = [live["lateness"][name] / 1e3 for live in runs]
            median = statistics.median(late_us)
            cells.append(f"{median:.0f} ({min(late_us):.0f} to {max(late_us):.0f})")
        print(f"| {variant} | {deliveries:.0f} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
