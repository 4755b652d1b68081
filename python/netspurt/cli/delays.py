"""`netspurt delays`: the contents of recordings of delays."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.options import Column, Interval, LostAfter, columns_of
from netspurt.cli.output import columns, complain, number, paint, print_json, width
from netspurt.cli.recordings import How, read_all

if TYPE_CHECKING:
    from netspurt.delays import Delays, Recordings

#: The number of malformed lines of a file that are shown; all are counted.
SHOWN = 5


def delays(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Recordings, folders of them, run folders, or folders of `replay --out`.",
            show_default=False,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Read the files as this format."),
    ] = None,
    interval: Interval = None,
    column: Column = None,
    lost_after: LostAfter = None,
) -> None:
    """Show the contents of recorded delays: probes, losses, delays, and malformed lines."""
    how = How(format_, interval, columns_of(column), lost_after)
    readings = {str(file): reading for file, reading in read_all(files, how)}
    if as_json:
        print_json([_summary(name, reading) for name, reading in readings.items()])
    else:
        _describe(readings)
    if any(isinstance(reading, Exception) for reading in readings.values()):
        raise typer.Exit(2)


_COUNTS = ("sent", "received", "lost", "late", "duplicates")
_DELAYS = ("p1_ms", "median_ms", "p99_ms")
HEADER = (
    "recording",
    "read as",
    "sent",
    "received",
    "lost",
    "late",
    "dup",
    "1 % ms",
    "median ms",
    "99 % ms",
)


def _describe(readings: dict[str, Recordings | Exception]) -> None:
    found = [reading for reading in readings.values() if not isinstance(reading, Exception)]
    recordings = [one for reading in found for one in reading]
    for n, line in enumerate(_table(recordings)):
        typer.echo(paint(line, "bold") if n == 0 else line)
    for name, reading in readings.items():
        if isinstance(reading, Exception):
            complain(reading)
            continue
        for recording in reading:
            for note in recording.notes:
                for line in _hanging(f"{recording.name}: {note}"):
                    typer.echo(line)
        for one in reading.malformed[:SHOWN]:
            text = f" ({one.text})" if one.text else ""
            typer.echo(f"{paint(f'{name}:{one.line}:', 'yellow')} {one.why}{text}")
        if len(reading.malformed) > SHOWN:
            more = len(reading.malformed) - SHOWN
            typer.echo(f"{name}: {more} more malformed lines; --json lists all")


def _table(recordings: list[Delays]) -> Iterator[str]:
    """Yield the table's lines; if they are too wide, `read as` moves out of the table."""
    if not recordings:
        return
    rows = [list(HEADER), *map(_row, recordings)]
    lines = list(columns(rows, right=range(2, len(HEADER))))
    read_as: list[str] = []
    if max(map(len, lines)) > width():
        names = _shorter([row[0] for row in rows[1:]])
        read_as = [f"{name}: read as {row[1]}" for name, row in zip(names, rows[1:], strict=True)]
        rows = [[name, *row[2:]] for name, row in zip(["recording", *names], rows, strict=True)]
        lines = list(columns(rows, right=range(1, len(HEADER) - 1)))
        surplus = max(0, max(map(len, lines)) - width())
        room = max(len("recording"), max(len(row[0]) for row in rows) - surplus)
        rows = [[_cut(row[0], room), *row[1:]] for row in rows]
        lines = list(columns(rows, right=range(1, len(HEADER) - 1)))
    yield from lines
    for text in read_as:
        yield from _hanging(text)


def _row(of: Delays) -> list[str]:
    about = of.summary()
    kind = "" if of.measure == "round-trip" else f", {of.measure}"
    counts = [number(about[key]) for key in _COUNTS]
    return [of.name, of.format + kind, *counts, *(_four_digits(about[key]) for key in _DELAYS)]


def _four_digits(ms: float | None) -> str:
    """Return a delay [ms] with four digits, at most three of them decimals."""
    if ms is None:
        return "-"
    return f"{ms:.{next((n for n, bound in enumerate((1000, 100, 10)) if ms >= bound), 3)}f}"


def _shorter(names: list[str]) -> list[str]:
    """Return names without the folder that they all share."""
    folder = os.path.commonpath([Path(name).parent for name in names]) if names else ""
    return [name.removeprefix(folder).lstrip(os.sep) for name in names] if folder else names


def _cut(text: str, room: int) -> str:
    """Return the end of a text that is too long; the end is more specific than the beginning."""
    return text if len(text) <= room else f"…{text[len(text) - room + 1 :]}"


def _hanging(text: str) -> list[str]:
    return textwrap.wrap(
        text, width(), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _summary(name: str, reading: Recordings | Exception) -> Any:
    if isinstance(reading, Exception):
        return {"file": name, "error": str(reading)}
    return {
        "file": name,
        "recordings": [{**one.summary(), "notes": one.notes} for one in reading],
        "malformed": [vars(one) for one in reading.malformed],
    }
