"""The heading of a table that becomes a timeline: its columns and their units."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netspurt.timelines.error import TimelineError

#: The names of columns of instants, and the nanoseconds of their units.
INSTANTS = {"t_s": 1_000_000_000, "t_ms": 1_000_000, "t_us": 1000, "t_ns": 1}

#: For each name of a column of values: the kind of value, and the factor to nanoseconds, bits per
#: second or a share. The delay of a direction is half of a round trip.
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

#: The endings of names of columns for one direction.
_WAYS = {"_forward": 0, "_reverse": 1}

#: Further columns that `netspurt orbit delays --csv` writes. They are ignored.
_UNUSED = ("distance_km",)

#: The number of characters of a wrong text that an error repeats.
_SHOWN = 40

#: Names of columns in files of other tools, and netspurt's names for the same columns.
_CALLED = {
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
    """A cell of a line: its text, and its column from 1."""

    text: str
    column: int


@dataclass(frozen=True)
class Column:
    """A column of values: its name, its place, its kind of value, its unit and its directions."""

    name: str
    place: int
    kind: str
    size: float
    ways: Sequence[int]


@dataclass(frozen=True)
class Line:
    """A line of a file, with its number from 1."""

    file: str
    number: int
    text: str

    def cells(self) -> list[Cell]:
        """Return the cells, which commas separate, without blanks and quotes around them."""
        found, start = [], 0
        for part in self.text.split(","):
            text = part.strip()
            column = start + len(part) - len(part.lstrip()) + 1
            found.append(Cell(text.strip('"').strip(), column))
            start += len(part) + 1
        return found

    def error(self, cell: Cell | None, message: str, fix: str) -> TimelineError:
        """Return an error at a cell, or at the whole line."""
        first = len(self.text) - len(self.text.lstrip()) + 1
        at = first if cell is None else cell.column
        length = len(self.text.strip()) if cell is None else len(cell.text)
        return TimelineError(message, fix, self.file, (self.number, at), self.text, length)


def read_heading(line: Line) -> tuple[int, list[Column]]:
    """Return the nanoseconds of the instants' unit, and the columns of values.

    Raises
    ------
    TimelineError
        If a column is not known, or two columns have the same value.
    """
    cells = line.cells()
    if all(cell.text == "" or _is_number(cell.text) for cell in cells):
        raise line.error(None, "a table needs names of its columns", "such as t_s,delay_ms")
    for cell in cells:
        if cell.text not in INSTANTS and cell.text not in _UNUSED and _known(cell.text) is None:
            message = f"no column is called {cell.text[:_SHOWN]!r}"
            raise line.error(cell, message, _nearest(cell.text, line))
    if cells[0].text not in INSTANTS:
        fix = f"the instants come first: {', '.join(INSTANTS)}"
        raise line.error(cells[0], f"the first column is {cells[0].text!r}", fix)
    columns = list(_columns(line, cells))
    _check(line, columns)
    return INSTANTS[cells[0].text], columns


def _columns(line: Line, cells: list[Cell]) -> Iterator[Column]:
    for place, cell in enumerate(cells):
        if place and cell.text in INSTANTS:
            raise line.error(cell, "a second column of instants", "keep one")
        known = _known(cell.text)
        if known:
            yield Column(cell.text, place, *known)


def _known(name: str) -> tuple[str, float, tuple[int, ...]] | None:
    """Return a column's kind of value, its unit and its directions; `None` if it is not known."""
    for ending, way in _WAYS.items():
        stem = name.removesuffix(ending)
        # A round trip belongs to both directions.
        if stem != name and stem in _VALUES and not stem.startswith("rtt"):
            return *_VALUES[stem], (way,)
    return (*_VALUES[name], (0, 1)) if name in _VALUES else None


def _check(line: Line, columns: Sequence[Column]) -> None:
    """Check that no two columns have the same value, and that no direction is missing."""
    if not columns:
        raise line.error(None, "the table has instants and no values", "add delay_ms or rate_mbps")
    cells = line.cells()
    told: dict[tuple[str, int], Column] = {}
    for column in columns:
        for way in column.ways:
            other = told.setdefault((column.kind, way), column)
            if other is not column:
                message = f"{column.name} and {other.name} say the same"
                raise line.error(cells[column.place], message, "leave one of them out")
    for column in columns:
        missing = [way for way in (0, 1) if (column.kind, way) not in told]
        if missing and column.kind in ("delay", "rate"):
            stem, _, ending = column.name.rpartition("_")
            lacking = f"{stem}_{'reverse' if ending == 'forward' else 'forward'}"
            message = f"{column.name} is of one direction, and none is of the other"
            raise line.error(cells[column.place], message, f"add {lacking}, or call it {stem}")


def _nearest(name: str, line: Line) -> str:
    """Return the fix for an unknown name: the most similar name, or the names that are known."""
    for separator, called in ((";", "semicolons"), ("\t", "tabs"), (" ", "blanks")):
        if separator in name and "," not in line.text:
            return f"cells are separated by commas, not by {called}"
    lower = name.lower()
    known = [
        *INSTANTS,
        *_VALUES,
        *(f"{one}{way}" for one in _VALUES for way in _WAYS if _known(f"{one}{way}")),
    ]
    near = _CALLED.get(lower) or next(iter(difflib.get_close_matches(lower, known, n=1)), None)
    if near:
        return f"did you mean {near}?"
    return f"known are {', '.join([*INSTANTS, *_VALUES])}, with _forward or _reverse for one way"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
