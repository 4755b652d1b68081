"""`netspurt timeline` and `netspurt delays --timeline`: files that links of scenarios follow."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netspurt.cli.options import count, loaded
from netspurt.cli.output import number
from netspurt.stored import write_new

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netspurt.delays import Recordings
    from netspurt.scenario import Scenario


def timeline(
    file: Annotated[
        Path,
        typer.Argument(
            help="A CSV table with a column of instants, a series of round trips of Hypatia, or a "
            "trace of Mahimahi; with --link a scenario.",
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
    link: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write what this link of a scenario does, as its timelines or its slots say.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(parser=count, metavar="N", help="With --link: the seed of the draws."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="With --link: set a value of the scenario. May be repeated.",
        ),
    ] = None,
) -> None:
    """Turn another tool's timeline into a file that a link of a scenario follows.

    `netspurt delays FILE --timeline OUT` does the same for a recording of delays.
    """
    from netspurt.shipped import resolve
    from netspurt.timelines import read_timeline

    if link is not None:
        if format_ is not None or linear:
            raise typer.BadParameter("--format and --linear are of other tools' files")
        _write_link(file, link, loaded(resolve(file), set_, seed, alone=True), out)
        return
    if seed is not None or set_:
        raise typer.BadParameter("--seed and --set need --link")
    read = read_timeline(file, format_=format_)
    text = read.to_toml("linear" if linear else "step")
    if out is None:
        typer.echo(text, nl=False)
        return
    write_new(out, text)
    series = {
        "delay": read.delay,
        "rate": read.rate,
        "loss": read.loss if not isinstance(read.loss, float) else (),
        "opportunities": read.opportunities,
    }
    told = ", ".join(f"{what} {number(len(of))}" for what, of in series.items() if of)
    typer.echo(f"{out}: points of {told}")
    _tell_use(out)


def _write_link(file: Path, link: str, scenario: Scenario, out: Path | None) -> None:
    """Write what a link of a scenario does in a run."""
    from netspurt.timelines import plain

    moves = scenario.moves(link)
    heading = f"Link {link} of {file}, seed {scenario.seed}."
    text = f"# {plain(heading)}\n{moves}"
    if out is None:
        typer.echo(text, nl=False)
        return
    write_new(out, text)
    typer.echo(f"{out}: {', '.join(sorted(tomllib.loads(moves)))} of link {link}")
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
    write_new(out, read.to_toml())
    loss = read.loss if isinstance(read.loss, float) else 0.0
    typer.echo(
        f"{out}: {number(found[0].received)} delays in {number(len(read.delay))} steps, half of "
        f"each round trip for a direction; {number(len(read.outages))} outages; other losses as a "
        f"probability of {loss:.2%} in each direction"
    )
    _tell_use(out)


def _tell_use(out: Path) -> None:
    typer.echo(
        f'A link of a scenario beside it takes it with `follows = "{out.name}"`, in place of a '
        "delay, rate or loss of its own."
    )
