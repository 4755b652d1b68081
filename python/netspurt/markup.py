"""HTML for notebooks: headings, lines and small tables, with all texts escaped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()
) -> str:
    """Return a table as HTML. `right` has the numbers of the columns that are right-aligned.

    Examples
    --------
    >>> html_table(["a"], [["<b>"]], [0]).split("</tr>")[1]
    '<tr><td style="text-align:right">&lt;b&gt;</td>'
    """
    sides = ["right" if n in right else "left" for n in range(len(head))]
    lines = [_row("th", head, sides), *(_row("td", row, sides) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _row(kind: str, cells: Sequence[str], sides: Sequence[str]) -> str:
    texts = (
        f'<{kind} style="text-align:{side}">{escape(cell)}</{kind}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(texts)}</tr>"


def html_lines(title: str, lines: Iterable[str] = ()) -> str:
    """Return a heading and lines of text below it, as HTML."""
    return f"<p><b>{escape(title)}</b>{''.join(f'<br>{escape(line)}' for line in lines)}</p>"
