"""Plots of means with their least and most values, and of values over time in small panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netspurt.plots.style import (
    BLACK,
    BLUE,
    ORANGE,
    SERIES,
    SETTINGS,
    Size,
    legend,
    new_figure,
    set_title,
)

Floats = NDArray[np.float64]

#: The size of a figure with bars for many groups, in inches.
_WIDE = (12.0, 5.5)
#: The width of a small panel and its height, in inches; panels in a row.
_PANEL = (3.2, 2.1)
_ACROSS = 4


@dataclass(frozen=True)
class Range:
    """A mean with the least and the most of its values."""

    mean: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Floats) -> Range:
        """Return the range of values."""
        return cls(float(values.mean()), float(values.min()), float(values.max()))


@dataclass(frozen=True)
class Panel:
    """A value over time, and a fit of it; both in the same unit, shape (n,)."""

    title: str
    t: Floats
    value: Floats
    fit: Floats | None = None


def draw_ranges(  # noqa: PLR0913 - each is a choice of its own
    groups: Sequence[str],
    series: Mapping[str, Sequence[Range]],
    *,
    title: str,
    label: str,
    beneath: str,
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure with bars of means, and marks from the least to the most value.

    Parameters
    ----------
    groups
        The labels along the x axis.
    series
        For each colour a range in each group.
    title, label, beneath
        The heading, and the texts at the y and the x axis.
    ax, size
        An axes of the caller's to draw into, or the size of a new figure in inches.
    """
    figure, axes = new_figure(ax, size, _WIDE)
    width = 0.84 / len(series)
    with rc_context(SETTINGS):
        for n, (name, ranges) in enumerate(series.items()):
            at = np.arange(len(groups)) + (n - (len(series) - 1) / 2) * width
            means = np.array([one.mean for one in ranges])
            reach = [
                means - np.array([one.least for one in ranges]),
                np.array([one.most for one in ranges]) - means,
            ]
            bars: Any = {"color": SERIES[n % len(SERIES)], "alpha": 0.8, "label": name}
            axes.bar(at, means, width * 0.9, linewidth=0, **bars)
            axes.errorbar(at, means, yerr=reach, fmt="none", ecolor=BLACK, capsize=2, linewidth=1)
        axes.set_xticks(np.arange(len(groups)), groups)
        axes.set_xlabel(beneath)
        axes.set_ylabel(label)
        axes.grid(visible=False, axis="x")
        set_title(axes, title)
        if len(series) > 1:
            legend(axes)
    return figure


def draw_panels(panels: Sequence[Panel], *, title: str, label: str, beneath: str) -> Figure:
    """Return a figure with a small panel for each value over time, all with the same y axis."""
    across = min(_ACROSS, len(panels))
    down = -(-len(panels) // across)
    size = (across * _PANEL[0], down * _PANEL[1] + 0.6) if len(panels) > 1 else (10, 5)
    with rc_context(SETTINGS):
        figure = Figure(figsize=size, dpi=150, layout="constrained")
        grid = figure.subplots(down, across, sharey=True, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            axes.plot(panel.t, panel.value, color=BLUE, linewidth=1.6, label="computed")
            if panel.fit is not None:
                style: Any = {"color": ORANGE, "linewidth": 1.2, "linestyle": "--"}
                axes.plot(panel.t, panel.fit, label="polynomial", **style)
            axes.grid(visible=True, color="#ececec", linewidth=0.8)
            if len(panels) > 1:
                axes.set_title(panel.title, loc="left", fontsize=9)
            axes.margins(x=0)
        figure.suptitle(title, fontweight="bold", x=0.01, ha="left")
        figure.supxlabel(beneath, fontsize=10)
        figure.supylabel(label, fontsize=10)
        if any(panel.fit is not None for panel in panels):
            handles, labels = grid.flat[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="lower right", frameon=False)
    return figure
