"""Plots. They take tables, and so serve every instrument that fills them.

Each kind is a function that draws on a matplotlib axes; `draw` picks one by name and `RunPlots`
saves them for a run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from matplotlib import rc_context
from matplotlib.figure import Figure

from netspurt.plots.cwnd import draw_cwnd
from netspurt.plots.queue import draw_queue
from netspurt.plots.rto import draw_rto
from netspurt.plots.style import SETTINGS, View, new_figure
from netspurt.plots.time_sequence import draw_time_sequence
from netspurt.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["KINDS", "RunPlots", "Tables", "View", "draw", "save"]


class Tables(Protocol):
    """Anything that has a title and tables by name."""

    @property
    def title(self) -> str:
        """What the plot is headed with."""

    def table(self, name: str) -> Table:
        """Return a table, or raise an error that says how to get it."""


#: Plot kinds by name.
KINDS: dict[str, Callable[[Axes, Tables, View], None]] = {
    "time-sequence": draw_time_sequence,
    "cwnd": draw_cwnd,
    "rto": draw_rto,
    "queue": draw_queue,
}


def draw(tables: Tables, kind: str, view: View | None = None) -> Figure:
    """Return a figure of one kind.

    Parameters
    ----------
    tables
        A run, or anything with the same tables.
    kind
        One of `KINDS`.
    view
        What to show of it.

    Raises
    ------
    ValueError
        When there is no such kind, or nothing to show.
    """
    if kind not in KINDS:
        raise ValueError(f"no plot of kind {kind!r}: there are {', '.join(KINDS)}")
    figure, axes = new_figure()
    KINDS[kind](axes, tables, view or View())
    axes.set_title(tables.title, loc="left")
    return figure


def save(figure: Figure, files: Iterable[Path]) -> None:
    """Write a figure to files; the ending of each names its format.

    No file is ever half-written under its name.
    """
    for file in files:
        partial = file.with_name(f".{file.stem}.partial-{os.getpid()}{file.suffix}")
        try:
            metadata = {"Date": None} if file.suffix == ".svg" else {}
            with rc_context(SETTINGS):
                figure.savefig(partial, metadata=metadata)
            partial.replace(file)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


@dataclass(frozen=True)
class RunPlots:
    """The plots of a run."""

    run: Tables

    def time_sequence(self, file: str | os.PathLike[str], view: View | None = None) -> None:
        """Draw sequence numbers over time, as seen at the sender."""
        self._save("time-sequence", file, view)

    def cwnd(self, file: str | os.PathLike[str], view: View | None = None) -> None:
        """Draw the congestion window, ssthresh and what is in flight."""
        self._save("cwnd", file, view)

    def rto(self, file: str | os.PathLike[str], view: View | None = None) -> None:
        """Draw round-trip samples and the retransmission timer."""
        self._save("rto", file, view)

    def queue(self, file: str | os.PathLike[str], view: View | None = None) -> None:
        """Draw queue lengths and drops."""
        self._save("queue", file, view)

    def _save(self, kind: str, file: str | os.PathLike[str], view: View | None) -> None:
        save(draw(self.run, kind, view), [Path(file)])
