"""Completion for the shell: estimators, scenarios, and names in run and sweep folders.

An estimator is the algorithm of a retransmission timer. A sweep varies settings of a scenario. Each
of these settings is an axis, and its values have labels.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

#: The largest manifest (`run.json` or `sweep.json`) that is read, in octets.
_LARGEST = 1 << 24


def estimators(incomplete: str) -> list[str]:
    """Return the names of estimators that begin with a text. The usual ones come first."""
    from netspurt import _core
    from netspurt.timers import USUAL

    names = dict.fromkeys([*USUAL, *_core.ALGORITHMS, *_core.ALIASES])
    return [name for name in names if name.startswith(incomplete)]


def shipped(incomplete: str) -> list[str]:
    """Return the names of shipped scenarios that begin with a text."""
    from netspurt.shipped import names

    return _begin(names(), incomplete)


def scenarios(incomplete: str) -> list[str]:
    """Return the folders, the scenario files and the shipped scenarios that begin with a text."""
    folder, _, begun = incomplete.rpartition("/")
    try:
        there = sorted(Path(folder or ("/" if incomplete.startswith("/") else ".")).iterdir())
    except OSError:
        there = []
    before = incomplete.removesuffix(begun)
    files = [
        f"{before}{path.name}{'/' if path.is_dir() else ''}"
        for path in there
        if path.name.startswith(begun)
        and (begun or not path.name.startswith("."))
        and (path.suffix == ".toml" or path.is_dir())
    ]
    return [*files, *shipped(incomplete)]


def tables(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the tables of the run that the command line names, or no tables without a run."""
    return _begin(_manifest(ctx, "run", "run.json").get("tables"), incomplete)


def axes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the axes of the sweep that the command line names."""
    return _begin(_manifest(ctx, "folder", "sweep.json").get("names"), incomplete)


def labels(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the labels of the axis that the command line names."""
    told = _manifest(ctx, "folder", "sweep.json").get("labels")
    own = told.get(ctx.params.get("axis")) if isinstance(told, dict) else None
    return _begin(own, incomplete)


def _begin(names: Any, incomplete: str) -> list[str]:
    told = [str(name) for name in names] if isinstance(names, list | dict) else []
    return [name for name in told if name.startswith(incomplete)]


def _manifest(ctx: typer.Context, argument: str, name: str) -> dict[str, Any]:
    """Return the manifest of the folder that is an argument of the command.

    The result is empty if there is no manifest, because the shell shows no errors. If the last
    option has no value yet, the command line's arguments are in `ctx.args`.
    """
    folder = ctx.params.get(argument) or next(iter(ctx.args), "")
    try:
        file = Path(str(folder)) / name
        told = json.loads(file.read_bytes()) if file.stat().st_size < _LARGEST else None
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
