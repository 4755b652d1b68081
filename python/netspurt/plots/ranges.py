"""Plots of means with the least and greatest values, and of values over time in small panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netspurt.pictures.ranges import FitPanel, Range, over_time, ranges
from netspurt.plots.marks import draw_picture
from netspurt.plots.several import draw_each, one_legend
from netspurt.plots.style import SETTINGS, Size, new_figure, set_title

#: The size of a figure with bars for many groups, in inches.
_WIDE = (12.0, 5.5)
#: The width and the height of a small panel, in inches, and the maximum number of panels in a row.
_PANEL = (3.2, 2.1)
_ACROSS = 4


def draw_ranges(  # noqa: PLR0913 - callers choose all these
    groups: Sequence[str],
    series: Mapping[str, Sequence[Range]],
    *,
    title: str,
    label: str,
    beneath: str,
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure with bars of means, and marks from the least to the greatest value.

    Parameters
    ----------
    groups, series, label, beneath
        As in `netspurt.pictures.ranges.ranges`.
    title
        The heading.
    ax, size
        Existing axes to draw into, or the size of a new figure in inches.
    """
    figure, axes = new_figure(ax, size, _WIDE)
    with rc_context(SETTINGS):
        draw_picture(axes, ranges(groups, series, label=label, beneath=beneath))
        axes.grid(visible=False, axis="x")
        set_title(axes, title)
    return figure


def draw_panels(panels: Sequence[FitPanel], *, title: str, label: str, beneath: str) -> Figure:
    """Return a figure with a small panel for each value over time, all with the same y axis."""
    across = min(_ACROSS, len(panels))
    down = -(-len(panels) // across)
    size = (across * _PANEL[0], down * _PANEL[1] + 0.6) if len(panels) > 1 else (10, 5)
    shown = [over_time(panel) for panel in panels]
    with rc_context(SETTINGS):
        figure = Figure(figsize=size, dpi=150, layout="constrained")
        grid = figure.subplots(down, across, sharey=True, squeeze=False)
        own = list(grid.flat[: len(panels)])
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        draw_each(own, shown)
        ends = [picture.ends[1] for picture in shown]
        own[0].set_ylim(min(low for low, _ in ends), max(high for _, high in ends))
        for axes, panel in zip(own, panels, strict=True):
            if len(panels) > 1:
                axes.set_title(panel.title, loc="left", fontsize=9)
        figure.suptitle(title, fontweight="bold", x=0.01, ha="left")
        figure.supxlabel(beneath, fontsize=10)
        figure.supylabel(label, fontsize=10)
        one_legend(figure, own, "lower right")
        if all(panel.fit is None for panel in panels):
            figure.legends.clear()
    return figure
