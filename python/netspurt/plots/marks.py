"""Draws the marks of pictures with matplotlib. A mark is a line, points or another visible part."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator

from netspurt.pictures.marks import (
    INKS,
    Band,
    Bars,
    Blocks,
    Cells,
    Floats,
    Mark,
    Picture,
    Points,
    Polyline,
    Rules,
    Shades,
    Spans,
)
from netspurt.pictures.thinning import MOST, kept, last_of_columns, merged
from netspurt.plots.style import draw_scale, legend

#: Matplotlib's names of shapes.
_SHAPES = {
    "dot": "o", "square": "s", "ring": "o", "cross": "x", "up": "^", "down": "v", "tick": "|",
}  # fmt: skip

#: More than this number of points are drawn as an image in vector files.
_VECTORS = 2_000


def draw_picture(axes: Axes, picture: Picture) -> None:
    """Draw a picture.

    A mark may have more than `MOST` bars, or more than `MOST` points of a rising step line. Then
    the bars or points in one column of pixels are drawn as one bar or one point. If a mark has more
    than `MOST` separate points, one point in each cell of a grid is drawn. If bars or points are
    left out in this way, the label of the x axis says that marks are merged.
    """
    complete = [_draw(axes, mark) for mark in picture.marks]
    across, up = picture.ends
    draw_scale(axes, picture.x, across, "x")
    draw_scale(axes, picture.y, up)
    if not all(complete):
        told = f"{axes.get_xlabel()}; marks in one column of dots are merged"
        axes.set_xlabel(told, size=9)
    if picture.packet_bytes is not None:
        _packet_axis(axes, picture.packet_bytes)
    axes.set_title(picture.aside, loc="right", fontsize=9, parse_math=False)
    legend(axes, corner=picture.corner, title=picture.legend or None)


def _draw(axes: Axes, mark: Mark) -> bool:
    """Draw a mark. Return whether all its bars and points are drawn without merging."""
    style: dict[str, Any] = {"color": INKS[mark.ink][0], "zorder": mark.rank}
    # A label that begins with an underscore stays out of the legend.
    label = mark.label or "_"
    match mark:
        case Polyline():
            return _line(axes, mark, {"label": label, **style})
        case Bars():
            return _bars(axes, mark, label, style)
        case Points():
            return _points(axes, mark, {"label": label, **style})
        case Band():
            area: dict[str, Any] = {"alpha": mark.alpha, "linewidth": 0}
            area |= {"step": "post" if mark.steps else None}
            axes.fill_between(mark.x, mark.low, mark.high, label=label, **area, **style)
        case Spans():
            ends = np.array(
                [[[a, y], [b, y]] for a, b, y in zip(mark.left, mark.right, mark.y, strict=True)]
            )
            axes.add_collection(
                LineCollection(list(ends), label=label, linewidth=mark.width, **style)
            )
            if mark.caps:
                _caps(axes, np.append(mark.left, mark.right), np.tile(mark.y, 2), "|", style)
        case Shades():
            for n, (left, right) in enumerate(zip(mark.left, mark.right, strict=True)):
                # The edge makes a shade visible even if it is narrower than a pixel.
                area = {"alpha": mark.alpha, "linewidth": 0.8}
                axes.axvspan(left, right, label=label if n == 0 else None, **area, **style)
        case Blocks():
            _blocks(axes, mark, label, style)
        case Cells():
            _cells(axes, mark)
        case Rules():
            style |= {"linewidth": mark.width, "linestyle": "--" if mark.dashed else "-"}
            for n, x in enumerate(mark.x):
                axes.axvline(x, label=label if n == 0 else None, **style)
    return True


def _line(axes: Axes, mark: Polyline, style: dict[str, Any]) -> bool:
    x, y = mark.x, mark.y
    if len(x) > MOST and mark.steps and bool((np.diff(y) >= 0).all()):
        some = last_of_columns(x)
        x, y = x[some], y[some]
    style |= {"linewidth": mark.width, "linestyle": "--" if mark.dashed else "-"}
    style |= {"marker": "o", "markersize": mark.dot} if mark.dot else {}
    axes.plot(x, y, drawstyle="steps-post" if mark.steps else "default", **style)
    return len(x) == len(mark.x)


def _bars(axes: Axes, mark: Bars, label: str, style: dict[str, Any]) -> bool:
    """Draw a bar for each row. If the mark has dots, also draw a dot at the middle of each bar.

    A dot is visible at every zoom.
    """
    bars = merged(np.column_stack([mark.x, mark.low, mark.high]))
    ends = np.stack([bars[:, [0, 1]], bars[:, [0, 2]]], axis=1)
    axes.add_collection(LineCollection(list(ends), label=label, linewidth=mark.width, **style))
    if mark.caps:
        _caps(axes, np.tile(mark.x, 2), np.append(mark.low, mark.high), "_", style)
    if mark.dot:
        middle = (mark.low + mark.high) / 2
        some = kept(mark.x, middle)
        dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "markeredgewidth": 0}
        axes.plot(mark.x[some], middle[some], markersize=mark.dot, **dots, **style)
    return len(bars) == len(mark.x)


def _caps(axes: Axes, x: Floats, y: Floats, marker: str, style: dict[str, Any]) -> None:
    """Draw short lines across the ends of intervals."""
    axes.plot(x, y, linestyle="none", marker=marker, markersize=5, label="_", **style)


def _blocks(axes: Axes, mark: Blocks, label: str, style: dict[str, Any]) -> None:
    look: dict[str, Any] = {"align": "edge", "linewidth": 0, "alpha": mark.alpha}
    look |= {"hatch": "//" if mark.hatched else None, "edgecolor": "white"}
    axes.bar(mark.left, mark.y, mark.right - mark.left, label=label, **look, **style)


def _cells(axes: Axes, mark: Cells) -> None:
    image = axes.imshow(mark.values, origin="lower", aspect="auto", cmap="cividis")
    axes.grid(visible=False)
    middle = (np.nanmin(mark.values) + np.nanmax(mark.values)) / 2
    for y, row in enumerate(mark.texts):
        for x, text in ((x, text) for x, text in enumerate(row) if text):
            color = "white" if mark.values[y, x] < middle else "black"
            axes.text(x, y, text, ha="center", va="center", fontsize=8, color=color)
    axes.figure.colorbar(image, ax=axes)


def _points(axes: Axes, mark: Points, style: dict[str, Any]) -> bool:
    some = kept(mark.x, mark.y)
    style |= {"linestyle": "none", "marker": _SHAPES[mark.shape], "markersize": mark.size}
    if mark.shape in ("ring", "cross"):
        style |= {"markeredgewidth": mark.width}
    if mark.shape == "ring":
        style |= {"markerfacecolor": "none"}
    elif mark.hollow:
        style |= {"markerfacecolor": "white"}
    # Marks of the shapes `up` and `tick` may stand at the edge of the picture. They are not cut.
    style |= {"clip_on": mark.shape not in ("up", "tick"), "rasterized": len(some) > _VECTORS}
    axes.plot(mark.x[some], mark.y[some], **style)
    return len(some) == len(mark.x)


class _PacketLocator(MaxNLocator):
    """Ticks at whole packets, counted from 1."""

    def __init__(self) -> None:
        super().__init__(nbins=12, integer=True)

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        # If the axis has less than two packets, the locator returns fractions in spite of
        # `integer`.
        return sorted({max(float(round(tick)), 1.0) for tick in super().tick_values(vmin, vmax)})


def _packet_axis(axes: Axes, size: int) -> None:
    """Put packet numbers on the right."""

    def packet(seq: Any) -> Any:
        return (seq - 1) / size + 0.5

    def sequence(number: Any) -> Any:
        return (number - 0.5) * size + 1

    right = axes.secondary_yaxis("right", functions=(packet, sequence))
    right.yaxis.set_major_locator(_PacketLocator())
    right.set_ylabel("packet")
