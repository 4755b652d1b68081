"""Shared options of commands: readers of their values, and messages for wrong values."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt import quantities
from netspurt.cli import completing

if TYPE_CHECKING:
    from netspurt.scenario import Scenario


#: The help of `--format`, with the formats of recorded delays.
READ_AS = (
    "Read the files as this format: ping, windows-ping, fping, nping, mtr, tcping, fping-json, "
    "irtt, irtt-text, atlas, probe, scamper, flent, iperf3, tcp-info, ss, qlog, pingplotter, "
    "csv, parquet or pcap."
)


def _reader(what: str, read: Callable[[str], Any]) -> Callable[[Any], Any]:
    def parse(text: Any) -> Any:
        if not isinstance(text, str):
            return text
        try:
            return read(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not {what}") from None

    return parse


def _count(text: str) -> int:
    if int(text) < 0:
        raise ValueError
    return int(text)


def _count_above_zero(text: str) -> int:
    if _count(text) == 0:
        raise ValueError
    return _count(text)


def _connection(text: str) -> int:
    return _count(text.removeprefix("c"))


def _time(text: str) -> float:
    """Read a time, which may be zero or negative if it has no unit."""
    try:
        return float(text)
    except ValueError:
        return quantities.seconds(text)


def _instant(text: str) -> float:
    value = _time(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def _lateness(text: str) -> float:
    value = _time(text)
    if not 0 <= value <= 1e6:
        raise ValueError
    return value


def number_from(
    low: float, high: float = math.inf, *, example: str, whole: bool = False
) -> Callable[[Any], Any]:
    """Return a parser for an option whose value is a number from `low` to `high`."""
    what = "a whole number" if whole else "a number"
    bounds = f"from {low:g} to {high:.10g}" if high < math.inf else f"of at least {low:g}"

    def read(text: str) -> float:
        value = int(text) if whole else float(text)
        if not low <= value <= high or not math.isfinite(value):
            raise ValueError
        return value

    return _reader(f"{what} {bounds}, such as {example}", read)


#: Reads a time: 20ms, 0.02, 0.
lateness = _reader("a time from 0 to a million seconds, such as 5ms or 0.005", _lateness)
instant = _reader("a time, such as 12.5 (seconds) or 1.5min", _instant)
count = _reader("a whole number, 0 or more", _count)
count_above_zero = _reader("a whole number, 1 or more", _count_above_zero)
port = number_from(1, 65535, example="5001", whole=True)
port_or_any = number_from(0, 65535, example="5001", whole=True)
#: Reads the number of a connection, or its name in tables and plots: 3, c3.
connection_number = _reader("the number of a connection, such as 3 or c3", _connection)


def one_of(words: Sequence[str]) -> Callable[[str], str]:
    """Return a parser for an option whose value is one of some words."""

    def parse(text: str) -> str:
        if text not in words:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(words)}")
        return text

    return parse


def some_of(words: Sequence[str]) -> Callable[[str], str]:
    """Return a parser for an option whose value is one or several of some words.

    Commas separate the words.
    """
    one = one_of(words)

    def parse(text: str) -> str:
        return ",".join(one(part.strip()) for part in text.split(","))

    return parse


From = Annotated[
    float | None,
    typer.Option(
        "--from", parser=instant, metavar="TIME", help="Leave out what happened before this time."
    ),
]
To = Annotated[
    float | None,
    typer.Option(
        "--to", parser=instant, metavar="TIME", help="Leave out what happened after this time."
    ),
]

_DIRECTIONS = ("forward", "reverse")


def _direction(meaning: str) -> Any:
    """Return the option `--direction` with its meaning for a command."""
    return typer.Option(
        "--direction",
        parser=one_of(_DIRECTIONS),
        metavar="DIRECTION",
        help=meaning,
        autocompletion=lambda: [*_DIRECTIONS],
    )


Direction = Annotated[
    str | None,
    _direction("forward: sent by the flow's initiator. reverse: sent by the other end."),
]

LinkDirection = Annotated[
    str | None,
    _direction(
        "The direction of the link, or of the packets of a capture: forward or reverse. By default "
        "forward; in a capture the direction with more data."
    ),
]


def setting(text: str) -> tuple[str, str]:
    """Return the path and the value of a `--set`."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise typer.BadParameter(f"{text!r} is not PATH=VALUE", param_hint="--set")
    return path.strip(), value.strip()


def settings(values: Sequence[str] | None, unset: Sequence[str] | None) -> dict[str, str]:
    """Return the paths and the values of `--set`.

    netspurt sets these values after it has removed the keys of `--unset`.

    Raises
    ------
    ValueError
        If `--unset` names a key that a `--set` sets, or a key within a table that a `--set` sets.
    """
    over = dict(setting(text) for text in values or [])
    for removed in unset or ():
        own = _keys(removed)
        for path in over:
            if own[: len(_keys(path))] == _keys(path):
                raise ValueError(
                    f"--unset {removed} and --set {path} contradict each other: leave one of them "
                    "out"
                )
    return over


Unset = Annotated[
    list[str] | None,
    typer.Option(
        "--unset",
        metavar="PATH",
        help="Remove a key of the file, so that its default applies. Keys are removed before "
        "--set sets values. May be repeated.",
    ),
]


#: The argument of a command that takes a scenario.
ScenarioFile = Annotated[
    Path,
    typer.Argument(
        metavar="SCENARIO",
        help="A scenario file, or the name of a scenario that comes with netspurt.",
        show_default=False,
        autocompletion=completing.scenarios,
    ),
]


def loaded(
    scenario: Path,
    values: Sequence[str] | None,
    seed: int | None = None,
    *,
    unset: Sequence[str] | None = None,
    alone: bool = False,
) -> Scenario:
    """Return a scenario after `--unset`, `--set` and `--seed`; `alone` removes its sweep.

    A sweep varies settings of the scenario. Each of them is an axis.

    Raises
    ------
    ValueError
        If `scenario` names no scenario, or if a `--set` and an `--unset` contradict each other.
        Also if an axis of the scenario's `[sweep]` replaces the value of a `--set`.
    OSError
        If the file cannot be read.
    """
    from netspurt.cli.hints import command_for
    from netspurt.scenario import load

    over = settings(values, unset)
    if seed is not None:
        over["seed"] = str(seed)
    try:
        chosen = load(scenario).alone() if alone else load(scenario)
    except (ValueError, OSError):
        if scenario.suffix != ".toml" and (told := command_for(scenario)):
            raise ValueError(f"this command takes a scenario; {told}") from None
        raise
    if not over and not unset:
        return chosen
    chosen = chosen.set_text(over, unset or ())
    axes = _axes(chosen)
    for path in over:
        for name, varied in axes.items():
            if any(_keys(path)[: len(_keys(own))] == _keys(own) for own in varied):
                raise ValueError(
                    f"--set {path}: the axis `{name}` of the sweep replaces it: leave this --set "
                    f"out, or change the axis, as in --set sweep.over.{name}=..."
                )
    return chosen


def _keys(path: str) -> list[str]:
    return [key.strip().strip('"') for key in path.split(".")]


def _axes(scenario: Scenario) -> dict[str, set[str]]:
    """Return the paths that each axis of a scenario's sweep varies, by the axis' name."""
    over = tomllib.loads(scenario.resolved()).get("sweep", {}).get("over", {})
    found: dict[str, set[str]] = {}
    for name, axis in over.items():
        path = axis.get("path", [])
        sets = axis.get("sets", {}).values()
        found[name] = {
            *([path] if isinstance(path, str) else path),
            *(p for one in sets for p in one),
        }
    return found


def _span(text: str) -> float:
    value = quantities.seconds(text)
    if value > 1e6:
        raise ValueError
    return value


def _span_reader(examples: str) -> Callable[[str], float]:
    return _reader(f"a time above zero and at most 1e6 s, such as {examples}", _span)


#: Reads a time: 2h, 30min, 10s, 200ms, 0.5.
span_of = _span_reader("200ms, 10s or 2h")

Interval = Annotated[
    float | None,
    typer.Option(
        "--interval",
        parser=_span_reader("24ms or 0.5"),
        metavar="TIME",
        help="The time between probes, if the file has no times of sending: 24ms, 0.5.",
    ),
]

LostAfter = Annotated[
    float | None,
    typer.Option(
        "--lost-after",
        parser=_span_reader("30s or 0.5"),
        metavar="TIME",
        help="Count replies later than this as lost; RFC 889 used 30s.",
    ),
]

Column = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="WHAT=NAME",
        help="How to read a table. rtt=NAME says which column has the round trips; NAME is its "
        "heading or its number from 1. sent=, received=, seq=, lost= and group= give the other "
        "columns in the same way. unit=us and time_unit=s set units. dates=dmy or dates=mdy says "
        "whether 10/11/2024 begins with the day or the month. one_way=true says that the delays "
        "are one-way delays. May be repeated.",
    ),
]


def columns_of(texts: Sequence[str] | None) -> dict[str, str]:
    """Return the texts `WHAT=NAME` of `--column` as a dictionary."""
    found = {}
    for text in texts or ():
        what, equals, name = text.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(
                f"{text!r} is not WHAT=NAME, as in rtt=delay", param_hint="--column"
            )
        if what.strip() in found:
            raise typer.BadParameter(f"{what.strip()} is named twice", param_hint="--column")
        found[what.strip()] = name.strip()
    return found
