#!/usr/bin/env python3
"""Runs ns-2.35 (Debian's package `ns2`) and rewrites rfc2416/*.csv and random.*; takes a minute."""

import csv
import sys
from pathlib import Path

import cases
import drive
import table
import ties

HERE = Path(__file__).parent

#: The seed of the stored random cases, and how many cases are stored.
SEED = 20260
COUNT = 200


def rfc2416() -> None:
    """Write a file for each sender and initial window, with Limited Transmit off and on."""
    folder = HERE / "rfc2416"
    folder.mkdir(exist_ok=True)
    for recovery in cases.RECOVERIES:
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


def answer(case: dict[str, object]) -> table.Answer:
    """Return the case, the kind of its tie ("" without a tie), and ns-2's events.

    A case has a tie if a tiny change of the case changes the order of events (`ties.kind`).
    """
    rows = drive.run(case)
    return table.Answer(case, ties.kind(case, rows), rows)


def main() -> None:
    """Write all files."""
    if not drive.available():
        sys.exit("remake.py: ns-2 is not installed (Debian: apt install ns2)")
    rfc2416()
    table.write([answer(case) for case in cases.draw(SEED, COUNT)])


if __name__ == "__main__":
    main()
