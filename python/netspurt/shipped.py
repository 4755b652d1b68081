"""Scenarios that come with netspurt, by name.

A scenario's name is the path of its file below `shelf/scenarios`, without the suffix: `rfc2416`,
`live/rfc2416`. A file that a link follows (its delays over time) may be in the same folders, but is
no scenario.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

#: The folder of the scenarios.
SHELF = Path(__file__).parent / "shelf" / "scenarios"

#: The key `stop`. Every scenario has this key. A file that a link follows does not have it.
_STOP = re.compile(r"^stop\s*=", re.MULTILINE)

#: The folder of the scenarios that run on the kernel's TCP.
_LIVE = "live/"


class UnknownScenarioError(ValueError):
    """No scenario that comes with netspurt has the requested name."""


def names() -> list[str]:
    """Return the names of all scenarios in order. Scenarios of live runs come last."""
    files = [file for file in SHELF.rglob("*.toml") if _STOP.search(file.read_text("utf-8"))]
    names_found = [file.relative_to(SHELF).with_suffix("").as_posix() for file in files]
    return sorted(names_found, key=lambda name: ("/" in name, name))


def file_of(name: str) -> Path:
    """Return the file of a scenario that comes with netspurt.

    Raises
    ------
    UnknownScenarioError
        If no scenario has the name. The error suggests the most similar name, if one is similar.
    """
    known = names()
    if name in known:
        return SHELF / f"{name}.toml"
    similar = difflib.get_close_matches(name, known, n=1)
    fix = f"did you mean {similar[0]}?" if similar else "list them with `netspurt scenarios`"
    raise UnknownScenarioError(f"no scenario `{name}` comes with netspurt: {fix}")


def resolve(scenario: str | os.PathLike[str], *, live: bool = False) -> Path:
    """Return the file of a scenario that is given by its path or by its name.

    Parameters
    ----------
    scenario
        The path of a file, or the name of a scenario that comes with netspurt. If a file has this
        path, or if the text ends in `.toml`, the text is taken as a path.
    live
        True if the name `x` means the scenario `live/x`, provided that `live/x` exists.

    Raises
    ------
    UnknownScenarioError
        If `scenario` is not the path of a file or a folder, does not end in `.toml`, and is not
        the name of a scenario.

    Examples
    --------
    >>> resolve("rfc2416").name, resolve("rfc2416", live=True).parent.name
    ('rfc2416.toml', 'live')
    """
    path = Path(scenario)
    if path.suffix == ".toml" or (path.exists() and not path.is_dir()):
        return path
    name = os.fspath(scenario)
    if live and _LIVE + name in names():
        name = _LIVE + name
    try:
        return file_of(name)
    except UnknownScenarioError as error:
        if path.is_dir():
            return path
        raise UnknownScenarioError(f"there is no file {name}, and {error}") from None
