"""`netspurt papers path`: a scenario whose path has the delays in one row of a paper's table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from netspurt.cli.output import wrapped
from netspurt.stored import check_free, write_new
from netspurt.wording import unknown_name

if TYPE_CHECKING:
    from netspurt.papers.tables import PathRow

#: A row prints the delays at the ends of one or two straight lines of delay against packet length.
#: A path fits the row if each of its delays at these ends differs from the printed delay by at most
#: the share `_CLOSE`.
_CLOSE = 0.05


def rows_of(key: str) -> dict[str, PathRow]:
    """Return the rows of a paper's table of delay against length, by name.

    Raises
    ------
    ValueError
        If the paper has no such table.
    """
    from netspurt.papers import read_paper
    from netspurt.papers.tables import path_rows

    paper = read_paper(key)
    if not paper.surrogates:
        raise ValueError(f"{key} has no table of delay against length")
    return path_rows(paper, paper.surrogates["lines"])


def write_path(key: str, row: str, out: Path | None) -> None:
    """Write the scenario of a row's path, and print how closely the path fits the row.

    Raises
    ------
    ValueError
        If the paper has no row of this name.
    FileExistsError
        If the file exists.
    """
    from netspurt.papers.paths import path_for, scenario_text

    rows = rows_of(key)
    if row not in rows:
        raise ValueError(unknown_name("row", row, rows))
    file = out or Path(f"{row.lower()}.toml")
    check_free(file, "file")
    path = path_for(rows[row])
    write_new(file, scenario_text(path))
    off = f"{100 * path.error:.1f} %"
    close = f"{file}: the delays at the ends of its lines agree with the row {row} within {off}"
    far = (
        f"{file}: the closest path to {row}; the delays at the ends of its lines differ by up to "
        f"{off}. No simulated net of this kind has the slopes of the row's two lines; "
        "VALIDATION.md says why"
    )
    for line in wrapped([[close if path.error <= _CLOSE else far]], [100]):
        typer.echo(line)
