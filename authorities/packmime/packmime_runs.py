#!/usr/bin/env python3
"""Runs ns-2.35 (Debian's package `ns2`) and rewrites runs.csv and quantiles.csv, in two minutes."""

import csv
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pvariance

HERE = Path(__file__).parent

#: The numbers of new connections per second.
RATES = (18, 36, 54)
#: The substreams of the random generators. There is one run for each substream and each rate.
RUNS = range(1, 21)

#: The length of a run, in seconds.
STOP = 400

#: The driver's settings that all runs share.
SETTINGS: dict[str, object] = {
    "stop": STOP,
    "segment": 536,
    "rate": "5Mb",
    "delay": "10ms",
    "queue": 50,
    "access_rate": "100Mb",
    "access_delay": "0.1ms",
    "access_queue": 1000,
}

QUANTILES = (
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.25,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.75,
    0.8,
    0.9,
    0.95,
    0.98,
    0.99,
)

#: The lengths of the spans in which arrivals are counted, in seconds.
SPANS_S = (0.1, 1, 10)


def quantile(ascending: Sequence[float], q: float) -> float:
    """Return the smallest value `v` for which the share of the values up to `v` is at least `q`."""
    return ascending[max(math.ceil(q * len(ascending)) - 1, 0)]


def dispersion(times: Sequence[float], span_s: float) -> float:
    """Return the variance of the numbers of arrivals in spans of `span_s`, divided by the mean."""
    counts = [0] * round(STOP / span_s)
    for time in times:
        counts[min(int(time / span_s), len(counts) - 1)] += 1
    return pvariance(counts) / fmean(counts)


def columns(path: Path, count: int) -> list[list[float]]:
    """Return the first `count` columns of PackMime's file. An incomplete last line is ignored."""
    lines = [
        line.split() for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")
    ]
    return [[float(line[place]) for line in lines] for place in range(count)]


def run(rate: int, number: int) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Run ns-2 once; return the run's row of runs.csv and its rows of quantiles.csv."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        words = [f"{name}={value}" for name, value in SETTINGS.items()]
        words += [f"connections={rate}", f"run={number}", f"out={out}"]
        command = ["ns", str(HERE / "driver.tcl"), *words]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        times, requests, replies = columns(out.with_suffix(".started"), 3)
        _, _, _, durations = columns(out.with_suffix(".done"), 4)
    counts = {name: int(value) for name, value in map(str.split, output.splitlines())}
    label: dict[str, object] = {"connections_per_s": rate, "run": number}
    gaps = [(after - before) * 1e3 for before, after in pairwise(times)]
    row = label | {
        "started": len(times),
        "completed": len(durations),
        "request_bytes_mean": round(fmean(requests), 2),
        "reply_bytes_mean": round(fmean(replies), 2),
        "reply_bytes_max": int(max(replies)),
        "duration_ms_mean": round(fmean(durations), 3),
    }
    for direction in ("requests", "replies"):
        row[f"{direction}_utilisation"] = round(counts[f"{direction}_octets"] * 8 / 5e6 / STOP, 5)
        row[f"{direction}_packets"] = counts[f"{direction}_packets"]
        row[f"{direction}_drops"] = counts[f"{direction}_drops"]
    row |= {f"dispersion_{span:g}s": round(dispersion(times, span), 4) for span in SPANS_S}
    rows = []
    measured = {
        "request_bytes": requests,
        "reply_bytes": replies,
        "duration_ms": durations,
        "gap_ms": gaps,
    }
    for quantity, values in measured.items():
        ascending = sorted(values)
        quantiles = {f"q{q:g}": f"{quantile(ascending, q):.9g}" for q in QUANTILES}
        rows.append(label | {"quantity": quantity, "n": len(values)} | quantiles)
    return row, rows


def write(path: Path, rows: Sequence[dict[str, object]]) -> None:
    """Write a table of rows with the same columns."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Write both files."""
    if shutil.which("ns") is None:
        sys.exit("packmime_runs.py: ns-2 is not installed (Debian: apt install ns2)")
    runs, quantiles = [], []
    for rate in RATES:
        for number in RUNS:
            row, rows = run(rate, number)
            print(row, flush=True)
            runs.append(row)
            quantiles += rows
    write(HERE / "runs.csv", runs)
    write(HERE / "quantiles.csv", quantiles)


if __name__ == "__main__":
    main()
