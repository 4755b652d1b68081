"""`netspurt plot`: a run drawn."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Kind(StrEnum):
    """Kinds of plots."""

    TIME_SEQUENCE = "time-sequence"
    CWND = "cwnd"
    RTO = "rto"
    QUEUE = "queue"
    ALL = "all"


def plot(
    run: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    kind: Annotated[Kind, typer.Option(help="What to draw.")] = Kind.TIME_SEQUENCE,
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write, .png, .svg or .pdf; by default two in the run."),
    ] = None,
    flow: Annotated[str | None, typer.Option(help="The flow; by default the first.")] = None,
    node: Annotated[str | None, typer.Option(help="The spied node; by default the first.")] = None,
    link: Annotated[str | None, typer.Option(help="The link; by default all that queue.")] = None,
    start: Annotated[float | None, typer.Option("--from", help="From this second on.")] = None,
    end: Annotated[float | None, typer.Option("--to", help="Up to this second.")] = None,
) -> None:
    """Draw a run: PNG and SVG."""
    from netspurt.plots import HEEDED, KINDS, View, draw, save
    from netspurt.run import open_run

    opened = open_run(run)
    if kind is Kind.ALL and out:
        raise ValueError("--kind all draws four pictures: leave --out out, or name one kind")
    given = {"flow": flow, "node": node, "link": link}
    for each in KINDS if kind is Kind.ALL else [kind.value]:
        heeded = given
        if kind is Kind.ALL:
            heeded = {name: given[name] for name in HEEDED[each]}
        figure = draw(opened, each, View(start=start, end=end, **heeded))
        files = [out] if out else [run / f"{each}.png", run / f"{each}.svg"]
        save(figure, files)
        for file in files:
            typer.echo(file)
