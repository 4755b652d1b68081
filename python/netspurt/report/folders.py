"""The sections of a folder of captures or recordings: one on all files, then one on each file.

Captures are sorted by the time that their connections waited for timers and repair. At most
`MOST_TOLD` captures have a section, and the first `MOST_DRAWN` of these have pictures.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from netspurt.analysis.spent import BRIEFLY, parts
from netspurt.captures import Explained
from netspurt.causes import tallied
from netspurt.report.captures import capture_section, undrawn_part
from netspurt.report.findings import finding, shares
from netspurt.report.flows import Room
from netspurt.report.parts import MOST_ROWS, Part, Rows, Section
from netspurt.report.words import span
from netspurt.table import Table
from netspurt.wording import counted, number, plain

#: The maximum number of a folder's captures that have pictures, and the maximum number of
#: directions of connections that the pictures of one capture show.
MOST_DRAWN = 8
MOST_DIRECTIONS = 5

#: The maximum number of a folder's captures that have a section of their own.
MOST_TOLD = 60


@dataclass(frozen=True)
class _Sums:
    """A row of the table of captures: a file, sums over its connections, causes of retransmissions.

    `again` is the number of retransmissions. `spent_s` is the sum of the connections' durations.
    `mostly` names what took the largest part of it. `lost_s` is the part in which connections
    waited for timers, or repaired losses.
    """

    path: str
    connections: int
    packets: int
    octets: int
    again: int
    spurious: int
    spent_s: float
    mostly: str
    lost_s: float
    causes: str


@dataclass(frozen=True)
class Opener:
    """How the captures of a folder are opened and described.

    Attributes
    ----------
    explain
        Explains a file; the second argument says whether its segments are kept.
    lines
        Returns the lines that `netspurt explain` prints.
    """

    explain: Callable[[str, bool], Explained]
    lines: Callable[[Explained], Sequence[str]]


def captures_sections(pooled: Explained, folder: Path, how: Opener, room: int) -> Iterator[Section]:
    """Yield the section of a folder, and sections for the captures that waited longest.

    Parameters
    ----------
    pooled
        All captures, explained together.
    folder
        The folder.
    how
        How the captures are opened.
    room
        The maximum number of marks to draw.
    """
    sums = sorted(_sums(pooled), key=lambda one: (-one.lost_s, -one.again, -one.octets, one.path))
    heading = f"{counted(len(sums), 'capture')} in {plain(_name(folder))}"
    yield Section(heading, [_summary(pooled, folder, sums, how)])
    drawn = min(MOST_DRAWN, len(sums))
    own = Room(room // drawn, MOST_DIRECTIONS)
    for n, one in enumerate(sums[:MOST_TOLD]):
        name = _within(one.path, folder)
        if n < drawn and one.connections:
            found = how.explain(one.path, True)
            section = capture_section(found, name, how.lines(found), own)
        else:
            found = how.explain(one.path, False)
            section = Section(name, [_undrawn(found, name, how, elsewhere=not one.connections)])
        yield replace(section, heading=name, within=True)


def _undrawn(found: Explained, name: str, how: Opener, *, elsewhere: bool) -> Part:
    """Return the part for a capture of which the page has no pictures.

    `elsewhere` is true if all connections of the capture are counted in other captures.
    """
    part = undrawn_part(found, name, how.lines(found))
    if found.tcp == 0:
        return replace(
            part, words=["The capture has no packets of TCP."], answer="", lines=(), tables=()
        )
    why = (
        "another capture of the folder shows the same connections nearer to their senders"
        if elsewhere
        else "the page draws only the first captures in its table"
    )
    note = f"Not drawn, because {why}. `netspurt report` with this file draws it."
    return replace(part, notes=[*part.notes, note])


def _summary(pooled: Explained, folder: Path, sums: Sequence[_Sums], how: Opener) -> Part:
    """Return the words on all captures, and the table with links to their sections."""
    words = [f"{fault}." for fault in (pooled.fault or "").splitlines()]
    told, drawn = min(MOST_TOLD, len(sums)), min(MOST_DRAWN, len(sums))
    notes = []
    if len(sums) > drawn:
        notes.append(
            f"The page has pictures and tables of retransmissions for {_each_of_the_worst(drawn)}. "
            "`netspurt report FILE` makes a page of any other capture."
        )
    if (left := min(len(sums), MOST_ROWS) - told) > 0:
        notes.append(
            f"The page has a section for {_each_of_the_worst(told)}. It shows {number(left)} "
            f"{'other' if left == 1 else 'others'} only as {'a row' if left == 1 else 'rows'} of "
            "the table."
        )
    lines = [plain(line) for line in how.lines(pooled)]
    return Part(
        name=_name(folder),
        words=[*words, *shares(lines)],
        answer=finding(pooled, lines),
        lines=lines,
        tables=[_table(sums, folder, told)],
        notes=notes,
    )


def _each_of_the_worst(count: int) -> str:
    return (
        "the capture that waited longest for timers and repair"
        if count == 1
        else f"each of the {count} captures that waited longest for timers and repair"
    )


def _table(sums: Sequence[_Sums], folder: Path, told: int) -> Rows:
    rows = [
        (
            _within(one.path, folder),
            span(one.spent_s) if one.spent_s else "-",
            one.mostly,
            span(one.lost_s) if one.lost_s else "-",
            *map(number, (one.again, one.spurious)),
            one.causes or "-",
            *map(number, (one.connections, one.packets, one.octets)),
        )
        for one in sums[:MOST_ROWS]
    ]
    head = (
        *("capture", "time", "mostly waited for", "timers and repair"),
        *("retransmitted", "spurious", "causes"),
        *("connections", "packets", "octets of data"),
    )
    return Rows(
        "Captures, sorted by the time that they waited for timers and repair",
        head,
        rows,
        (1, 3, 4, 5, 7, 8, 9),
        sections=[n + 1 if n < told else 0 for n in range(len(rows))],
        more=len(sums) - len(rows),
        elsewhere="`netspurt explain FOLDER --csv` prints the connections of all captures.",
    )


def _sums(pooled: Explained) -> Iterator[_Sums]:
    """Yield the row of the table for each capture, in the order of the files."""
    firsts = [first for _, first in pooled.files]
    for (path, first), end in zip(pooled.files, [*firsts[1:], np.inf], strict=True):
        connections, again, spent = (
            _between(pooled.table(name), first, end)
            for name in ("connections", "retransmissions", "spent")
        )
        lost = spent.seconds("timeout_ns").sum() + spent.seconds("repair_ns").sum()
        yield _Sums(
            path,
            len(set(connections["connection"].tolist())),
            int(connections["packets"].sum()),
            int(connections["unique_bytes"].sum()),
            len(again),
            int((again["verdict"] == "spurious").sum()),
            *_time_of(spent),
            float(lost),
            tallied(again["cause"].tolist()),
        )


def _time_of(spent: Table) -> tuple[float, str]:
    """Return the time of connections [s], and its largest part in words."""
    shares, whole = parts(spent)
    return whole, f"{BRIEFLY[shares[0][0]]} {shares[0][1]:.0%}" if shares else "-"


def _between(table: Table, first: int, end: float) -> Table:
    return table.select((table["connection"] >= first) & (table["connection"] < end))


def recordings_section(folder: Path, sections: Sequence[Section]) -> Section:
    """Return the section that comes before a folder's recordings: a table of the recordings."""
    rows = [(section.heading,) for section in sections]
    shown = rows[:MOST_ROWS]
    table = Rows(
        "Recordings",
        ("recording",),
        shown,
        sections=range(1, len(shown) + 1),
        more=len(rows) - len(shown),
    )
    heading = f"{counted(len(rows), 'recording')} in {plain(_name(folder))}"
    return Section(heading, [Part(name=_name(folder), tables=[table])])


def _name(folder: Path) -> str:
    return folder.resolve().name or str(folder)


def _within(path: str, folder: Path) -> str:
    return plain(os.path.relpath(path, folder))
