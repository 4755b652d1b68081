"""The values of a run that differ from its scenario's file, for example because of `--set`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from netspurt._core import __version__
from netspurt.algorithms import files_named
from netspurt.analysis.settings import Difference, differences
from netspurt.run import Run
from netspurt.scenario import Scenario, read_text
from netspurt.shipped import SHELF
from netspurt.wording import counted, plain

#: The sentence of `changed_line` has at most `_KEYS_MAX` keys. A value in it has at most
#: `_VALUE_MAX` characters.
_KEYS_MAX, _VALUE_MAX = 8, 60

#: The keys whose values choose the defaults of many other keys.
_CHOOSING = (".profile", ".endpoint")


def changed_line(run: Run) -> str:
    """Return a sentence on the keys whose values differ from the file of the run's scenario.

    The run's folder has the path of this file, and the values of the run. The text is empty if no
    value differs. It is also empty if the values cannot be compared. They cannot be compared in
    three cases. The file is gone or cannot be read. Or the file names code in Python, which a
    report does not load. Or `live exec` or another version of netspurt made the run.
    """
    file = _file_of(run)
    if file is None or run.version != __version__:
        return ""
    try:
        text = read_text(file)
        if files_named(text):
            return ""
        scenario = Scenario.parse(text, run.source, file.parent).alone()
        changed = _changed(scenario, run.scenario)
    except (OSError, ValueError):
        return ""
    if not changed:
        return ""
    told = [f"{one.key} = {_value(one.second)} ({_value(one.first)})" for one in changed]
    more = [counted(len(told) - _KEYS_MAX, "more key")] if len(told) > _KEYS_MAX else []
    listed = ", ".join([*told[:_KEYS_MAX], *more])
    return plain(f"This run differs from {file.name} (values of the file in parentheses): {listed}")


def _file_of(run: Run) -> Path | None:
    """Return the file of the run's scenario, if it is there.

    netspurt may have been installed elsewhere when the run was made. So for a scenario that comes
    with netspurt, this is the file of this installation.
    """
    path = Path(run.source)
    _, shelf, inside = path.as_posix().rpartition("/shelf/scenarios/")
    if shelf and (SHELF / inside).is_file():
        return SHELF / inside
    return path if path.suffix == ".toml" and path.is_file() else None


def _changed(scenario: Scenario, ran: str) -> list[Difference]:
    """Return the keys in which the scenario that ran differs from the scenario of its file.

    A changed profile (a named set of settings of TCP) or endpoint has other defaults. Keys that
    differ only for this reason are left out.
    """
    if any(flow.get("app") == "programs" for flow in tomllib.loads(ran).get("flows", {}).values()):
        return []  # `live exec` made this flow, so the file does not have it.
    every = differences(scenario.resolved(), ran)
    choosing = [one for one in every if one.key.endswith(_CHOOSING)]
    if not choosing:
        return every
    values = {one.key: one.second for one in choosing}
    rest = differences(scenario.replace(values).resolved(), ran)
    return [*choosing, *rest]


def _value(value: Any) -> str:
    """Return a value in the notation of scenarios. A long value is cut."""
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _VALUE_MAX else f"{text[: _VALUE_MAX - 1]}…"
