"""Draws replays with matplotlib. A replay applies timers to recorded delays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib import rc_context

from netspurt.pictures.replay import KINDS, ReplayLike, replayed
from netspurt.plots.files import File, saved
from netspurt.plots.marks import draw_picture
from netspurt.plots.style import SETTINGS, Size, new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["KINDS", "ReplayPlots", "draw"]


def draw(
    replay: ReplayLike,
    kind: str,
    *,
    first: str = "",
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure of one kind.

    Parameters
    ----------
    replay, kind, first
        As in `netspurt.pictures.replay.replayed`.
    ax
        Existing axes to draw into; its figure is returned.
    size
        The width and height of a new figure in inches.

    Raises
    ------
    ValueError
        If there is no such kind, or nothing to show, or if `ax` and `size` are both given.
    """
    shown = replayed(replay, kind, first)
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        draw_picture(axes, shown)
        set_title(axes, Path(replay.delays.name).name)
    return figure


@dataclass(frozen=True)
class ReplayPlots:
    """The plots of a replay as figures; each method also writes its figure if a file is named.

    The file ends in .png, .svg or .pdf. `ax` has existing axes to draw into. `size` is the width
    and height of a new figure in inches.
    """

    replay: ReplayLike

    def timeline(
        self, file: File = None, *, ax: Axes | None = None, size: Size | None = None
    ) -> Figure:
        """Draw delays and timers over time."""
        return self._drawn("timeline", file, ax, size)

    def histogram(
        self, file: File = None, *, ax: Axes | None = None, size: Size | None = None
    ) -> Figure:
        """Draw the distributions of delays and timers."""
        return self._drawn("histogram", file, ax, size)

    def scatter(
        self, file: File = None, *, ax: Axes | None = None, size: Size | None = None
    ) -> Figure:
        """Draw the timer of each probe against its delay."""
        return self._drawn("scatter", file, ax, size)

    def pareto(
        self, file: File = None, *, ax: Axes | None = None, size: Size | None = None
    ) -> Figure:
        """Draw spurious retransmissions against the mean timer."""
        return self._drawn("pareto", file, ax, size)

    def _drawn(self, kind: str, file: File, ax: Axes | None, size: Size | None) -> Figure:
        return saved(draw(self.replay, kind, ax=ax, size=size), file)
