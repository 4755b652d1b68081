"""Plots of sweeps: bars, lines and heat-maps of figures with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netspurt.pictures.measures import fitting_unit, in_words
from netspurt.plots.style import (
    BLACK,
    SERIES,
    SETTINGS,
    Size,
    legend,
    new_figure,
    set_title,
)
from netspurt.quantities import quantity

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval


#: Figures by labels of one name or of two; the first name is along the x axis.
Figures = Mapping[tuple[str, ...], "Interval"]

#: The number of characters of labels that fit side by side.
_ROOM = 80
#: How many characters of a slanted label stand side by side; how many labels fit above each other.
_SLANTED = 4
_LINES = 40

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


def draw_cases(  # noqa: PLR0913 - what to draw, and where
    kind: str,
    figures: Figures,
    names: Sequence[str],
    measure: str,
    title: str = "",
    *,
    ax: Axes | None = None,
    size: Size | None = None,
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
        The column, or the ratio of two, that the figures are of: the plot has it in words.
    title
        The heading.
    ax
        An axes of the caller's to draw into; its figure is returned.
    size
        The width and height of a new figure in inches.

    Raises
    ------
    ValueError
        If there is no such kind, or it cannot show this number of names, or of series.
    """
    if kind not in KINDS:
        raise ValueError(f"no plot of kind {kind!r}: there are {', '.join(KINDS)}")
    if len(names) != 2 and (kind == "heat-map" or len(names) != 1):
        wanted = "two names" if kind == "heat-map" else "one name or two"
        there = f"{len(names)}: {', '.join(names)}" if names else "0: name what makes groups"
        raise ValueError(f"a {kind} shows {wanted}, and not {there}")
    rows = list(dict.fromkeys(labels[0] for labels in figures))
    series = list(dict.fromkeys(labels[1] for labels in figures)) if len(names) == 2 else [""]
    if kind != "heat-map" and len(series) > _SERIES:
        raise ValueError(
            f"{names[1]} has {len(series)} labels, and a {kind} shows at most {_SERIES} of the "
            "second name: draw a heat-map, or exchange the two names"
        )
    figures, label = _in_unit(figures, measure)
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        {"bar": _bars, "line": _lines, "heat-map": _heat}[kind](axes, figures, rows, series)
        axes.set_xlabel(names[0])
        axes.set_ylabel(names[1] if kind == "heat-map" else label)
        whole = f"{title}: {label}" if title and kind == "heat-map" else title or label
        set_title(axes, whole)
        if kind != "heat-map":
            legend(axes, title=names[1] if len(names) == 2 else None)
    return figure


#: The most series of bars or lines, twice the number of colours.
_SERIES = 2 * len(SERIES)


def _in_unit(figures: Figures, measure: str) -> tuple[Figures, str]:
    """Return figures in a unit that suits the largest, and the measure in words with that unit."""
    words, factor, unit = in_words(measure)
    known = [abs(one.value) for one in figures.values() if np.isfinite(one.value)]
    size, unit = fitting_unit(unit, factor * max(known, default=0.0))
    scaled = {labels: one.scaled(factor / size) for labels, one in figures.items()}
    return scaled, f"{words} [{unit}]" if unit else words


def _name(axes: Axes, which: Literal["x", "y"], labels: Sequence[str]) -> None:
    """Write labels at whole numbers of an axis, as many as can be read."""
    at = np.arange(float(len(labels)))
    long = which == "x" and sum(map(len, labels)) > _ROOM
    if which == "y":
        shown = list(range(0, len(labels), -(-len(labels) // _LINES)))
    else:
        # Slanted, a label needs the width of a few characters only.
        shown = legible(at, [label[:_SLANTED] for label in labels] if long else labels)
    axes.set(**{f"{which}ticks": shown, f"{which}ticklabels": [labels[n] for n in shown]})
    if long:
        axes.tick_params(axis="x", labelrotation=25)


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
        colour = SERIES[n % len(SERIES)]
        hatch = "//" if n >= len(SERIES) else None
        style: Any = {"color": colour, "alpha": 0.75, "hatch": hatch, "edgecolor": "white"}
        axes.bar(at, values, width * 0.92, linewidth=0, label=label or None, **style)
        axes.errorbar(at, values, yerr=reach, fmt="none", ecolor=BLACK, capsize=3, linewidth=1)
    _name(axes, "x", rows)


def _lines(axes: Axes, figures: Figures, rows: list[str], series: list[str]) -> None:
    numbers = positions(rows)
    at = np.arange(len(rows), dtype=float) if numbers is None else np.array(numbers)
    for n, label in enumerate(series):
        values, reach = _bounds(_series(figures, rows, label))
        colour = SERIES[n % len(SERIES)]
        axes.fill_between(
            at, values - reach[0], values + reach[1], color=colour, alpha=0.2, linewidth=0
        )
        dashes = "--" if n >= len(SERIES) else "-"
        style: Any = {"color": colour, "linestyle": dashes, "marker": "o", "markersize": 4}
        axes.plot(at, values, label=label or None, **style)
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
    _name(axes, "x", rows)
    _name(axes, "y", series)
    middle = (np.nanmin(table) + np.nanmax(table)) / 2
    if table.size <= 150:
        for (y, x), value in np.ndenumerate(table):
            cell = figures.get((rows[x], series[y]))
            if cell is not None and np.isfinite(value):
                half = (cell.high - cell.low) / 2
                told = f"{value:.3g}" + (f"\n±{half:.2g}" if half > 0 else "")
                colour = "white" if value < middle else "black"
                axes.text(x, y, told, ha="center", va="center", fontsize=8, color=colour)
    axes.figure.colorbar(image, ax=axes)
