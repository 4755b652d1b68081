"""Measures the cost of forwarding real packets, compared with a bare forwarder.

Run `cargo build --release -p netspurt-live --example wire`, then `python3 bench/wire.py`. TUN
devices need root if only root may open /dev/net/tun. Variants take turns, and ratios are computed
round by round. CPU time is that of the forwarding thread and includes the kernel's work for it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "target" / "release" / "examples" / "wire"

#: The cases: the traffic, the kind of wire, and whether segmentation offload is on.
CASES = [
    ("blast", "veth", False),
    ("blast", "tun", False),
    ("tcp", "veth", False),
    ("tcp", "tun", False),
    ("tcp", "veth", True),
    ("tcp", "tun", True),
]
LOGS = ("logs", "tables", "captures")


def measure(
    way: str, logs: str, case: tuple[str, str, bool], seconds: int
) -> dict[str, Any] | None:
    """Run the program once and return its figures; `None` with a message if it fails."""
    traffic, wire, offload = case
    words = [
        str(PROGRAM),
        way,
        traffic,
        logs,
        wire,
        str(seconds),
        *(["offload"] if offload else []),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"SKIPPED: {' '.join(words[1:])}: {done.stderr.strip()}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def spread(values: list[float], digits: int) -> str:
    """Return the median, the least and the greatest of some values as text."""
    if not values:
        return ""
    least, most = min(values), max(values)
    median = statistics.median(values)
    return f"{median:.{digits}f} ({least:.{digits}f} to {most:.{digits}f})"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--logs", default="logs", help="of logs,tables,captures")
    parser.add_argument("--only", default="", help="blast or tcp")
    options = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM.relative_to(ROOT)} is not there: build it first")
    print(f"load at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(
        "| traffic, wire | way | M packets per CPU s | of the bare forwarder's | Gbit/s | of its |"
    )
    print("|---|---|---|---|---|---|")
    for case in CASES:
        if options.only in case[0]:
            compare(case, options.logs.split(","), options.rounds, options.seconds)
    print(f"load at the end: {os.getloadavg()[0]:.1f}")


def compare(case: tuple[str, str, bool], logs: list[str], rounds: int, seconds: int) -> None:
    """Run the variants of one case in turns, and print a line for each."""
    ways = [("bare", "logs"), *(("driver", kind) for kind in logs)]
    told: dict[tuple[str, str], list[dict[str, Any]]] = {way: [] for way in ways}
    for _ in range(rounds):
        turn = [measure(way, kind, case, seconds) for way, kind in ways]
        if None in turn:
            return
        for way, one in zip(ways, turn, strict=True):
            told[way].append(one or {})
    name = f"{case[0]}, {case[1]}{', offload' if case[2] else ''}"
    for way, all_ in told.items():
        rate = [one["packets_per_cpu_s"] for one in all_]
        bare = [one["packets_per_cpu_s"] for one in told["bare", "logs"]]
        # With offload the bare forwarder counts packets and the driver counts segments.
        share = [] if case[2] else [a / b for a, b in zip(rate, bare, strict=True)]
        goodput = [one.get("gbit_per_s", 0.0) for one in all_]
        beside = [one.get("gbit_per_s", 0.0) for one in told["bare", "logs"]]
        of_bare = [a / b for a, b in zip(goodput, beside, strict=True)] if case[0] == "tcp" else []
        who = way[0] if way[0] == "bare" else f"driver, {way[1]}"
        print(
            f"| {name} | {who} | {spread([r / 1e6 for r in rate], 2)} | {spread(share, 2)} "
            f"| {spread(goodput, 1) if case[0] == 'tcp' else ''} | {spread(of_bare, 2)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
