"""Plots of sweeps: bars, lines and heat-maps of figures with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netspurt.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, legend, new_figure
from netspurt.quantities import quantity

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval

#: The colours of series, in order.
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK, GREY)

#: Figures by labels of one name or of two; the first name is along the x axis.
Figures = Mapping[tuple[str, ...], "Interval"]

#: The number of characters of labels that fit side by side.
_ROOM = 80

KINDS = ("bar", "line", "heat-map")


def positions(labels: Sequence[str]) -> list[float] | None:
    """Return labels as numbers if they are all numbers or quantities of one kind.

    Examples
    --------
    >>> positions(["10 ms", "1 s"])
    [0.01, 1.0]
    >>> positions(["old", "new"]) is None
    True
    """
    try:
        found = [_number(label) for label in labels]
    except ValueError:
        return None
    return [value for _, value in found] if len({unit for unit, _ in found}) <= 1 else None


def _number(label: str) -> tuple[str, float]:
    try:
        value = float(label)
    except ValueError:
        return quantity(label)
    if not math.isfinite(value):
        raise ValueError(f"{label!r} is not a number or quantity")
    return "", value


def draw_cases(
    kind: str, figures: Figures, names: Sequence[str], measure: str, title: str = ""
) -> Figure:
    """Return a figure of one kind.

    Parameters
    ----------
    kind
        `bar`, `line` or `heat-map`.
    figures
        Figures with intervals by their labels.
    names
        The names of the labels: one or two; a heat-map needs two.
    measure
        The label of the figures.
    title
        The heading.

    Raises
    ------
    ValueError
        If there is no such kind, or it cannot show this number of names.
    """
    if kind not in KINDS:
        raise ValueError(f"no plot of kind {kind!r}: there are {', '.join(KINDS)}")
    if len(names) != 2 and (kind == "heat-map" or len(names) != 1):
        wanted = "two names" if kind == "heat-map" else "one name or two"
        there = f"{len(names)}: {', '.join(names)}" if names else "0: name what makes groups"
        raise ValueError(f"a {kind} shows {wanted}, and not {there}")
    figure, axes = new_figure()
    rows = list(dict.fromkeys(labels[0] for labels in figures))
    series = list(dict.fromkeys(labels[1] for labels in figures)) if len(names) == 2 else [""]
    {"bar": _bars, "line": _lines, "heat-map": _heat}[kind](axes, figures, rows, series)
    if sum(map(len, rows)) > _ROOM:
        axes.tick_params(axis="x", labelrotation=25)
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1] if kind == "heat-map" else measure)
    axes.set_title(
        f"{title}: {measure}" if title and kind == "heat-map" else title or measure, loc="left"
    )
    if kind != "heat-map":
        legend(axes)
        if axes.get_legend() is not None:
            axes.get_legend().set_title(names[1] if len(names) == 2 else "")  # type: ignore[union-attr]
    return figure


def _series(figures: Figures, rows: Sequence[str], label: str) -> list[Interval | None]:
    return [figures.get((row, label) if label else (row,)) for row in rows]


def _bounds(intervals: Sequence[Interval | None]) -> tuple[Any, Any]:
    """Return values, and the distances to the ends of their intervals."""
    values = np.array([np.nan if i is None else i.value for i in intervals])
    low = np.array([np.nan if i is None else i.low for i in intervals])
    high = np.array([np.nan if i is None else i.high for i in intervals])
    reach = np.nan_to_num(np.stack([values - low, high - values]).clip(min=0))
    return values, reach


def _bars(axes: Axes, figures: Figures, rows: list[str], series: list[str]) -> None:
    width = 0.8 / len(series)
    for n, label in enumerate(series):
        values, reach = _bounds(_series(figures, rows, label))
        at = np.arange(len(rows)) + (n - (len(series) - 1) / 2) * width
        colour = COLOURS[n % len(COLOURS)]
        axes.bar(at, values, width * 0.92, color=colour, alpha=0.75, label=label or None)
        axes.errorbar(at, values, yerr=reach, fmt="none", ecolor=BLACK, capsize=3, linewidth=1)
    axes.set_xticks(range(len(rows)), rows)


def _lines(axes: Axes, figures: Figures, rows: list[str], series: list[str]) -> None:
    numbers = positions(rows)
    at = np.arange(len(rows), dtype=float) if numbers is None else np.array(numbers)
    for n, label in enumerate(series):
        values, reach = _bounds(_series(figures, rows, label))
        colour = COLOURS[n % len(COLOURS)]
        axes.fill_between(
            at, values - reach[0], values + reach[1], color=colour, alpha=0.2, linewidth=0
        )
        axes.plot(at, values, color=colour, marker="o", markersize=4, label=label or None)
    if ratios := numbers is not None and in_ratios(numbers):
        axes.set_xscale("log")
    shown = legible(np.log(at) if ratios else at, rows)
    axes.set_xticks(at[shown], [rows[n] for n in shown])
    axes.minorticks_off()


def in_ratios(numbers: Sequence[float]) -> bool:
    """Return whether numbers are more evenly spaced by ratio than by difference.

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


def legible(at: Sequence[float] | NDArray[np.float64], labels: Sequence[str]) -> list[int]:
    """Return which labels are written so that they do not overlap.

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


def _heat(axes: Axes, figures: Figures, rows: list[str], series: list[str]) -> None:
    """Draw a cell for each pair of labels: the figure, and half the width of its interval."""
    table = np.array(
        [[i.value if (i := figures.get((row, s))) else np.nan for row in rows] for s in series]
    )
    image = axes.imshow(table, origin="lower", aspect="auto", cmap="cividis")
    axes.grid(visible=False)
    axes.set_xticks(range(len(rows)), rows)
    axes.set_yticks(range(len(series)), series)
    middle = (np.nanmin(table) + np.nanmax(table)) / 2
    if table.size <= 150:
        for (y, x), value in np.ndenumerate(table):
            cell = figures.get((rows[x], series[y]))
            if cell is not None and np.isfinite(value):
                half = (cell.high - cell.low) / 2
                told = f"{value:.3g}" + (f"\n±{half:.2g}" if np.isfinite(half) else "")
                colour = "white" if value < middle else "black"
                axes.text(x, y, told, ha="center", va="center", fontsize=8, color=colour)
    axes.figure.colorbar(image, ax=axes)
