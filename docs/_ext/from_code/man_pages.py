"""What man pages need: lists in place of tables, which a terminal of 80 columns would tear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Heads of columns that say nothing which the cells do not say.
_SILENT = {"", "meaning", "what happens", "what it is"}


def lists_for_tables(app: Any, doctree: Any, _name: str) -> None:
    """Make a list of each table in a man page: the first cell of a row, and below it the others."""
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
    """Return an item of a list for a row."""
    from docutils import nodes

    told = nodes.paragraph()
    for head, one in zip(heads[1:], cells[1:], strict=True):
        if not one.astext().strip():
            continue
        if len(told):
            told += nodes.Text("; ")
        if head not in _SILENT:
            told += nodes.Text(f"{head}: ")
        told += list(_inline(one))
    term = nodes.term("", "", *_inline(cells[0]))
    return nodes.definition_list_item("", term, nodes.definition("", told))


def _inline(cell: Any) -> Iterator[Any]:
    """Yield the words of a cell, without its paragraphs."""
    from docutils import nodes

    for n, paragraph in enumerate(cell.findall(nodes.paragraph)):
        if n:
            yield nodes.Text(" ")
        yield from (one.deepcopy() for one in paragraph.children)


def names_of_pages(app: Any, doctree: Any) -> None:
    """Name the file of each page to which a man page leads, behind the words of the first link."""
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
