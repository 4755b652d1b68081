"""Draws pictures of tables with matplotlib.

`draw` draws a kind of picture of a run, and `RunPlots` also writes the pictures of a run to files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.figure import Figure

from netspurt.pictures import KINDS, NEEDS, OPTIONS, Tables, View, busier, picture, settled
from netspurt.plots.files import File, save, saved
from netspurt.plots.marks import draw_picture
from netspurt.plots.moving import draw_path
from netspurt.plots.style import SETTINGS, Size, new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "KINDS",
    "NEEDS",
    "OPTIONS",
    "RunPlots",
    "Tables",
    "View",
    "busier",
    "draw",
    "draw_path",
    "save",
    "settled",
]


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
    tables, kind, view
        As in `netspurt.pictures.picture`.
    ax
        Existing axes to draw into; its figure is returned.
    size
        The width and height of a new figure in inches.

    Raises
    ------
    ValueError
        If there is no such kind or nothing to show, if an option of the view does not apply to the
        kind, or if `ax` and `size` are both given.
    """
    shown = picture(tables, kind, view)
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        draw_picture(axes, shown)
        set_title(axes, tables.title)
    return figure


@dataclass(frozen=True)
class RunPlots:
    """The plots of a run as figures; each method also writes its figure if a file is named.

    The file ends in .png, .svg or .pdf. `view` selects the part of the run. `ax` has existing axes
    to draw into; the method `path` does not have this parameter. `size` is the width and height of
    a new figure in inches.
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
        """Draw sequence numbers over time, observed at the view's node; by default at the sender.

        If no packets were recorded at the sender, the default is the first node at which packets
        were recorded.
        """
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
        """Draw the changes of the view's link, or of the first link that changes.

        Raises
        ------
        ValueError
            If no link changes, if the named link does not change, or if the view names a flow, a
            direction or a node.
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
