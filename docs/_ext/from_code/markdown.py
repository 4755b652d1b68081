"""Makes pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def code(text: str) -> str:
    """Return a text as code."""
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def cell(text: str) -> str:
    """Return a text as one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, or an empty text if there are no rows."""
    lines = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *lines]) + "\n"


def heading(level: int, title: str, anchor: str) -> str:
    """Return a heading with an anchor that does not depend on its words."""
    return f"({anchor})=\n{'#' * level} {title}\n"
