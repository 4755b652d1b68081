"""What pages take from the code: a line `<!-- from the code: NAME -->` becomes Markdown at build.

An extension of Sphinx. The texts themselves need no Sphinx, so tests compare them with the code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from from_code.columns import columns
from from_code.commands import commands
from from_code.estimators import estimators
from from_code.man_pages import lists_for_tables, names_of_pages
from from_code.measures import measures
from from_code.mechanisms import mechanisms
from from_code.pictures import drawn
from from_code.python_names import python_names
from from_code.references import no_types, resolve, without_links
from from_code.scenario_keys import scenario_keys
from from_code.statuses import statuses

#: What pages may take.
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
    """Return a page with its marks replaced.

    Raises
    ------
    KeyError
        If a mark names what no function makes.
    """
    return _MARK.sub(lambda mark: PARTS[mark[1]](), page)


def _fill(_app: Any, _name: str, source: list[str]) -> None:
    source[0] = filled(source[0])


def _outdated(_app: Any, env: Any, *_of: set[str]) -> list[str]:
    """Return the pages with marks: the code may have changed though their files have not."""
    return [name for name in env.found_docs if _MARK.search(Path(env.doc2path(name)).read_text())]


def setup(app: Any) -> dict[str, bool]:
    """Register the extension; Sphinx calls this."""
    from pygments.lexers.special import TextLexer

    # Languages of this repository alone are shown as they are.
    for language in ("cddl", "csv", "floors", "pkt"):
        app.add_lexer(language, TextLexer)
    app.connect("env-get-outdated", _outdated)
    app.connect("source-read", _fill)
    app.connect("source-read", drawn)
    app.connect("missing-reference", resolve)
    app.connect("doctree-read", names_of_pages)
    app.connect("doctree-resolved", without_links)
    app.connect("doctree-resolved", lists_for_tables)
    # Before napoleon, which comes at 500.
    app.connect("autodoc-process-docstring", no_types, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
