"""Finds the differences between the scenarios of two runs, with all defaults filled in."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Difference:
    """A key whose values differ between two scenarios.

    Attributes
    ----------
    key
        The path of the key, such as `links.modem.queue`.
    first, second
        The values. A value is `None` if the scenario does not have the key.
    """

    key: str
    first: Any
    second: Any


def differences(first: str, second: str) -> list[Difference]:
    """Return the keys whose values differ between two scenarios.

    `first` and `second` are the texts of the scenarios, with all defaults filled in. The keys have
    the order of the first scenario; the keys that only the second scenario has come last. Titles
    are left out, because a title has no effect on a run.

    Examples
    --------
    >>> differences("stop = '1 s'", "stop = '2 s'")
    [Difference(key='stop', first='1 s', second='2 s')]
    """
    first_values, second_values = (dict(_flat(tomllib.loads(text))) for text in (first, second))
    keys = [key for key in dict.fromkeys([*first_values, *second_values]) if key != "title"]
    return [
        Difference(k, first_values.get(k), second_values.get(k))
        for k in keys
        if first_values.get(k) != second_values.get(k)
    ]


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
