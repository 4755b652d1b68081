"""Plots. They read tables, and so work for every instrument that fills tables.

Each kind is a function that draws on a matplotlib axes. `draw` selects one by name, and `RunPlots`
saves the plots of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from netspurt.plots.cwnd import draw_cwnd
from netspurt.plots.files import ENDINGS, File, save, saved
from netspurt.plots.flows import draw_flows
from netspurt.plots.moving import draw_path
from netspurt.plots.queue import draw_queue
from netspurt.plots.rto import draw_rto
from netspurt.plots.style import SETTINGS, Size, View, new_figure, optional, set_title
from netspurt.plots.time_sequence import draw_time_sequence
from netspurt.plots.traffic import draw_density, draw_outstanding, draw_throughput
from netspurt.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ENDINGS", "KINDS", "RunPlots", "Tables", "View", "busier", "draw", "draw_path", "save"]


class Tables(Protocol):
    """Anything that has a title, an end and tables by name."""

    @property
    def title(self) -> str:
        """The heading of the plot."""

    @property
    def stop_ns(self) -> int:
        """When the run ended."""

    def table(self, name: str) -> Table:
        """Return a table, or raise an error that says how to record it."""


#: Plot kinds by name.
KINDS: dict[str, Callable[[Axes, Tables, View], None]] = {
    "time-sequence": draw_time_sequence,
    "cwnd": draw_cwnd,
    "rto": draw_rto,
    "queue": draw_queue,
    "outstanding": draw_outstanding,
    "throughput": draw_throughput,
    "density": draw_density,
    "flows": draw_flows,
}

#: The options of a view, other than time, that apply to each kind.
OPTIONS = {
    "time-sequence": ("flow", "direction", "node"),
    "cwnd": ("flow", "direction"),
    "rto": ("flow", "direction"),
    "queue": ("link",),
    "outstanding": ("flow", "direction", "node"),
    "throughput": ("flow", "direction", "node"),
    "density": ("flow", "direction", "node"),
    "flows": ("flow", "direction", "node"),
}


#: The kinds that show one direction of a flow.
_OF_ONE_DIRECTION = ("time-sequence", "cwnd", "rto", "outstanding", "throughput", "density")


def busier(tables: Tables, flow: str | None = None) -> str | None:
    """Return the direction of a flow in which most octets were acknowledged; forward, if equal.

    It is `None` if nothing is known of the flow; the flow is the first by default.
    """
    flows = optional(tables, "flows")
    if flows is None or len(flows) == 0 or "acked_bytes" not in list(flows):
        return None
    own = flows.where(flow=str(flows["flow"][0]) if flow is None else flow)
    if len(own) == 0:
        return None
    return str(own["direction"][int(np.argmax(own["acked_bytes"]))])


def draw(
    tables: Tables,
    kind: str,
    view: View | None = None,
    *,
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure of one kind.

    Parameters
    ----------
    tables
        A run, or anything with the same tables.
    kind
        One of `KINDS`.
    view
        What to show of it.
    ax
        An axes of the caller's to draw into; its figure is returned.
    size
        The width and height of a new figure in inches.

    Raises
    ------
    ValueError
        If there is no such kind, or nothing to show.
    """
    if kind not in KINDS:
        raise ValueError(f"no plot of kind {kind!r}: there are {', '.join(KINDS)}")
    view = view or View()
    for given in ("flow", "direction", "node", "link"):
        if getattr(view, given) is not None and given not in OPTIONS[kind]:
            fitting = " and ".join(kind for kind, takes in OPTIONS.items() if given in takes)
            raise ValueError(f"--{given} does not apply to {kind} plots, but to {fitting}")
    if view.direction is None and kind in _OF_ONE_DIRECTION:
        view = replace(view, direction=busier(tables, view.flow))
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        KINDS[kind](axes, tables, view)
        set_title(axes, tables.title)
    return figure


@dataclass(frozen=True)
class RunPlots:
    """The plots of a run, as figures; with a file, .png, .svg or .pdf, they are written, too.

    `view` is what to show, `ax` an axes of the caller's to draw into, and `size` the width and
    height of a new figure in inches.
    """

    run: Tables

    def time_sequence(
        self,
        file: File = None,
        view: View | None = None,
        *,
        ax: Axes | None = None,
        size: Size | None = None,
    ) -> Figure:
        """Draw sequence numbers over time, observed at the sender."""
        return saved(draw(self.run, "time-sequence", view, ax=ax, size=size), file)

    def cwnd(
        self,
        file: File = None,
        view: View | None = None,
        *,
        ax: Axes | None = None,
        size: Size | None = None,
    ) -> Figure:
        """Draw the congestion window, ssthresh and the flight size."""
        return saved(draw(self.run, "cwnd", view, ax=ax, size=size), file)

    def rto(
        self,
        file: File = None,
        view: View | None = None,
        *,
        ax: Axes | None = None,
        size: Size | None = None,
    ) -> Figure:
        """Draw round-trip samples and the retransmission timer."""
        return saved(draw(self.run, "rto", view, ax=ax, size=size), file)

    def path(
        self,
        file: File = None,
        view: View | None = None,
        *,
        size: Size | None = None,
    ) -> Figure:
        """Draw what a link follows that changes during the run: the first, or the view's.

        Raises
        ------
        ValueError
            If no link changes, or not the named one.
        """
        return saved(draw_path(self.run, view or View(), size=size), file)

    def queue(
        self,
        file: File = None,
        view: View | None = None,
        *,
        ax: Axes | None = None,
        size: Size | None = None,
    ) -> Figure:
        """Draw queue lengths and drops."""
        return saved(draw(self.run, "queue", view, ax=ax, size=size), file)
