"""Plots of several series in panels below each other."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib import rc_context
from matplotlib.figure import Figure

from netspurt.pictures.series import SeriesPanel, below_each_other
from netspurt.plots.several import draw_each
from netspurt.plots.style import SETTINGS, set_title

#: The width of a figure and the height of a panel, in inches.
_WIDTH, _PANEL = 10.0, 2.9


def draw_series(panels: Sequence[SeriesPanel], *, title: str, beneath: str) -> Figure:
    """Return a figure of panels, one below the other.

    Parameters
    ----------
    panels, beneath
        As in `netspurt.pictures.series.below_each_other`.
    title
        The heading.
    """
    with rc_context(SETTINGS):
        size = (_WIDTH, _PANEL * len(panels) + 1.5)
        figure = Figure(figsize=size, dpi=150, layout="constrained")
        grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)
        draw_each(list(grid[:, 0]), below_each_other(panels, beneath=beneath))
        set_title(grid[0, 0], title)
    return figure
