"""The measures by which claims of papers are judged."""

from __future__ import annotations

import inspect

from from_code.markdown import cell, code, table


def measures() -> str:
    """Return a row for each measure, with its arguments and what it returns."""
    import netspurt.papers  # noqa: F401 - it registers them
    from netspurt.papers.registry import MEASURES

    rows = []
    for name, function in sorted(MEASURES.items()):
        given = list(inspect.signature(function).parameters.values())[1:]
        words = ", ".join(
            code(one.name if one.default is one.empty else f"{one.name}={one.default}")
            for one in given
        )
        rows.append((code(name), words or "none", cell(inspect.getdoc(function) or "")))
    return table(["measure", "arguments", "what it returns"], rows)
