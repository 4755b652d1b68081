"""The heading of a table that becomes the timeline of a link: its columns and their units."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netspurt.timelines.error import TimelineError

#: The names of columns of instants, and the length of their units in nanoseconds.
INSTANTS = {"t_s": 1_000_000_000, "t_ms": 1_000_000, "t_us": 1000, "t_ns": 1}

#: For each name of a column of values: the kind of its values, and the factor that turns them into
#: nanoseconds, bits per second or probabilities. The delay of a direction is half of a round trip.
_VALUES: dict[str, tuple[str, float]] = {
    "delay_s": ("delay", 1e9),
    "delay_ms": ("delay", 1e6),
    "delay_us": ("delay", 1e3),
    "delay_ns": ("delay", 1),
    "rtt_s": ("delay", 0.5e9),
    "rtt_ms": ("delay", 0.5e6),
    "rtt_us": ("delay", 0.5e3),
    "rtt_ns": ("delay", 0.5),
    "rate_bps": ("rate", 1),
    "rate_kbps": ("rate", 1e3),
    "rate_mbps": ("rate", 1e6),
    "loss": ("loss", 1),
    "outage": ("outage", 1),
}

#: The endings of the names of columns for one direction, and the number of that direction.
_ENDINGS = {"_forward": 0, "_reverse": 1}

#: Further columns that `netspurt orbit delays --csv` writes. They are ignored.
_UNUSED = ("distance_km",)

#: The maximum number of characters of a wrong text that an error repeats.
_SHOWN_MAX = 40

#: Names of columns in files of other tools, and netspurt's names for the same columns.
_SYNONYMS = {
    "time": "t_s",
    "time_s": "t_s",
    "t": "t_s",
    "timestamp": "t_s",
    "seconds": "t_s",
    "time_ms": "t_ms",
    "delay": "delay_ms",
    "latency": "delay_ms",
    "latency_ms": "delay_ms",
    "owd_ms": "delay_ms",
    "rtt": "rtt_ms",
    "rate": "rate_mbps",
    "throughput": "rate_mbps",
    "bandwidth": "rate_mbps",
    "loss_rate": "loss",
    "down": "outage",
    "dead": "outage",
}


@dataclass(frozen=True)
class Cell:
    """A cell of a line: its text, and the column at which the text begins, counted from 1."""

    text: str
    column: int


@dataclass(frozen=True)
class Column:
    """A column of values: its name, index from 0, kind, factor as in `_VALUES`, and directions."""

    name: str
    place: int
    kind: str
    factor: float
    directions: Sequence[int]


@dataclass(frozen=True)
class FileLine:
    """A line of a file, with its number from 1."""

    file: str
    number: int
    text: str

    def cells(self) -> list[Cell]:
        """Split the line at its commas. Return the cells without blanks and quotes around them."""
        cells, start = [], 0
        for part in self.text.split(","):
            text = part.strip()
            column = start + len(part) - len(part.lstrip()) + 1
            cells.append(Cell(text.strip('"').strip(), column))
            start += len(part) + 1
        return cells

    def error(self, cell: Cell | None, message: str, fix: str) -> TimelineError:
        """Return an error at a cell. If `cell` is `None`, the error is at the whole line."""
        first = len(self.text) - len(self.text.lstrip()) + 1
        column = first if cell is None else cell.column
        length = len(self.text.strip()) if cell is None else len(cell.text)
        return TimelineError(message, fix, self.file, (self.number, column), self.text, length)


def read_heading(line: FileLine) -> tuple[int, list[Column]]:
    """Return the length of the unit of the instants [ns], and the columns of values.

    Raises
    ------
    TimelineError
        If the heading has a mistake, such as an unknown column, or two columns for one value.
    """
    cells = line.cells()
    if all(cell.text == "" or _is_number(cell.text) for cell in cells):
        fix = "begin with a line of names such as t_s,delay_ms"
        raise line.error(None, "the table has no names of columns", fix)
    for cell in cells:
        if cell.text not in INSTANTS and cell.text not in _UNUSED and _known(cell.text) is None:
            message = f"there is no column {cell.text[:_SHOWN_MAX]!r}"
            raise line.error(cell, message, _name_fix(cell.text, line))
    if cells[0].text not in INSTANTS:
        fix = f"put the instants first, in a column {' or '.join(INSTANTS)}"
        raise line.error(cells[0], f"the first column is {cells[0].text!r}", fix)
    columns = list(_columns(line, cells))
    _check(line, columns)
    return INSTANTS[cells[0].text], columns


def _columns(line: FileLine, cells: list[Cell]) -> Iterator[Column]:
    for place, cell in enumerate(cells):
        if place and cell.text in INSTANTS:
            raise line.error(cell, "this is a second column of instants", "keep one of them")
        known = _known(cell.text)
        if known:
            yield Column(cell.text, place, *known)


def _known(name: str) -> tuple[str, float, tuple[int, ...]] | None:
    """Return the kind, factor and directions of a column; `None` if its name is not known."""
    for ending, direction in _ENDINGS.items():
        stem = name.removesuffix(ending)
        # A round trip belongs to both directions, so its column has no ending.
        if stem != name and stem in _VALUES and not stem.startswith("rtt"):
            return *_VALUES[stem], (direction,)
    return (*_VALUES[name], (0, 1)) if name in _VALUES else None


def _check(line: FileLine, columns: Sequence[Column]) -> None:
    """Check that no two columns set the same value, and that no direction lacks a delay or a rate.

    A direction lacks a delay or a rate if only the other direction has it.
    """
    if not columns:
        fix = "add a column such as delay_ms or rate_mbps"
        raise line.error(None, "the table has instants and no values", fix)
    cells = line.cells()
    by_use: dict[tuple[str, int], Column] = {}
    for column in columns:
        for direction in column.directions:
            other = by_use.setdefault((column.kind, direction), column)
            if other is not column:
                message = f"{column.name} and {other.name} set the same value"
                raise line.error(cells[column.place], message, "leave one of them out")
    for column in columns:
        missing = [direction for direction in (0, 1) if (column.kind, direction) not in by_use]
        if missing and column.kind in ("delay", "rate"):
            stem, _, ending = column.name.rpartition("_")
            other_name = f"{stem}_{'reverse' if ending == 'forward' else 'forward'}"
            message = f"{column.name} is for one direction; the other direction has no such column"
            fix = f"add {other_name}, or rename the column to {stem}"
            raise line.error(cells[column.place], message, fix)


def _name_fix(name: str, line: FileLine) -> str:
    """Return the fix for an unknown name.

    The fix is to separate the cells by commas, to use the most similar name, or to use one of the
    known names, which the fix lists.
    """
    for separator, separators in ((";", "semicolons"), ("\t", "tabs"), (" ", "blanks")):
        if separator in name and "," not in line.text:
            return f"separate the cells by commas, not by {separators}"
    lower = name.lower()
    with_endings = (f"{stem}{ending}" for stem in _VALUES for ending in _ENDINGS)
    known = [*INSTANTS, *_VALUES, *filter(_known, with_endings)]
    similar = _SYNONYMS.get(lower) or next(iter(difflib.get_close_matches(lower, known, n=1)), None)
    if similar:
        return f"did you mean {similar}?"
    names = ", ".join([*INSTANTS, *_VALUES])
    return f"use one of {names}; the ending _forward or _reverse stands for one direction"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
