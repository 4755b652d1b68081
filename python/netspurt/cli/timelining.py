"""`netspurt timeline` and `netspurt delays --timeline`: files that links of scenarios follow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netspurt.cli.output import number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netspurt.delays import Recordings


def timeline(
    file: Annotated[
        Path,
        typer.Argument(
            help="A CSV table with a column of instants, a series of round trips of Hypatia, or a "
            "trace of Mahimahi.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write to this file.", show_default=False),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Read it as csv, hypatia or mahimahi."),
    ] = None,
    linear: Annotated[
        bool, typer.Option("--linear", help="Join delays and losses by straight lines.")
    ] = False,
) -> None:
    """Turn another tool's timeline into a file that a link of a scenario follows.

    `netspurt delays FILE --timeline OUT` does the same for a recording of delays.
    """
    from netspurt.timelines import read_timeline

    read = read_timeline(file, format_=format_)
    text = read.to_toml("linear" if linear else "step")
    if out is None:
        typer.echo(text, nl=False)
        return
    out.write_text(text, encoding="utf-8")
    series = {
        "delay": read.delay,
        "rate": read.rate,
        "loss": read.loss if not isinstance(read.loss, float) else (),
        "opportunities": read.opportunities,
    }
    told = ", ".join(f"{what} {number(len(of))}" for what, of in series.items() if of)
    typer.echo(f"{out}: points of {told}")
    _tell_use(out)


def write_recorded(readings: Iterable[Recordings | Exception], out: Path) -> None:
    """Write the file that a link follows so that probes see a recording again.

    Raises
    ------
    ValueError
        If there is not one recording, or it makes no link.
    """
    from netspurt.timelines import follow

    found = [one for each in readings if not isinstance(each, Exception) for one in each]
    if len(found) != 1:
        raise ValueError(
            f"--timeline takes one recording, and there are {len(found)}: name one file"
        )
    read = follow(found[0])
    out.write_text(read.to_toml(), encoding="utf-8")
    typer.echo(
        f"{out}: {number(len(read.delay))} delays of one direction, half of each round trip; "
        f"{number(len(read.outages))} outages; loss {read.loss:.2%} in each direction besides"
    )
    _tell_use(out)


def _tell_use(out: Path) -> None:
    typer.echo(f'A link takes it with `follows = "{out.name}"` in a scenario beside it.')
