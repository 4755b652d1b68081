"""Fills pages from the code: the build replaces a line `<!-- from the code: NAME -->` by Markdown.

This is an extension of Sphinx. The texts are made without Sphinx, so tests can compare them with
the code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from from_code.columns import columns
from from_code.commands import commands
from from_code.estimators import estimators
from from_code.man_pages import name_linked_pages, replace_tables_by_lists
from from_code.measures import measures
from from_code.mechanisms import mechanisms
from from_code.pictures import drawn
from from_code.python_names import python_names
from from_code.references import no_types, resolve, without_links
from from_code.scenario_keys import scenario_keys
from from_code.statuses import statuses

#: The functions that make the Markdown, by the NAME in the line `<!-- from the code: NAME -->`.
PARTS: dict[str, Callable[[], str]] = {
    "columns": columns,
    "commands": commands,
    "estimators": estimators,
    "measures": measures,
    "mechanisms": mechanisms,
    "python names": python_names,
    "scenario keys": scenario_keys,
    "statuses": statuses,
}

_MARK = re.compile(r"^<!-- from the code: (.+) -->$", re.MULTILINE)


def filled(page: str) -> str:
    """Return a page with Markdown in place of its marks: the lines `<!-- from the code: NAME -->`.

    Raises
    ------
    KeyError
        If the NAME in a mark is unknown.
    """
    return _MARK.sub(lambda mark: PARTS[mark[1]](), page)


def _fill(_app: Any, _name: str, source: list[str]) -> None:
    source[0] = filled(source[0])


def _outdated(_app: Any, env: Any, *_of: set[str]) -> list[str]:
    """Return the pages with marks, which Sphinx must read again.

    The code may have changed although the files of these pages have not.
    """
    return [name for name in env.found_docs if _MARK.search(Path(env.doc2path(name)).read_text())]


def setup(app: Any) -> dict[str, bool]:
    """Register the extension; Sphinx calls this."""
    from pygments.lexers.special import TextLexer

    # Code blocks in these languages are shown as plain text.
    for language in ("cddl", "csv", "floors", "pkt"):
        app.add_lexer(language, TextLexer)
    app.connect("env-get-outdated", _outdated)
    app.connect("source-read", _fill)
    app.connect("source-read", drawn)
    app.connect("missing-reference", resolve)
    app.connect("doctree-read", name_linked_pages)
    app.connect("doctree-resolved", without_links)
    app.connect("doctree-resolved", replace_tables_by_lists)
    # This runs before napoleon, which has the priority 500.
    app.connect("autodoc-process-docstring", no_types, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
