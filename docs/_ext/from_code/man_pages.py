"""Adapts man pages: lists replace tables, because a terminal has only 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: The heads that lists leave out, because the cells below them are clear without a head.
_OMITTED_HEADS = {"", "meaning", "what happens", "what it is"}


def replace_tables_by_lists(app: Any, doctree: Any, _name: str) -> None:
    """Replace each table in a man page by a list.

    An item has the first cell of a row as its term, and the other cells below the term.
    """
    if app.builder.name != "man":
        return
    from docutils import nodes

    for table in list(doctree.findall(nodes.table)):
        heads = [
            entry.astext() for entry in next(iter(table.findall(nodes.thead))).findall(nodes.entry)
        ]
        rows = next(iter(table.findall(nodes.tbody))).findall(nodes.row)
        items = [_item([*row.findall(nodes.entry)], heads) for row in rows]
        table.replace_self(nodes.definition_list("", *items))


def _item(cells: list[Any], heads: list[str]) -> Any:
    """Return the item of a list for a row."""
    from docutils import nodes

    text = nodes.paragraph()
    for head, cell in zip(heads[1:], cells[1:], strict=True):
        if not cell.astext().strip():
            continue
        if len(text):
            text += nodes.Text("; ")
        if head not in _OMITTED_HEADS:
            text += nodes.Text(f"{head}: ")
        text += list(_inline(cell))
    term = nodes.term("", "", *_inline(cells[0]))
    return nodes.definition_list_item("", term, nodes.definition("", text))


def _inline(cell: Any) -> Iterator[Any]:
    """Yield the text of a cell, with blanks between its paragraphs."""
    from docutils import nodes

    for n, paragraph in enumerate(cell.findall(nodes.paragraph)):
        if n:
            yield nodes.Text(" ")
        yield from (child.deepcopy() for child in paragraph.children)


def name_linked_pages(app: Any, doctree: Any) -> None:
    """Write the file name of each linked page after the first link to it, in man pages."""
    if app.builder.name != "man":
        return
    from docutils import nodes
    from sphinx.addnodes import pending_xref

    named: set[str] = set()
    for link in list(doctree.findall(pending_xref)):
        page = link["reftarget"]
        if link.get("refdomain") == "doc" and page not in named and page != app.env.docname:
            named.add(page)
            link.replace_self([link, nodes.Text(f" ({page}.md)")])
