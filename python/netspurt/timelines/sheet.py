"""Timelines from tables: each row has an instant, and the values in force from it on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from netspurt.timelines.heading import Cell, Column, Line, read_heading
from netspurt.timelines.timeline import Outage, Timeline, Way

#: The latest instant: thirty years [ns]. Instants of a year or more count as dates.
LATEST_NS = 10**18
_YEAR_NS = 31_536_000 * 10**9

#: The longest delay, a week [ns], and the greatest rate [bit/s].
LONGEST_NS = 7 * 86_400 * 10**9
_FASTEST = 10**15

#: The words in a column for an outage, and for no outage.
_WORDS = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}


@dataclass(frozen=True)
class Row:
    """A row: its line, its cells, and its instant [ns]."""

    line: Line
    cells: Sequence[Cell]
    at_ns: int


def read_sheet(lines: Sequence[Line]) -> Timeline:
    """Return the timeline of a table with a heading.

    In an outage, other cells may be empty. An outage by the column `outage` drops packets. A rate
    of 0 is an outage, too, but packets wait.

    Raises
    ------
    TimelineError
        If a line has a mistake; the message names it and the fix.
    """
    unit, columns = read_heading(lines[0])
    width = len(lines[0].cells())
    rows = list(_rows(lines[1:], unit, width))
    if not rows:
        raise lines[0].error(None, "the table has a heading and no rows", "add a row an instant")
    rows, notes = _from_the_first(rows)
    for row in rows:
        if row.at_ns > LATEST_NS:
            raise row.line.error(row.cells[0], "an instant beyond thirty years", "a smaller one")
    ways = [_way(rows, [one for one in columns if way in one.ways]) for way in (0, 1)]
    reverse = ways[1] if ways[0] != ways[1] else None
    return Timeline(lines[0].file, ways[0], reverse, notes=notes)


def _rows(lines: Sequence[Line], unit: int, width: int) -> Iterator[Row]:
    before: Row | None = None
    for line in lines:
        cells = line.cells()
        if len(cells) != width:
            fix = f"{width}, one for each column"
            many = f"{len(cells)} cell{'' if len(cells) == 1 else 's'}"
            raise line.error(None, f"{many} in this row", fix)
        row = Row(line, cells, round(_number(line, cells[0]) * unit))
        if row.at_ns < 0:
            raise line.error(cells[0], "an instant before the start", "count from 0 on")
        if before and row.at_ns < before.at_ns:
            message = f"it lies before the row in line {before.line.number}"
            raise line.error(cells[0], message, "rows in the order of time")
        before = row
        yield row


def _from_the_first(rows: list[Row]) -> tuple[list[Row], list[str]]:
    """Return rows with instants that count from the first row if they are dates, and a note."""
    first = rows[0].at_ns
    if first < _YEAR_NS:
        return rows, []
    note = f"instants count from the first row on, {rows[0].cells[0].text}, and not from 1970"
    return [Row(row.line, row.cells, row.at_ns - first) for row in rows], [note]


def _number(line: Line, cell: Cell) -> Decimal:
    try:
        # Python's numbers may have underscores and digits of other scripts; these are refused.
        value = Decimal(cell.text if cell.text.isascii() and "_" not in cell.text else "x")
    except InvalidOperation:
        what = f"{cell.text[:40]!r} is no number" if cell.text else "an empty cell"
        fix = "a number with a point, as 12.5" if cell.text else "a number; or mark an `outage`"
        raise line.error(cell, what, fix) from None
    if not value.is_finite():
        raise line.error(cell, f"{cell.text[:40]!r} is no finite number", "a number, as 12.5")
    if value.adjusted() > 30:
        raise line.error(cell, f"{cell.text[:40]} is too large", "a smaller number")
    return value


def _way(rows: Sequence[Row], columns: Sequence[Column]) -> Way:
    """Return the timeline of a direction from its columns."""
    by_kind = {column.kind: column for column in columns}
    silent = [_silence(row, by_kind) for row in rows]
    delay, rate, loss = (_values(rows, silent, by_kind.get(kind)) for kind in _LIMITS)
    return Way(
        delay=[(at, round(value)) for at, value in delay],
        rate=[(at, round(value)) for at, value in rate],
        loss=[(at, float(value)) for at, value in loss],
        outages=_outages(rows, silent),
    )


def _silence(row: Row, by_kind: dict[str, Column]) -> str | None:
    """Return what happens to packets in the outage of a row, `drop` or `queue`; else `None`."""
    if "outage" in by_kind:
        cell = row.cells[by_kind["outage"].place]
        word = cell.text.lower()
        if word not in _WORDS:
            raise row.line.error(cell, f"{cell.text[:40]!r} in a column of outages", "1 or 0")
        if _WORDS[word]:
            return "drop"
    if "rate" in by_kind:
        cell = row.cells[by_kind["rate"].place]
        if _number(row.line, cell) == 0:
            return "queue"
    return None


def _values(
    rows: Sequence[Row], silent: Sequence[str | None], column: Column | None
) -> list[tuple[int, Decimal]]:
    """Return the instants and values of a column. Empty cells in outages are left out."""
    if column is None:
        return []
    points = []
    for row, silence in zip(rows, silent, strict=True):
        cell = row.cells[column.place]
        if silence and (not cell.text or column.kind == "rate"):
            continue
        value = _number(row.line, cell) * Decimal(column.size)
        wrong = _LIMITS[column.kind](value)
        if wrong:
            raise row.line.error(cell, f"{cell.text[:40]} in {column.name}", wrong)
        points.append((row.at_ns, value))
    if not points:
        message = f"no row has a value of {column.name}"
        cell = rows[0].cells[column.place]
        raise rows[0].line.error(cell, message, "give one outside of outages")
    return points


def _wrong_delay(ns: Decimal) -> str:
    if ns < 0:
        return "a delay from 0 on"
    return "a delay of a week at most: is it the column's unit?" if ns > LONGEST_NS else ""


def _wrong_rate(bits: Decimal) -> str:
    if bits < 0:
        return "a rate from 1 bit/s on, or 0 for an outage in which packets wait"
    if bits < 1:
        return "a rate from 1 bit/s on"
    return "1 Pbit/s at most: is it the column's unit?" if bits > _FASTEST else ""


def _wrong_loss(share: Decimal) -> str:
    return "" if 0 <= share <= 1 else "a probability from 0 to 1: 1.5 % is 0.015"


#: A function for each kind of value, which returns the fix for a wrong value, or an empty text.
_LIMITS: dict[str, Callable[[Decimal], str]] = {
    "delay": _wrong_delay,
    "rate": _wrong_rate,
    "loss": _wrong_loss,
}


def _outages(rows: Sequence[Row], silent: Sequence[str | None]) -> list[Outage]:
    """Return the outages: from each row with an outage to the next row with another word.

    Raises
    ------
    TimelineError
        If the last row begins an outage, because its end is not known.
    """
    if silent[-1]:
        fix = "add a row with the instant at which it ends"
        raise rows[-1].line.error(None, "the outage in the last row has no end", fix)
    found = []
    begin = 0
    for n in range(1, len(rows)):
        if silent[n] == silent[begin]:
            continue
        arrivals = silent[begin]
        lasts = rows[n].at_ns - rows[begin].at_ns
        if arrivals and lasts:
            found.append(Outage(rows[begin].at_ns, lasts, arrivals))
        begin = n
    return found
