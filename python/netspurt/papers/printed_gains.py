"""Measures of printed gains and names: arithmetic on what a paper prints.

A measure is a function that returns the value that decides a claim of a paper (`registry.py`).
"""

from __future__ import annotations

from netspurt.papers.bench import Bench
from netspurt.papers.registry import Measured, in_unit, registered


@registered
@in_unit("%")
def gain_of_durations(_: Bench, *, before: str, after: str) -> Measured:
    """Return how much shorter the second duration is than the first [% of the first]."""
    longer, shorter = float(before), float(after)
    saved = 100 * (longer - shorter) / longer
    rows = [
        ("as a share of the longer", "as a share of the shorter"),
        (f"{saved:.1f} %", f"{100 * (longer / shorter - 1):.1f} %"),
    ]
    return Measured(saved, rows)


@registered
def largest_printed_gain(bench: Bench, *, table: str) -> Measured:
    """Return the largest gain of a printed table and the load at which it is printed [%]."""
    printed = bench.paper.rows(table)
    rows = [tuple(printed[0]), *(tuple(row.values()) for row in printed)]
    largest = max(printed, key=lambda row: float(row["gain_percent"]))
    return Measured([float(largest["gain_percent"]), float(largest["load_percent"])], rows)


@registered
def largest_of(_: Bench, *, numbers: str) -> Measured:
    """Return the largest of printed numbers."""
    return Measured(max(map(float, numbers.split(","))))


@registered
def quotient(_: Bench, *, of: str, by: str) -> Measured:
    """Return a printed number divided by another printed number."""
    return Measured(float(of) / float(by))


@registered
def name_in_full(bench: Bench, *, table: str, word: str) -> Measured:
    """Return the full name of an abbreviation, as a table of the paper's folder gives it."""
    (row,) = (row for row in bench.paper.rows(table) if row["abbreviation"] == word)
    return Measured(row["name"], [tuple(row), tuple(row.values())])
