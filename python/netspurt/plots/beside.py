"""Time-sequence plots of two runs, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from netspurt.pictures.measures import ELAPSED, fitting_unit
from netspurt.pictures.time_sequence import time_sequence
from netspurt.pictures.view import Tables, View
from netspurt.plots.marks import draw_picture
from netspurt.plots.several import one_legend
from netspurt.plots.style import GREY, SETTINGS, Size, new_figures, set_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


@dataclass(frozen=True)
class ComparedRun:
    """One of the two runs.

    Attributes
    ----------
    run
        Anything with tables.
    name
        The name that the plot shows.
    start_s
        When the first data segment left, in seconds from the start of the run.
    view
        The flow, its direction, and the node that observed it.
    """

    run: Tables
    name: str
    start_s: float
    view: View


def draw_beside(
    runs: tuple[ComparedRun, ComparedRun],
    span_s: float,
    parted_s: float | None,
    *,
    ax: Sequence[Axes] | None = None,
    size: Size | None = None,
) -> Figure:
    """Draw two runs on equal axes, each from its first data segment on.

    Parameters
    ----------
    runs
        The two runs.
    span_s
        The duration shown, in seconds.
    parted_s
        The instant of the first difference, in seconds after the first data segment, shown as a
        dotted line in both runs. It is `None` if the runs never differ.
    ax
        Two existing axes to draw into; their figure is returned.
    size
        The width and height of a new figure in inches.
    """
    figure, both = new_figures(2, ax, size, (14, 6.5))
    with rc_context(SETTINGS):
        ends = [one.start_s + span_s for one in runs]
        views = [
            replace(one.view, start=one.start_s, end=end)
            for one, end in zip(runs, ends, strict=True)
        ]
        pictures = [time_sequence(one.run, view) for one, view in zip(runs, views, strict=True)]
        low = min(picture.ends[1][0] for picture in pictures)
        high = max(picture.ends[1][1] for picture in pictures)
        for axes, one, picture in zip(both, runs, pictures, strict=True):
            draw_picture(axes, replace(picture, y=replace(picture.y, low=low, high=high)))
            set_title(axes, one.name)
            axes.tick_params(labelleft=True)
            _from_data(axes, one.start_s, span_s)
            if parted_s is not None:
                _part(axes, one.start_s + parted_s)
        one_legend(figure, both, "outside lower center")
        return figure


def _from_data(axes: Axes, start_s: float, span_s: float) -> None:
    """Shift the time axis to begin with the first data segment."""
    size, unit = fitting_unit(ELAPSED, span_s)
    round_values = MaxNLocator(nbins=8).tick_values(0, span_s / size)
    ticks = [size * tick for tick in round_values if 0 <= size * tick <= span_s]
    axes.set_xlim(start_s - 0.02 * span_s, start_s + 1.02 * span_s)
    axes.set_xticks([start_s + tick for tick in ticks], [f"{tick / size:g}" for tick in ticks])
    axes.set_xlabel(f"time since the first data segment [{unit}]")


def _part(axes: Axes, at_s: float) -> None:
    axes.axvline(at_s, color=GREY, linestyle=":", linewidth=1.4, zorder=1)
    axes.annotate(
        "first difference",
        (at_s, 1.0),
        (4, -4),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        va="top",
        fontsize=9,
    )
