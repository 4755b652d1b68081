"""Pictures of sweeps: bars, dots, lines and heat-maps of figures with their intervals.

An axis of a sweep is a setting that the sweep varies. A label is one of its values, as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netspurt.pictures.bars import bars
from netspurt.pictures.kinds import check_kind
from netspurt.pictures.marks import (
    SERIES,
    Band,
    Bars,
    Cells,
    Floats,
    Mark,
    Picture,
    Points,
    Polyline,
    Scale,
    Spans,
)
from netspurt.pictures.marks import reach as reach_of
from netspurt.pictures.measures import Shown, alike
from netspurt.quantities import positions
from netspurt.wording import rounded

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval


#: Figures (numbers with their intervals) by their labels. A figure has a label of one axis of the
#: sweep, or a label of each of two axes. The labels of the first axis are along the x axis of the
#: picture, or along the y axis for dots.
Figures = Mapping[tuple[str, ...], "Interval"]

#: The number of characters of labels that fit side by side.
_ROOM = 80
#: The width of a slanted label in characters, and the number of labels that fit above each other.
_SLANTED = 4
_LINES = 40

KINDS = ("bar", "line", "heat-map", "dot")


def of_cases(  # noqa: PLR0913 - callers choose all these
    kind: str,
    figures: Figures,
    names: Sequence[str],
    measure: str,
    shown: Shown | None = None,
    order: Sequence[str] | None = None,
) -> Picture:
    """Return a picture of figures.

    Parameters
    ----------
    kind
        `bar`, `dot`, `line` or `heat-map`.
    figures
        Figures with intervals by their labels.
    names
        The names of the one or two axes that have the labels. A heat-map needs two, and dots need
        one.
    measure
        The column, or the ratio of two columns, that has the figures. The picture shows its name in
        words.
    shown
        The name and the unit to show; by default the unit suits the figures.
    order
        The labels of dots from the top to the bottom; by default the greatest value is at the top.

    Raises
    ------
    ValueError
        If there is no such kind, or if the kind cannot show this number of names or series.
    """
    check_kind(kind, KINDS)
    wanted, counts = _NAMES.get(kind, ("one name or two", (1, 2)))
    if len(names) not in counts:
        there = f"{len(names)} ({', '.join(names)})" if names else "0"
        raise ValueError(
            f"a {kind} shows {wanted}, and not {there}: choose axes of the sweep with `--by`, or "
            "another `--kind`"
        )
    rows = list(dict.fromkeys(labels[0] for labels in figures))
    series = list(dict.fromkeys(labels[1] for labels in figures)) if len(names) == 2 else [""]
    if kind != "heat-map" and len(series) > _SERIES:
        raise ValueError(
            f"{names[1]} has {len(series)} labels, and a {kind} shows at most {_SERIES} of the "
            "second name: draw a heat-map, or exchange the two names"
        )
    known = [abs(one.value) for one in figures.values() if np.isfinite(one.value)]
    shown = shown or alike({measure: max(known, default=0.0)})[measure]
    figures = {labels: one.scaled(shown.factor) for labels, one in figures.items()}
    label = shown.label
    if kind == "heat-map":
        return _heat(figures, rows, series, names, label)
    if kind == "dot":
        return _dots({labels[0]: one for labels, one in figures.items()}, names[0], label, order)
    drawn = _bars if kind == "bar" else _lines
    return drawn(figures, rows, series, names, label)


#: The number of names of axes that a kind shows, in words and as numbers. Other kinds show one or
#: two.
_NAMES = {"heat-map": ("two names", (2,)), "dot": ("one name", (1,))}

#: The maximum number of series of bars or lines: twice the number of colours.
_SERIES = 2 * len(SERIES)


def _ticks(labels: Sequence[str], *, across: bool) -> tuple[tuple[float, str], ...]:
    """Return labels at the whole numbers of an axis, but no more than are legible.

    `across` is true for the x axis.
    """
    at = np.arange(float(len(labels)))
    if across:
        long = crowded(labels)
        # A slanted label needs only the width of a few characters.
        shown = legible(at, [label[:_SLANTED] for label in labels] if long else labels)
    else:
        shown = list(range(0, len(labels), -(-len(labels) // _LINES)))
    return tuple((float(n), labels[n]) for n in shown)


def _series(figures: Figures, rows: Sequence[str], label: str) -> list[Interval | None]:
    return [figures.get((row, label) if label else (row,)) for row in rows]


def _bounds(intervals: Sequence[Interval | None]) -> tuple[Floats, Floats]:
    """Return values, and the distances to the ends of their intervals.

    An interval with only one end counts as no interval, as in the tables of `netspurt sweep show`.
    Its distances are zero.
    """
    values = np.array([np.nan if i is None else i.value for i in intervals])
    low = np.array([np.nan if i is None else i.low for i in intervals])
    high = np.array([np.nan if i is None else i.high for i in intervals])
    reach = np.stack([values - low, high - values]).clip(min=0)
    return values, np.where(np.isfinite(reach).all(axis=0), reach, 0.0)


def _bars(
    figures: Figures, rows: list[str], series: list[str], names: Sequence[str], label: str
) -> Picture:
    columns = {}
    for name in series:
        values, reach = _bounds(_series(figures, rows, name))
        # An interval of width zero would look like a cap on the bar, so it is left out.
        some = _where_known(reach)
        columns[name] = values, values - reach[0] + some, values + reach[1] + some
    x = Scale(names[0], ticks=_ticks(rows, across=True))
    marks = bars(columns)
    # If no bar is below zero, the axis begins at zero.
    least, most = reach_of(marks, 1) or (0.0, 0.0)
    y = Scale(label, low=0.0 if least >= -1e-9 * most else None)
    return Picture(marks, y, x, legend=_second(names))


def _dots(
    figures: Mapping[str, Interval], name: str, label: str, order: Sequence[str] | None
) -> Picture:
    """Return a dot with its interval for each label, in `order` from the top to the bottom.

    By default, the greatest value is at the top.

    Bars need zero on the axis, but dots do not. So the axis covers only the range of the figures,
    and small differences can be seen.
    """
    known = {one: figure for one, figure in figures.items() if np.isfinite(figure.value)}
    if order is None:
        upwards = sorted(known, key=lambda one: known[one].value)
    else:
        upwards = [one for one in reversed(order) if one in known]
    values, reach = _bounds([known[one] for one in upwards])
    y = np.arange(float(len(upwards)))
    left, right = values - reach[0], values + reach[1]
    marks = (
        Spans(label="", ink="blue", y=y, left=left, right=right, width=1.6),
        Points(label="", ink="blue", x=values, y=y, size=7, rank=2.1),
    )
    ticks = tuple((float(n), one) for n, one in enumerate(upwards))
    scale = Scale(name, low=-0.6, high=len(upwards) - 0.4, ticks=ticks)
    # If no figure is below zero, the axis does not go below zero either.
    start = 0.0 if upwards and float(left.min()) >= 0.0 else None
    return Picture(marks, scale, Scale(label, start=start))


def _second(names: Sequence[str]) -> str:
    return names[1] if len(names) == 2 else ""


def _lines(
    figures: Figures, rows: list[str], series: list[str], names: Sequence[str], label: str
) -> Picture:
    """Return a line with a band for each series.

    Labels that are not numbers have no order, so a line between them would have no meaning. For
    such labels, the picture has points with intervals.
    """
    numbers = positions(rows)
    if numbers is None:
        return _points(figures, rows, series, names, label)
    at = np.array(numbers)
    order = np.argsort(at, kind="stable")
    marks: list[Mark] = []
    for n, name in enumerate(series):
        values, reach = _bounds(_series(figures, rows, name))
        ink = SERIES[n % len(SERIES)]
        x, y = at[order], values[order]
        some = _where_known(reach)
        low, high = (values - reach[0] + some)[order], (values + reach[1] + some)[order]
        marks.append(
            Band(label="", ink=ink, x=x, low=low, high=high, alpha=0.2, steps=False, rank=1.9)
        )
        dashed = n >= len(SERIES)
        marks.append(Polyline(label=name, ink=ink, x=x, y=y, dashed=dashed, width=1.5, dot=4))
    ratios = in_ratios(numbers)
    shown = legible(np.log(at) if ratios else at, rows)
    ticks = tuple((float(at[n]), rows[n]) for n in shown)
    scale = Scale(names[0], ticks=ticks, log=ratios)
    return Picture(tuple(marks), Scale(label), scale, legend=_second(names))


def _where_known(reach: Floats) -> Floats:
    """Return 0 where an interval has a width, and NaN elsewhere."""
    return np.where(reach.any(axis=0), 0.0, np.nan)


def _points(
    figures: Figures, rows: list[str], series: list[str], names: Sequence[str], label: str
) -> Picture:
    """Return a point with its interval for each label; the points of series are side by side."""
    marks: list[Mark] = []
    for n, name in enumerate(series):
        values, reach = _bounds(_series(figures, rows, name))
        x = np.arange(float(len(rows))) + 0.5 * ((n + 0.5) / len(series) - 0.5)
        ink, hollow = SERIES[n % len(SERIES)], n >= len(SERIES)
        some = _where_known(reach)
        low, high = values - reach[0] + some, values + reach[1] + some
        marks.append(Bars(label="", ink=ink, x=x, low=low, high=high, width=1.4, caps=True))
        marks.append(Points(label=name, ink=ink, x=x, y=values, size=6, hollow=hollow, rank=2.1))
    x_axis = Scale(names[0], low=-0.6, high=len(rows) - 0.4, ticks=_ticks(rows, across=True))
    return Picture(tuple(marks), Scale(label), x_axis, legend=_second(names))


def in_ratios(numbers: Sequence[float]) -> bool:
    """Return whether numbers are more evenly spaced by ratio than by difference.

    The result is false for fewer than three numbers, for numbers that are not above zero, and for
    numbers within a factor of ten.

    Examples
    --------
    >>> in_ratios([1, 3, 10, 30]), in_ratios([100, 680, 1260, 1840, 2420, 3000])
    (True, False)
    """
    if min(numbers) <= 0 or max(numbers) < 10 * min(numbers) or len(numbers) < 3:
        return False
    gaps = [np.diff(np.sort(scale)) for scale in (np.log(numbers), np.asarray(numbers))]
    by_ratio, by_distance = (float(np.std(gap) / np.mean(gap)) for gap in gaps)
    return by_ratio < by_distance


def crowded(labels: Sequence[str]) -> bool:
    """Return whether labels at equal distances are slanted, because they do not fit side by side.

    Examples
    --------
    >>> crowded(["reno", "sack"]), crowded(["reno", "sack", "rack-tlp"] * 4)
    (False, True)
    """
    return len(labels) * (max(map(len, labels), default=0) + 2) > _ROOM


def legible(at: Sequence[float] | NDArray[np.float64], labels: Sequence[str]) -> list[int]:
    """Return the indices of the labels that can be written without overlap.

    Examples
    --------
    >>> legible([0, 1, 50, 99, 100], ["10 ms", "20 ms", "1 s", "1990 ms", "2 s"])
    [0, 2, 3]
    """
    span = float(np.max(at) - np.min(at)) or 1.0
    shown: list[int] = []
    reach = -np.inf
    for n in np.argsort(at).tolist():
        half = (len(labels[n]) + 2) / _ROOM / 2
        place = (float(at[n]) - float(np.min(at))) / span
        if place - half >= reach:
            shown.append(n)
            reach = place + half
    return shown


def _heat(
    figures: Figures, rows: list[str], series: list[str], names: Sequence[str], label: str
) -> Picture:
    """Return a cell for each pair of labels: the figure, and the ends of its interval."""
    table = np.array(
        [[i.value if (i := figures.get((row, s))) else np.nan for row in rows] for s in series]
    )
    texts: tuple[tuple[str, ...], ...] = ()
    if table.size <= 150:
        texts = tuple(tuple(_cell(figures.get((row, s))) for row in rows) for s in series)
    cells = Cells(label=label, ink="black", values=table, texts=texts)
    y = Scale(names[1], low=-0.5, high=len(series) - 0.5, ticks=_ticks(series, across=False))
    x = Scale(names[0], low=-0.5, high=len(rows) - 0.5, ticks=_ticks(rows, across=True))
    return Picture((cells,), y, x)


def _cell(figure: Interval | None) -> str:
    if figure is None or not np.isfinite(figure.value):
        return ""
    if not figure.high > figure.low:
        return rounded(figure.value)
    return f"{rounded(figure.value)}\n{rounded(figure.low)} .. {rounded(figure.high)}"
