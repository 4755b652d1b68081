"""Timelines in the formats of other tools: tables, Hypatia's series, and Mahimahi's traces.

A timeline has the delays, rates or losses of a link, each with the instant at which it begins.
Hypatia simulates satellite networks. Mahimahi emulates links.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from netspurt.stored import bounded_octets
from netspurt.timelines.error import TimelineError
from netspurt.timelines.followed import read_followed
from netspurt.timelines.heading import FileLine
from netspurt.timelines.sheet import DELAY_MAX_NS, INSTANT_MAX_NS, read_sheet
from netspurt.timelines.timeline import POINTS_MAX, Timeline, Way

#: The maximum number of octets of a file.
_OCTETS_MAX = 1 << 28

#: The maximum number of digits of a number in a trace or a series.
_DIGITS_MAX = 19


def read_timeline(path: str | os.PathLike[str], *, format_: str | None = None) -> Timeline:
    """Read a timeline from a file of another tool.

    Parameters
    ----------
    path
        The file.
    format_
        `csv`: a table with a heading, whose first column has instants. `hypatia`: each row
        has an instant and a round trip in nanoseconds, and there is no heading. `mahimahi`: each
        line has a millisecond at which 1500 octets are delivered. `toml`: a timeline for a link,
        as TOML. By default, the format is detected from the file's first line.

    Raises
    ------
    TimelineError
        If the file has none of these formats, is too long, or has a mistake. The message names the
        fix and, if a line is wrong, this line.
    ValueError
        If `format_` is not the name of a format.
    OSError
        If the file cannot be read.
    """
    name = os.fspath(path)
    try:
        octets = bounded_octets(path, _OCTETS_MAX)
    except ValueError:
        most = f"the file has more than {_OCTETS_MAX:,} octets"
        raise TimelineError(most, "divide it into shorter timelines", name) from None
    try:
        text = octets.decode("utf-8-sig")
    except UnicodeDecodeError:
        fix = "give a table, a trace of Mahimahi, or a series of Hypatia"
        raise TimelineError("this is not a text file", fix, name) from None
    numbered = enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1)
    lines = [FileLine(name, number, line) for number, line in numbered if line.strip()]
    if not lines:
        fix = "give a trace, or a table that begins with names such as t_s,delay_ms"
        raise TimelineError("the file is empty", fix, name)
    chosen = format_ or _format_of(lines[0].text)
    if chosen == "toml":
        return read_followed(text, name)
    if len(lines) > POINTS_MAX:
        fix = f"give at most {POINTS_MAX:,} lines: cut the file, or use longer steps"
        raise TimelineError(f"the file has {len(lines):,} lines", fix, name)
    readers: dict[str, Callable[[Sequence[FileLine]], Timeline]] = {
        "csv": read_sheet,
        "hypatia": _read_hypatia,
        "mahimahi": _read_mahimahi,
    }
    if chosen not in readers:
        known = ", ".join([*readers, "toml"])
        raise ValueError(f"`{chosen}` is not a format of timelines: use one of {known}")
    return readers[chosen](lines)


def paired(forward: Timeline, reverse: Timeline) -> Timeline:
    """Return the timeline of a link whose directions follow different files.

    Raises
    ------
    ValueError
        If one of the files already has both directions, if only one file has a delay or a rate, or
        if the values of one file have steps and the values of the other have straight lines.
    """
    timelines = forward, reverse
    for timeline in timelines:
        if timeline.reverse is not None:
            raise ValueError(f"{timeline.name} has both directions already: leave --reverse out")
    first, second = forward.forward, reverse.forward
    presence = {
        "delay": (bool(first.delay), bool(second.delay)),
        "rate": tuple(bool(values.rate or values.opportunities) for values in (first, second)),
    }
    for kind, present in presence.items():
        if present[0] != present[1]:
            with_, without = timelines if present[0] else (reverse, forward)
            raise ValueError(f"{with_.name} has a {kind}, and {without.name} has none: add one")
    if forward.between != reverse.between:
        raise ValueError(
            f"{forward.name} has `between` = {forward.between!r}, and {reverse.name} has "
            f"{reverse.between!r}, but a link has one such value: give both files the same value"
        )
    name = f"{forward.name}, and in reverse {reverse.name}"
    notes = [f"{timeline.name}: {note}" for timeline in timelines for note in timeline.notes]
    if forward.order != reverse.order:
        notes.append("packets may overtake each other in both directions, as in one of the files")
    if forward.duplicates != reverse.duplicates:
        notes.append("both directions have the mean of the files' probabilities of duplicates")
    both = replace(
        forward,
        name=name,
        reverse=second,
        order="overtaking" if "overtaking" in (forward.order, reverse.order) else "fifo",
        duplicates=(forward.duplicates + reverse.duplicates) / 2,
        notes=notes,
    )
    return both if first != second else replace(both, reverse=None)


def _format_of(first_line: str) -> str:
    """Return the format of a file from its first line."""
    content = first_line.strip()
    if content.startswith(("#", "[")) or "=" in content:
        return "toml"
    if _is_whole(content.split()[0]) and "," not in content:
        return "mahimahi"
    cells = content.split(",")
    return "hypatia" if len(cells) == 2 and all(map(_is_number, cells)) else "csv"


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_mahimahi(lines: Sequence[FileLine]) -> Timeline:
    instants: list[int] = []
    for line in lines:
        content = line.text.strip()
        if not _is_whole(content):
            fix = "write one whole number on each line of a Mahimahi trace; a table needs a heading"
            raise line.error(None, f"{content[:40]!r} is not a number of milliseconds", fix)
        instants.append(_number_ns(line, content, 1_000_000, INSTANT_MAX_NS))
        _check_order(line, instants)
    if instants[-1] == 0:
        fix = "write a number above 0: after the last line the trace begins again"
        raise lines[-1].error(None, "the last opportunity is at 0 ms", fix)
    return Timeline(lines[0].file, Way(opportunities=instants))


def _read_hypatia(lines: Sequence[FileLine]) -> Timeline:
    points: list[tuple[int, int]] = []
    instants: list[int] = []
    for line in lines:
        cells = line.cells()
        if len(cells) != 2 or not all(_is_whole(cell.text) for cell in cells):
            fix = "write an instant and a round trip, both in whole nanoseconds"
            raise line.error(None, "this is not a row of a series of Hypatia", fix)
        instants.append(_number_ns(line, cells[0].text, 1, INSTANT_MAX_NS))
        _check_order(line, instants)
        rtt_ns = _number_ns(line, cells[1].text, 1, 2 * DELAY_MAX_NS)
        points.append((instants[-1], round(rtt_ns / 2)))
    return Timeline(lines[0].file, Way(delay=points))


def _number_ns(line: FileLine, digits: str, unit_ns: int, max_ns: int) -> int:
    """Return a number in nanoseconds, or raise an error if it is too large for a scenario."""
    value_ns = int(digits) * unit_ns if len(digits) <= _DIGITS_MAX else max_ns + 1
    if value_ns > max_ns:
        fix = f"write at most {max_ns // unit_ns:,}"
        raise line.error(None, f"{digits[:40]} is too large", fix)
    return value_ns


def _check_order(line: FileLine, instants: Sequence[int]) -> None:
    """Raise an error if the last instant is earlier than the one before it."""
    if len(instants) > 1 and instants[-1] < instants[-2]:
        message = "this instant is earlier than the instant in the line above"
        raise line.error(None, message, "sort the lines by time")
