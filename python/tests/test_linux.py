"""Compares stored measurements of a Linux kernel with new measurements of the running kernel."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from lateness import real_time

#: The folder with the stored measurements and with the program `measure.py`, which made them.
AUTHORITY = Path(__file__).parents[2] / "authorities" / "linux"
#: Times may differ by one and a half jiffies of 4 ms, and by the error of a short sleep on a busy
#: machine [µs].
TOLERANCE_US = 6_000 + 4_000
#: The share of the numbers that must agree. A busy machine may disturb some runs.
SHARE = 0.97
#: The beginning of the message of `measure.py` if it cannot measure anything.
UNABLE = "nothing measured: "

#: The median, the minimum and the maximum of each measured item, by its case and its name.
Numbers = dict[tuple[str, str], tuple[int, int, int]]


def read(folder: Path) -> Numbers:
    """Return the numbers in the file `measured.csv` of a folder."""
    with (folder / "measured.csv").open(newline="") as file:
        return {
            (row["case"], row["item"]): (int(row["median"]), int(row["min"]), int(row["max"]))
            for row in csv.DictReader(file)
        }


def is_time(item: str) -> bool:
    """Return True if an item is a time in microseconds."""
    return item.endswith("_us") or item in {"rto", "ato", "rtt", "rttvar"}


def disagreements(filed: Numbers, measured: Numbers) -> list[str]:
    """Return the stored numbers that disagree with the newly measured numbers.

    An item disagrees if it was not measured. It also disagrees if the stored range and the measured
    range are farther apart than the tolerance.
    """
    differences = []
    for (case, item), (median, least, most) in filed.items():
        if (case, item) not in measured:
            differences.append(f"{case} {item}: not measured")
            continue
        low, high = measured[case, item][1:]
        # The kernel rounds long timers more than short ones, because the second level of its
        # timer wheel has buckets of 32 ms.
        slack = TOLERANCE_US + median // 16 if is_time(item) else 0
        if low > most + slack or high < least - slack:
            differences.append(f"{case} {item}: measured {low}..{high}, stored {least}..{most}")
    return differences


def has_the_measured_version() -> bool:
    """Return True if this kernel and the measured kernel agree in the first two version numbers."""
    filed: str = json.loads((AUTHORITY / "kernel.json").read_text())["release"]
    return platform.release().split(".")[:2] == filed.split(".")[:2]


def measure(folder: Path, runs: int) -> Numbers:
    """Measure the running kernel with `measure.py`, or skip the test if that is impossible."""
    if platform.system() != "Linux" or not has_the_measured_version():
        pytest.skip(f"{platform.system()} {platform.release()} is not the measured kernel")
    script = str(AUTHORITY / "measure.py")
    command = [sys.executable, script, "--runs", str(runs), "--to", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=40, check=False)
    if UNABLE in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return read(folder)


def test_over_250_numbers_are_stored_from_at_least_5_runs_at_250_hz() -> None:
    kernel = json.loads((AUTHORITY / "kernel.json").read_text())
    assert kernel["hz"] == 250
    assert kernel["runs"] >= 5
    assert len(read(AUTHORITY)) > 250


@real_time
def test_the_running_kernel_agrees_with_the_stored_measurements(tmp_path: Path) -> None:
    filed, measured = read(AUTHORITY), measure(tmp_path, 3)
    outside = disagreements(filed, measured)
    print("\n".join(outside))
    assert len(outside) <= (1 - SHARE) * len(filed), outside


def test_more_than_a_quarter_of_the_numbers_disagree_if_all_are_doubled() -> None:
    filed = read(AUTHORITY)
    slower = {key: (n * 2, m * 2, most * 2) for key, (n, m, most) in filed.items()}
    assert len(disagreements(filed, slower)) > len(filed) / 4
    assert not disagreements(filed, filed)


def run_with(unshare: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `measure.py` with this function in place of the system call `unshare`."""
    script = "import ctypes, runpy, sys; ctypes.CDLL = lambda *a, **k: type('L', (), {'unshare': "
    script += f"staticmethod({unshare})}})(); ctypes.get_errno = lambda: 1; "
    script += "sys.argv = sys.argv[1:]; sys.path.insert(0, sys.argv[0].rsplit('/', 1)[0]); "
    script += "runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", script, str(AUTHORITY / "measure.py"), "--to", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=40, check=False)


@pytest.mark.skipif(os.name != "posix", reason="the script is for Linux")
def test_the_script_gives_the_reason_if_nothing_can_be_measured(tmp_path: Path) -> None:
    done = run_with("lambda flag: -1", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{UNABLE}no network namespace: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="the script is for Linux")
def test_a_fault_of_the_script_is_no_reason_to_skip(tmp_path: Path) -> None:
    done = run_with("lambda flag: 1 / 0", tmp_path)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert UNABLE not in done.stderr
    assert not list(tmp_path.iterdir())
