"""Lists the measures by which claims of papers are judged."""

from __future__ import annotations

import inspect

from from_code.markdown import cell, code, table


def measures() -> str:
    """Return a table with a row for each measure: its name, arguments, result and unit."""
    import netspurt.papers  # noqa: F401 - the import registers the measures
    from netspurt.papers.registry import MEASURES, UNITS

    rows = []
    for name, function in sorted(MEASURES.items()):
        parameters = list(inspect.signature(function).parameters.values())[1:]
        arguments = ", ".join(
            code(
                argument.name
                if argument.default is argument.empty
                else f"{argument.name}={argument.default}"
            )
            for argument in parameters
        )
        returns = cell(inspect.getdoc(function) or "")
        rows.append((code(name), arguments or "none", returns, UNITS.get(name, "")))
    return table(["measure", "arguments", "what it returns", "unit"], rows)
