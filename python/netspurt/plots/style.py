"""Shared parts of all plots: figures, colours, axes, titles and legends."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator

from netspurt.pictures import marks
from netspurt.pictures.cases import crowded
from netspurt.pictures.measures import ELAPSED, fitting_unit

#: The colours by name.
BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, BROWN, SKY, GREY, OLIVE = (
    one for one, _ in marks.INKS.values()
)

#: The colours of series, in order.
SERIES = tuple(marks.INKS[ink][0] for ink in marks.SERIES)

#: Settings of matplotlib for making and writing figures. The salt makes SVGs reproducible. A dollar
#: sign in a name or a title is a character, and does not begin a formula.
SETTINGS: dict[Any, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titleweight": "bold",
    "font.size": 10,
    "legend.fontsize": 9,
    "svg.hashsalt": "netspurt",
    "text.parse_math": False,
}


#: The width and height of a figure, in inches.
Size = tuple[float, float]


def new_figure(
    ax: Axes | None = None, size: Size | None = None, usual: Size = (10, 6)
) -> tuple[Figure, Axes]:
    """Return a figure with one axes in the style of netspurt, or the given axes and their figure.

    Parameters
    ----------
    ax
        Existing axes to draw into.
    size
        The width and height of a new figure in inches.
    usual
        The size of a new figure if `size` is not given.

    Raises
    ------
    ValueError
        If `ax` and `size` are both given, because the figure of an axes already has a size.
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
        raise ValueError("size is only for a new figure: leave out size or ax")


def new_figures(
    count: int, ax: Sequence[Axes] | None, size: Size | None, usual: Size
) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure with axes side by side that share their y axis, or the given axes.

    Raises
    ------
    ValueError
        If `ax` and `size` are both given, or if `ax` does not have `count` axes.
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
    """Return the outermost figure of an axes."""
    figure = ax.get_figure(root=True)
    if not isinstance(figure, Figure):
        raise ValueError("ax belongs to no figure")
    return figure


def draw_scale(
    axes: Axes,
    scale: marks.Scale,
    ends: tuple[float, float] | None = None,
    which: Literal["x", "y"] = "y",
) -> None:
    """Set one axis of an axes: its ends, its label, and numbers in the unit that fits.

    Parameters
    ----------
    axes
        The axes.
    scale
        The label, unit and kind of the axis.
    ends
        The ends of the axis; by default the ends in `scale`.
    which
        The axis.
    """
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = ends or (scale.low, scale.high)
    if scale.log:
        axes.set(**{f"{which}scale": "log"})
    axes.set(**{f"{which}lim": (low, high)})
    label = scale.label
    if scale.ticks:
        _name(axes, which, scale)
    elif scale.log and (scale.unit in _WRITTEN or not scale.unit):
        logarithmic(axes, which, _WRITTEN.get(scale.unit, _plain))
    elif scale.log:
        size, unit = fitting_unit(scale.unit, axis.get_view_interval()[1])
        logarithmic(axes, which, lambda value, _place: f"{value / size:g}")
        label += f" [{unit}]"
    elif scale.unit == "%":
        axis.set_major_formatter(FuncFormatter(_percent))
    else:
        least, most = axis.get_view_interval()
        label = _linear(axis, scale, most - least if scale.unit == ELAPSED else most)
    # The user's own axes may have been made with other settings.
    axis.set_label_text(label, parse_math=False)
    if scale.zero is not None:
        _mark_zero(axes, which, scale.zero)


def _mark_zero(axes: Axes, which: Literal["x", "y"], at: float) -> None:
    """Mark the place of zeros on a logarithmic axis with a dotted line and a tick."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    line = axes.axvline if which == "x" else axes.axhline
    line(at, color=GREY, linestyle=":", linewidth=1.0, zorder=0.5)
    locate, told = axis.get_major_locator(), axis.get_major_formatter()
    low, high = sorted(axis.get_view_interval())
    # Numbers near the zero are left out, because they would cover it.
    near = at * (high / low) ** 0.06
    places = [one for one in locate() if low <= one <= high and one > near]
    axis.set_major_locator(FixedLocator([at, *places]))
    axis.set_major_formatter(FuncFormatter(lambda v, n: "0" if v == at else told(v, n)))


def _linear(axis: Any, scale: marks.Scale, most: float) -> str:
    """Format the numbers of a linear axis, and return its label."""
    if scale.whole:
        axis.set_major_locator(MaxNLocator(integer=True))
    size, unit = fitting_unit(scale.unit, most)
    if scale.unit == ELAPSED:
        axis.set_major_locator(_Units(size))
    if scale.unit and not scale.whole:
        axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value / size:g}"))
    return f"{scale.label} [{unit}]" if unit else scale.label


class _Units(MaxNLocator):
    """Ticks at round values in a unit of `size` seconds."""

    def __init__(self, size: float) -> None:
        super().__init__(nbins="auto", steps=[1, 2, 2.5, 5, 10])
        self.size = size

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        return [self.size * one for one in super().tick_values(vmin / self.size, vmax / self.size)]


def _name(axes: Axes, which: Literal["x", "y"], scale: marks.Scale) -> None:
    """Write the labels of a scale at their places."""
    places, labels = zip(*scale.ticks, strict=True)
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_ticks(places, labels, parse_math=False)
    axes.minorticks_off()
    if which == "x" and crowded(labels):
        axes.tick_params(axis="x", labelrotation=25)


#: A logarithmic axis has evenly spaced numbers if the ratio of its ends is below this limit.
_SHORT = 6

#: A horizontal logarithmic axis has one number for each decade if the ratio of its ends is above
#: this limit.
_WIDE = 5_000


def logarithmic(
    axes: Axes, which: Literal["x", "y"], told: Callable[[float, float], str] | None = None
) -> None:
    """Make an axis logarithmic, with numbers at 1, 2 and 5 of each decade.

    On a small range, the numbers are evenly spaced. On a large range of a horizontal axis, there is
    one number for each decade. `told` formats the numbers. By default, the numbers are times.
    """
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = sorted(axis.get_view_interval())
    short = low > 0 and high / low < _SHORT
    # Side by side, numbers need more room than one below the other.
    many = which == "x" and low > 0 and high / low > _WIDE
    axis.set_major_locator(
        MaxNLocator(5) if short else LogLocator(subs=(1.0,) if many else (1.0, 2.0, 5.0))
    )
    axis.set_major_formatter(FuncFormatter(told or _brief))
    axis.set_minor_formatter(FuncFormatter(lambda _value, _place: ""))


def _plain(value: float, _place: float = 0) -> str:
    return f"{value:g}"


def _percent(share: float, _place: float = 0) -> str:
    return f"{100 * share:g} %"


def _brief(seconds: float, _place: float = 0) -> str:
    if seconds >= 1:
        return f"{seconds:g} s"
    return f"{seconds * 1e3:g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:g} µs"


#: How numbers of a logarithmic axis are written with their unit.
_WRITTEN = {"s": _brief, "%": _percent}

#: The approximate widths of a character in a title, and in the smaller text at its right [inch].
_TITLE_IN = 0.11
_ASIDE_IN = 0.08


def set_title(axes: Axes, title: str) -> None:
    """Set the title, in several lines if it is long or would reach the title at the right."""
    aside = axes.get_title(loc="right")
    room = axes.get_position().width * root_figure(axes).get_figwidth()
    if len(title) * _TITLE_IN + len(aside) * _ASIDE_IN > room:
        title = textwrap.fill(title, max(20, int(room / _TITLE_IN)))
        # The text at the right is beside the last line. An empty last line makes room for it.
        title += "\n" if aside else ""
    axes.set_title(title, loc="left", parse_math=False)
    axes.set_title(aside, loc="right", fontsize=9, fontweight="normal", parse_math=False)


def legend(
    axes: Axes,
    *,
    corner: Literal["upper left", "lower right"] | None = None,
    title: str | None = None,
) -> None:
    """Put the legend where it hides no data: outside the axes or in an empty corner."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    # A long name beside the picture would leave little room for the picture.
    told = list(map(_folded, labels))
    if corner is None:
        axes.legend(
            handles, told, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, title=title
        )
    else:
        axes.legend(handles, told, loc=corner, frameon=True, framealpha=1.0, title=title)


#: The maximum number of characters in a line of a legend.
_NAME = 36


def _folded(label: str) -> str:
    """Return a label in lines of at most `_NAME` characters.

    A line ends at a blank or after a comma, because names of timers have commas between constants.

    Examples
    --------
    >>> print(_folded("mills-single:min=43ms,max=60s,karn=true (recommended)"))
    mills-single:min=43ms,max=60s,
    karn=true (recommended)
    """
    parts = re.findall(r"[^ ,]*[ ,]|[^ ,]+$", label)
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > _NAME:
            lines.append("")
        lines[-1] += part
    # A part without blanks and commas may still be too long.
    return "\n".join(textwrap.fill(line.rstrip(), _NAME, break_on_hyphens=False) for line in lines)
