"""The contents of a picture, as data: marks in units of the data, and two scales.

A mark is a line, points, bars or another visible part. A scale describes an axis.

The package `plots` draws the picture with matplotlib, and the package `report` in HTML. So each
kind of picture is written once, as a function from tables to a `Picture`, and looks the same
everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netspurt.pictures.measures import ELAPSED

Floats = NDArray[np.float64]

#: The colours by name, on white and on black. The blue, green, orange and sky on white are from the
#: palette of Okabe and Ito. People with every kind of colour vision can tell its colours apart. On
#: black, all colours except grey are lighter.
Ink = Literal["black", "blue", "green", "orange", "purple", "red", "brown", "sky", "grey", "olive"]
INKS: dict[Ink, tuple[str, str]] = {
    "black": ("#1a1a1a", "#e8e8e8"),
    "blue": ("#0072b2", "#4aa8e0"),
    "green": ("#009e73", "#2fc79b"),
    "orange": ("#e69f00", "#f0b429"),
    "purple": ("#a2559c", "#cf8bca"),
    "red": ("#d32f2f", "#ff6b63"),
    "brown": ("#8c510a", "#c98a45"),
    "sky": ("#56b4e9", "#8fd0f5"),
    "grey": ("#9a9a9a", "#8a8a8a"),
    "olive": ("#7f7f00", "#b5b53c"),
}

#: The colours of series, in order.
SERIES: tuple[Ink, ...] = ("blue", "orange", "green", "purple", "sky", "black")

#: The size of the dot of a line that has one point.
_LONE = 4.0

#: The forms of points. A ring goes around another mark. A tick is on the x axis.
Shape = Literal["dot", "square", "ring", "cross", "up", "down", "tick"]


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The properties that all marks have.

    Widths of lines and sizes of points are in typographic points. Pages scale them to pixels.

    Attributes
    ----------
    label
        The name in the legend. A mark without a label is not in the legend.
    ink
        The colour.
    rank
        The drawing order. A mark is drawn above all marks of lower rank.
    """

    label: str
    ink: Ink
    rank: float = 2.0


@dataclass(frozen=True, kw_only=True)
class Polyline(Mark):
    """A line through points, shape (n,). If `steps` is true, each value holds until the next.

    `dot` is the size of a dot at each point; 0 means no dot. A line of one point is a dot.
    """

    x: Floats
    y: Floats
    steps: bool = False
    dashed: bool = False
    width: float = 1.2
    dot: float = 0.0

    def __post_init__(self) -> None:
        if not self.dot and np.count_nonzero(np.isfinite(self.y)) == 1:
            object.__setattr__(self, "dot", _LONE)


@dataclass(frozen=True, kw_only=True)
class Bars(Mark):
    """Vertical bars from `low` to `high`, shape (n,).

    A dot at the middle of each bar is visible at every zoom. `dot` is its size; 0 means no dot. If
    `caps` is true, the bars are intervals, and each end has a short line across. `packet` has the
    packet number of each bar, if the number does not follow from the heights.
    """

    x: Floats
    low: Floats
    high: Floats
    width: float = 1.0
    dot: float = 0.0
    caps: bool = False
    packet: Floats | None = None


@dataclass(frozen=True, kw_only=True)
class Spans(Mark):
    """Horizontal intervals from `left` to `right`, shape (n,).

    If `caps` is true, the spans are confidence intervals, and each end has a short line across.
    """

    y: Floats
    left: Floats
    right: Floats
    width: float = 1.0
    caps: bool = True


@dataclass(frozen=True, kw_only=True)
class Blocks(Mark):
    """Areas between `left` and `right` from zero up to `y`, shape (n,): bars, or a histogram."""

    left: Floats
    right: Floats
    y: Floats
    alpha: float = 0.75
    hatched: bool = False


@dataclass(frozen=True, kw_only=True)
class Cells(Mark):
    """A value for each pair of ticks, shape (rows, columns). Smaller values are darker.

    NaN means no value. `texts` are the texts of the cells, row by row. There are no texts if there
    are too many cells.
    """

    values: Floats
    texts: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Points(Mark):
    """Points, shape (n,). If `hollow` is true, only their outlines are drawn.

    If a point represents an interval of y, `low` and `high` are its ends. `packet` has the same
    meaning as in `Bars`.
    """

    x: Floats
    y: Floats
    shape: Shape = "dot"
    size: float = 3.0
    width: float = 1.0
    hollow: bool = False
    low: Floats | None = None
    high: Floats | None = None
    packet: Floats | None = None


@dataclass(frozen=True, kw_only=True)
class Band(Mark):
    """An area between two values, shape (n,). If `steps` is true, values hold until the next."""

    x: Floats
    low: Floats
    high: Floats
    alpha: float = 0.25
    steps: bool = True


@dataclass(frozen=True, kw_only=True)
class Rules(Mark):
    """Vertical lines through the whole picture at places of the x axis, shape (n,)."""

    x: Floats
    width: float = 0.9
    dashed: bool = False


@dataclass(frozen=True, kw_only=True)
class Shades(Mark):
    """Areas of the whole height of the picture, from `left` to `right` on the x axis, shape (n,).

    Shades do not widen the axis.
    """

    left: Floats
    right: Floats
    alpha: float = 0.28


@dataclass(frozen=True)
class Scale:
    """An axis.

    Attributes
    ----------
    label
        The name of the values, without the unit.
    unit
        The unit of the data: `s`, `B` and `bit/s` get the prefix that suits the largest value; `%`
        is for shares from 0 to 1; `elapsed` is for instants in seconds.
    low, high
        The ends of the axis. By default, they are the ends of the marks plus a margin.
    start
        The value at which the data begins. The margin does not go below this value.
    zero
        Where zeros are drawn on a logarithmic axis, which has no zero. The place has the mark `0`.
    log
        True if the axis is logarithmic.
    whole
        True if the axis has numbers at whole values only.
    ticks
        Places on the axis with their labels. They replace the numbers.
    """

    label: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    start: float | None = None
    zero: float | None = None


#: The x axis of most pictures.
TIME = Scale("time", ELAPSED, start=0.0)


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes
    ----------
    marks
        The marks. If two marks have the same rank, the later mark is drawn above the other mark.
    y, x
        The scales.
    aside
        The subject in a few words: a flow, and the node that saw it.
    packet_bytes
        The size of packets, if all but the last have the same size. Then the right axis has packet
        numbers.
    corner
        The empty corner, for the legend. Without an empty corner, the legend is outside.
    legend
        The heading of the legend.
    """

    marks: tuple[Mark, ...]
    y: Scale
    x: Scale = TIME
    aside: str = ""
    packet_bytes: int | None = None
    corner: Literal["upper left", "lower right"] | None = None
    legend: str = ""

    @cached_property
    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The ends of the x and of the y axis."""
        return _ends(self.marks, self.x, 0), _ends(self.marks, self.y, 1)


#: The free space beyond the marks, as a part of their extent.
MARGIN = 0.05


def reach(marks: tuple[Mark, ...] | list[Mark], axis: Literal[0, 1]) -> tuple[float, float] | None:
    """Return the least and the greatest value of marks on the axis x (0) or y (1).

    The result is `None` if the marks have no values on this axis.
    """
    values = [value for mark in marks for value in _values(mark, axis)]
    known = [one[np.isfinite(one)] for one in values]
    known = [one for one in known if len(one)]
    if not known:
        return None
    return min(float(one.min()) for one in known), max(float(one.max()) for one in known)


def _values(mark: Mark, axis: int) -> list[Floats]:
    return _heights(mark) if axis else _places(mark)


def _places(mark: Mark) -> list[Floats]:
    match mark:
        case Polyline() | Points() | Bars() | Band() | Rules():
            return [mark.x]
        case Spans() | Blocks():
            return [mark.left, mark.right]
        case Cells():
            return [np.array([-0.5, mark.values.shape[1] - 0.5])]
    return []


def _heights(mark: Mark) -> list[Floats]:
    match mark:
        case Polyline() | Points() | Spans():
            return [mark.y]
        case Bars() | Band():
            return [mark.low, mark.high]
        case Blocks():
            return [mark.y, np.zeros(1)]
        case Cells():
            return [np.array([-0.5, mark.values.shape[0] - 0.5])]
    return []


def _ends(marks: tuple[Mark, ...], scale: Scale, axis: Literal[0, 1]) -> tuple[float, float]:
    known = [scale.low, scale.high]
    if None in known:
        there = reach(marks, axis) or (0.0, 1.0)
        given = [end for end in known if end is not None]
        found = _with_margin(there, given, log=scale.log)
        if scale.start is not None and there[0] >= scale.start:
            found = max(found[0], scale.start), found[1]
        known = [end if own is None else own for own, end in zip(known, found, strict=True)]
    low, high = float(known[0] or 0.0), float(known[1] or 0.0)
    return low, high if high > low else low + 1.0


def _with_margin(
    ends: tuple[float, float], given: list[float], *, log: bool
) -> tuple[float, float]:
    """Return ends with a margin beyond them.

    The margin is a part of the whole axis. The list `given` has the ends of the axis that are
    already set. So the whole axis contains these ends.
    """
    low, high = min(*ends, *given), max(*ends, *given)
    if log and low > 0:
        spare = (high / low) ** MARGIN if high > low else 2.0
        return ends[0] / spare, ends[1] * spare
    spare = MARGIN * (high - low) or MARGIN * abs(low) or MARGIN
    return ends[0] - spare, ends[1] + spare
