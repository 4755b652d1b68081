"""Pictures of replays: delays and timers over time, their distributions, and the front.

The front has the timers that no other timer beats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

import numpy as np

from netspurt.pictures.kinds import check_kind
from netspurt.pictures.marks import (
    SERIES,
    Bars,
    Blocks,
    Floats,
    Ink,
    Mark,
    Picture,
    Points,
    Polyline,
    Scale,
    Shape,
    Spans,
)
from netspurt.pictures.measures import ELAPSED, in_unit
from netspurt.pictures.scales import of_times, placed

#: The colours of lines, and whether they are dashed. No two lines share both properties.
_LOOKS: tuple[tuple[Ink, bool], ...] = tuple(
    (ink, dashed) for dashed in (False, True) for ink in SERIES
)

#: If there are fewer than this number of probes, their delays have larger dots.
_FEW = 2000

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval


class Recording(Protocol):
    """A recording of delays."""

    @property
    def name(self) -> str:
        """The name of the recording."""

    @property
    def send_times(self) -> str:
        """The source of the times of sending: `recorded`, `computed` or `unknown`."""

    @property
    def sent_s(self) -> Floats:
        """When each probe left, in seconds."""

    @property
    def rtt_s(self) -> Floats:
        """The delays in seconds; NaN if lost."""

    @property
    def began(self) -> float | None:
        """The instant of the first probe, in seconds since 1970; `None` if it is not known."""

    @property
    def began_is_local(self) -> bool:
        """True if `began` is a local time."""


class ReplayedAlgorithm(Protocol):
    """An algorithm's results on a recording."""

    @property
    def estimator(self) -> str:
        """The name of the algorithm."""

    @property
    def waits(self) -> Floats:
        """The timer of each probe, in seconds."""

    @property
    def spurious_share(self) -> Interval:
        """Spurious retransmissions per answer."""

    @property
    def timer(self) -> Interval:
        """The mean timer, in seconds."""


class ReplayLike(Protocol):
    """Algorithms replayed on a recording."""

    @property
    def delays(self) -> Recording:
        """The recording."""

    @property
    def algorithms(self) -> Sequence[ReplayedAlgorithm]:
        """The results of each algorithm."""

    def front(self) -> Sequence[ReplayedAlgorithm]:
        """Return the algorithms on the front.

        An algorithm is on the front if no other algorithm beats it. An algorithm beats another one
        if it is at least as good in both values, and better in one of them. The values are the
        share of spurious retransmissions and the mean timer.
        """


#: The maximum number of timers in a picture.
_MOST = len(_LOOKS)

#: The maximum number of timers in a picture on a page of a report. With more, lines would hide
#: each other.
MOST_OF_PAGE = 5


def timeline(replay: ReplayLike, first: str = "", most: int = _MOST) -> Picture:
    """Show delays and timers over time, with losses and spurious retransmissions.

    `most` is the maximum number of algorithms that are shown. `first` names the recommended
    algorithm, which is always shown and has a broad line. Above the curves, each algorithm with
    spurious retransmissions has a row of crosses in its colour, in the order of the algorithms from
    the top. So no algorithm hides the crosses of another algorithm. The axis suits the delays, the
    shortest timer and the timer named `first`. Other timers may be far above all delays and beyond
    the axis. Triangles mark these timers, and the legend has the longest value of each.
    """
    delays = replay.delays
    rtt = delays.rtt_s
    counted = delays.send_times == "unknown"
    t = np.arange(len(rtt), dtype=float) if counted else delays.sent_s
    algorithms = _drawn(replay, first, most)
    # Timers before the first known delay would stretch the axis.
    start = min(len(rtt) - 1, 1 + int(np.argmax(~np.isnan(rtt))))
    waits = [algorithm.waits[start:] for algorithm in algorithms]
    axis_end = _axis_end(rtt, waits, [one.estimator == first for one in algorithms])
    scale = of_times("delay, timer", [rtt, *(wait[wait <= axis_end] for wait in waits)])
    size = 3.0 if len(rtt) < _FEW else 1.5
    y = placed(rtt, scale)
    marks: list[Mark] = [Points(label="delay", ink="grey", x=t, y=y, size=size)]
    crosses, whole = _rows_of_crosses(rtt, t, algorithms, scale)
    for place, (algorithm, (ink, dashed)) in enumerate(zip(algorithms, _LOOKS, strict=False)):
        # The triangles of several timers must not cover each other.
        beside = place / len(algorithms)
        look = _LineLook.of(algorithm, ink, first, dashed=dashed)
        marks += _over_time(algorithm, t, look, (scale, whole), (start, beside))
    marks += crosses
    lost = np.isnan(rtt)
    if lost.any():
        bottom = np.full(int(lost.sum()), scale.low or 0.0)
        marks.append(Points(label="lost", ink="black", x=t[lost], y=bottom, shape="tick", size=6))
    x = Scale("probe") if counted else Scale(_sent_since(delays), ELAPSED, start=0.0)
    return Picture(tuple(marks), whole, x, aside=_told(replay, most))


#: `_ROW` is the height of a row of crosses, and `_ROWS` is the maximum height of all such rows.
#: Both are shares of the axis.
_ROW, _ROWS = 0.05, 0.35


def _rows_of_crosses(
    rtt: Floats, t: Floats, algorithms: Sequence[ReplayedAlgorithm], scale: Scale
) -> tuple[list[Mark], Scale]:
    """Return a row of crosses for each algorithm with spurious retransmissions.

    The second result is the axis with room for the rows at its upper end.
    """
    with np.errstate(invalid="ignore"):
        early = [rtt > algorithm.waits for algorithm in algorithms]
    looks = [ink for ink, _ in _LOOKS[: len(early)]]
    rows = [(ink, t[one]) for ink, one in zip(looks, early, strict=True) if one.any()]
    if not rows or scale.high is None:
        return [_of_legend("spurious retransmission", "cross")], scale
    height = min(_ROW, _ROWS / len(rows))

    def above(share: float) -> float:
        """Return the value that lies above the end of the axis by `share` of the axis's length."""
        low, high = scale.low or 0.0, scale.high or 0.0
        return high * (high / low) ** share if scale.log else high + share * (high - low)

    border = np.array([above(0.0)])
    marks: list[Mark] = [
        Spans(label="", ink="grey", y=border, left=t[:1], right=t[-1:], width=0.6, caps=False)
    ]
    for place, (ink, x) in enumerate(rows, start=1):
        y = np.full(len(x), above((len(rows) - place + 0.6) * height))
        marks.append(Points(label="", ink=ink, x=x, y=y, shape="cross", size=4))
    told = "spurious retransmission (rows at the top, in the order of this legend)"
    marks.append(_of_legend(told, "cross"))
    return marks, replace(scale, high=above((len(rows) + 0.2) * height))


def _sent_since(delays: Recording) -> str:
    """Return the label of an axis of instants, with the time of day at 0 if this time is known."""
    if delays.began is None:
        return "sent"
    zone = "" if delays.began_is_local else " UTC"
    return f"sent, since {datetime.fromtimestamp(delays.began, UTC):%H:%M:%S}{zone}"


@dataclass(frozen=True)
class _LineLook:
    """How the line of a timer looks: the recommended timer has a broad line above all others."""

    label: str
    ink: Ink
    dashed: bool
    width: float
    rank: float

    @classmethod
    def of(cls, one: ReplayedAlgorithm, ink: Ink, recommended: str, *, dashed: bool) -> _LineLook:
        """Return the look of a timer's line."""
        if one.estimator == recommended:
            return cls(f"{one.estimator} (recommended)", ink, dashed, 2.6, 2.2)
        return cls(one.estimator, ink, dashed, 1.1, 2.0)

    def line(self, x: Floats, y: Floats, more: str = "") -> Polyline:
        """Return a line of steps; the text `more` follows its label in the legend."""
        return Polyline(
            label=self.label + more,
            ink=self.ink,
            x=x,
            y=y,
            steps=True,
            dashed=self.dashed,
            width=self.width,
            rank=self.rank,
        )


def _axis_end(rtt: Floats, waits: Sequence[Floats], named: Sequence[bool]) -> float:
    """Return the maximum value that the axis of `timeline` needs to reach [s]."""
    if not np.isfinite(rtt).any() or not len(waits[0]):
        return np.inf
    shortest = min(float(np.quantile(wait, 0.9)) for wait in waits)
    own = [float(wait.max()) for wait, one in zip(waits, named, strict=True) if one]
    return max(_FAR * float(np.nanmax(rtt)), shortest, *own)


#: A timer may be beyond the axis only if it is longer than the longest delay times this factor.
_FAR = 4.0

#: The maximum number of triangles that show that a timer is beyond the axis.
_TRIANGLES = 12


def _over_time(
    one: ReplayedAlgorithm,
    t: Floats,
    look: _LineLook,
    scales: tuple[Scale, Scale],
    shown: tuple[int, float],
) -> list[Mark]:
    """Return the line of a timer, and triangles where the timer is above the end of the axis.

    `scales` has the axis of the curves, and the same axis with the rows of crosses above them. A
    curve crosses these rows only where it leaves or enters the picture. `shown` has two numbers.
    The first is the index of the first probe whose timer counts. The second is the shift of the
    triangles, as a share of the distance from one triangle to the next.
    """
    (start, beside), scale = shown, scales[0]
    top, end = (axis.high if axis.high is not None else np.inf for axis in scales)
    above = one.waits > top
    early = np.arange(len(t)) < start
    y = np.where(above & (early | (one.waits <= end)), np.nan, one.waits)
    far = np.flatnonzero(above & ~early)
    if not len(far):
        return [look.line(t, y)]
    most = in_unit(float(one.waits[far].max()), "s")
    always = len(far) == int((~early).sum())
    more = f" (above the picture: {most})" if always else f" (up to {most})"
    step = -(-len(far) // _TRIANGLES)
    some = far[int(beside * step) :: step]
    edge = np.full(len(some), _below(scale, top))
    return [
        look.line(t, y, more),
        Points(label="", ink=look.ink, x=t[some], y=edge, shape="up", size=5, rank=2.4),
    ]


def _below(scale: Scale, top: float) -> float:
    """Return a value a little below the upper end of an axis."""
    low = scale.low or 0.0
    return top * (low / top) ** 0.02 if scale.log else low + 0.98 * (top - low)


def _of_legend(label: str, shape: Shape) -> Points:
    """Return a mark that appears only in the legend."""
    none = np.empty(0)
    return Points(label=label, ink="grey", x=none, y=none, shape=shape, size=5)


def histogram(replay: ReplayLike, first: str = "", most: int = _MOST) -> Picture:
    """Show the distributions of the delays, and of the timers of some algorithms.

    `most` is the maximum number of algorithms. The recommended algorithm, named `first`, is always
    shown, with a broad line.
    """
    known = _answered(replay)
    algorithms = _drawn(replay, first, most)
    everything = np.concatenate([known, *(algorithm.waits for algorithm in algorithms)])
    low, high = max(float(everything.min()), 1e-6), max(float(everything.max()), 2e-6)
    edges = np.geomspace(low, high * 1.001, 80)
    counts = _counts(known, edges)
    marks: list[Mark] = [
        Blocks(label="delays", ink="grey", left=edges[:-1], right=edges[1:], y=counts, alpha=0.6)
    ]
    for algorithm, (ink, dashed) in zip(algorithms, _LOOKS, strict=False):
        own = np.append(_counts(algorithm.waits, edges), 0.0)
        marks.append(_LineLook.of(algorithm, ink, first, dashed=dashed).line(edges, own))
    highest = max(float(np.max(getattr(mark, "y", 0.0))) for mark in marks)
    y = Scale("probes", low=0.5, high=2 * highest, log=True)
    x = Scale("delay, timer", "s", log=True)
    return Picture(tuple(marks), y, x, aside=_told(replay, most))


def _counts(values: Floats, edges: Floats) -> Floats:
    # Values below the first edge are in the first bin.
    counts: Floats = np.histogram(np.maximum(values, edges[0]), edges)[0].astype(np.float64)
    return counts


def scatter(replay: ReplayLike, first: str = "") -> Picture:
    """Show each answered probe: its delay, and the timer that was armed for it.

    Below the diagonal, the timer was shorter than the delay: the probe was retransmitted
    spuriously. The recommended algorithm, named `first`, is always shown.
    """
    rtt = replay.delays.rtt_s
    x = _answered(replay)
    known = ~np.isnan(rtt)
    marks: list[Mark] = []
    for algorithm, ink in zip(_drawn(replay, first, len(SERIES)), SERIES, strict=False):
        y = algorithm.waits[known]
        marks.append(Points(label=algorithm.estimator, ink=ink, x=x, y=y, size=1.5))
    ends = np.array([float(x.min()), float(x.max())])
    marks.append(Polyline(label="timer = delay", ink="grey", x=ends, y=ends, dashed=True))
    scales = Scale("timer", "s", log=True), Scale("delay", "s", log=True)
    return Picture(tuple(marks), *scales, aside=_told(replay, len(SERIES)))


def _answered(replay: ReplayLike) -> Floats:
    rtt = replay.delays.rtt_s
    known = rtt[~np.isnan(rtt)]
    if not len(known):
        raise ValueError(
            f"{replay.delays.name}: no probe was answered, so there is nothing to draw"
        )
    return known


def pareto(replay: ReplayLike, first: str = "") -> Picture:
    """Show the mean timer against spurious retransmissions, with intervals, and the front.

    `first` names the recommended algorithm, which the legend marks.
    """
    front = list(replay.front())
    shares = [algorithm.spurious_share for algorithm in replay.algorithms]
    # A logarithmic axis has no zero, so a marked place at the left stands for zero. Algorithms
    # without spurious retransmissions are at this place. Intervals from zero begin at this place.
    seen = [end for share in shares for end in (share.value, share.low) if end > 0]
    least = min(seen or [shares[0].high]) / 3
    named = _named(replay, first)
    marks: list[Mark] = []
    for algorithm in replay.algorithms:
        look = _look(named.index(algorithm)) if algorithm in named else _OTHER
        recommended = algorithm.estimator == first
        marks += _of_front(algorithm, algorithm in front, look, least, recommended=recommended)
    xs = np.array([max(algorithm.spurious_share.value, least) for algorithm in front])
    ys = np.array([algorithm.timer.value for algorithm in front])
    marks.append(Polyline(label="front", ink="grey", x=xs, y=ys, steps=True, width=1.0))
    marks.append(
        _of_legend("filled: no timer is better in one measure and as good in the other", "dot")
    )
    if others := len(replay.algorithms) - len(named):
        marks.append(_of_legend(f"{others} other timers", "square"))
    y = Scale("mean timer", "s", log=True)
    name = "answered probes that were retransmitted spuriously"
    zeros = any(min(share.value, share.low) <= 0 for share in shares)
    x = Scale(name, "%", low=0.8 * least, log=True, zero=least if zeros else None)
    return Picture(tuple(marks), y, x)


def _of_front(
    algorithm: ReplayedAlgorithm,
    best: bool,
    look: tuple[Ink, Shape],
    least: float,
    *,
    recommended: bool,
) -> list[Mark]:
    """Return an algorithm's point and its two intervals. Points on the front are filled."""
    ink, shape = look
    named = look != _OTHER
    share, timer = algorithm.spurious_share, algorithm.timer
    x, high = (max(end, least) for end in (share.value, share.high))
    low = share.low or (least if share.value == 0 else least / 100)
    rank = 2.0 if named else 1.5
    at, mean = np.array([x]), np.array([timer.value])
    remarks = ["recommended"] * recommended + ["none seen"] * (not share.value > 0)
    told = f" ({', '.join(remarks)})" if remarks else ""
    label = algorithm.estimator + told if named else ""
    left, right = np.array([max(low, least)]), np.array([high])
    bottom, top = np.array([min(timer.low, timer.value)]), np.array([max(timer.high, timer.value)])
    point = Points(
        label=label,
        ink=ink,
        x=at,
        y=mean,
        shape=shape,
        size=9 if recommended else 6,
        hollow=not best,
        rank=rank + 0.1,
    )
    of_share = Spans(label="", ink=ink, y=mean, left=left, right=right, width=1.4, rank=rank)
    of_timer = Bars(label="", ink=ink, x=at, low=bottom, high=top, width=1.4, caps=True, rank=rank)
    return [of_share, of_timer, point]


#: The maximum number of timers that the legend of a front names.
_NAMED = 20

#: The shapes of points. The first six timers have the first shape and six different colours. Each
#: further group of six has the same colours and the next shape.
_SHAPES: tuple[Shape, ...] = ("dot", "up", "down", "square")

#: The colour and the shape of timers that the legend does not name.
_OTHER: tuple[Ink, Shape] = ("grey", "square")


def _look(place: int) -> tuple[Ink, Shape]:
    """Return the colour and the shape of a named timer. No two timers share both properties."""
    turn, ink = divmod(place, len(SERIES))
    return SERIES[ink], _SHAPES[turn]


def _named(replay: ReplayLike, first: str) -> list[ReplayedAlgorithm]:
    """Return the timers to label, at most `_NAMED`.

    If the replay has more timers, these are timers of the front, and the timer named `first`.
    """
    if len(replay.algorithms) <= _NAMED:
        return list(replay.algorithms)
    front = list(replay.front())
    ahead = [one for one in replay.algorithms if one.estimator == first]
    step = -(-len(front) // (_NAMED - len(ahead)))
    rest = [one for one in front[::step] if one not in ahead]
    chosen = [*ahead, *rest][:_NAMED]
    apart = [one for one in ahead if one not in front]
    return [*apart, *(one for one in front if one in chosen)]


def _drawn(replay: ReplayLike, first: str = "", most: int = _MOST) -> list[ReplayedAlgorithm]:
    """Return the algorithms to show, in the order of the replay; `most` is their maximum number.

    If the replay has more algorithms, the algorithm named `first` is preferred, and then the
    algorithms of the front.
    """
    if len(replay.algorithms) <= most:
        return list(replay.algorithms)
    front = list(replay.front())
    step = max(1, -(-len(front) // most))
    others = [algorithm for algorithm in replay.algorithms if algorithm not in front]
    ahead = [algorithm for algorithm in replay.algorithms if algorithm.estimator == first]
    rest = [algorithm for algorithm in [*front[::step], *others] if algorithm not in ahead]
    chosen = [*ahead, *rest][:most]
    return [algorithm for algorithm in replay.algorithms if algorithm in chosen]


def _told(replay: ReplayLike, most: int = _MOST) -> str:
    """Return a note on the number of timers that are shown, if not all of them are."""
    count = len(replay.algorithms)
    return f"{most} of {count} timers drawn" if count > most else ""


#: Kinds of pictures by name.
KINDS: dict[str, Callable[[ReplayLike, str], Picture]] = {
    "timeline": timeline,
    "histogram": histogram,
    "scatter": scatter,
    "pareto": pareto,
}


def replayed(replay: ReplayLike, kind: str, first: str = "") -> Picture:
    """Return a picture of a replay.

    Parameters
    ----------
    replay
        The replayed recording with its algorithms.
    kind
        One of `KINDS`.
    first
        The name of the recommended algorithm, which is always shown; empty if none is recommended.

    Raises
    ------
    ValueError
        If there is no such kind, or nothing to show.
    """
    check_kind(kind, KINDS)
    return KINDS[kind](replay, first)
