"""Connections to sites: distributions, throughput over time, throughput against idle time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import ArrayLike, NDArray

from netspurt.pictures.measures import fitting_unit
from netspurt.plots.style import (
    BLACK,
    GREY,
    RED,
    SERIES,
    SETTINGS,
    Size,
    legend,
    logarithmic,
    new_figure,
    set_title,
)

Floats = NDArray[np.float64]

#: Sites whose values differ by more than this factor have a logarithmic axis.
_TENS = 20


def draw_cdfs(  # noqa: PLR0913 - what to draw, and where
    series: Mapping[str, ArrayLike],
    *,
    title: str,
    what: str,
    unit: str,
    marks: Sequence[float] = (),
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure with the distribution of values, a line for each name.

    Parameters
    ----------
    series
        Values by the name of a site; NaN counts as no value.
    title, what
        The heading, and the name of the values.
    unit
        `s` or `bit/s`, which get a prefix that fits; empty for a ratio.
    marks
        Values with a vertical line.
    ax, size
        An axes of the caller's to draw into, or the size of a new figure in inches.
    """
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        known = {name: _known(values) for name, values in series.items()}
        known = {name: values for name, values in known.items() if len(values)}
        for n, (name, values) in enumerate(known.items()):
            share = np.arange(len(values) + 1) / len(values)
            x = np.concatenate([values[:1], values])
            style: Any = {"color": SERIES[n % len(SERIES)], "linewidth": 1.6}
            style["linestyle"] = ("-", "--", ":")[n // len(SERIES) % 3]
            label = f"{name} ({len(values):,})"
            axes.step(x, share, where="post", label=label, gid="cdf", **style)
        for mark in marks:
            axes.axvline(mark, color=RED, linewidth=1, linestyle="--")
        _value_axis(axes, "x", what, unit, list(known.values()))
        axes.set_ylim(0, 1.02)
        axes.set_ylabel("share of connections")
        set_title(axes, title)
        legend(axes)
    return figure


def _known(values: ArrayLike) -> Floats:
    given = np.asarray(values, dtype=float)
    return np.sort(given[np.isfinite(given)])


def _value_axis(axes: Axes, which: str, what: str, unit: str, series: Sequence[Floats]) -> None:
    """Label an axis of values, with a prefix that fits; logarithmic if they differ by tens."""
    every = np.concatenate([*series, np.empty(0)])
    if not len(every):
        return
    least, most = float(np.quantile(every, 0.01)), float(np.quantile(every, 0.99))
    size, name = fitting_unit(unit, most) if unit else (1.0, "")

    def told(value: float, _place: float = 0) -> str:
        return f"{value / size:g}"

    if least > 0 and most > _TENS * least:
        logarithmic(axes, "x" if which == "x" else "y", told)
    else:
        (axes.xaxis if which == "x" else axes.yaxis).set_major_formatter(FuncFormatter(told))
    label: Callable[[str], object] = axes.set_xlabel if which == "x" else axes.set_ylabel
    label(f"{what} [{name}]" if name else what)


def draw_throughput(  # noqa: PLR0913 - what to draw, and where
    t_s: ArrayLike,
    throughput_bps: ArrayLike,
    member: ArrayLike,
    levels: Sequence[float],
    *,
    title: str,
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure with throughput over time, coloured by the level that it belongs to.

    Parameters
    ----------
    t_s, throughput_bps, member
        When each connection began, in seconds, its throughput in bit/s, and the index of its level;
        shape (n,) each.
    levels
        The levels in bit/s, which are drawn as lines.
    title
        The heading.
    ax, size
        An axes of the caller's to draw into, or the size of a new figure in inches.
    """
    t, rate = np.asarray(t_s, dtype=float), np.asarray(throughput_bps, dtype=float)
    which = np.asarray(member)
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        since = t - np.nanmin(t) if len(t) else t
        scale, unit = (3600.0, "h") if len(t) and since.max() > 7200 else (60.0, "min")
        for n, level in enumerate(levels):
            own = which == n
            dots: Any = {"linestyle": "none", "marker": ".", "color": SERIES[n % len(SERIES)]}
            axes.plot(since[own] / scale, rate[own], gid="points", **dots)
            axes.axhline(level, color=GREY, linewidth=0.8, zorder=0, gid="level")
        _value_axis(axes, "y", "throughput", "bit/s", [rate[np.isfinite(rate)]])
        axes.set_xlabel(f"time [{unit}]")
        set_title(axes, title)
    return figure


def draw_idle(  # noqa: PLR0913 - what to draw, and where
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
    """Return a figure with throughput against the longest idle time, coloured by its cause.

    Parameters
    ----------
    idle_s, throughput_bps
        The longest idle time of each connection in seconds, and its throughput in bit/s.
    waited_for
        What the idle time waited for; empty if that is not known.
    words
        The causes in words, for the legend.
    threshold_s
        The idle time above which it is taken for a timeout: a line.
    title
        The heading.
    ax, size
        An axes of the caller's to draw into, or the size of a new figure in inches.
    """
    idle, rate = np.asarray(idle_s, dtype=float), np.asarray(throughput_bps, dtype=float)
    causes = np.asarray(waited_for, dtype=np.str_)
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        for n, cause in enumerate(["", *words]):
            own = (causes == cause) & np.isfinite(idle) & np.isfinite(rate)
            if not own.any():
                continue
            colour = BLACK if not cause else SERIES[(n - 1) % len(SERIES)]
            dots: Any = {"linestyle": "none", "marker": "o", "markersize": 4, "alpha": 0.7}
            label = f"{words.get(cause, 'not known')} ({own.sum():,})"
            axes.plot(idle[own], rate[own], color=colour, label=label, gid="points", **dots)
        axes.axvline(threshold_s, color=RED, linewidth=1, linestyle="--")
        known = np.isfinite(idle) & np.isfinite(rate)
        _value_axis(axes, "y", "throughput", "bit/s", [rate[known]])
        _value_axis(axes, "x", "longest idle time", "s", [idle[known]])
        set_title(axes, title)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), frameon=False, ncols=2)
    return figure
