"""Tables and their columns: names and types from tables that the code fills, meanings from data."""

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

#: Tables of more columns than fit one list have their meanings on a room's page.
ON_PAGES = {"connections_of_captures": "connections.md", "cases": "sweeps.md"}

_ROWS = {
    "connections_of_captures": "a direction of a connection in a capture",
    "cases": "a case of a sweep; beside these columns it has one for each of its axes",
}


def columns() -> str:
    """Return a section for each table, with a row for each column."""
    parts = []
    for name, types in tables().items():
        rows = [(code(one), kind, meaning(name, one)) for one, kind in types.items()]
        parts += [heading(2, code(shown(name)) + _of(name), "table-" + name.replace("_", "-"))]
        parts += [f"A row is {row_of(name)}.\n", table(["column", "type", "meaning"], rows)]
    return "\n".join(parts)


def shown(name: str) -> str:
    """Return the name of a table as the code has it."""
    return name.partition("_of_")[0]


def _of(name: str) -> str:
    whose = name.partition("_of_")[2]
    return f", of {whose}" if whose else ""


def row_of(name: str) -> str:
    """Return what a row of a table is."""
    return _ROWS[name] if name in _ROWS else str(told()[name]["row"])


@cache
def told() -> Mapping[str, Any]:
    """Return what `docs/columns.toml` says."""
    return tomllib.loads((ROOT / "docs" / "columns.toml").read_text())


@cache
def tables() -> dict[str, dict[str, str]]:
    """Return each table with its columns and their types, in the order of the data file."""
    found = {**_of_runs(), **_of_captures(), "replay": _of_a_replay(), "cases": _of_a_sweep()}
    live = {name: dict(one["live"]) for name, one in told().items() if "live" in one}
    found |= live
    return {name: found.pop(name) for name in told() if name in found} | found


def meaning(name: str, column: str) -> str:
    """Return what a column means.

    Raises
    ------
    KeyError
        If neither the data file nor the room's page says so.
    """
    own = _on_page(ON_PAGES[name]) if name in ON_PAGES else told()[name]["columns"]
    shared = {} if name in ON_PAGES else told()["any"]["columns"]
    for pattern, words in [*own.items(), *shared.items()]:
        if fnmatch(column, pattern):
            return str(words)
    raise KeyError(f"what does the column `{column}` of the table `{name}` mean?")


def untold() -> list[str]:
    """Return the columns without a meaning."""
    found = []
    for name, types in tables().items():
        for column in types:
            try:
                meaning(name, column)
            except KeyError:
                found.append(f"{name}.{column}")
    return found


def unused() -> list[str]:
    """Return what the data file explains and no table has."""
    return [
        f"{name}.{pattern}"
        for name, one in told().items()
        if name != "any"
        for pattern in one["columns"]
        if not any(fnmatch(column, pattern) for column in tables().get(name, {}))
    ]


@cache
def _on_page(page: str) -> dict[str, str]:
    """Return the meanings that a page's tables have, by patterns of names."""
    found: dict[str, str] = {}
    for cells in re.findall(r"^\| (`.+?) \| (.+) \|$", (ROOT / "docs" / page).read_text(), re.M):
        names, words = cells
        for pattern in _patterns(re.findall(r"`([^`]+)`", names)):
            found.setdefault(pattern, re.sub(r"\]\((?=[\w.#])", "](../", words))
    return {name: re.sub(r"\(\.\./#", f"(../{page}#", words) for name, words in found.items()}


def _patterns(names: list[str]) -> Iterator[str]:
    """Yield whole names: `_p90` behind `request_ns_p50` is `request_ns_p90`."""
    first = ""
    for name in names:
        if name.startswith("_"):
            yield first.rpartition("_")[0] + name
        else:
            first = name
            yield name.replace("CAUSE", "*")


def _types(one: Any) -> dict[str, str]:
    return {column: _type(str(one[column].dtype)) for column in one}


def _type(kind: str) -> str:
    return "text" if kind.startswith(("<U", "object")) else kind


def _of_runs() -> dict[str, dict[str, str]]:
    """Return the tables of runs that fill each of them."""
    import netspurt as ns

    bare = ns.new_scenario().replace({"stop": "1 s", "record.shadows": ["rfc6298"]})
    web = ns.load("web").replace({"stop": "1 s", "record.tables": ["connections"]})
    probed = ns.load(ROOT / "papers" / "rfc889" / "satellite-hop.toml")
    runs = [bare, ns.load("requests").replace({"stop": "1 s"}), probed]
    found = {name: _types(one) for run in runs for name, one in run.run().tables.items()}
    for name, one in web.run().tables.items():
        found["connections_of_populations" if name == "connections" else name] = _types(one)
    return found


def _of_captures() -> dict[str, dict[str, str]]:
    """Return the tables of an explained capture; those of its packets are a run's."""
    from netspurt.captures import explain

    capture = next((ROOT / "data" / "captures").glob("*/sender.pcapng"))
    own = {name: _types(one) for name, one in explain(capture).tables.items()}
    shared = ("connections", "retransmissions")
    return {f"{name}_of_captures" if name in shared else name: one for name, one in own.items()}


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
