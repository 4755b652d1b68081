"""`netspurt delays`: the contents of recordings of delays."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli import constancy, paths, surrogates
from netspurt.cli.groups import defaulting_to
from netspurt.cli.options import READ_AS, Column, Interval, LostAfter, columns_of, count
from netspurt.cli.output import columns, complain, paint, width
from netspurt.cli.programs import AsCsv, AsJson, Form
from netspurt.cli.recordings import How, read_all
from netspurt.cli.timelining import Picture, write_recorded
from netspurt.cli.words import App
from netspurt.wording import number

if TYPE_CHECKING:
    from netspurt.delays import Recordings

app = App(
    # If the first word is not a command, it is a file to show.
    cls=defaulting_to("show"),
    no_args_is_help=False,
    help="Show the contents of recorded delays, as in netspurt delays FILE. A recording is a file "
    "of ping or of another tool. The commands below show more.",
)

#: The maximum number of malformed lines of a file that are shown; all are counted.
SHOWN = 5
#: If at least `_SHARED` recordings have the same note, the note is printed once. `--json` has the
#: note with each recording.
_SHARED = 3


@app.command("show", hidden=True)
def delays(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Recordings (- reads the standard input), folders of them, run folders, or "
            "folders of `replay --out`.",
            show_default=False,
        ),
    ],
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help=READ_AS),
    ] = None,
    interval: Interval = None,
    column: Column = None,
    lost_after: LostAfter = None,
    timeline: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT", help="Write these delays to a file that a link of a scenario follows."
        ),
    ] = None,
    recording: Annotated[
        int | None,
        typer.Option(
            parser=count,
            metavar="N",
            help="With --timeline: the number of the recording, from 1, if there are several.",
        ),
    ] = None,
    plot: Picture = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Show the contents of recorded delays: probes, losses, delays, and malformed lines."""
    form = Form(as_json, as_csv)
    how = How(format_, interval, columns_of(column), lost_after)
    readings = {str(file): reading for file, reading in read_all(files, how)}
    if recording is not None and timeline is None:
        raise typer.BadParameter(
            "it needs --timeline: add --timeline OUT", param_hint="--recording"
        )
    if plot is not None and timeline is None:
        what = "it draws the link that --timeline writes: add --timeline OUT, or draw the recording"
        raise typer.BadParameter(f"{what} with `netspurt report {files[0]}`", param_hint="--plot")
    if timeline is not None:
        write_recorded(readings.values(), timeline, recording, plot)
    elif form.for_people:
        _describe(readings)
    else:
        told = [_summary(name, reading) for name, reading in readings.items()]
        form.print(told, _rows(told))
        for error in readings.values() if as_csv else ():
            if isinstance(error, Exception):
                complain(error)
    if any(isinstance(reading, Exception) for reading in readings.values()):
        raise typer.Exit(2)


_COUNTS = ("sent", "received", "lost", "late", "duplicates")
COUNTS_HEADER = ("recording", "read as", "sent", "received", "lost", "late", "dup")
#: The statistics of the delays, by the heads of their columns.
_STATISTICS = {
    "min ms": "min_ms",
    "mean": "mean_ms",
    "max": "max_ms",
    "mdev": "mdev_ms",
    "50 %": "median_ms",
    "90 %": "p90_ms",
    "95 %": "p95_ms",
    "99 %": "p99_ms",
}


def _describe(readings: dict[str, Recordings | Exception]) -> None:
    from netspurt.analysis.loss_share import share_words
    from netspurt.analysis.quarters import quarter_words
    from netspurt.analysis.time_of_day import day_words

    found = [reading for reading in readings.values() if not isinstance(reading, Exception)]
    summaries = [one.summary() for reading in found for one in reading]
    for table in (_counts_table(summaries), _statistics_table(summaries)):
        for n, line in enumerate(table):
            typer.echo(paint(line, "bold") if n == 0 else line)
    said = Counter(note for reading in found for one in reading for note in one.notes)
    for name, reading in readings.items():
        if isinstance(reading, Exception):
            complain(reading)
            continue
        for recording in reading:
            own = [note for note in recording.notes if said[note] < _SHARED]
            words = [*recording.pause_words(), *recording.loss_words()]
            words += [*share_words(recording), *quarter_words(recording)]
            for note in [*day_words(recording), *own, *words]:
                for line in _hanging(f"{recording.name}: {note}"):
                    typer.echo(line)
        for one in reading.malformed[:SHOWN]:
            text = f" ({one.text})" if one.text else ""
            typer.echo(f"{paint(f'{name}:{one.line}:', 'yellow')} {one.why}{text}")
        if len(reading.malformed) > SHOWN:
            more = len(reading.malformed) - SHOWN
            typer.echo(f"{name}: {more} more malformed lines; --json lists all")
    for note, times in said.items():
        if times >= _SHARED:
            for line in _hanging(f"{times} recordings: {note}"):
                typer.echo(line)


def _counts_table(summaries: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of counts as lines. If it is too wide, `read as` moves to separate lines."""
    if not summaries:
        return
    rows = [list(COUNTS_HEADER), *map(_counts_row, summaries)]
    lines = list(columns(rows, right=range(2, len(COUNTS_HEADER))))
    read_as: list[str] = []
    if max(map(len, lines)) > width():
        names = _shorter([row[0] for row in rows[1:]])
        read_as = [f"{name}: read as {row[1]}" for name, row in zip(names, rows[1:], strict=True)]
        rows = [[name, *row[2:]] for name, row in zip(["recording", *names], rows, strict=True)]
        lines = _fitted(rows)
    yield from lines
    for text in read_as:
        yield from _hanging(text)


def _statistics_table(summaries: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of statistics of the delays [ms], or nothing if no recording has a delay."""
    if all(one["min_ms"] is None for one in summaries):
        return
    names = [one["name"] for one in summaries]
    values = [[_four_digits(one[key]) for key in _STATISTICS.values()] for one in summaries]
    header = ["delays", *_STATISTICS]
    rows = [header, *([name, *row] for name, row in zip(names, values, strict=True))]
    lines = list(columns(rows, right=range(1, len(header))))
    if max(map(len, lines)) > width():
        short = _shorter(names)
        rows = [header, *([name, *row] for name, row in zip(short, values, strict=True))]
        lines = _fitted(rows)
    yield from lines


def _fitted(rows: list[list[str]]) -> list[str]:
    """Return rows as lines within the terminal's width. If necessary, the first column is cut."""
    right = range(1, len(rows[0]))
    surplus = max(0, max(map(len, columns(rows, right))) - width())
    room = max(len(rows[0][0]), max(len(row[0]) for row in rows) - surplus)
    return list(columns([[_cut(row[0], room), *row[1:]] for row in rows], right))


def _counts_row(summary: dict[str, Any]) -> list[str]:
    measure = summary["measure"]
    kind = "" if measure == "round-trip" else f", {measure}"
    return [summary["name"], summary["format"] + kind, *(number(summary[key]) for key in _COUNTS)]


def _four_digits(ms: float | None) -> str:
    """Return a delay [ms] with four digits or more, but with at most three decimals."""
    if ms is None:
        return "-"
    return f"{ms:,.{next((n for n, bound in enumerate((1000, 100, 10)) if ms >= bound), 3)}f}"


def _shorter(names: list[str]) -> list[str]:
    """Return names without the folder that they share."""
    folder = os.path.commonpath([Path(name).parent for name in names]) if names else ""
    return [name.removeprefix(folder).lstrip(os.sep) for name in names] if folder else names


def _cut(text: str, room: int) -> str:
    """Return the end of a text that is too long, because the end is the more specific part."""
    return text if len(text) <= room else f"…{text[len(text) - room + 1 :]}"


def _hanging(text: str) -> list[str]:
    return textwrap.wrap(
        text, width(), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _summary(name: str, reading: Recordings | Exception) -> dict[str, Any]:
    if isinstance(reading, Exception):
        return {"file": name, "error": str(reading)}
    return {
        "file": name,
        "recordings": [
            {**one.summary(), "loss_runs": one.loss_runs()[1].tolist(), "notes": one.notes}
            for one in reading
        ],
        "malformed": [vars(one) for one in reading.malformed],
    }


def _rows(told: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a row for each recording."""
    for one in told:
        for recording in one.get("recordings", ()):
            yield {"file": one["file"], **recording}


app.command("report")(paths.report)
app.command("lengths")(paths.lengths)
app.command("bursts")(paths.bursts)
app.command("constancy")(constancy.constancy)
app.command("surrogate")(surrogates.surrogate)
