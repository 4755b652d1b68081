"""Measures the cost of forwarding real packets, compared with a bare forwarder.

The live driver passes each packet through emulated links. A bare forwarder sends each packet on
unchanged, without links. Run `cargo build --release -p netspurt-live --example wire`, then
`python3 bench/wire.py`. TUN devices need root if only root may open /dev/net/tun. The bare
forwarder and netspurt's driver run alternately, and ratios are computed for each round. CPU time is
the time of the forwarding thread, with the kernel's work for it.
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

#: The cases: the traffic, the kind of wire, and whether segmentation offload is on. The traffic
#: `blast` is packets in one direction, as fast as possible. The traffic `tcp` is a bulk transfer of
#: the kernel's TCP.
CASES = [
    ("blast", "veth", False),
    ("blast", "tun", False),
    ("tcp", "veth", False),
    ("tcp", "tun", False),
    ("tcp", "veth", True),
    ("tcp", "tun", True),
]


def measure(
    forwarder: str, logs: str, case: tuple[str, str, bool], seconds: int
) -> dict[str, Any] | None:
    """Run the program once and return its figures. If it fails, print why and return `None`."""
    traffic, wire, offload = case
    words = [
        str(PROGRAM),
        forwarder,
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
    """Return the median, the minimum and the maximum of some values as text."""
    if not values:
        return ""
    low, high = min(values), max(values)
    median = statistics.median(values)
    return f"{median:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument(
        "--logs", default="logs", help="logs, tables or captures, or several: logs,tables"
    )
    parser.add_argument("--only", default="", help="measure only blast, or only tcp")
    options = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(
            f"{PROGRAM.relative_to(ROOT)} is missing: run `cargo build --release -p netspurt-live "
            "--example wire`"
        )
    print(f"load at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(
        "| traffic, wire | forwarder | M packets per CPU s | ratio to the bare forwarder "
        "| Gbit/s | ratio to the bare forwarder |"
    )
    print("|---|---|---|---|---|---|")
    for case in CASES:
        if options.only in case[0]:
            compare(case, options.logs.split(","), options.rounds, options.seconds)
    print(f"load at the end: {os.getloadavg()[0]:.1f}")


def compare(case: tuple[str, str, bool], logs: list[str], rounds: int, seconds: int) -> None:
    """Run the variants of one case alternately, and print a line for each."""
    variants = [("bare", "logs"), *(("driver", kind) for kind in logs)]
    figures: dict[tuple[str, str], list[dict[str, Any]]] = {variant: [] for variant in variants}
    for _ in range(rounds):
        figures_of_round = [measure(name, kind, case, seconds) for name, kind in variants]
        if None in figures_of_round:
            return
        for variant, measured in zip(variants, figures_of_round, strict=True):
            figures[variant].append(measured or {})
    name = f"{case[0]}, {case[1]}{', offload' if case[2] else ''}"
    bare_rates = [run["packets_per_cpu_s"] for run in figures["bare", "logs"]]
    bare_goodputs = [run.get("gbit_per_s", 0.0) for run in figures["bare", "logs"]]
    for variant, runs in figures.items():
        rates = [run["packets_per_cpu_s"] for run in runs]
        # With offload the bare forwarder counts packets and the driver counts segments, so these
        # rates are not compared.
        rate_share = [] if case[2] else [a / b for a, b in zip(rates, bare_rates, strict=True)]
        goodputs = [run.get("gbit_per_s", 0.0) for run in runs]
        pairs = zip(goodputs, bare_goodputs, strict=True) if case[0] == "tcp" else ()
        goodput_share = [a / b for a, b in pairs]
        label = variant[0] if variant[0] == "bare" else f"driver, {variant[1]}"
        print(
            f"| {name} | {label} | {spread([r / 1e6 for r in rates], 2)} | {spread(rate_share, 2)} "
            f"| {spread(goodputs, 1) if case[0] == 'tcp' else ''} | {spread(goodput_share, 2)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
