#!/usr/bin/env python3
"""Times netspurt, ns-2 and ns-3 on the workloads of this folder.

    python3 bench/compare.py [--rounds N] [--workloads W1,...,W6] [--peers ns2,ns3]

Each round runs every program once, all on the same core. A CPU time is the user and system time of
a whole process: start, set-up and run. The ratios to netspurt's CPU time are computed for each
round, because a slow machine slows all programs of the same round. The peers are ns-2 and ns-3 from
Debian's packages ns2 and libns3-dev. A peer that is missing is left out with a message.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SIMULATE = ROOT / "target" / "release" / "examples" / "simulate"
#: Workloads that measure memory. The peers have no program for them.
OURS_ALONE = {"W4", "W5", "W6"}
NS3_LIBRARIES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")


@dataclass(frozen=True)
class Timing:
    """The costs of one run of a program, and the number of hops that its packets made."""

    cpu_s: float
    memory_mb: float
    hops: int


def time_once(command: Sequence[str]) -> Timing:
    """Run a program that prints `hops N`, on the first core that this process may use."""
    core = min(os.sched_getaffinity(0))
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),  # noqa: PLW1509
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{' '.join(command)} failed with status {status}")
    words = output.split()
    hops = int(words[words.index("hops") + 1])
    return Timing(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, hops)


def build() -> None:
    """Build the example program `simulate`, which runs netspurt's engine without Python."""
    command = ["cargo", "build", "--quiet", "--release", "--package", "netspurt-scenario"]
    subprocess.run([*command, "--example", "simulate"], cwd=ROOT, check=True)


def build_ns3(folder: Path) -> Path | None:
    """Build the ns-3 driver and return its path; `None` if it does not build (ns-3 is missing)."""
    program = folder / "ns3"
    libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
    source = HERE / "ns3.cc"
    command = ["g++", "-O2", "-std=c++17", source, *libraries, "-o", program]
    built = subprocess.run(command, check=False, capture_output=True)
    return program if built.returncode == 0 else None


def programs(workload: str, peers: set[str], folder: Path) -> dict[str, list[str]]:
    """Return the commands whose CPU time is compared, by name. netspurt's commands come first."""
    scenario = str(HERE / f"{workload.lower()}.toml")
    found = {
        "netspurt": [str(SIMULATE), scenario],
        "netspurt, recording": [str(SIMULATE), scenario, 'record.tables=["segments"]'],
    }
    if "ns2" in peers:
        if shutil.which("ns"):
            found["ns-2.35 Sack1"] = ["ns", str(HERE / "ns2.tcl"), workload]
        else:
            print("ns-2 is left out: it is not installed (Debian: ns2)", file=sys.stderr)
    if "ns3" in peers:
        program = build_ns3(folder)
        if program:
            found["ns-3.37 NewReno"] = [str(program), workload]
        else:
            print("ns-3 is left out: it does not build (Debian: libns3-dev)", file=sys.stderr)
    return found


def compare(workload: str, commands: dict[str, list[str]], rounds: int) -> None:
    """Time the programs alternately and print a table."""
    timings: dict[str, list[Timing]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            timings[name].append(time_once(command))
    print(f"\n{workload}, {rounds} rounds")
    head = ("program", "hops", "CPU s, min", "median", "M hops/CPU s", "MB")
    print("{:22}{:>10}{:>12}{:>9}{:>14}{:>7}  ratio to netspurt's CPU time".format(*head))
    ours = [t.cpu_s for t in timings["netspurt"]]
    for name, runs in timings.items():
        cpu = [t.cpu_s for t in runs]
        ratios = sorted(a / b for a, b in zip(cpu, ours, strict=True))
        rate = runs[0].hops / statistics.median(cpu) / 1e6
        spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} - {ratios[-1]:.2f})"
        memory = max(t.memory_mb for t in runs)
        print(
            f"{name:22}{runs[0].hops:>10}{min(cpu):>12.3f}{statistics.median(cpu):>9.3f}"
            f"{rate:>14.2f}{memory:>7.0f}  {spread}"
        )


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description="Time netspurt beside ns-2 and ns-3.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workloads", default="W1,W2,W3")
    parser.add_argument("--peers", default="ns2")
    chosen = parser.parse_args()
    build()
    with tempfile.TemporaryDirectory() as folder:
        for workload in chosen.workloads.split(","):
            peers = set() if workload in OURS_ALONE else set(chosen.peers.split(","))
            commands = programs(workload, peers, Path(folder))
            compare(workload, commands, chosen.rounds)


if __name__ == "__main__":
    main()
