"""`netspurt table`: print a run's tables."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netspurt.cli import completing, crossing, listing
from netspurt.cli.options import Direction, From, To, count
from netspurt.cli.output import columns, number

if TYPE_CHECKING:
    from netspurt.table import Table


def table(
    run: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    name: Annotated[
        str | None,
        typer.Argument(
            help="The table; or crossings: when round trips exceeded the RTO; or send-ack or "
            "packetdat, Jacobson's listings of a flow. By default list all.",
            show_default=False,
            autocompletion=completing.tables,
        ),
    ] = None,
    flow: Annotated[str | None, typer.Option(help="Only rows of this flow.")] = None,
    direction: Direction = None,
    start: From = None,
    end: To = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print as CSV.")] = False,
    limit: Annotated[
        int | None, typer.Option(parser=count, metavar="N", help="The maximum number of rows.")
    ] = None,
) -> None:
    """Print a table of a run."""
    import numpy as np

    from netspurt.run import open_run
    from netspurt.table import aligned

    opened = open_run(run)
    if name is None:
        given = {"--flow": flow, "--direction": direction, "--from": start, "--to": end}
        given |= {"--csv": as_csv or None, "--limit": limit}
        for option in (option for option, value in given.items() if value is not None):
            raise ValueError(f"{option} applies to one table: name it, as in `table {run} flows`")
        for each in opened.tables.values():
            typer.echo(f"{each.name}: {number(len(each))} rows of {', '.join(each)}")
        return
    if name == crossing.NAME:
        found = crossing.crossings_of(opened, flow, direction, start, end)
        _print_texts(crossing.COLUMNS, crossing.rows_of(found), limit, as_csv=as_csv)
        return
    if name in listing.NAMES:
        names, rows = listing.listed(opened, name, flow, direction, start, end)
        _print_texts(names, rows, limit, as_csv=as_csv)
        return
    chosen = _of(opened.table(name), {"flow": flow, "direction": direction})
    chosen = _during(chosen, start, end)
    shown = len(chosen) if limit is None else min(limit, len(chosen))
    left_out = len(chosen) - shown
    chosen = chosen.take(np.arange(shown))
    if as_csv:
        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerow(chosen)
        out.writerows(chosen.texts())
        return
    for line in aligned(chosen):
        typer.echo(line)
    if left_out:
        typer.echo(f"... {number(left_out)} more rows")


def _print_texts(
    names: Sequence[str], rows: list[tuple[str, ...]], limit: int | None, *, as_csv: bool
) -> None:
    """Print a table that no file of the run holds; all its columns are right-aligned."""
    shown = rows[:limit]
    if as_csv:
        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerows([names, *shown])
        return
    cells = [[cell or "-" for cell in row] for row in shown]
    for line in columns([names, *cells], right=range(len(names))):
        typer.echo(line)
    if len(shown) < len(rows):
        typer.echo(f"... {len(rows) - len(shown)} more rows")


def _of(table: Table, wanted: dict[str, str | None]) -> Table:
    """Return the rows whose columns have the wanted texts.

    Raises
    ------
    ValueError
        When the table has no such column, or the column no such text.
    """
    for column, text in wanted.items():
        if text is None:
            continue
        # Plots are slow to import, and most tables are shown whole.
        from netspurt.plots.style import pick

        if column not in table:
            raise ValueError(f"the table {table.name} has no {column}s: leave --{column} out")
        table = table.where(**{column: pick(table, column, text, column)})
    return table


def _during(table: Table, start: float | None, end: float | None) -> Table:
    """Return the rows within a span of time.

    Raises
    ------
    ValueError
        If the table has no instants.
    """
    if start is None and end is None:
        return table
    from netspurt.plots.style import View

    if "t_ns" not in table:
        raise ValueError(f"the table {table.name} has no instants: leave --from and --to out")
    return View(start=start, end=end).clip(table)
