"""Reads the files that links follow, to show them."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from netspurt.quantities import quantity
from netspurt.timelines.error import TimelineError
from netspurt.timelines.timeline import Outage, Steps, Timeline, Way

#: The keys that a file may have.
_KEYS = ("delay", "rate", "loss", "duplicate", "order", "handovers")

_FIX = "a file that links follow has delay, rate, loss, duplicate, order and handovers alone"

#: The unit of the values of each key, and the factor to the unit of a `Timeline`.
_UNITS = {"delay": ("s", 1e9), "rate": ("bit/s", 1.0)}


def read_followed(text: str, name: str) -> Timeline:
    """Return the timeline of a file that links follow.

    If some series have steps and others have straight lines, a step becomes a steep line.

    Raises
    ------
    TimelineError
        If it is not such a file.
    """
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        fix = "a table begins with names such as t_s,delay_ms, a trace with a whole number"
        raise TimelineError(f"this is neither TOML nor a table: {error}", fix, name) from None
    if not told:
        raise TimelineError("it says nothing", _FIX, name)
    for key, value in told.items():
        if key not in _KEYS:
            raise _at(text, name, key, f"{key[:40]!r} is no key of it", _FIX)
        try:
            _timeline({key: value}, name)
        except _WRONG as error:
            fix = "`netspurt run` of a scenario that follows it names the place"
            raise _at(text, name, key, f"a value that no link has ({error})", fix) from None
    return _timeline(told, name)


#: The errors that values of wrong types raise.
_WRONG = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError)


def _at(text: str, name: str, key: str, message: str, fix: str) -> TimelineError:
    """Return an error at a key of a file."""
    for number, line in enumerate(text.splitlines(), 1):
        start = len(line) - len(line.lstrip(" \t['\""))
        if line[start:].startswith(key):
            return TimelineError(message, fix, name, (number, start + 1), line, len(key))
    return TimelineError(message, fix, name)


def _timeline(told: dict[str, Any], name: str) -> Timeline:
    rules = {table.get("between", "step") for table in _tables(told)}
    ways = [_way(told, way, mixed=len(rules) > 1) for way in (0, 1)]
    made = Timeline(
        name,
        ways[0],
        ways[1] if ways[0] != ways[1] else None,
        between="linear" if "linear" in rules else "step",
        order=str(told.get("order", "fifo")),
    )
    duplicate = told.get("duplicate")
    if isinstance(duplicate, dict) and isinstance(duplicate.get("probability"), float):
        made = replace(made, duplicates=duplicate["probability"])
    return made


def _tables(told: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tables of delays and probabilities: these timelines have a rule `between`."""
    found = [_of(told.get("delay"), way) for way in (0, 1)]
    loss = [_of(told.get("loss"), way) for way in (0, 1)]
    found += [one[key] for one in loss if isinstance(one, dict) for key in one]
    return [one for one in found if isinstance(one, dict) and "timeline" in one]


def _of(value: Any, way: int) -> Any:
    """Return a direction's value: the element of a pair, or the value itself."""
    return value[way] if isinstance(value, list) else value


def _way(told: dict[str, Any], way: int, *, mixed: bool) -> Way:
    rate = _of(told.get("rate"), way)
    loss = _of(told.get("loss"), way)
    loss = loss if isinstance(loss, dict) else {}
    given = isinstance(rate, dict) and "opportunities" in rate
    once = loss.get("probability")
    delay = _steps(_of(told.get("delay"), way), "delay", mixed=mixed)
    return Way(
        delay=[(at, round(ns)) for at, ns in delay],
        rate=() if given else [(at, round(bits)) for at, bits in _steps(rate, "rate", mixed=False)],
        opportunities=[_ns(at) for at in rate["opportunities"]] if given else (),
        loss=float(once) if isinstance(once, int | float) else _steps(once, "", mixed=mixed),
        bit_errors=_steps(loss.get("bit_error_rate"), "", mixed=mixed),
        outages=_outages(told.get("handovers", ()), ("forward", "reverse")[way]),
    )


def _steps(value: Any, key: str, *, mixed: bool) -> Steps[float]:
    """Return the points of a timeline. A constant value has one point."""
    if value is None or value in ("none", "unlimited"):
        return ()
    if not isinstance(value, dict):
        return [(0, _value(value, key))]
    points = [(_ns(at), _value(of, key)) for at, of in value["timeline"]]
    if not (mixed and value.get("between", "step") == "step"):
        return points
    edges: list[tuple[int, float]] = []
    for n, (at, of) in enumerate(points):
        edges += [(at, points[n - 1][1])] * (n > 0)
        edges.append((at, of))
    return edges


def _value(value: Any, key: str) -> float:
    if not key:
        return float(value)
    wanted, factor = _UNITS[key]
    unit, number = quantity(value)
    if unit != wanted:
        raise ValueError(f"{value!r} as a {key}")
    return number * factor


def _ns(text: str) -> int:
    unit, seconds = quantity(text)
    if unit != "s":
        raise ValueError(f"{text!r} as an instant")
    return round(seconds * 1e9)


def _outages(handovers: Sequence[dict[str, Any]], way: str) -> list[Outage]:
    return [
        Outage(_ns(one["at"]), _ns(one.get("dead", "0 s")), str(one.get("arrivals", "queue")))
        for one in handovers
        if one.get("direction", "both") in ("both", way)
    ]
