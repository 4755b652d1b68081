"""Shared parts of all plots: figure, colours, and the part of a run to show."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator
from numpy.typing import NDArray

from netspurt.plots.measures import fitting_unit
from netspurt.table import Table

if TYPE_CHECKING:
    from netspurt.plots import Tables

#: The directions of a flow: what its initiator sends, and what the other end sends.
DIRECTIONS = ("forward", "reverse")

#: Okabe and Ito's palette, which is distinguishable with every kind of colour vision.
BLACK = "#1a1a1a"
BLUE = "#0072b2"
GREEN = "#009e73"
ORANGE = "#e69f00"
PURPLE = "#a2559c"
RED = "#d32f2f"
BROWN = "#8c510a"
SKY = "#56b4e9"
GREY = "#9a9a9a"
OLIVE = "#7f7f00"

#: The colours of series, in order.
SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK)

#: Settings of matplotlib while figures are made and written; the salt makes SVGs reproducible.
SETTINGS: dict[Any, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titleweight": "bold",
    "font.size": 10,
    "legend.fontsize": 9,
    "svg.hashsalt": "netspurt",
}


@dataclass(frozen=True)
class View:
    """The part of a run to show.

    Attributes
    ----------
    flow, direction, node, link
        The subject; by default the first flow, the direction `"forward"` (the other is
        `"reverse"`), the node that sends, and every link that ever queued.
    start, end
        The span of time, in seconds.
    """

    flow: str | None = None
    direction: str | None = None
    node: str | None = None
    link: str | None = None
    start: float | None = None
    end: float | None = None

    def __post_init__(self) -> None:
        if self.direction not in {None, *DIRECTIONS}:
            raise ValueError(
                f"the direction {self.direction!r} is neither {' nor '.join(DIRECTIONS)}"
            )
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError(
                f"the time to show ends at {self.end:g} s, before its start, {self.start:g} s"
            )

    @property
    def sends(self) -> str:
        """The direction to show of a flow."""
        return self.direction or DIRECTIONS[0]

    def titled(self, flow: str) -> str:
        """Return the name of a flow and direction in a plot."""
        return flow if self.sends == DIRECTIONS[0] else f"{flow} ({self.sends})"

    def clip(self, table: Table) -> Table:
        """Return the rows within the span of time."""
        t = table.seconds()
        keep = np.ones(len(t), dtype=np.bool_)
        if self.start is not None:
            keep &= t >= self.start
        if self.end is not None:
            keep &= t <= self.end
        return table if keep.all() else table.select(keep)

    def during(self, states: Table, end: float) -> tuple[NDArray[np.float64], Table]:
        """Return the states in force in the span of time, up to `end`, with the start of each.

        The first is the state in force when the span begins; the last holds to its end.
        """
        t = states.seconds()
        start = 0.0 if self.start is None else self.start
        end = end if self.end is None else min(end, self.end)
        shown = np.flatnonzero((t >= start) & (t <= end))
        before = np.flatnonzero(t < start)[-1:] if start <= end else shown[:0]
        rows = np.concatenate([before, shown])
        rows = np.concatenate([rows, rows[-1:]])
        since = np.maximum(t[rows], start)
        since[-1:] = end
        return since, states.take(rows)


#: The width and height of a figure, in inches.
Size = tuple[float, float]


def new_figure(
    ax: Axes | None = None, size: Size | None = None, usual: Size = (10, 6)
) -> tuple[Figure, Axes]:
    """Return a figure with one axes in the house style, or the axes given and its figure.

    Parameters
    ----------
    ax
        An axes of the caller's, into which to draw.
    size
        The width and height of a new figure in inches.
    usual
        The size if none is given.

    Raises
    ------
    ValueError
        If both are given: the figure of an axes has its size already.
    """
    if ax is None:
        with rc_context(SETTINGS):
            figure = Figure(figsize=size or usual, dpi=150, layout="constrained")
            ax = figure.add_subplot()
    else:
        _check_size(size)
        figure = root_figure(ax)
    ax.grid(visible=True, color="#ececec", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_xlabel("time [s]")
    return figure, ax


def _check_size(size: Size | None) -> None:
    if size is not None:
        raise ValueError("size is that of a new figure: leave it out, or leave ax out")


def new_figures(
    count: int, ax: Sequence[Axes] | None, size: Size | None, usual: Size
) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure with axes side by side that share their y axis, or those given.

    Raises
    ------
    ValueError
        If axes and a size are given, or another number of axes.
    """
    if ax is None:
        with rc_context(SETTINGS):
            figure = Figure(figsize=size or usual, dpi=150, layout="constrained")
            return figure, list(figure.subplots(1, count, sharey=True))
    _check_size(size)
    ax = list(ax)
    if len(ax) != count:
        raise ValueError(f"this plot needs {count} axes, and ax has {len(ax)}")
    return root_figure(ax[0]), ax


def root_figure(ax: Axes) -> Figure:
    """Return the figure that an axes belongs to, around all sub-figures."""
    figure = ax.get_figure(root=True)
    if not isinstance(figure, Figure):
        raise ValueError("ax belongs to no figure")
    return figure


def pick(table: Table, column: str, wanted: str | None, what: str) -> str:
    """Return the wanted name, or the first one.

    Raises
    ------
    ValueError
        If the name does not exist, or there are no names.
    """
    names = list(dict.fromkeys(table[column].tolist()))
    if wanted is None and names:
        return str(names[0])
    if wanted not in names:
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise ValueError(
            f"no {what} {wanted!r} in {table.name}: there are {shown}"
            if names
            else f"nothing to draw: the table {table.name} is empty"
        )
    return str(wanted)


def flow_end(run: Tables, flow: str, direction: str) -> float:
    """Return when all data of a direction was acknowledged, or the end of the run, in seconds."""
    sums = run.table("flows").where(flow=flow, direction=direction)
    finished = float(sums.seconds("finished_ns")[0]) if len(sums) else np.nan
    return run.stop_ns / 1e9 if np.isnan(finished) else finished


def optional(run: Tables, name: str) -> Table | None:
    """Return a table, or `None` if it was not recorded."""
    try:
        return run.table(name)
    except ValueError:
        return None


def bytes_axis(axes: Axes, what: str, most: float) -> None:
    """Label the y axis, whose values are octets, in a unit that suits the largest."""
    units = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
    scale, unit = next(((s, u) for s, u in units if most >= 5 * s), (1.0, "B"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda octets, _: f"{octets / scale:g}"))
    axes.set_ylabel(f"{what} [{unit}]")


#: Times whose medians or greatest differ by more than this factor have a logarithmic axis.
_TENS = 20

#: A logarithmic axis with a smaller range than this has no marks at 1, 2 and 5.
_SHORT = 6


def seconds_axis(axes: Axes, what: str, series: Sequence[NDArray[np.float64]]) -> None:
    """Label the y axis in s, ms or µs; use a logarithmic scale if times differ by tens.

    Parameters
    ----------
    axes
        The axes, whose y axis has values in seconds.
    what
        The name of the values.
    series
        The values of each thing drawn.
    """
    known = [values[np.isfinite(values) & (values > 0)] for values in series]
    known = [values for values in known if len(values)]
    if not known:
        return
    typical = min(float(np.median(values)) for values in known)
    least, most = (float(end([end(values) for values in known])) for end in (min, max))
    if most > _TENS * typical:
        logarithmic(axes, "y")
        axes.set_ylim(0.8 * least, 1.3 * most)
        axes.set_ylabel(what)
        return
    scale, unit = fitting_unit("s", most)
    axes.set_ylim(0, 1.05 * most)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value / scale:g}"))
    axes.set_ylabel(f"{what} [{unit}]")


def logarithmic(
    axes: Axes, which: Literal["x", "y"], told: Callable[[float, float], str] | None = None
) -> None:
    """Make an axis logarithmic, with marks at 1, 2 and 5, and at more if its range is small.

    Its numbers are times, unless `told` formats them.
    """
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = sorted(axis.get_view_interval())
    short = low > 0 and high / low < _SHORT
    axis.set_major_locator(MaxNLocator(5) if short else LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(told or _brief))
    axis.set_minor_formatter(FuncFormatter(lambda _value, _place: ""))


def _brief(seconds: float, _place: float = 0) -> str:
    if seconds >= 1:
        return f"{seconds:g} s"
    return f"{seconds * 1e3:g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:g} µs"


def steps(axes: Axes, t: NDArray[np.float64], y: NDArray[np.float64], **style: Any) -> None:
    """Draw a value that holds until the next one, as steps."""
    axes.step(t, y, where="post", **style)


#: About how wide a character of a title is, and one of the smaller text at its right [inch].
_TITLE_IN = 0.11
_ASIDE_IN = 0.08


def set_title(axes: Axes, title: str) -> None:
    """Set the title, in several lines if it is long, also if it would meet the one at the right."""
    aside = axes.get_title(loc="right")
    room = axes.get_position().width * root_figure(axes).get_figwidth()
    if len(title) * _TITLE_IN + len(aside) * _ASIDE_IN > room:
        title = textwrap.fill(title, max(20, int(room / _TITLE_IN)))
        # The text at the right stands beside the last line: it gets one that is empty.
        title += "\n" if aside else ""
    axes.set_title(title, loc="left")
    axes.set_title(aside, loc="right", fontsize=9, fontweight="normal")


def legend(
    axes: Axes,
    *,
    corner: Literal["upper left", "lower right"] | None = None,
    title: str | None = None,
) -> None:
    """Put the legend where it hides nothing: outside the data, or in an empty corner."""
    if not axes.get_legend_handles_labels()[0]:
        return
    if corner is None:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, title=title)
    else:
        axes.legend(loc=corner, frameon=True, framealpha=1.0, title=title)
