"""The mechanisms of TCP that scenarios switch, with their values in each profile."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from from_code.markdown import code, table
from from_code.scenario_keys import Schema, forms, schema, toml

#: A scenario that says nothing of a flow's TCP but its profile.
_BARE = """
stop = "1 s"
[links.wire]
between = ["a", "b"]
rate = "1 Mbit/s"
[flows.one]
from = "a"
to = "b"
profile = "{profile}"
"""


def mechanisms() -> str:
    """Return the profiles, and a row for each switch with its value in each profile."""
    whole = schema()
    told = [(code(one["const"]), one["description"]) for one in whole["$defs"]["Profile"]["oneOf"]]
    values = {name: profile_values(name) for name in profiles(whole)}
    rows = [
        (code(key), one.get("description", ""), forms(one, whole), _by_profile(key, values))
        for key, one in switches(whole["$defs"]["TcpSpec"])
    ]
    heads = ["switch", "meaning", "value", "in profiles"]
    return f"## Profiles\n\n{table(['profile', 'what it is'], told)}\n## Switches\n\n" + table(
        heads, rows
    )


def profiles(whole: Schema) -> list[str]:
    """Return the profiles that simulations have; that of the running kernel is the kernel's."""
    names = [one["const"] for one in whole["$defs"]["Profile"]["oneOf"]]
    return [name for name in names if name != "linux-default"]


def switches(part: Schema, above: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield each switch with its path; those of an inner table one by one."""
    for key, one in part["properties"].items():
        if one.get("type") == "object" and "properties" in one:
            yield from switches(one, f"{above}{key}.")
        else:
            yield above + key, one


def profile_values(profile: str) -> dict[str, Any]:
    """Return the value of each switch in a profile, by its path."""
    from netspurt.scenario import Scenario

    resolved = Scenario.parse(_BARE.format(profile=profile)).resolved()
    return dict(_flat(tomllib.loads(resolved)["flows"]["one"]["tcp"]))


def _flat(values: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        yield above + key, value
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")


def _by_profile(key: str, values: dict[str, dict[str, Any]]) -> str:
    names: dict[str, list[str]] = {}
    for profile, found in values.items():
        if key in found:
            names.setdefault(toml(found[key]), []).append(profile)
    return "; ".join(f"{code(value)} in {', '.join(among)}" for value, among in names.items())
