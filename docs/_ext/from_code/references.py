"""Resolves short Python names, keeps colons in docstrings, and removes links from man pages."""

from __future__ import annotations

from typing import Any


def resolve(app: Any, env: Any, node: Any, shown: Any) -> Any:
    """Return a node for a short or full Python name, if exactly one place documents the name."""
    target = node["reftarget"]
    if node.get("refdomain") != "py" or ("." in target and not target.startswith("netspurt.")):
        return None
    places = {
        (one.docname, one.node_id)
        for name, one in env.get_domain("py").objects.items()
        if name.rpartition(".")[2] == target.rpartition(".")[2]
        and one.objtype in ("class", "exception", "function")
    }
    if len(places) != 1:
        return None
    from sphinx.util.nodes import make_refnode

    ((docname, anchor),) = places
    return make_refnode(app.builder, node["refdoc"], docname, anchor, shown, target)


def no_types(_app: Any, what: str, _name: str, _one: Any, _options: Any, lines: list[str]) -> None:
    """Keep a colon in the first line of an attribute, a module value or a property.

    Napoleon would take the text before the colon for a type.
    """
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]


def without_links(app: Any, doctree: Any, _name: str) -> None:
    """In man pages, replace each link that does not lead to the web by the words of the link."""
    if app.builder.name != "man":
        return
    from docutils import nodes

    for link in list(doctree.findall(nodes.reference)):
        if not link.get("refuri", "").startswith("http"):
            link.replace_self(link.children)
