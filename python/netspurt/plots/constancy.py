"""Draws change-free periods with matplotlib. In such a period, the level does not change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from netspurt.pictures import constancy
from netspurt.pictures.constancy import Steady
from netspurt.pictures.marks import Picture
from netspurt.plots.marks import draw_picture
from netspurt.plots.style import SETTINGS, Size, new_figure, set_title


def draw_periods(  # noqa: PLR0913 - callers choose all these
    t_s: ArrayLike,
    values: ArrayLike,
    periods: Sequence[Steady],
    *,
    title: str,
    what: str,
    unit: str = "s",
    beneath: str = "",
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure with a series, the median of each change-free period, and the changes.

    Parameters
    ----------
    t_s, values, periods, what, unit, beneath
        As in `netspurt.pictures.constancy.periods`.
    title
        The heading.
    ax, size
        Existing axes to draw into, or the size of a new figure in inches.
    """
    shown = constancy.periods(t_s, values, periods, what=what, unit=unit, beneath=beneath)
    return _drawn(shown, title, ax, size)


def draw_lengths_of_periods(  # noqa: PLR0913 - callers choose all these
    lengths: Mapping[str, ArrayLike],
    *,
    title: str,
    unit: str = "s",
    mark: tuple[float, str] | None = None,
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure with the lengths of change-free periods.

    For each length, a line shows the share of the time that is in periods of at least this length.

    Parameters
    ----------
    lengths, unit, mark
        As in `netspurt.pictures.constancy.lengths_of_periods`.
    title
        The heading.
    ax, size
        Existing axes to draw into, or the size of a new figure in inches.
    """
    return _drawn(constancy.lengths_of_periods(lengths, unit=unit, mark=mark), title, ax, size)


def _drawn(picture: Picture, title: str, ax: Axes | None, size: Size | None) -> Figure:
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        draw_picture(axes, picture)
        set_title(axes, title)
    return figure
