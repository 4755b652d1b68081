"""Timelines from tables: each row has an instant, and the values in force from then on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from netspurt.timelines.heading import Cell, Column, FileLine, read_heading
from netspurt.timelines.timeline import Outage, Timeline, Way

#: The maximum instant [ns], about 31.7 years.
INSTANT_MAX_NS = 10**18

#: If the first instant is at least a year [ns], the instants count as dates.
_YEAR_NS = 31_536_000 * 10**9

#: The maximum delay, a week [ns].
DELAY_MAX_NS = 7 * 86_400 * 10**9

#: The maximum rate [bit/s].
_RATE_MAX_BPS = 10**15

#: The texts in a column `outage`, and whether each of them marks an outage.
_OUTAGE_TEXTS = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}


@dataclass(frozen=True)
class TimelineRow:
    """A row: its line, its cells, and its instant [ns]."""

    line: FileLine
    cells: Sequence[Cell]
    at_ns: int


def read_sheet(lines: Sequence[FileLine]) -> Timeline:
    """Return the timeline of a table with a heading.

    In an outage, other cells may be empty. In an outage that the column `outage` marks, packets are
    dropped. A rate of 0 is also an outage, but packets wait in it.

    Raises
    ------
    TimelineError
        If a line has a mistake; the message names the mistake and the fix.
    """
    unit, columns = read_heading(lines[0])
    width = len(lines[0].cells())
    rows = list(_rows(lines[1:], unit, width))
    if not rows:
        fix = "add a row for each instant"
        raise lines[0].error(None, "the table has a heading and no rows", fix)
    rows, notes = _since_first_row(rows)
    for row in rows:
        if row.at_ns > INSTANT_MAX_NS:
            message = f"the instant {row.cells[0].text[:40]} is more than 31 years after the start"
            raise row.line.error(row.cells[0], message, "write a smaller instant")
    forward, reverse = (
        _direction(rows, [column for column in columns if direction in column.directions])
        for direction in (0, 1)
    )
    reverse_if_other = reverse if reverse != forward else None
    return Timeline(lines[0].file, forward, reverse_if_other, notes=notes)


def _rows(lines: Sequence[FileLine], unit: int, width: int) -> Iterator[TimelineRow]:
    """Yield the rows. `unit` is the number of nanoseconds in the unit of the instants."""
    previous: TimelineRow | None = None
    for line in lines:
        cells = line.cells()
        if len(cells) != width:
            count = f"{len(cells)} cell{'' if len(cells) == 1 else 's'}"
            fix = f"write {width} cells, one for each column"
            raise line.error(None, f"this row has {count}", fix)
        row = TimelineRow(line, cells, round(_number(line, cells[0]) * unit))
        if row.at_ns < 0:
            message = f"the instant {cells[0].text[:40]} is negative"
            raise line.error(cells[0], message, "write an instant of 0 or more")
        if previous and row.at_ns < previous.at_ns:
            message = f"this instant is earlier than the instant in line {previous.line.number}"
            raise line.error(cells[0], message, "sort the rows by time")
        previous = row
        yield row


def _since_first_row(rows: list[TimelineRow]) -> tuple[list[TimelineRow], list[str]]:
    """Return the rows and notes. If the instants are dates, make them count from the first row."""
    first_ns = rows[0].at_ns
    if first_ns < _YEAR_NS:
        return rows, []
    note = f"instants count from the first row, {rows[0].cells[0].text}, and not from 1970"
    return [TimelineRow(row.line, row.cells, row.at_ns - first_ns) for row in rows], [note]


def _number(line: FileLine, cell: Cell) -> Decimal:
    try:
        # Decimal accepts underscores and digits of other scripts. Both are mistakes in a table.
        value = Decimal(cell.text if cell.text.isascii() and "_" not in cell.text else "x")
    except InvalidOperation:
        message = f"{cell.text[:40]!r} is not a number" if cell.text else "this cell is empty"
        fix = "write a number such as 12.5" + ("" if cell.text else ", or mark an `outage`")
        raise line.error(cell, message, fix) from None
    if not value.is_finite():
        message = f"{cell.text[:40]!r} is not a finite number"
        raise line.error(cell, message, "write a number such as 12.5")
    if value.adjusted() > 30:
        raise line.error(cell, f"{cell.text[:40]} is too large", "write a smaller number")
    return value


def _direction(rows: Sequence[TimelineRow], columns: Sequence[Column]) -> Way:
    """Return the timeline of a direction from its columns."""
    by_kind = {column.kind: column for column in columns}
    arrivals = [_arrivals(row, by_kind) for row in rows]
    delay, rate, loss = (_values(rows, arrivals, by_kind.get(kind)) for kind in _FIXES)
    return Way(
        delay=[(at, round(value)) for at, value in delay],
        rate=[(at, round(value)) for at, value in rate],
        loss=[(at, float(value)) for at, value in loss],
        outages=_outages(rows, arrivals),
    )


def _arrivals(row: TimelineRow, by_kind: dict[str, Column]) -> str | None:
    """Return `drop` or `queue`, the treatment of packets in an outage; `None` without an outage."""
    if "outage" in by_kind:
        cell = row.cells[by_kind["outage"].place]
        text = cell.text.lower()
        if text not in _OUTAGE_TEXTS:
            message = f"{cell.text[:40]!r} does not say whether there is an outage"
            raise row.line.error(cell, message, f"write one of {', '.join(_OUTAGE_TEXTS)}")
        if _OUTAGE_TEXTS[text]:
            return "drop"
    if "rate" in by_kind:
        cell = row.cells[by_kind["rate"].place]
        if _number(row.line, cell) == 0:
            return "queue"
    return None


def _values(
    rows: Sequence[TimelineRow], arrivals: Sequence[str | None], column: Column | None
) -> list[tuple[int, Decimal]]:
    """Return the instants and values of a column. In outages, empty cells and rates are left out.

    `arrivals` has the result of `_arrivals` for each row.
    """
    if column is None:
        return []
    points = []
    for row, in_outage in zip(rows, arrivals, strict=True):
        cell = row.cells[column.place]
        if in_outage and (not cell.text or column.kind == "rate"):
            continue
        value = _number(row.line, cell) * Decimal(column.factor)
        fix = _FIXES[column.kind](value)
        if fix:
            message = f"{cell.text[:40]} is out of range for {column.name}"
            raise row.line.error(cell, message, fix)
        points.append((row.at_ns, value))
    if not points:
        message = f"no row has a value of {column.name}"
        cell = rows[0].cells[column.place]
        raise rows[0].line.error(cell, message, "add a row with a value and without an outage")
    return points


def _delay_fix(ns: Decimal) -> str:
    if ns < 0:
        return "write a delay of 0 or more"
    if ns > DELAY_MAX_NS:
        return "write a delay of at most a week, and check the unit of the column"
    return ""


def _rate_fix(bps: Decimal) -> str:
    if bps < 0:
        return "write a rate of at least 1 bit/s, or 0 for an outage in which packets wait"
    if bps < 1:
        return "write a rate of at least 1 bit/s"
    if bps > _RATE_MAX_BPS:
        return "write a rate of at most 1 Pbit/s, and check the unit of the column"
    return ""


def _loss_fix(probability: Decimal) -> str:
    return "" if 0 <= probability <= 1 else "write a probability from 0 to 1: 1.5 % is 0.015"


#: For each kind of value, a function that returns the fix for a wrong value, or an empty text for
#: a correct one.
_FIXES: dict[str, Callable[[Decimal], str]] = {
    "delay": _delay_fix,
    "rate": _rate_fix,
    "loss": _loss_fix,
}


def _outages(rows: Sequence[TimelineRow], arrivals: Sequence[str | None]) -> list[Outage]:
    """Return the outages. Each ends at the next row without an outage or with the other treatment.

    The treatment of packets in an outage is `drop` or `queue`, as in `_arrivals`.

    Raises
    ------
    TimelineError
        If the last row is in an outage, because the end of that outage is not known.
    """
    if arrivals[-1]:
        fix = "add a row with the instant at which the outage ends"
        raise rows[-1].line.error(None, "the outage in the last row has no end", fix)
    outages = []
    begin = 0
    for n in range(1, len(rows)):
        treatment = arrivals[begin]
        if arrivals[n] == treatment:
            continue
        dead_ns = rows[n].at_ns - rows[begin].at_ns
        if treatment and dead_ns:
            outages.append(Outage(rows[begin].at_ns, dead_ns, treatment))
        begin = n
    return outages
