"""`netspurt doctor`: the machine's capabilities, and what is missing."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys

import typer

from netspurt import _core
from netspurt.cli.output import columns, paint
from netspurt.cli.programs import AsCsv, AsJson, Form

#: Optional Python packages and their purposes.
_EXTRAS = {
    "pyarrow": "tables in pandas and duckdb: pip install 'netspurt[arrow]'",
    "polars": "tables as data frames: pip install 'netspurt[polars]'",
}

#: Other programs with which tests and benchmarks compare netspurt.
_PEERS = {
    "ns": "ns-2, to make expected values of tests again and to compare speeds (Debian: ns2)",
    "tshark": "to check captures (Debian: tshark)",
    "tcptrace": "to check captures (Debian: tcptrace)",
}


def doctor(as_csv: AsCsv = False, as_json: AsJson = False) -> None:
    """Show what this machine can do and what is missing."""
    form = Form(as_json, as_csv)
    rows = [*_always(), *_core.capabilities(), *_optional()]
    if not form.for_people:
        keys = ("name", "available", "found", "purpose")
        told = [dict(zip(keys, row, strict=True)) for row in rows]
        form.print(told, told)
        return
    lines = columns([("", name, found, purpose) for name, _, found, purpose in rows])
    for line, (_, available, _, _) in zip(lines, rows, strict=True):
        mark = paint("ok", "green") if available else paint("--", "yellow")
        typer.echo(f"{mark}{line}")


def _always() -> list[tuple[str, bool, str, str]]:
    python = f"Python {platform.python_version()} in {sys.prefix}"
    return [("netspurt", True, f"{_core.__version__}, {python}", "simulation, plots, papers")]


def _optional() -> list[tuple[str, bool, str, str]]:
    rows = []
    for name, purpose in _EXTRAS.items():
        there = importlib.util.find_spec(name) is not None
        rows.append((name, there, "installed" if there else "not installed", purpose))
    for name, purpose in _PEERS.items():
        path = shutil.which(name)
        rows.append((name, path is not None, path or "not installed", purpose))
    return rows
