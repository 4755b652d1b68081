"""`netspurt plot`: draw a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from netspurt.cli.crossing import crossing_lines
from netspurt.cli.options import Direction, From, To, one_of
from netspurt.cli.output import hint_at_replies

#: Kinds of plots, in the order in which `all` draws them.
_KINDS = ("time-sequence", "cwnd", "rto", "queue")
_ALL = "all"

Kind = Annotated[
    str,
    typer.Option(
        parser=one_of((*_KINDS, _ALL)),
        metavar="KIND",
        help=f"What to draw: {', '.join(_KINDS)}, or all.",
        autocompletion=lambda: [*_KINDS, _ALL],
    ),
]


def plot(
    run: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    kind: Kind = _KINDS[0],
    out: Annotated[
        Path | None,
        typer.Option(help="The file, .png, .svg or .pdf; by default .png and .svg in the run."),
    ] = None,
    flow: Annotated[str | None, typer.Option(help="The flow; by default the first.")] = None,
    direction: Direction = None,
    node: Annotated[str | None, typer.Option(help="The spied node; by default the first.")] = None,
    link: Annotated[str | None, typer.Option(help="The link; by default all with queues.")] = None,
    start: From = None,
    end: To = None,
) -> None:
    """Draw a run as PNG and SVG."""
    from netspurt.plots import OPTIONS, View, draw, save
    from netspurt.run import open_run

    opened = open_run(run)
    if kind == _ALL and out:
        raise ValueError("--kind all draws four pictures: leave --out out, or name one kind")
    given = {"flow": flow, "direction": direction, "node": node, "link": link}
    for each in _KINDS if kind == _ALL else [kind]:
        applied = given
        if kind == _ALL:
            applied = {name: given[name] for name in OPTIONS[each]}
        figure = draw(opened, each, View(start=start, end=end, **applied))
        files = [out] if out else [run / f"{each}.png", run / f"{each}.svg"]
        save(figure, files)
        for file in files:
            typer.echo(file)
        if each == "rto":
            for line in crossing_lines(opened.crossings(flow, direction, start=start, end=end)):
                print(line, file=sys.stderr)
    if flow is None and direction is None:
        hint_at_replies(opened)
