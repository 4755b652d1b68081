"""Draws pictures of connections to sites with matplotlib.

A level is a throughput that many connections have approximately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rc_context
from numpy.typing import ArrayLike, NDArray

from netspurt.pictures import Picture
from netspurt.pictures.sites import distributions, idle_times, throughput_levels
from netspurt.plots.marks import draw_picture
from netspurt.plots.style import SETTINGS, Size, new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _drawn(picture: Picture, title: str, ax: Axes | None, size: Size | None) -> Figure:
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        draw_picture(axes, picture)
        set_title(axes, title)
    return figure


def draw_cdfs(  # noqa: PLR0913 - callers choose all these
    series: Mapping[str, ArrayLike],
    *,
    title: str,
    what: str,
    unit: str,
    marks: Sequence[float] = (),
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure with a line for the distribution of each site's values.

    Parameters
    ----------
    series, what, unit, marks
        As in `netspurt.pictures.sites.distributions`.
    title
        The heading.
    ax, size
        Existing axes to draw into, or the size of a new figure in inches.
    """
    shown = distributions(series, what=what, unit=unit, marks=marks)
    return _drawn(shown, title, ax, size)


def draw_throughput(  # noqa: PLR0913 - callers choose all these
    t_s: ArrayLike,
    throughput_bps: ArrayLike,
    level_of: ArrayLike,
    levels: Sequence[float],
    *,
    title: str,
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure with throughput over time. The colour of a point shows its level.

    Parameters
    ----------
    t_s, throughput_bps, level_of, levels
        As in `netspurt.pictures.sites.throughput_levels`.
    title
        The heading.
    ax, size
        Existing axes to draw into, or the size of a new figure in inches.
    """
    shown = throughput_levels(t_s, throughput_bps, level_of, levels)
    return _drawn(shown, title, ax, size)


def draw_idle(  # noqa: PLR0913 - callers choose all these
    idle_s: ArrayLike,
    throughput_bps: ArrayLike,
    waited_for: Sequence[str] | NDArray[np.str_],
    *,
    words: Mapping[str, str],
    threshold_s: float,
    title: str,
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure with throughput against the longest idle time.

    The colour of a point shows the cause of the idle time.

    Parameters
    ----------
    idle_s, throughput_bps, waited_for, words, threshold_s
        As in `netspurt.pictures.sites.idle_times`.
    title
        The heading.
    ax, size
        Existing axes to draw into, or the size of a new figure in inches.
    """
    shown = idle_times(idle_s, throughput_bps, waited_for, words=words, threshold_s=threshold_s)
    return _drawn(shown, title, ax, size)
