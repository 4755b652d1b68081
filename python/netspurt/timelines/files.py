"""Timelines in the formats of other tools: tables, Hypatia's series, and Mahimahi's traces."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from netspurt.stored import bounded_octets
from netspurt.timelines.error import TimelineError
from netspurt.timelines.followed import read_followed
from netspurt.timelines.heading import Line
from netspurt.timelines.sheet import LATEST_NS, LONGEST_NS, read_sheet
from netspurt.timelines.timeline import MOST_POINTS, Timeline, Way

#: The most octets of a file.
_MOST_OCTETS = 1 << 28

#: The digits of the greatest number that a trace or a series may have.
_MOST_DIGITS = 19


def read_timeline(path: str | os.PathLike[str], *, format_: str | None = None) -> Timeline:
    """Read a timeline from a file of another tool.

    Parameters
    ----------
    path
        The file.
    format_
        `csv`: a table with a heading, whose first column has instants. `hypatia`: rows of an
        instant and a round trip in nanoseconds, without a heading. `mahimahi`: on each line a
        millisecond at which 1500 octets are delivered. `toml`: a file that a link follows. By
        default the format is detected from the file's first line.

    Raises
    ------
    TimelineError
        If the file has none of these formats. The message names the line and the fix.
    OSError
        If the file cannot be read.
    """
    name = os.fspath(path)
    try:
        text = bounded_octets(path, _MOST_OCTETS).decode("utf-8-sig")
    except UnicodeDecodeError:
        fix = "a table, a trace of Mahimahi, or a series of Hypatia"
        raise TimelineError("this is not a text file", fix, name) from None
    numbered = enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1)
    lines = [Line(name, number, line) for number, line in numbered if line.strip()]
    if not lines:
        fix = "a table whose first line is as t_s,delay_ms, or a trace"
        raise TimelineError("the file is empty", fix, name)
    chosen = format_ or _format_of(lines[0].text)
    if chosen == "toml":
        return read_followed(text, name)
    if len(lines) > MOST_POINTS:
        fix = f"{MOST_POINTS:,} at most: cut it, or take fewer"
        raise TimelineError(f"{len(lines):,} lines", fix, name)
    readers: dict[str, Callable[[Sequence[Line]], Timeline]] = {
        "csv": read_sheet,
        "hypatia": _of_hypatia,
        "mahimahi": _of_mahimahi,
    }
    if chosen not in readers:
        known = ", ".join([*readers, "toml"])
        raise ValueError(f"`{chosen}` is no format of timelines: {known}")
    return readers[chosen](lines)


def paired(forward: Timeline, reverse: Timeline) -> Timeline:
    """Return the timeline of a link whose directions follow different files.

    Raises
    ------
    ValueError
        If one of them already has both directions, or only one of them has a delay or a rate.
    """
    for one in (forward, reverse):
        if one.reverse is not None:
            raise ValueError(f"{one.name} has both directions already: leave --reverse out")
    ways = forward.forward, reverse.forward
    told = [[bool(way.delay), bool(way.rate or way.opportunities)] for way in ways]
    for what, has in zip(("delay", "rate"), zip(*told, strict=True), strict=True):
        if has[0] != has[1]:
            with_, without = (forward, reverse) if has[0] else (reverse, forward)
            raise ValueError(f"{with_.name} has a {what}, and {without.name} has none: add one")
    name = f"{forward.name}, and in reverse {reverse.name}"
    notes = [f"{one.name}: {note}" for one in (forward, reverse) for note in one.notes]
    both = replace(forward, name=name, reverse=ways[1], notes=notes)
    return both if ways[0] != ways[1] else replace(both, reverse=None)


def _format_of(first: str) -> str:
    """Return the format of a file from its first line."""
    bare = first.strip()
    if bare.startswith(("#", "[")) or "=" in bare:
        return "toml"
    if _is_whole(bare.split()[0]) and "," not in bare:
        return "mahimahi"
    cells = bare.split(",")
    return "hypatia" if len(cells) == 2 and all(map(_is_number, cells)) else "csv"


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _of_mahimahi(lines: Sequence[Line]) -> Timeline:
    instants: list[int] = []
    for line in lines:
        bare = line.text.strip()
        if not _is_whole(bare):
            fix = "a trace of Mahimahi has one whole number a line; a table needs a heading"
            raise line.error(None, f"{bare[:40]!r} is no millisecond", fix)
        instants.append(_within(line, bare, 1_000_000, LATEST_NS))
        _ascends(line, instants)
    if instants[-1] == 0:
        fix = "a last line above 0: behind it the trace begins again"
        raise lines[-1].error(None, "the last opportunity is at 0 ms", fix)
    return Timeline(lines[0].file, Way(opportunities=instants))


def _of_hypatia(lines: Sequence[Line]) -> Timeline:
    points: list[tuple[int, int]] = []
    instants: list[int] = []
    for line in lines:
        cells = line.cells()
        if len(cells) != 2 or not all(_is_whole(cell.text) for cell in cells):
            fix = "an instant and a round trip, whole nanoseconds"
            raise line.error(None, "this is no row of Hypatia's series", fix)
        instants.append(_within(line, cells[0].text, 1, LATEST_NS))
        _ascends(line, instants)
        points.append((instants[-1], round(_within(line, cells[1].text, 1, 2 * LONGEST_NS) / 2)))
    return Timeline(lines[0].file, Way(delay=points))


def _within(line: Line, digits: str, unit: int, most: int) -> int:
    """Return a number in nanoseconds, or raise an error if it is too large for a scenario."""
    value = int(digits) * unit if len(digits) <= _MOST_DIGITS else most + 1
    if value > most:
        raise line.error(None, f"{digits[:40]} is too large", f"{most // unit:,} at most")
    return value


def _ascends(line: Line, instants: Sequence[int]) -> None:
    if len(instants) > 1 and instants[-1] < instants[-2]:
        message = "it lies before the instant in the line above"
        raise line.error(None, message, "lines in the order of time")
