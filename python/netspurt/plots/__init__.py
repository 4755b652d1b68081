"""Plots. They read tables, and so work for every instrument that fills tables.

Each kind is a function that draws on a matplotlib axes. `draw` selects one by name, and `RunPlots`
saves the plots of a run.
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

__all__ = ["ENDINGS", "KINDS", "RunPlots", "Tables", "View", "draw", "save"]


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
}

#: The options of a view, other than time, that apply to each kind.
OPTIONS = {
    "time-sequence": ("flow", "direction", "node"),
    "cwnd": ("flow", "direction"),
    "rto": ("flow", "direction"),
    "queue": ("link",),
}

#: The endings of image files.
ENDINGS = (".png", ".svg", ".pdf")


def draw(tables: Tables, kind: str, view: View | None = None) -> Figure:
    """Return a figure of one kind.

    Parameters
    ----------
    tables
        A run, or anything with the same tables.
    kind
        One of `KINDS`.
    The part to show.
        What to show of it.

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
    figure, axes = new_figure()
    KINDS[kind](axes, tables, view)
    axes.set_title(tables.title, loc="left")
    return figure


def save(figure: Figure, files: Iterable[Path]) -> None:
    """Write a figure to files; the ending of each names its format.

    A file appears under its name only when it is complete.

    Raises
    ------
    ValueError
        If a name does not end in a known ending.
    """
    files = list(files)
    for file in files:
        if file.suffix not in ENDINGS:
            raise ValueError(f"{file.name}: the name of a plot's file must end in {_endings()}")
    for file in files:
        partial = file.with_name(f".{file.stem}.partial-{os.getpid()}{file.suffix}")
        try:
            metadata = {"Date": None} if file.suffix == ".svg" else {}
            with rc_context(SETTINGS):
                figure.savefig(partial, metadata=metadata)
            partial.replace(file)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise type(error)(f"{file} cannot be written: {error.strerror or error}") from error
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def _endings() -> str:
    return f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"


@dataclass(frozen=True)
class RunPlots:
    """The plots of a run: each writes a file, .png, .svg or .pdf, and returns its path."""

    run: Tables

    def time_sequence(self, file: str | os.PathLike[str], view: View | None = None) -> Path:
        """Draw sequence numbers over time, observed at the sender."""
        return self._save("time-sequence", file, view)

    def cwnd(self, file: str | os.PathLike[str], view: View | None = None) -> Path:
        """Draw the congestion window, ssthresh and the flight size."""
        return self._save("cwnd", file, view)

    def rto(self, file: str | os.PathLike[str], view: View | None = None) -> Path:
        """Draw round-trip samples and the retransmission timer."""
        return self._save("rto", file, view)

    def queue(self, file: str | os.PathLike[str], view: View | None = None) -> Path:
        """Draw queue lengths and drops."""
        return self._save("queue", file, view)

    def _save(self, kind: str, file: str | os.PathLike[str], view: View | None) -> Path:
        save(draw(self.run, kind, view), [Path(file)])
        return Path(file)
