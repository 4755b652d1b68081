"""Plots of passes: the times in which a path over satellites has line of sight, and its delays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netspurt.plots.moving import name_the_times
from netspurt.plots.style import BLACK, BLUE, SETTINGS, Size, new_figure, set_title

Floats = NDArray[np.float64]

#: Only this many passes, from the first pass on, are numbered.
_NUMBERED = 20
#: A number is at an end of the axis if its distance from the end is less than this share of the
#: axis.
_AT_END = 0.01


def draw_passes(  # noqa: PLR0913 - callers choose all these
    passes: Sequence[tuple[Floats, Floats]],
    span_s: float,
    *,
    title: str,
    start: str,
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure of the delay in each pass. There is no line of sight between passes.

    Parameters
    ----------
    passes
        For each pass, instants since the start of the span [s] and one-way delays [s].
    span_s
        The length of the span [s].
    title, start
        The heading, and the start of the span in text form.
    ax
        Existing axes to draw into.
    size
        The width and height of a new figure in inches.

    Raises
    ------
    ValueError
        If there is no pass.
    """
    if not passes:
        raise ValueError("there is no pass to draw: take a longer span")
    figure, axes = new_figure(ax, size, (10, 4))
    with rc_context(SETTINGS):
        # A gap between two passes ends the line.
        gap = np.array([np.nan])
        t = np.concatenate([part for at, _ in passes for part in (at, gap)])
        ms = np.concatenate([part for _, delay in passes for part in (delay * 1e3, gap)])
        axes.plot(t, ms, color=BLUE, linewidth=1.6)
        for n, (at, delay) in enumerate(passes[:_NUMBERED], 1):
            # Over a geostationary satellite, all points may have the lowest delay. The number is at
            # the middle one of the lowest points.
            all_lowest = np.flatnonzero(delay == delay.min())
            lowest = int(all_lowest[len(all_lowest) // 2])
            place = (float(at[lowest]), float(delay[lowest] * 1e3))
            words: Any = {"textcoords": "offset points", "va": "top", "fontsize": 9}
            words["ha"] = _side(place[0] / span_s)
            axes.annotate(str(n), place, (0, -4), color=BLACK, **words)
        axes.set_ylabel("one-way delay [ms]")
        low, high = float(np.nanmin(ms)), float(np.nanmax(ms))
        axes.set_ylim(
            max(0.0, low - 0.2 * (high - low or high)), high + 0.08 * (high - low or high)
        )
        name_the_times(axes, (0.0, span_s))
        axes.set_xlabel(f"{axes.get_xlabel()} since {start}")
        set_title(axes, title)
    return figure


def _side(share: float) -> str:
    """Return the alignment of a number at a share of the axis, so that the axis does not cut it."""
    if share < _AT_END:
        return "left"
    return "right" if share > 1 - _AT_END else "center"
