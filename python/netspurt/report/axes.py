"""Tables that explain the values of a sweep's axes: which keys of the scenario each value sets.

An axis is a setting that a sweep varies. A label is a value of an axis, as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from netspurt import _core
from netspurt.report.parts import MOST_ROWS, Rows
from netspurt.scenario import as_toml
from netspurt.sweep import SweepFolder
from netspurt.toml_text import values_of

#: Matches a key that stands in quotes, although TOML does not require quotes for this key.
_QUOTED_KEY = re.compile(r'"([A-Za-z_][\w-]*)" =')

#: The text for a value that changes nothing.
_NOTHING = "nothing; the values of the file apply"


def explained_axes(folder: SweepFolder) -> Iterator[Rows]:
    """Yield a table for each axis whose labels do not say what they set.

    Two kinds of axes have such labels: axes whose values are named sets of keys, and axes whose
    values are profiles.
    """
    over = values_of(folder.scenario()).get("sweep", {}).get("over", {})
    for name in folder.names:
        axis = over.get(name, {})
        told = dict(_of_axis(axis))
        rows = [(label, told[label]) for label in map(str, folder.labels[name]) if label in told]
        if rows:
            yield Rows(
                f"The values of {name}",
                (name, "sets"),
                rows[:MOST_ROWS],
                more=max(0, len(rows) - MOST_ROWS),
                elsewhere="The scenario in the sweep's folder has all values.",
            )


#: The keys of a link that are conditions of the path. A report names no best value of these keys.
_CONDITIONS = {"delay", "rate", "loss", "duplicate", "reorder", "long", "order"}
_CONDITIONS |= {"handovers", "slots", "follows"}


def conditions(folder: SweepFolder) -> set[str]:
    """Return the axes that vary only conditions of a path, such as the losses of a link."""
    over = values_of(folder.scenario()).get("sweep", {}).get("over", {})
    found = set()
    for name in folder.names:
        axis = over.get(name, {})
        given = axis.get("path", [])
        paths = [given] if isinstance(given, str) else [*given]
        paths += [path for values in axis.get("sets", {}).values() for path in values]
        if paths and all(map(_is_condition, paths)):
            found.add(name)
    return found


def _is_condition(path: str) -> bool:
    """Return whether a key of a scenario is a condition of a path.

    Examples
    --------
    >>> [_is_condition(f"links.wire.{key}") for key in ("loss.probability", "queue")]
    [True, False]
    >>> _is_condition("dumbbell.bottleneck.delay"), _is_condition("flows.web.tcp.rto.min")
    (True, False)
    """
    group, *keys = path.split(".")
    return group in ("links", "dumbbell") and len(keys) > 1 and keys[1] in _CONDITIONS


def _of_axis(axis: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each label of an axis with the values that the label sets."""
    for label, values in axis.get("sets", {}).items():
        told = "; ".join(_setting(path, value) for path, value in values.items())
        yield str(label), told or _NOTHING
    path = axis.get("path", "")
    if isinstance(path, str) and _is_profile(path):
        for value in axis.get("values", ()):
            yield str(value), _setting(path, value)


def _setting(path: str, value: Any) -> str:
    told = _QUOTED_KEY.sub(r"\1 =", f"{path} = {as_toml(value)}")
    meaning = _profiles().get(str(value), "") if _is_profile(path) else ""
    return f"{told} ({meaning})" if meaning else told


def _is_profile(path: str) -> bool:
    return path.rpartition(".")[2] == "profile"


@cache
def _profiles() -> dict[str, str]:
    """Return the profiles with their meanings."""
    found = json.loads(_core.schema())["$defs"]["Profile"]["oneOf"]
    return {one["const"]: one.get("description", "") for one in found}
