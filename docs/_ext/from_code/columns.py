"""Makes the page that lists every table with its columns. Names and types come from the code.

Meanings come from `docs/columns.toml` (*the data file*), or from the page that explains the table
(*the guide*).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from from_code.markdown import code, heading, table

ROOT = Path(__file__).parents[3]

#: The tables with too many columns for `docs/columns.toml`, each with the guide that explains it.
ON_PAGES = {"connections_of_captures": "connections.md", "cases": "sweeps.md"}

_ROWS = {
    "connections_of_captures": "a direction of a connection in a capture",
    "cases": "a case of a sweep; the table also has a column for each axis of the sweep",
}


def columns() -> str:
    """Return a section for each table, with a row for each column."""
    parts = []
    for name, types in tables().items():
        rows = [(code(column), kind, meaning(name, column)) for column, kind in types.items()]
        parts += [heading(2, code(shown(name)) + _of(name), "table-" + name.replace("_", "-"))]
        parts += [f"A row is {row_of(name)}.\n", table(["column", "type", "meaning"], rows)]
    return "\n".join(parts)


def shown(name: str) -> str:
    """Return a table's name in the code: the name in the data file without `_of_...`."""
    return name.partition("_of_")[0]


def _of(name: str) -> str:
    whose = name.partition("_of_")[2]
    return f", of {whose}" if whose else ""


def row_of(name: str) -> str:
    """Return the meaning of a row of a table."""
    return _ROWS[name] if name in _ROWS else str(column_texts()[name]["row"])


@cache
def column_texts() -> Mapping[str, Any]:
    """Return the content of `docs/columns.toml`."""
    return tomllib.loads((ROOT / "docs" / "columns.toml").read_text())


@cache
def tables() -> dict[str, dict[str, str]]:
    """Return each table with its columns and their types, in the order of the data file."""
    types = {**_of_runs(), **_of_captures(), "replay": _of_a_replay(), "cases": _of_a_sweep()}
    texts = column_texts()
    types |= {name: dict(texts[name]["live"]) for name in texts if "live" in texts[name]}
    return {name: types.pop(name) for name in texts if name in types} | types


def meaning(name: str, column: str) -> str:
    """Return the meaning of a column.

    Raises
    ------
    KeyError
        If neither the data file nor the guide explains the column.
    """
    own = _on_page(ON_PAGES[name]) if name in ON_PAGES else column_texts()[name]["columns"]
    shared = {} if name in ON_PAGES else column_texts()["any"]["columns"]
    for pattern, words in [*own.items(), *shared.items()]:
        if fnmatch(column, pattern):
            return str(words)
    place = ON_PAGES.get(name, "columns.toml")
    raise KeyError(
        f"the column `{column}` of the table `{name}` has no meaning in docs/{place}: add one"
    )


def unexplained() -> list[str]:
    """Return the columns without a meaning."""
    missing = []
    for name, types in tables().items():
        for column in types:
            try:
                meaning(name, column)
            except KeyError:
                missing.append(f"{name}.{column}")
    return missing


def unused() -> list[str]:
    """Return the columns that the data file explains although no table has them."""
    return [
        f"{name}.{pattern}"
        for name, texts in column_texts().items()
        if name != "any"
        for pattern in texts["columns"]
        if not any(fnmatch(column, pattern) for column in tables().get(name, {}))
    ]


@cache
def _on_page(page: str) -> dict[str, str]:
    """Return the meanings of columns in a page's tables, by patterns of names."""
    meanings: dict[str, str] = {}
    for cells in re.findall(r"^\| (`.+?) \| (.+) \|$", (ROOT / "docs" / page).read_text(), re.M):
        names, words = cells
        for pattern in _patterns(re.findall(r"`([^`]+)`", names)):
            meanings.setdefault(pattern, re.sub(r"\]\((?=[\w.#])", "](../", words))
    return {name: re.sub(r"\(\.\./#", f"(../{page}#", words) for name, words in meanings.items()}


def _patterns(names: list[str]) -> Iterator[str]:
    """Yield whole names or patterns of names.

    `_p90` after `request_ns_p50` stands for `request_ns_p90`, and `CAUSE` for any letters.
    """
    first = ""
    for name in names:
        if name.startswith("_"):
            yield first.rpartition("_")[0] + name
        else:
            first = name
            yield name.replace("CAUSE", "*")


def _types(columns_of_table: Any) -> dict[str, str]:
    return {column: _type(str(columns_of_table[column].dtype)) for column in columns_of_table}


def _type(kind: str) -> str:
    return "text" if kind.startswith(("<U", "object")) else kind


def _of_runs() -> dict[str, dict[str, str]]:
    """Return the tables of runs with their columns. Four short runs together fill all tables."""
    import netspurt as ns

    bare = ns.new_scenario().replace({"stop": "1 s", "record.shadows": ["rfc6298"]})
    web = ns.load("web").replace({"stop": "1 s", "record.tables": ["connections"]})
    probed = ns.load(ROOT / "papers" / "rfc889" / "satellite-hop.toml")
    scenarios = [bare, ns.load("requests").replace({"stop": "1 s"}), probed]
    types: dict[str, dict[str, str]] = {}
    for scenario in scenarios:
        types |= {name: _types(filled) for name, filled in scenario.run().tables.items()}
    for name, filled in web.run().tables.items():
        types["connections_of_populations" if name == "connections" else name] = _types(filled)
    return types


def _of_captures() -> dict[str, dict[str, str]]:
    """Return the tables of an explained capture with their columns, without its packets' tables.

    The tables of packets have the same columns as the tables of a run.
    """
    from netspurt.captures import explain

    capture = next((ROOT / "data" / "captures").glob("*/sender.pcapng"))
    types = {name: _types(filled) for name, filled in explain(capture).tables.items()}
    shared = ("connections", "retransmissions")
    return {f"{name}_of_captures" if name in shared else name: types[name] for name in types}


def _of_a_replay() -> dict[str, str]:
    import netspurt as ns
    from netspurt import _core
    from netspurt.table import Table

    (path,) = ns.read_delays(ROOT / "data" / "ping.txt")
    replayed = _core.replay(path._core, "rfc6298")
    return _types(Table(_core.replay_records([replayed])))


def _of_a_sweep() -> dict[str, str]:
    import tempfile

    import netspurt as ns
    from netspurt._core import SWEEP_COLUMNS

    once = {"stop": "1 s", "sweep": {"seeds": 1}}
    with tempfile.TemporaryDirectory() as folder:
        sweep = ns.Sweep.of(ns.new_scenario().replace(once))
        cases = ns.run_sweep(sweep, Path(folder) / "cases")[0].read()
        return {name: _type(str(cases[name].dtype)) for name in SWEEP_COLUMNS}
