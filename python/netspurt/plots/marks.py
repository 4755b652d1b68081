"""Pictures drawn by matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator

from netspurt.pictures.marks import INKS, Band, Bars, Line, Mark, Picture, Points, Rules
from netspurt.pictures.thinning import MOST, kept, last_of_columns, merged
from netspurt.plots.style import draw_scale, legend

#: Matplotlib's names of shapes.
_SHAPES = {"dot": "o", "ring": "o", "cross": "x", "up": "^", "down": "v"}


def draw_picture(axes: Axes, picture: Picture) -> None:
    """Draw a picture.

    Of more marks than there is room for, those of one column are drawn as one; the title of the x
    axis says so.
    """
    for mark in picture.marks:
        _draw(axes, mark)
    (left, right), (low, high) = picture.ends
    axes.set_xlim(left, right)
    draw_scale(axes, picture.y, (low, high))
    crowded = any(len(getattr(mark, "x", ())) > MOST for mark in picture.marks)
    axes.set_xlabel(picture.x.label)
    if crowded:
        axes.set_xlabel(f"{picture.x.label}; marks at one instant of the picture are one", size=9)
    if picture.packet_bytes is not None:
        _packet_axis(axes, picture.packet_bytes)
    axes.set_title(picture.aside, loc="right", fontsize=9)
    legend(axes, corner=picture.corner)


def _draw(axes: Axes, mark: Mark) -> None:
    style: dict[str, Any] = {"color": INKS[mark.ink][0], "zorder": mark.rank}
    # A label that begins with an underscore stays out of the legend.
    label = mark.label or "_"
    match mark:
        case Line():
            _line(axes, mark, {"label": label, **style})
        case Bars():
            _bars(axes, mark, label, style)
        case Points():
            _points(axes, mark, {"label": label, **style})
        case Band():
            area: dict[str, Any] = {"step": "post", "alpha": mark.alpha, "linewidth": 0}
            axes.fill_between(mark.x, mark.low, mark.high, label=label, **area, **style)
        case Rules():
            for n, x in enumerate(mark.x):
                axes.axvline(x, linewidth=mark.width, label=label if n == 0 else None, **style)


def _line(axes: Axes, mark: Line, style: dict[str, Any]) -> None:
    x, y = mark.x, mark.y
    if len(x) > MOST and mark.steps and bool((np.diff(y) >= 0).all()):
        some = last_of_columns(x)
        x, y = x[some], y[some]
    style |= {"linewidth": mark.width, "linestyle": "--" if mark.dashed else "-"}
    axes.plot(x, y, drawstyle="steps-post" if mark.steps else "default", **style)


def _bars(axes: Axes, mark: Bars, label: str, style: dict[str, Any]) -> None:
    """Draw a bar for each row, and a dot at its middle, which is visible at every zoom."""
    bars = merged(np.column_stack([mark.x, mark.low, mark.high]))
    ends = np.stack([bars[:, [0, 1]], bars[:, [0, 2]]], axis=1)
    axes.add_collection(LineCollection(list(ends), label=label, linewidth=mark.width, **style))
    if mark.dot:
        middle = (mark.low + mark.high) / 2
        some = kept(mark.x, middle)
        dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "markeredgewidth": 0}
        axes.plot(mark.x[some], middle[some], markersize=mark.dot, **dots, **style)


def _points(axes: Axes, mark: Points, style: dict[str, Any]) -> None:
    some = kept(mark.x, mark.y)
    style |= {"linestyle": "none", "marker": _SHAPES[mark.shape], "markersize": mark.size}
    if mark.shape in ("ring", "cross"):
        style |= {"markeredgewidth": mark.width}
    if mark.shape == "ring":
        style |= {"markerfacecolor": "none"}
    # Marks on an axis are shown whole.
    axes.plot(mark.x[some], mark.y[some], clip_on=mark.shape != "up", **style)


class _PacketLocator(MaxNLocator):
    """Ticks at whole packets, counted from 1."""

    def __init__(self) -> None:
        super().__init__(nbins=12, integer=True)

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        return sorted({max(float(tick), 1.0) for tick in super().tick_values(vmin, vmax)})


def _packet_axis(axes: Axes, size: int) -> None:
    """Put packet numbers on the right."""

    def packet(seq: Any) -> Any:
        return (seq - 1) / size + 0.5

    def sequence(number: Any) -> Any:
        return (number - 0.5) * size + 1

    right = axes.secondary_yaxis("right", functions=(packet, sequence))
    right.yaxis.set_major_locator(_PacketLocator())
    right.set_ylabel("packet")
