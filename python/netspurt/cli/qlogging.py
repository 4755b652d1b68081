"""`netspurt qlog`: connections of a run or a capture as qlog, a JSON format for logs.

A spied node is a node of a scenario whose packets a run records.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netspurt.cli.opening import busiest, flow_of, is_explained, open_tables
from netspurt.cli.options import Direction
from netspurt.wording import counted

if TYPE_CHECKING:
    from netspurt.qlog import Vantage


def qlog(
    run: Annotated[Path, typer.Argument(help="A run folder or a capture.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The file to make. A .sqlog file has one connection at one node; a .qlog file "
            "may have several connections and nodes.",
            show_default=False,
        ),
    ],
    flow: Annotated[
        str | None,
        typer.Option(
            help="The flow; c0 is the first connection of a capture. By default a .qlog file has "
            "all flows. A .sqlog file has the first flow, or the connection of a capture with the "
            "most data."
        ),
    ] = None,
    direction: Direction = None,
    node: Annotated[
        str | None,
        typer.Option(
            help="The spied node. By default a .qlog file has all spied nodes, and a .sqlog file "
            "has the first."
        ),
    ] = None,
    qvis: Annotated[
        bool,
        typer.Option(
            "--qvis", help="Write qlog 0.3 for the viewer qvis, as if TCP's packets were QUIC's."
        ),
    ] = False,
) -> None:
    """Write connections as qlog: packets, round trips, windows, losses.

    If the node is between the ends of a connection, --direction chooses whose packets count as
    sent. By default these are the packets of the end that sends more data.
    """
    from netspurt.qlog import CURRENT, ENDINGS, QVIS, vantages, write_qlog

    one = out.suffix == ENDINGS[0]
    flow = flow_of(run, flow)
    opened = open_tables(run, flow)
    captured = is_explained(opened)
    if captured and one and flow is None:
        flow, _ = busiest(opened) or (None, None)
    found = vantages(opened, flow=flow, node=node, direction=direction, ends=not captured)
    chosen = found[:1] if one else found
    count = write_qlog(out, opened, chosen, form=QVIS if qvis else CURRENT)
    if len(chosen) < len(found):
        others = ", ".join(f"{other.flow} at {other.node}" for other in found[1:4])
        more = ", ..." if len(found) > 4 else ""
        print(
            f"left out: {others}{more}; choose by --flow and --node, or write a .qlog file",
            file=sys.stderr,
        )
    typer.echo(f"{out}: {counted(count, 'event')} of {_named(chosen)}")


def _named(seen: list[Vantage]) -> str:
    if len(seen) == 1:
        return f"{seen[0].flow} at {seen[0].node}"
    return counted(len(seen), "trace")
