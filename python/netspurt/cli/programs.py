"""Output for programs: `--json` and `--csv`, the same for every command that prints a table."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from netspurt.cli.output import print_json

AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print the rows of the table as CSV.")]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Form:
    """How a command prints: for people, as JSON or as CSV.

    Raises
    ------
    ValueError
        If both JSON and CSV are requested.
    """

    as_json: bool = False
    as_csv: bool = False

    def __post_init__(self) -> None:
        if self.as_json and self.as_csv:
            raise ValueError("--csv and --json both say how to print: give one of them")

    @property
    def for_people(self) -> bool:
        """True if the output is for people: neither JSON nor CSV is requested."""
        return not (self.as_json or self.as_csv)

    def print(self, document: Any, rows: Iterable[Row], names: Sequence[str] = ()) -> None:
        """Print a document as JSON, or its rows as CSV.

        Parameters
        ----------
        document
            The document for JSON.
        rows
            The rows for CSV.
        names
            The columns; by default the columns of the rows.
        """
        if self.as_json:
            print_json(document)
        else:
            print_csv(rows, names)


def print_csv(rows: Iterable[Row], names: Sequence[str] = ()) -> None:
    """Print rows as CSV with a heading.

    A table within a row becomes several columns, such as `mean_timer_s.low`. A list is one cell
    with semicolons. A value that does not exist is an empty cell.
    """
    flat = [dict(_flat(row)) for row in rows]
    heading = list(names) or list(dict.fromkeys(name for row in flat for name in row))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(heading)
    out.writerows([cell(row.get(name)) for name in heading] for row in flat)


def _flat(row: Row, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def cell(value: Any) -> str:
    """Return a value as a cell of CSV.

    Examples
    --------
    >>> cell(True), cell(0.25), cell(None), cell(float("nan")), cell([3, "a"])
    ('true', '0.25', '', '', '3; a')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "; ".join(map(cell, value))
    return str(value)
