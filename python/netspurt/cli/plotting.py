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
    from netspurt.plots import View, draw, save
    from netspurt.run import open_run

    opened = open_run(run)
    files = [out] if out else [run / f"{kind.value}.png", run / f"{kind.value}.svg"]
    unfit = [file.name for file in files if file.suffix not in {".png", ".svg", ".pdf"}]
    if unfit:
        raise typer.BadParameter(f"{unfit[0]}: end it in .png, .svg or .pdf", param_hint="--out")
    view = View(flow=flow, node=node, link=link, start=start, end=end)
    save(draw(opened, kind.value, view), files)
    for file in files:
        typer.echo(file)
