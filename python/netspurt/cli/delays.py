"""`netspurt delays`: what recordings of delays hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.options import Column, Interval, columns_of
from netspurt.cli.output import columns, complain, number, paint, print_json

if TYPE_CHECKING:
    from netspurt.delays import Recordings

#: So many malformed lines of a file are shown; all are counted.
SHOWN = 5


def delays(
    files: Annotated[list[Path], typer.Argument(help="Recordings.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print what they hold as JSON.")] = False,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Read as this, whatever they look like."),
    ] = None,
    interval: Interval = None,
    column: Column = None,
) -> None:
    """Tell what recorded delays hold: probes, losses, delays, and lines that make no sense."""
    from netspurt.delays import read_delays

    named = columns_of(column)
    readings: dict[str, Recordings | Exception] = {}
    for file in files:
        try:
            readings[str(file)] = read_delays(
                file, format=format_, columns=named, interval=interval
            )
        except (ValueError, OSError) as error:
            readings[str(file)] = error
    if as_json:
        print_json([_summary(name, reading) for name, reading in readings.items()])
    else:
        _describe(readings)
    if any(isinstance(reading, Exception) for reading in readings.values()):
        raise typer.Exit(2)


HEADER = (
    "recording",
    "read as",
    "sent",
    "received",
    "lost",
    "late",
    "dup",
    "1 %",
    "median",
    "99 %",
)


def _describe(readings: dict[str, Recordings | Exception]) -> None:
    read = [reading for reading in readings.values() if not isinstance(reading, Exception)]
    rows: list[tuple[str, ...]] = [HEADER]
    for recording in (one for reading in read for one in reading):
        about = recording.summary()
        kind = "" if recording.measure == "round-trip" else f", {recording.measure}"
        counts = [about[key] for key in ("sent", "received", "lost", "late", "duplicates")]
        delays = [about[key] for key in ("p1_ms", "median_ms", "p99_ms")]
        rows.append(
            (
                recording.name,
                recording.format + kind,
                *(number(count) for count in counts),
                *("-" if ms is None else f"{number(ms)} ms" for ms in delays),
            )
        )
    if len(rows) > 1:
        for n, line in enumerate(columns(rows, right=range(2, len(HEADER)))):
            typer.echo(paint(line, "bold") if n == 0 else line)
    for name, reading in readings.items():
        if isinstance(reading, Exception):
            complain(reading)
            continue
        for recording in reading:
            for note in recording.notes:
                typer.echo(f"{recording.name}: {note}")
        for one in reading.malformed[:SHOWN]:
            text = f" ({one.text})" if one.text else ""
            typer.echo(f"{paint(f'{name}:{one.line}:', 'yellow')} {one.why}{text}")
        if len(reading.malformed) > SHOWN:
            typer.echo(f"{name}: {len(reading.malformed) - SHOWN} more malformed lines")


def _summary(name: str, reading: Recordings | Exception) -> Any:
    if isinstance(reading, Exception):
        return {"file": name, "error": str(reading)}
    return {
        "file": name,
        "recordings": [{**one.summary(), "notes": one.notes} for one in reading],
        "malformed": [vars(one) for one in reading.malformed],
    }
