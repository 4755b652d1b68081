"""Timelines in the formats of other tools: CSV, Hypatia's series, and Mahimahi's traces."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from netspurt.stored import bounded_octets
from netspurt.timelines.timeline import MOST_POINTS, Timeline

#: The latest instant and the longest delay, in nanoseconds: thirty years.
_LATEST_NS = 10**18

#: The instants' column of a CSV file, and nanoseconds of its unit.
_INSTANTS = {"t_s": 1_000_000_000, "t_ms": 1_000_000, "t_us": 1000, "t_ns": 1}

#: Columns of delays of one direction and of round trips, and nanoseconds of their units. Half of a
#: round trip is the delay of a direction.
_DELAYS = {f"delay_{unit}": size for unit, size in (("s", 10**9), ("ms", 10**6), ("ns", 1))}
_ROUND_TRIPS = {f"rtt_{unit}": size for unit, size in (("s", 10**9), ("ms", 10**6), ("ns", 1))}

#: Columns of rates, and bits per second of their units.
_RATES = {"rate_bps": 1, "rate_kbps": 1000, "rate_mbps": 1_000_000}

#: The column of probabilities of loss.
_LOSS = "loss"

#: Columns that `netspurt orbit delays --csv` writes besides, and no link has.
_UNUSED = ("distance_km",)

#: The most octets of a file.
_MOST_OCTETS = 1 << 28

_Number = TypeVar("_Number", int, float)

_KNOWN = (*_INSTANTS, *_DELAYS, *_ROUND_TRIPS, *_RATES, _LOSS)


def read_timeline(path: str | os.PathLike[str], *, format_: str | None = None) -> Timeline:
    """Read a timeline from a file of another tool.

    Parameters
    ----------
    path
        The file.
    format_
        `csv`, a table with a heading, whose first column holds instants; `hypatia`, rows of an
        instant and a round trip in nanoseconds, without a heading; `mahimahi`, a millisecond on
        each line, at which 1500 octets are delivered. By default the file's first line tells.

    Raises
    ------
    ValueError
        If it is none of these; the message names the line and the fix.
    OSError
        If it cannot be read.
    """
    name = os.fspath(path)
    try:
        text = bounded_octets(path, _MOST_OCTETS).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not a text file") from None
    lines = [line for line in enumerate(text.splitlines(), 1) if line[1].strip()]
    if not lines:
        raise ValueError(f"{name} is empty")
    if len(lines) > MOST_POINTS:
        raise ValueError(f"{name} has {len(lines)} lines, and a timeline {MOST_POINTS} points")
    readers: dict[str, Callable[[str, list[tuple[int, str]]], Timeline]] = {
        "csv": _of_csv,
        "hypatia": _of_hypatia,
        "mahimahi": _of_mahimahi,
    }
    chosen = format_ or _format_of(lines[0][1])
    if chosen not in readers:
        raise ValueError(f"`{chosen}` is no format of timelines: {', '.join(readers)}")
    return readers[chosen](name, lines)


def _format_of(first: str) -> str:
    """Return the format that a first line tells."""
    if first.strip().isdigit():
        return "mahimahi"
    cells = first.split(",")
    return "hypatia" if all(_is_number(cell) for cell in cells) else "csv"


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _of_mahimahi(name: str, lines: list[tuple[int, str]]) -> Timeline:
    instants: list[int] = []
    for number, line in lines:
        if not line.strip().isdigit():
            raise ValueError(f"{name}, line {number}: {line.strip()!r} is no millisecond")
        instants.append(_within(name, number, int(line) * 1_000_000))
        _ascends(name, number, instants)
    if instants[-1] == 0:
        raise ValueError(f"{name}: the last opportunity is at 0 ms, so rounds take no time")
    return Timeline(name, opportunities=instants)


def _of_hypatia(name: str, lines: list[tuple[int, str]]) -> Timeline:
    rows = _rows(name, lines, 2)
    points = [(at, round(rtt / 2)) for at, rtt in _points(name, rows, 0, 1, 1, 1)]
    return Timeline(name, delay=points)


def _of_csv(name: str, lines: list[tuple[int, str]]) -> Timeline:
    heading = [cell.strip() for cell in next(csv.reader(io.StringIO(lines[0][1])))]
    known = f"known are {', '.join(_KNOWN)}"
    for column in heading:
        if column not in (*_KNOWN, *_UNUSED):
            raise ValueError(f"{name}, line {lines[0][0]}: no column {column!r}; {known}")
    if heading[0] not in _INSTANTS:
        raise ValueError(f"{name}: the first column holds instants: {', '.join(_INSTANTS)}")
    used = [(n, column) for n, column in enumerate(heading) if n and column not in _UNUSED]
    kinds = [_kind(column) for _, column in used]
    if not kinds or len(set(kinds)) < len(kinds):
        raise ValueError(f"{name}: one column of delays, of rates or of loss each; {known}")
    rows = _rows(name, lines[1:], len(heading))
    unit = _INSTANTS[heading[0]]
    found: dict[str, list[tuple[int, float]]] = {}
    for place, column in used:
        size = {**_DELAYS, **_ROUND_TRIPS, **_RATES, _LOSS: 1}[column]
        points = _points(name, rows, 0, unit, place, size)
        if column in _ROUND_TRIPS:
            points = [(at, span / 2) for at, span in points]
        found[_kind(column)] = points
    for (number, _), (_, p) in zip(rows, found.get("loss", []), strict=False):
        if p > 1:
            raise ValueError(f"{name}, line {number}: {p:g} is not a probability")
    for (number, _), (_, bits) in zip(rows, found.get("rate", []), strict=False):
        if bits < 1:
            raise ValueError(
                f"{name}, line {number}: no rate below 1 bit/s; an outage is an entry of "
                "`handovers`"
            )
    whole = {kind: [(at, round(value)) for at, value in points] for kind, points in found.items()}
    return Timeline(name, whole.get("delay", []), whole.get("rate", []), found.get("loss", []))


def _kind(column: str) -> str:
    """Return what a column of values holds."""
    if column in _RATES:
        return "rate"
    return "loss" if column == _LOSS else "delay"


def _rows(name: str, lines: list[tuple[int, str]], width: int) -> list[tuple[int, list[float]]]:
    """Return the numbers of each line, with its number."""
    rows = []
    for number, line in lines:
        cells = next(csv.reader(io.StringIO(line)))
        if len(cells) != width:
            raise ValueError(
                f"{name}, line {number}: {len(cells)} cells, and {width} are asked for"
            )
        wrong = [cell for cell in cells if not _is_number(cell)]
        if wrong:
            raise ValueError(f"{name}, line {number}: {wrong[0]!r} is no number")
        rows.append((number, [float(cell) for cell in cells]))
    if not rows:
        raise ValueError(f"{name} has a heading and no points")
    return rows


def _points(  # noqa: PLR0913 - each is a choice of its own
    name: str,
    rows: list[tuple[int, list[float]]],
    at: int,
    at_size: int,
    place: int,
    size: int,
) -> list[tuple[int, float]]:
    """Return the instants [ns] and the values of a column."""
    instants: list[int] = []
    points = []
    for number, row in rows:
        instants.append(_within(name, number, round(row[at] * at_size)))
        _ascends(name, number, instants)
        _within(name, number, row[place] * size)
        points.append((instants[-1], row[place] * size))
    return points


def _within(name: str, number: int, value: _Number) -> _Number:
    """Return the value, or raise an error if no scenario has it."""
    if not 0 <= value <= _LATEST_NS:
        raise ValueError(f"{name}, line {number}: a value below zero or beyond thirty years")
    return value


def _ascends(name: str, number: int, instants: Sequence[int]) -> None:
    if len(instants) > 1 and instants[-1] < instants[-2]:
        raise ValueError(f"{name}, line {number}: it lies before the line in front of it")
