"""Shared parts of all plots: figure, colours, and the part of a run to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

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
SKY = "#56b4e9"
GREY = "#9a9a9a"

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


def new_figure() -> tuple[Figure, Axes]:
    """Return a figure with one axes in the house style."""
    with rc_context(SETTINGS):
        figure = Figure(figsize=(10, 6), dpi=150, layout="constrained")
        axes = figure.add_subplot()
    axes.grid(visible=True, color="#ececec", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("time [s]")
    return figure, axes


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
    scale, unit = next(
        (s, u) for s, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")) if most >= 5 * s
    )
    axes.yaxis.set_major_formatter(FuncFormatter(lambda octets, _: f"{octets / scale:g}"))
    axes.set_ylabel(f"{what} [{unit}]")


def steps(axes: Axes, t: NDArray[np.float64], y: NDArray[np.float64], **style: Any) -> None:
    """Draw a value that holds until the next one, as steps."""
    axes.step(t, y, where="post", **style)


def legend(axes: Axes, *, corner: Literal["upper left", "lower right"] | None = None) -> None:
    """Put the legend where it hides nothing: outside the data, or in an empty corner."""
    if not axes.get_legend_handles_labels()[0]:
        return
    if corner is None:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    else:
        axes.legend(loc=corner, frameon=True, framealpha=1.0)
