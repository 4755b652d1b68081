"""Reads the files that links of a scenario name with `follows`, to draw or to convert them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from netspurt.quantities import quantity
from netspurt.timelines.error import TimelineError
from netspurt.timelines.timeline import Outage, Steps, Timeline, Way
from netspurt.toml_text import values_of

#: The keys that a file may have.
_KEYS = ("delay", "rate", "loss", "duplicate", "order", "handovers")

_FIX = "write only delay, rate, loss, duplicate, order and handovers in a timeline for a link"

#: The unit of the values of each key, and the factor to the unit of a `Timeline`.
_UNITS = {"delay": ("s", 1e9), "rate": ("bit/s", 1.0)}


def read_followed(text: str, name: str) -> Timeline:
    """Return the timeline of a file that links follow.

    A `Timeline` has one value of `between` for its delays, probabilities and error rates: `step` or
    `linear`. If some of them have steps and others have straight lines, the timeline is linear.
    Then each step becomes two points at one instant.

    Raises
    ------
    TimelineError
        If the text is not TOML, or has no key, an unknown key, or a value that cannot be read.
    """
    try:
        content = values_of(text)
    except ValueError as error:
        fix = (
            "if this is a table, its first line must have names, such as t_s,delay_ms; if it is a "
            "trace, it must begin with a whole number"
        )
        raise TimelineError(f"this is neither TOML nor a table: {error}", fix, name) from None
    if not content:
        raise TimelineError("the file has no keys", _FIX, name)
    for key, value in content.items():
        if key not in _KEYS:
            raise _at(text, name, key, f"{key[:40]!r} is not a key of a timeline", _FIX)
        try:
            _timeline({key: value}, name)
        except _VALUE_ERRORS as error:
            fix = (
                "run a scenario with a link that follows this file: the error of `netspurt run` "
                "shows the line and the fix"
            )
            message = f"this value is not possible for a link ({error})"
            raise _at(text, name, key, message, fix) from None
    return _timeline(content, name)


def is_followed(file: Path) -> bool:
    """Return whether a file has keys, and all these keys may be in a file that links follow.

    The result is false if the file cannot be read, or is not TOML.
    """
    try:
        content = values_of(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(content) and all(key in _KEYS for key in content)


def use_of_followed(name: str) -> str:
    """Return a sentence that says how to use `name`, the name of a file that links follow."""
    return (
        f"{name} is a timeline for a link: `netspurt timeline {name} --plot OUT.png` draws it, "
        f"and `netspurt run SCENARIO --set links.LINK.follows={name}` uses it"
    )


#: The errors that a value raises if it is impossible or has a wrong type.
_VALUE_ERRORS = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError)


def _at(text: str, name: str, key: str, message: str, fix: str) -> TimelineError:
    """Return an error that shows the first line that sets the key or one of its subkeys.

    If no such line is found, the error names only the file.
    """
    sets_key = re.compile(rf"""[ \t\[]*(["']?)(?P<key>{re.escape(key)})\1[ \t]*[=.\]]""")
    for number, line in enumerate(text.splitlines(), 1):
        if found := sets_key.match(line):
            place = (number, found.start("key") + 1)
            return TimelineError(message, fix, name, place, line, len(key))
    return TimelineError(message, fix, name)


def _timeline(content: dict[str, Any], name: str) -> Timeline:
    rules = {table.get("between", "step") for table in _tables(content)}
    mixed = len(rules) > 1
    forward, reverse = (_values_of(content, direction, mixed=mixed) for direction in (0, 1))
    timeline = Timeline(
        name,
        forward,
        reverse if reverse != forward else None,
        between="linear" if "linear" in rules else "step",
        order=str(content.get("order", "fifo")),
    )
    duplicate = content.get("duplicate")
    # `to_toml` writes a probability of 1 as a whole number.
    if isinstance(duplicate, dict) and isinstance(duplicate.get("probability"), int | float):
        timeline = replace(timeline, duplicates=float(duplicate["probability"]))
    return timeline


def _tables(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the timelines of delays, losses and bit errors. Only these have the key `between`."""
    values = [_of(content.get("delay"), direction) for direction in (0, 1)]
    losses = [_of(content.get("loss"), direction) for direction in (0, 1)]
    values += [loss[key] for loss in losses if isinstance(loss, dict) for key in loss]
    return [value for value in values if isinstance(value, dict) and "timeline" in value]


def _of(value: Any, direction: int) -> Any:
    """Return the value of a direction: an element of a pair, or the value for both directions."""
    return value[direction] if isinstance(value, list) else value


def _values_of(content: dict[str, Any], direction: int, *, mixed: bool) -> Way:
    """Return the values of a direction. `mixed` has the same meaning as in `_steps`."""
    rate = _of(content.get("rate"), direction)
    loss = _of(content.get("loss"), direction)
    loss = loss if isinstance(loss, dict) else {}
    is_trace = isinstance(rate, dict) and "opportunities" in rate
    rates = () if is_trace else _steps(rate, "rate", mixed=False)
    probability = loss.get("probability")
    changing = () if isinstance(probability, int | float) else _steps(probability, "", mixed=mixed)
    delay = _steps(_of(content.get("delay"), direction), "delay", mixed=mixed)
    return Way(
        delay=[(at, round(ns)) for at, ns in delay],
        rate=[(at, round(bps)) for at, bps in rates],
        opportunities=[_ns(at) for at in rate["opportunities"]] if is_trace else (),
        loss=float(probability) if isinstance(probability, int | float) else changing,
        bit_errors=_steps(loss.get("bit_error_rate"), "", mixed=mixed),
        outages=_outages(content.get("handovers", ()), ("forward", "reverse")[direction]),
    )


def _steps(value: Any, key: str, *, mixed: bool) -> Steps[float]:
    """Return the points of a timeline. A constant value has one point.

    A missing value, `none` and `unlimited` have no points. If `mixed` is true, each step becomes
    two points at one instant.
    """
    if value is None or value in ("none", "unlimited"):
        return ()
    if not isinstance(value, dict):
        return [(0, _value(value, key))]
    points = [(_ns(at), _value(entry, key)) for at, entry in value["timeline"]]
    if not (mixed and value.get("between", "step") == "step"):
        return points
    edges: list[tuple[int, float]] = []
    for n, (at, new_value) in enumerate(points):
        edges += [(at, points[n - 1][1])] * (n > 0)
        edges.append((at, new_value))
    return edges


def _value(value: Any, key: str) -> float:
    if not key:
        return float(value)
    wanted, factor = _UNITS[key]
    unit, number = quantity(value)
    if unit != wanted:
        raise ValueError(f"{value!r} is not a {key}")
    return number * factor


def _ns(text: str) -> int:
    unit, seconds = quantity(text)
    if unit != "s":
        raise ValueError(f"{text!r} is not an instant")
    return round(seconds * 1e9)


def _outages(handovers: Sequence[dict[str, Any]], direction: str) -> list[Outage]:
    return [
        Outage(
            _ns(handover["at"]),
            _ns(handover.get("dead", "0 s")),
            str(handover.get("arrivals", "queue")),
        )
        for handover in handovers
        if handover.get("direction", "both") in ("both", direction)
    ]
