"""Measure the running Linux kernel's TCP against a scripted remote end.

``python3 authorities/linux/measure.py`` writes ``measured.csv``, ``timers.csv`` and
``kernel.json`` into its own folder, in ten seconds. It needs root (or other rights to make a
network namespace and to open /dev/net/tun). All traffic stays on a TUN device in a network
namespace that ends with the process.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import ctypes
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
import traceback
from pathlib import Path

import kernel_cases as cases
from kernel_peer import JIFFY_NS, KERNEL, Flow, Tun

HERE = Path(__file__).resolve().parent
SYSCTLS = {"tcp_no_metrics_save": "1"}
GROUPS = {
    "default": (cases.DEFAULT, {}),
    "no_probes": (cases.NO_PROBES, {"tcp_early_retrans": "0"}),
}
#: The rows of timers.csv.
Timers = list[tuple[str, str, int, int, int]]
#: The measured values of all runs, by case and item.
Values = dict[str, dict[str, list[int]]]


class UnableError(Exception):
    """The machine cannot measure: it is not Linux, or lacks a permission or a device."""


def enter_namespace(sysctls: dict[str, str]) -> Tun:
    """Enter a new network namespace and return the TUN device in it."""
    clone_newnet = 0x40000000
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(clone_newnet) != 0:
        why = os.strerror(ctypes.get_errno())
        raise UnableError(f"no network namespace: {why}; run the program as root")
    try:
        tun = Tun()
    except OSError as error:
        raise UnableError(f"no TUN device: {error}") from error
    try:
        for command in (f"addr add {KERNEL}/16 dev peer0", "link set peer0 up"):
            subprocess.run(["ip", *command.split()], check=True)
        for name, value in (SYSCTLS | sysctls).items():
            Path("/proc/sys/net/ipv4", name).write_text(value)
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnableError(f"the device cannot be set up: {error}") from error
    return tun


def jiffies_offset() -> int:
    """Return how far the count of jiffies is ahead of CLOCK_MONOTONIC [ns].

    CLOCK_MONOTONIC plus this offset is a multiple of `JIFFY_NS` at each tick.
    """
    try:
        text = Path("/proc/timer_list").read_text()
    except OSError as error:
        raise UnableError(f"the count of jiffies cannot be read: {error}") from error
    now = re.search(r"now at (\d+)", text)
    count = re.findall(r"^jiffies: (\d+)", text, re.MULTILINE)
    if not now or not count:
        raise UnableError("/proc/timer_list does not contain the count of jiffies")
    return int(count[0]) * JIFFY_NS - int(now[1]) // JIFFY_NS * JIFFY_NS


def take_real_time_priority() -> None:
    """Take real-time priority if the machine allows it."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))


async def measure(group: str, tun: Tun, runs: int) -> tuple[Values, Timers]:
    """Run every case of a group `runs` times. The runs of all cases overlap in time."""
    tun.start()
    offset = jiffies_offset()
    values: Values = {}
    timers: Timers = []

    async def run_case(number: int, run: int, name: str, case: cases.Case) -> None:
        # Runs start at different phases of the jiffies and of the timer wheel's buckets.
        await asyncio.sleep(run * 0.0377 + number * 0.0113)
        flow = Flow(tun, f"10.9.{1 + number}.{1 + run}")
        out = cases.Answers(offset)
        try:
            await case(flow, out)
        except TimeoutError:
            print(f"{name}, run {run}: the kernel sent nothing more", file=sys.stderr)
        finally:
            flow.close()
        for item, value in out.values.items():
            values.setdefault(name, {}).setdefault(item, []).append(value)
        timers.extend((name, *timer) for timer in out.timers)

    chosen = enumerate(GROUPS[group][0].items())
    tasks = [(n, run, name, case) for n, (name, case) in chosen for run in range(runs)]
    await asyncio.gather(*(run_case(*task) for task in tasks))
    return values, timers


def in_child(group: str, runs: int) -> tuple[int, int]:
    """Measure a group in a process and a namespace of its own.

    Return the process's pid, and the descriptor of a pipe from which its answer is read.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    try:
        take_real_time_priority()
        answer: object = asyncio.run(measure(group, enter_namespace(GROUPS[group][1]), runs))
    except UnableError as error:
        answer = {"unable": str(error)}
    except BaseException:
        answer = {"failed": traceback.format_exc()}
    with os.fdopen(write, "w") as pipe:
        json.dump(answer, pipe)
    os._exit(0)


def measure_all(runs: int) -> tuple[Values, Timers]:
    """Measure all groups at the same time.

    Raises
    ------
    UnableError
        If the machine is not Linux; if it has no namespace, TUN device, program `ip` or count of
        jiffies; or if the kernel's settings cannot be changed.
    RuntimeError
        If the measurement of a group fails for another reason. The message is the traceback.
    """
    if platform.system() != "Linux":
        raise UnableError("this is not Linux")
    values: Values = {}
    timers: Timers = []
    for pid, read in [in_child(group, runs) for group in GROUPS]:
        with os.fdopen(read) as pipe:
            answer = json.load(pipe)
        os.waitpid(pid, 0)
        match answer:
            case {"unable": why}:
                raise UnableError(why)
            case {"failed": report}:
                raise RuntimeError(f"the measurement failed:\n{report}")
        values |= answer[0]
        timers += [tuple(timer) for timer in answer[1]]
    return values, timers


def main() -> None:
    """Measure all groups, and write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--to", type=Path, default=HERE)
    options = parser.parse_args()
    started = time.monotonic()
    try:
        values, timers = measure_all(options.runs)
    except UnableError as error:
        sys.exit(f"nothing measured: {error}")
    with (options.to / "measured.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", "item", "runs", "median", "min", "max"])
        for case, items in values.items():
            for item, results in items.items():
                median = statistics.median_low(results)
                rows.writerow([case, item, len(results), median, min(results), max(results)])
    with (options.to / "timers.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", "timer", "nominal_us", "armed_ns", "gap_us"])
        rows.writerows(sorted(timers))
    kernel = {"release": platform.release(), "runs": options.runs, "hz": 1_000_000_000 // JIFFY_NS}
    (options.to / "kernel.json").write_text(json.dumps(kernel, indent=1) + "\n")
    print(f"{len(values)} cases in {time.monotonic() - started:.0f} s on {platform.release()}")


if __name__ == "__main__":
    main()
