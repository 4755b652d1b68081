"""A series over time with its change-free periods, and the lengths of such periods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from netspurt.pictures.scales import of_times
from netspurt.plots.style import (
    BLACK,
    GREY,
    RED,
    SERIES,
    SETTINGS,
    Size,
    draw_scale,
    legend,
    logarithmic,
    new_figure,
    set_title,
)

Floats = NDArray[np.float64]


class Steady(Protocol):
    """A period without a change."""

    @property
    def start_s(self) -> float:
        """When it begins, in seconds."""

    @property
    def end_s(self) -> float:
        """When it ends, in seconds."""

    @property
    def median(self) -> float:
        """The median of its values."""


def draw_periods(  # noqa: PLR0913 - what to draw, and where
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
    t_s, values
        The series, shape (n,) each.
    periods
        Its change-free periods, in order.
    title, what
        The heading, and the name of the values.
    unit
        The unit of the values; seconds get a prefix that fits.
    beneath
        The text at the x axis, if `t_s` is no time in seconds.
    ax, size
        An axes of the caller's to draw into, or the size of a new figure in inches.
    """
    t, series = np.asarray(t_s, dtype=float), np.asarray(values, dtype=float)
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        dots: Any = {"linestyle": "none", "marker": ".", "markersize": 4, "color": GREY}
        scale, name = (1.0, "") if beneath else _time_unit(t)
        axes.plot(t / scale, series, label=what, gid="values", rasterized=True, **dots)
        for n, one in enumerate(periods):
            label = "median of a change-free period" if n == 0 else None
            ends = [one.start_s / scale, one.end_s / scale]
            axes.plot(ends, [one.median] * 2, color=BLACK, linewidth=2, label=label, gid="median")
            if n:
                mark: Any = {"color": RED, "linewidth": 1, "linestyle": "--", "gid": "change"}
                axes.axvline(ends[0], label="change" if n == 1 else None, **mark)
        if unit == "s":
            draw_scale(axes, of_times(what, [series]))
        else:
            axes.set_ylabel(f"{what} [{unit}]")
        _close_to(axes, series)
        axes.set_xlabel(beneath or f"time [{name}]")
        axes.margins(x=0.01)
        set_title(axes, title)
        legend(axes)
    return figure


def _time_unit(t: Floats) -> tuple[float, str]:
    """Return the unit of a time axis, in seconds, and its name."""
    longest = float(np.max(t, initial=0))
    return next(
        (u, n) for u, n in ((3600.0, "h"), (60.0, "min"), (1.0, "s")) if longest > 2 * u or u == 1
    )


def _close_to(axes: Axes, series: Floats) -> None:
    """End a linear y axis at the values: a change is small beside the whole delay."""
    known = series[np.isfinite(series)]
    if axes.get_yscale() == "linear" and len(known) and np.ptp(known) > 0:
        margin = 0.05 * float(np.ptp(known))
        axes.set_ylim(float(known.min()) - margin, float(known.max()) + margin)


def draw_lengths_of_periods(  # noqa: PLR0913 - what to draw, and where
    lengths: Mapping[str, ArrayLike],
    *,
    title: str,
    unit: str = "s",
    mark: tuple[float, str] | None = None,
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure with the share of the time in change-free periods of a length or longer.

    Parameters
    ----------
    lengths
        The lengths of the periods by the name of a method or a path.
    title
        The heading.
    unit
        `s`, or what is counted.
    mark
        A length to compare with and its name.
    ax, size
        An axes of the caller's to draw into, or the size of a new figure in inches.
    """
    figure, axes = new_figure(ax, size)
    sorted_ = {name: np.sort(np.asarray(given, dtype=float)) for name, given in lengths.items()}
    every = np.concatenate([*sorted_.values(), np.empty(0)])
    scale, named = _time_unit(every) if unit == "s" else (1.0, unit)
    with rc_context(SETTINGS):
        for n, (name, given) in enumerate(sorted_.items()):
            length = given[given > 0] / scale
            if not len(length):
                continue
            # A share holds for all lengths up to that of its period, so the line falls after it.
            left = np.cumsum(length[::-1])[::-1] / length.sum()
            x = np.concatenate([[length[0] / 2], length, [length[-1]]])
            y = np.concatenate([left[:1], left, [0.0]])
            axes.step(x, y, where="pre", color=SERIES[n % len(SERIES)], label=name, gid="share")
        logarithmic(axes, "x", lambda value, _place: f"{value:g}")
        if mark is not None:
            axes.axvline(mark[0] / scale, color=RED, linewidth=1, linestyle="--", label=mark[1])
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(f"length of a change-free period [{named}]")
        axes.set_ylabel("share of the time in such or longer ones")
        set_title(axes, title)
        legend(axes)
    return figure
