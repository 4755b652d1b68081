"""Lists the exit statuses of the command."""

from __future__ import annotations

from from_code.markdown import code, table


def statuses() -> str:
    """Return a table with a row for each exit status, with the meanings that the help prints."""
    from netspurt.cli.words import STATUSES

    rows = [(code(str(status)), meaning) for status, meaning in STATUSES.items()]
    return table(["exit status", "meaning"], rows)
