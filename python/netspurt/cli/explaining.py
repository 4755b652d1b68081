"""`netspurt explain`: the connections of a capture, and the causes of retransmissions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netspurt.cli.explain_files import explain_files
from netspurt.cli.options import connection_number


def explain(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Captures in pcap or pcapng, which may be compressed; folders of them; - is the "
            "standard input.",
            show_default=False,
        ),
    ],
    as_csv: Annotated[
        str | None,
        typer.Option(
            "--csv",
            metavar="[=LAYOUT]",
            help="Print a row for each direction of each connection; --csv=tcptrace prints the "
            "columns of tcptrace -lr, and --csv=tcptrace-W the columns of -lrW.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    parquet: Annotated[
        Path | None,
        typer.Option(
            help="Write the table of connections to this file, and the table of retransmissions to "
            "a file beside it.",
            metavar="FILE",
        ),
    ] = None,
    as_one: Annotated[
        bool, typer.Option("--as-one", help="Join the captures in the order of time.")
    ] = False,
    connection: Annotated[
        int | None,
        typer.Option(
            parser=connection_number,
            metavar="N",
            help="Show only this connection, in every detail: 3, or c3 as tables call it.",
        ),
    ] = None,
) -> int:
    """Explain captures: what connections did, and why segments were retransmitted.

    Exits with 1 if one of several captures could not be read, or if a capture could not be read to
    its end.
    """
    return explain_files(
        files,
        as_csv=as_csv,
        as_json=as_json,
        parquet=parquet,
        as_one=as_one,
        connection=connection,
    )
