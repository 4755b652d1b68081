"""Plots of several series of points or lines, in panels below each other with one x axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netspurt.plots.style import SERIES, SETTINGS, legend, set_title

Floats = NDArray[np.float64]

#: The width of a figure and the height of a panel, in inches.
_WIDTH, _PANEL = 10.0, 2.9


@dataclass(frozen=True)
class Series:
    """Points, of shape (n,), and how they are drawn: as a line, as steps, or as dots."""

    name: str
    x: Floats
    y: Floats
    drawn: Literal["line", "steps", "dots"] = "line"
    dashed: bool = False


@dataclass(frozen=True)
class Part:
    """A panel: the label of its y axis, its series, and an instant or value to mark on x."""

    label: str
    series: Sequence[Series]
    mark: float | None = None
    mark_label: str = ""


def draw_series(parts: Sequence[Part], *, title: str, beneath: str) -> Figure:
    """Return a figure with a panel for each part.

    Parameters
    ----------
    parts
        The panels, from above.
    title, beneath
        The heading, and the text at the x axis.
    """
    with rc_context(SETTINGS):
        size = (_WIDTH, _PANEL * len(parts) + 1.5)
        figure = Figure(figsize=size, dpi=150, layout="constrained")
        grid = figure.subplots(len(parts), 1, sharex=True, squeeze=False)
        for axes, part in zip(grid[:, 0], parts, strict=True):
            for colour, one in zip(SERIES, part.series, strict=False):
                _draw(axes, one, colour)
            if part.mark is not None:
                axes.axvline(
                    part.mark, color="#1a1a1a", linewidth=1, linestyle=":", label=part.mark_label
                )
            axes.grid(visible=True, color="#ececec", linewidth=0.8)
            axes.set_axisbelow(True)
            axes.set_ylabel(part.label)
            axes.set_ylim(bottom=0)
            axes.margins(x=0.01)
            legend(axes)
        set_title(grid[0, 0], title)
        grid[-1, 0].set_xlabel(beneath)
    return figure


def _draw(axes: Any, one: Series, colour: str) -> None:
    style: dict[str, Any] = {"color": colour, "label": one.name}
    if one.drawn == "dots":
        axes.plot(one.x, one.y, linestyle="none", marker=".", markersize=4, **style)
        return
    style |= {"linewidth": 1.4, "linestyle": "--" if one.dashed else "-"}
    if one.drawn == "steps":
        axes.step(one.x, one.y, where="post", **style)
    else:
        axes.plot(one.x, one.y, **style)
