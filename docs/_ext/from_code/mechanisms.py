"""Lists the switches of TCP's mechanisms in scenarios, with their values in each profile."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from from_code.markdown import code, table
from from_code.scenario_keys import Schema, forms, schema, toml

#: A scenario that sets only the profile of a flow's TCP.
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
    """Return two tables: the profiles, and the switches with their values in each profile."""
    whole = schema()
    schemas = whole["$defs"]["Profile"]["oneOf"]
    described = [(code(profile["const"]), profile["description"]) for profile in schemas]
    values = {name: profile_values(name) for name in profiles(whole)}
    rows = [
        (code(key), switch.get("description", ""), forms(switch, whole), _by_profile(key, values))
        for key, switch in switches(whole["$defs"]["TcpSpec"])
    ]
    profile_table = table(["profile", "what it is"], described)
    switch_table = table(["switch", "meaning", "value", "in profiles"], rows)
    return f"## Profiles\n\n{profile_table}\n## Switches\n\n{switch_table}"


def profiles(whole: Schema) -> list[str]:
    """Return the profiles of simulations. The running kernel's profile is not one of them."""
    names = [profile["const"] for profile in whole["$defs"]["Profile"]["oneOf"]]
    return [name for name in names if name != "linux-default"]


def switches(part: Schema, above: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield the path and the schema of each switch, also for the switches of inner tables."""
    for key, value in part["properties"].items():
        if value.get("type") == "object" and "properties" in value:
            yield from switches(value, f"{above}{key}.")
        else:
            yield above + key, value


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
    profiles_by_value: dict[str, list[str]] = {}
    for profile, values_of_profile in values.items():
        if key in values_of_profile:
            profiles_by_value.setdefault(toml(values_of_profile[key]), []).append(profile)
    return "; ".join(
        f"{code(value)} in {', '.join(names)}" for value, names in profiles_by_value.items()
    )
