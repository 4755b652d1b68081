"""Plots of a link over time: its delay, rate and losses, and the times in which it is dead.

A dead link transmits nothing. The timeline of a link says how the link changes over time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator
from numpy.typing import NDArray

from netspurt.pictures.measures import fitting_unit
from netspurt.pictures.moving import Moving, Span, dead_times
from netspurt.pictures.view import Tables, View
from netspurt.plots.style import BLUE, GREY, ORANGE, SETTINGS, Size, logarithmic, set_title
from netspurt.timelines import Timeline, Way

Floats = NDArray[np.float64]

#: Three lengths in inches: the width of a figure, the height of a panel, and the height of a figure
#: without its panels.
_WIDTH, _PANEL, _REST = 10.0, 2.7, 1.2

#: The trace of a link is a list of the instants at which it can send. Each instant is an
#: opportunity to send this number of octets.
_OCTETS = 1500
#: Opportunities are counted in spans of time. This is the maximum number of spans.
_SPANS = 200
#: The minimum mean number of opportunities in a span.
_IN_A_SPAN = 5

#: If a series has at least this many points, two directions in one panel hide each other.
_DENSE = 1000

#: The styles of directions. The reverse direction is thinner, and is drawn above the forward
#: direction.
_BOTH = "both directions"
_STYLES: dict[str, dict[str, Any]] = {
    _BOTH: {"color": BLUE, "linewidth": 1.6},
    "forward": {"color": BLUE, "linewidth": 2.0},
    "reverse": {"color": ORANGE, "linewidth": 1.1},
}
_THIN = 0.6

#: The colours of times in which a link is dead, by the direction. The empty text is for both
#: directions.
_DEAD = {"": GREY, "forward": BLUE, "reverse": ORANGE}

#: Error rates have a logarithmic axis if the greatest rate, divided by the least rate, is more than
#: this number.
_TENS = 20
#: If the greatest rate, divided by the least rate, is more than this number, only powers of ten
#: have numbers, because more numbers would overlap.
_MANY_TENS = 3000

#: The units of a time axis: the span [s] above which a unit is used, its size [s], and its name.
_UNITS = ((10_800.0, 3600.0, "h"), (0.5, 1.0, "s"), (0.0, 1e-3, "ms"))


@dataclass(frozen=True)
class LinkPanel:
    """A series of each direction: instants [s] and values, as steps or as lines.

    `scale` is the size of `unit`. A drawn value is the value divided by `scale`.
    """

    label: str
    unit: str
    series: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)
    steps: bool = True
    scale: float = 1.0


def draw_timeline(
    timeline: Timeline,
    *,
    title: str | None = None,
    end_s: float | None = None,
    view: View | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure of a link's timeline: panels for delay, rate, changing loss and bit errors.

    Times in which the link transmits nothing are shaded.

    Parameters
    ----------
    timeline
        The timeline of the link.
    title
        The heading; by default the timeline's name.
    end_s
        The last values are extended to this instant [s]. By default, it is a little after the last
        change.
    view
        The span of time to show.
    size
        The width and height of the figure in inches.

    Raises
    ------
    ValueError
        If the timeline has nothing to draw.
    """
    view = view or View()
    end = end_s or timeline.end_ns / 1e9 * 1.03 or 1.0
    dead = dead_times(timeline)
    panels = [part for panel in _panels(timeline, end) for part in _parted(panel)]
    if not panels:
        if not dead:
            raise ValueError(
                f"{timeline.name} has no delay, rate, changing loss, bit errors or outages to "
                "draw; duplicates are not drawn"
            )
        panels = [LinkPanel("nothing but outages", "")]
    with rc_context(SETTINGS):
        usual = (_WIDTH, _PANEL * len(panels) + _REST)
        figure = Figure(figsize=size or usual, dpi=150, layout="constrained")
        grid: list[Axes] = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0])
        limits = (view.start or 0.0, end if view.end is None else view.end)
        for axes, panel in zip(grid, panels, strict=True):
            _draw(axes, panel, dead, limits)
            shade(axes, dead, limits)
        name_the_times(grid[-1], limits)
        _legend(figure, grid)
        grid[0].set_title(_constant_loss(timeline), loc="right", fontsize=9)
        set_title(grid[0], title or timeline.name)
    return figure


def draw_path(run: Tables, view: View, *, size: Size | None = None) -> Figure:
    """Return a figure of the timeline of the view's link, or of the first link that changes.

    Raises
    ------
    ValueError
        If no link changes, if the named link does not change, or if the view names a flow, a
        direction or a node.
    """
    for given in ("flow", "direction", "node"):
        if getattr(view, given) is not None:
            raise ValueError(f"--{given} does not apply to path plots: they show a link")
    moving = run.timelines() if isinstance(run, Moving) else {}
    if not moving:
        raise ValueError("no link changes: each link has one rate and one delay for the whole run")
    link = next(iter(moving)) if view.link is None else view.link
    if link not in moving:
        known = ", ".join(moving)
        raise ValueError(
            f"no link that changes is called {link!r}; the links that change are {known}"
        )
    title = f"{run.title}: link {link}"
    return draw_timeline(moving[link], title=title, end_s=run.stop_ns / 1e9, view=view, size=size)


def shade(axes: Axes, dead: Sequence[Span], limits: tuple[float, float], whose: str = "") -> None:
    """Shade a link's dead times, and draw a line at each change of path without an outage.

    `whose` precedes the labels in the legend.
    """
    low, high = limits
    shown = [(a, b, way) for a, b, way in dead if b >= low and a <= high]
    for way, colour in _DEAD.items():
        own = [(a, b) for a, b, direction in shown if direction == way]
        spans = [(max(a, low), min(b, high)) for a, b in own if b > a]
        if spans:
            boxes = [[(a, 0), (b, 0), (b, 1), (a, 1)] for a, b in spans]
            style: Any = {"label": f"{whose}dead, {way}" if way else f"{whose}dead", "zorder": 0.5}
            # The edge makes an outage visible even if it is narrower than a pixel.
            style |= {"facecolor": colour, "edgecolor": colour, "alpha": 0.28, "linewidth": 0.8}
            style["transform"] = axes.get_xaxis_transform()
            axes.add_collection(PolyCollection(boxes, **style), autolim=False)
        at = [a for a, b in own if b == a]
        for n, instant in enumerate(at):
            told = f"{whose}changes, {way}" if way else f"{whose}changes"
            line: Any = {"color": colour, "linestyle": ":", "linewidth": 1.0, "zorder": 0.6}
            axes.axvline(instant, label=told if n == 0 else None, **line)


def _panels(timeline: Timeline, end: float) -> Iterator[LinkPanel]:
    """Yield panels for the delay, the rate, the losses and the bit errors that the link has."""
    steps = timeline.between == "step"
    makers: tuple[tuple[str, str, bool, Callable[[Way], tuple[Floats, Floats] | None]], ...] = (
        ("delay", "s", steps, lambda way: _points(way.delay, 1e-9)),
        ("rate", "bit/s", True, lambda way: _points(way.rate, 1.0) or _offered(way, end)),
        ("loss", "%", steps, lambda way: _points(_loss(way), 100.0)),
        ("bit error rate", "", steps, lambda way: _points(way.bit_errors, 1.0)),
    )
    for what, unit, stepped, made in makers:
        label = what
        ways = [made(way) for way in timeline.ways]
        if all(one is None for one in ways):
            continue
        names = [_BOTH] if len(ways) == 1 or _alike(*ways) else ["forward", "reverse"]
        told = dict(zip(names, ways, strict=False))
        series = {name: _until(one, end) for name, one in told.items() if one is not None}
        most = max(float(values.max()) for _, values in series.values())
        scale, named = fitting_unit(unit, most) if unit in ("s", "bit/s") else (1.0, unit)
        if label == "rate" and timeline.forward.opportunities:
            t = next(iter(series.values()))[0]
            label = f"mean rate in {t[2] - t[1]:.2g} s" if len(t) > 3 else "mean rate"
        yield LinkPanel(label, named, series, stepped, scale)


def _parted(panel: LinkPanel) -> list[LinkPanel]:
    """Return a panel for each direction, if both directions would hide each other in one panel."""
    if len(panel.series) == 1 or all(len(t) < _DENSE for t, _ in panel.series.values()):
        return [panel]
    each = panel.series.items()
    return [replace(panel, label=f"{panel.label}, {way}", series={way: one}) for way, one in each]


def _constant_loss(timeline: Timeline) -> str:
    """Return a sentence on the share of packets that is lost, if the share is constant."""
    if any(not isinstance(way.loss, float) and len(way.loss) for way in timeline.ways):
        return ""
    losses = [way.loss if isinstance(way.loss, float) else 0.0 for way in timeline.ways]
    shares = [f"{100 * loss:.3g} %" for loss in losses]
    if not any(losses):
        return ""
    if len(set(shares)) == 1:
        return f"loss {shares[0]} in each direction"
    return f"loss {shares[0]} forward, {shares[1]} in reverse"


def _points(points: Sequence[tuple[int, float]], scale: float) -> tuple[Floats, Floats] | None:
    if not points:
        return None
    at, values = np.array(points, dtype=np.float64).T
    return at / 1e9, values * scale


def _loss(way: Way) -> Sequence[tuple[int, float]]:
    return () if isinstance(way.loss, float) else way.loss


def _offered(way: Way, end: float) -> tuple[Floats, Floats] | None:
    """Return the starts of equal spans of time [s], and the mean rate in each span [bit/s].

    The rate counts the opportunities of the trace, which is repeated until `end`. The result is
    `None` if the direction has no trace.
    """
    if not way.opportunities:
        return None
    at = np.array(way.opportunities, dtype=np.float64) / 1e9
    round_s = float(at[-1])
    spans = int(min(_SPANS, max(1, len(at) * end / round_s / _IN_A_SPAN)))
    edges = np.linspace(0, end, spans + 1)
    # The count up to an instant includes all complete repetitions of the trace, and a part of the
    # current repetition.
    rounds = np.floor(edges / round_s)
    count = rounds * len(at) + np.searchsorted(at, edges - rounds * round_s, side="right")
    rate = np.diff(count) * _OCTETS * 8 / np.diff(edges)
    return edges[:-1], rate


def _alike(one: tuple[Floats, Floats] | None, other: tuple[Floats, Floats] | None) -> bool:
    if one is None or other is None:
        return one is other
    same = all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    return same or len(np.unique(np.concatenate((one[1], other[1])))) == 1


def _until(series: tuple[Floats, Floats], end: float) -> tuple[Floats, Floats]:
    """Return a series from 0 to the end. Its first and its last value are extended."""
    t, values = series
    t = np.concatenate(([min(0.0, t[0])], t, [max(end, t[-1])]))
    return t, np.concatenate((values[:1], values, values[-1:]))


def _merged(spans: Sequence[Span]) -> list[tuple[float, float]]:
    """Return spans of time. Spans that touch each other are joined."""
    found: list[tuple[float, float]] = []
    for low, high, _ in spans:
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


def _broken(
    series: tuple[Floats, Floats], spans: Sequence[tuple[float, float]], *, steps: bool
) -> tuple[Floats, Floats]:
    """Return a series with gaps in the times in which the link is dead."""
    t, values = series
    if not spans:
        return series
    begin, end = (np.array([one[place] for one in spans]) for place in (0, 1))
    last = np.searchsorted(t, begin, side="left") - 1
    first = np.searchsorted(t, end, side="right") - 1
    before, behind = values[np.maximum(last, 0)], values[np.maximum(first, 0)]
    if not steps:
        before, behind = (np.interp(at, t, values) for at in (begin, end))
    place = np.searchsorted(begin, t, side="right") - 1
    kept = (place < 0) | (t >= end[np.maximum(place, 0)])
    told = (
        np.concatenate((t[kept], begin, begin, end)),
        np.concatenate((values[kept], before, np.full(len(begin), np.nan), behind)),
    )
    # Each gap begins with the last value and a NaN, and ends with the next value.
    rank = np.repeat((2, 0, 1, 1.5), (int(kept.sum()), len(begin), len(begin), len(begin)))
    order = np.lexsort((rank, told[0]))
    return told[0][order], told[1][order]


def _draw(axes: Axes, panel: LinkPanel, dead: Sequence[Span], limits: tuple[float, float]) -> None:
    shown: list[Floats] = []
    for name, series in panel.series.items():
        spans = _merged([one for one in dead if one[1] > one[0] and one[2] in ("", name)])
        t, values = _broken(series, spans, steps=panel.steps)
        scaled = values / panel.scale
        style: Any = {**_STYLES[name], "label": name}
        style |= {"drawstyle": "steps-post" if panel.steps else "default"}
        style |= {"linewidth": _THIN} if len(t) > _DENSE else {}
        axes.plot(t, scaled, **style)
        inside = (t >= limits[0]) & (t <= limits[1])
        # The value in force at the beginning of the span belongs to the values of the span.
        before = np.flatnonzero(t <= limits[0])[-1:]
        shown.append(np.concatenate((scaled[inside], scaled[before])))
    axes.grid(visible=True, color="#ececec", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_ylabel(f"{panel.label} [{panel.unit}]" if panel.unit else panel.label)
    _limit(axes, np.concatenate(shown) if shown else np.zeros(1), panel)


def _limit(axes: Axes, shown: Floats, panel: LinkPanel) -> None:
    """Set the limits of the y axis: from zero, or near the values if the values hardly change.

    If error rates differ much, make the axis logarithmic instead.
    """
    known = shown[np.isfinite(shown)]
    if not (panel.series and len(known)):
        axes.set_yticks([])
        return
    low, high = float(known.min()), float(known.max())
    if panel.label.startswith("bit error rate") and low > 0 and high > _TENS * low:
        logarithmic(axes, "y", lambda value, _place: f"{value:g}")
        if high > _MANY_TENS * low:
            axes.yaxis.set_major_locator(LogLocator())
        return
    room = 0.08 * (high - low or high or 1.0)
    near = high > 0 and (high - low) < 0.25 * high and high > low
    axes.set_ylim(low - room if near else 0, high + room)


def name_the_times(axes: Axes, limits: tuple[float, float]) -> None:
    """Set the limits of the time axis [s], and its unit: milliseconds, seconds or hours."""
    axes.set_xlim(*limits)
    span = limits[1] - limits[0]
    size, unit = next(
        ((size, unit) for least, size, unit in _UNITS if span > least), _UNITS[-1][1:]
    )
    axes.set_xlabel(f"time [{unit}]")
    if size != 1.0:
        steps = (1, 2, 3, 6, 10) if unit == "h" else None
        ticks = MaxNLocator(9, steps=steps).tick_values(limits[0] / size, limits[1] / size)
        inside = [tick for tick in ticks if limits[0] <= tick * size <= limits[1]]
        axes.set_xticks([tick * size for tick in inside], [f"{tick:g}" for tick in inside])


def _legend(figure: Figure, grid: Sequence[Axes]) -> None:
    """Put one legend of all panels below them, unless its only label is `both directions`."""
    known: dict[str, Any] = {}
    for axes in grid:
        handles, labels = axes.get_legend_handles_labels()
        known |= dict(zip(labels, handles, strict=True))
    if set(known) - {_BOTH}:
        named = sorted(known, key=lambda name: (name.startswith(("dead", "changes")), name))
        place: Any = {"loc": "outside lower center", "ncols": len(known), "frameon": False}
        figure.legend([known[name] for name in named], named, **place)
