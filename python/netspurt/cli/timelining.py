"""`netspurt timeline` and `netspurt delays --timeline`: files that links of scenarios follow."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netspurt.cli.options import count, loaded
from netspurt.cli.output import counted, number, width, wrapped
from netspurt.stored import write_new

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from netspurt.delays import Delays, Recordings
    from netspurt.scenario import Scenario
    from netspurt.timelines import Timeline


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


def write_recorded(
    readings: Iterable[Recordings | Exception], out: Path, chosen: int | None = None
) -> None:
    """Write the file that a link follows so that probes see a recording again.

    Parameters
    ----------
    readings
        What was read of each file.
    out
        The file to write.
    chosen
        Which recording, from 1; by default the only one.

    Raises
    ------
    ValueError
        If there is not one recording, or it makes no link.
    Exception
        The reading's own, if a file was not read.
    """
    from netspurt.timelines import follow

    found: list[Delays] = []
    for each in readings:
        if isinstance(each, Exception):
            raise each
        found += each
    if chosen is None and len(found) != 1:
        raise ValueError(
            f"--timeline takes one recording, and there are {len(found)}: name one file, or one of "
            "these with --recording N, from 1"
        )
    nth = (chosen or 1) - 1
    if chosen == 0 or nth >= len(found):
        raise ValueError(f"no recording {chosen}: there are 1 to {len(found)}")
    read = follow(found[nth])
    write_new(out, read.to_toml())
    typer.echo(f"{out}: {'; '.join(_of_recording(found[nth], read))}")
    for note in [*found[nth].notes, *read.notes]:
        for line in wrapped([["note:", note]], [5, max(40, width() - 7)]):
            typer.echo(line)
    _tell_use(out)


def _of_recording(recording: Delays, made: Timeline) -> Iterator[str]:
    """Yield what a link made from a recording has."""
    halves = ", half of each round trip for a direction" * (made.reverse is not None)
    steps = counted(len(made.delay), "step")
    yield f"{counted(recording.received, 'delay')} in {steps}{halves}"
    yield counted(len(made.outages), "outage") if made.outages else "no outage"
    loss = made.loss if isinstance(made.loss, float) else 0.0
    share = f"{loss:.2%}" if loss >= 1e-4 else f"{100 * loss:.2g}%"
    yield f"other losses as a probability of {share} in each direction" if loss else "no other loss"


def _tell_use(out: Path) -> None:
    typer.echo(
        f'A link of a scenario beside it takes it with `follows = "{out.name}"`, in place of a '
        "delay, rate or loss of its own."
    )
