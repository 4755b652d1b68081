"""What all plots share: figure, colours, and the part of a run to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netspurt.table import Table

#: Okabe and Ito's palette, told apart with every kind of colour vision.
BLACK = "#1a1a1a"
BLUE = "#0072b2"
GREEN = "#009e73"
ORANGE = "#e69f00"
PURPLE = "#a2559c"
RED = "#d32f2f"
SKY = "#56b4e9"
GREY = "#9a9a9a"

#: For matplotlib, while figures are made and written; the salt makes SVGs repeatable.
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
    """What to show.

    Attributes
    ----------
    flow, node, link
        Whose; by default the first flow, its sender, and every link that ever queued.
    start, end
        From when to when, in seconds.
    """

    flow: str | None = None
    node: str | None = None
    link: str | None = None
    start: float | None = None
    end: float | None = None

    def clip(self, table: Table) -> Table:
        """Return the rows within the time shown."""
        t = table.seconds()
        keep = np.ones(len(t), dtype=np.bool_)
        if self.start is not None:
            keep &= t >= self.start
        if self.end is not None:
            keep &= t <= self.end
        return table if keep.all() else table.select(keep)


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
    """Return the wanted name, or the first there is.

    Raises
    ------
    ValueError
        When the name is not there, or nothing is.
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


def steps(axes: Axes, t: NDArray[np.float64], y: NDArray[np.float64], **style: Any) -> None:
    """Draw a value that holds until the next one."""
    axes.step(t, y, where="post", **style)


def legend(axes: Axes, *, inside: bool = False) -> None:
    """Put the legend where it hides nothing: beside the data, or in their upper left corner."""
    if axes.get_legend_handles_labels()[0]:
        anchor = (0.0, 1.0) if inside else (1.0, 1.0)
        axes.legend(loc="upper left", bbox_to_anchor=anchor, frameon=inside, framealpha=1.0)
