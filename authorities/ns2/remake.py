#!/usr/bin/env python3
"""Writes rfc2416/*.csv anew from ns-2.35 (Debian's package `ns2`).  A few seconds."""

import csv
import sys
from pathlib import Path

import drive

HERE = Path(__file__).parent


def main() -> None:
    """One file for each sender, initial window, and Limited Transmit off or on."""
    if not drive.available():
        sys.exit("remake.py: ns-2 is not installed (Debian: apt install ns2)")
    folder = HERE / "rfc2416"
    folder.mkdir(exist_ok=True)
    for recovery in ("tahoe", "reno", "newreno", "sack", "fack"):
        for window in (1, 4):
            for limited in (0, 1):
                case: dict[str, object] = {
                    "recovery": recovery,
                    "initial_window": window,
                    "limited_transmit": limited,
                }
                path = folder / f"{recovery}-iw{window}-lt{limited}.csv"
                with path.open("w", newline="") as file:
                    writer = csv.writer(file, lineterminator="\n")
                    writer.writerow(drive.Row._fields)
                    writer.writerows(drive.run(case))


if __name__ == "__main__":
    main()
