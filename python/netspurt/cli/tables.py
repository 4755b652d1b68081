"""`netspurt table`: print the tables of runs and captures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli import completing, crossing, listing
from netspurt.cli.opening import flow_of, is_explained, is_run, open_tables
from netspurt.cli.options import Direction, From, To, count
from netspurt.cli.output import columns, fitted
from netspurt.cli.programs import AsCsv, AsJson, Form, cell
from netspurt.wording import counted

if TYPE_CHECKING:
    from netspurt.captures import Explained
    from netspurt.run import Run
    from netspurt.table import Table


def table(
    run: Annotated[Path, typer.Argument(help="A run folder or a capture.", show_default=False)],
    name: Annotated[
        str | None,
        typer.Argument(
            help="The table. Three tables are computed from recorded ones. The table crossings has "
            "the timeouts, and the round trips that exceeded the RTO without a timeout. The tables "
            "send-ack and packetdat are Jacobson's listings of a flow. Without a name, the "
            "recorded tables are listed.",
            show_default=False,
            autocompletion=completing.tables,
        ),
    ] = None,
    flow: Annotated[str | None, typer.Option(help="Only rows of this flow.")] = None,
    direction: Direction = None,
    start: From = None,
    end: To = None,
    limit: Annotated[
        int | None, typer.Option(parser=count, metavar="N", help="The maximum number of rows.")
    ] = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Print a table of a run or a capture."""
    import numpy as np

    from netspurt.table import aligned

    form = Form(as_json, as_csv)
    flow = flow_of(run, flow)
    opened = open_tables(run, flow)
    if name is None:
        given = {"--flow": flow, "--direction": direction, "--from": start, "--to": end}
        given |= {"--limit": limit}
        for option in (option for option, value in given.items() if value is not None):
            raise ValueError(f"{option} applies to one table: name it, as in `table {run} flows`")
        _list(opened, form)
        return
    if name == crossing.NAME:
        if not is_run(opened):
            raise ValueError("crossings need the sender's timer, which a capture does not show")
        found = opened.crossings(flow, direction, start=start, end=end)
        _print_rows(crossing.COLUMNS, [crossing.row_of(one) for one in found], limit, form)
        return
    if name in listing.NAMES:
        from netspurt.pictures.view import View

        asked = View(flow=flow, direction=direction, start=start, end=end)
        names, texts = listing.listed(opened, name, asked)
        _print_rows(names, [dict(zip(names, row, strict=True)) for row in texts], limit, form)
        return
    chosen = _of(opened.table(name), {"flow": flow, "direction": direction})
    chosen = _during(opened, chosen, start, end)
    shown = len(chosen) if limit is None else min(limit, len(chosen))
    left_out = len(chosen) - shown
    chosen = chosen.take(np.arange(shown))
    if not form.for_people:
        rows = chosen.records()
        form.print(rows, rows, [*chosen])
        return
    for line in aligned(chosen):
        typer.echo(line)
    if not shown and not left_out:
        typer.echo("no rows")
    if left_out:
        typer.echo(f"... {counted(left_out, 'more row')}")


def _list(run: Run | Explained, form: Form) -> None:
    """Print the names of the tables of a run or a capture, with their sizes and columns."""
    tables = run.tables.values()
    if not form.for_people:
        told = [
            {
                "table": each.name,
                "rows": len(each),
                "columns": [*each],
                **({"since_ns": run.since_ns(each.name)} if is_explained(run) else {}),
            }
            for each in tables
        ]
        form.print(told, told)
        return
    for each in tables:
        typer.echo(f"{each.name}: {counted(len(each), 'row')} of {', '.join(each)}")
    more = _of_times(run) if is_explained(run) else _of_changes(run) if is_run(run) else iter(())
    for line in fitted(more):
        typer.echo(line)


def _of_changes(run: Run) -> Iterator[str]:
    """Yield a line that says what the run changed in its scenario, for example with `--set`."""
    from netspurt.changed import changed_line

    if line := changed_line(run):
        yield ""
        yield f"{line}."


def _of_times(found: Explained) -> Iterator[str]:
    """Yield a line that says, for each table of a capture, which instant has the time 0."""
    from netspurt.captures import SINCE_1970

    if not found.tcp:
        return
    timed = [name for name in found.tables if found.since_ns(name) is not None]
    from_1970 = ", ".join(name for name in timed if name in SINCE_1970)
    from_start = ", ".join(name for name in timed if name not in SINCE_1970)
    yield ""
    yield (
        f"Instants of {from_1970} count from 1970. Instants of {from_start} count from the first "
        f"packet of TCP; add {found.start_ns} ns to these instants to count them from 1970. --from "
        "and --to count from the first packet of TCP in all tables."
    )


def _print_rows(
    names: Sequence[str], rows: list[dict[str, Any]], limit: int | None, form: Form
) -> None:
    """Print a table that is not in a file of the run. All its columns are right-aligned."""
    shown = rows[:limit]
    if not form.for_people:
        form.print(shown, shown, names)
        return
    cells = [[cell(value) or "-" for value in row.values()] for row in shown]
    for line in columns([names, *cells], right=range(len(names))):
        typer.echo(line)
    if not rows:
        typer.echo("no rows")
    if len(shown) < len(rows):
        typer.echo(f"... {counted(len(rows) - len(shown), 'more row')}")


def _of(table: Table, wanted: dict[str, str | None]) -> Table:
    """Return the rows whose columns have the wanted texts.

    Raises
    ------
    ValueError
        If the table has no such column, or if the column has no such text.
    """
    for column, text in wanted.items():
        if text is None:
            continue
        # `pictures` is imported here because the import is slow, and most tables are shown whole.
        from netspurt.pictures.view import pick

        if column not in table:
            raise ValueError(f"the table {table.name} has no {column}s: leave --{column} out")
        table = table.where(**{column: pick(table, column, text, column)})
    return table


def _during(opened: Run | Explained, table: Table, start: float | None, end: float | None) -> Table:
    """Return the rows within a span of time.

    Times count from the start of the run, or from the first packet of TCP in the capture.

    Raises
    ------
    ValueError
        If the table has no instants.
    """
    if start is None and end is None:
        return table
    import numpy as np

    from netspurt.pictures.view import View

    if "t_ns" not in table:
        raise ValueError(f"the table {table.name} has no instants: leave --from and --to out")
    view = View(start=start, end=end)
    if is_explained(opened) and opened.since_ns(table.name) == 0:
        t_ns = np.ma.getdata(table["t_ns"]) - opened.start_ns
        return table.select(view.holds(t_ns / 1e9))
    return view.clip(table)
