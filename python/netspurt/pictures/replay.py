"""Replays: delays and timers over time, their distributions, the front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from netspurt.pictures.kinds import check_kind
from netspurt.pictures.marks import (
    SERIES,
    Bars,
    Blocks,
    Floats,
    Ink,
    Line,
    Mark,
    Picture,
    Points,
    Scale,
    Shape,
    Spans,
)
from netspurt.pictures.scales import of_times

#: The dots of delays are larger if there are fewer probes than this.
_LARGE_DOTS_BELOW = 2000

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval


class Recording(Protocol):
    """A recording of delays."""

    @property
    def name(self) -> str:
        """The name of the recording."""

    @property
    def send_times(self) -> str:
        """`unknown` if it is not known when the probes left."""

    @property
    def sent_s(self) -> Floats:
        """The instant at which each probe left, in seconds."""

    @property
    def rtt_s(self) -> Floats:
        """The delays in seconds; NaN if lost."""


class JudgedBy(Protocol):
    """An algorithm's results on a recording."""

    @property
    def estimator(self) -> str:
        """Its name."""

    @property
    def waits(self) -> Floats:
        """The RTO of each probe, in seconds."""

    @property
    def spurious_share(self) -> Interval:
        """Spurious retransmissions per answer."""

    @property
    def timer(self) -> Interval:
        """The mean RTO, in seconds."""


class Judged(Protocol):
    """Algorithms replayed on a recording."""

    @property
    def delays(self) -> Recording:
        """The recording."""

    @property
    def algorithms(self) -> Sequence[JudgedBy]:
        """The results of each algorithm."""

    def front(self) -> Sequence[JudgedBy]:
        """Return the algorithms that no other algorithm beats in both measures."""


def timeline(replay: Judged, first: str = "") -> Picture:
    """Show delays and timers over time, with losses and spurious retransmissions.

    At most six algorithms are shown, including the one named `first`. The spurious retransmissions
    of an algorithm have its colour.
    """
    delays = replay.delays
    rtt = delays.rtt_s
    counted = delays.send_times == "unknown"
    t = np.arange(len(rtt), dtype=float) if counted else delays.sent_s
    algorithms = _drawn(replay, first)
    # The RTOs before the first known delay are ignored, because they would stretch the axis.
    start = min(len(rtt) - 1, 1 + int(np.argmax(~np.isnan(rtt))))
    waits = [algorithm.waits[start:] for algorithm in algorithms]
    scale = of_times("delay, timer", [rtt, *waits])
    size = 3.0 if len(rtt) < _LARGE_DOTS_BELOW else 1.5
    marks: list[Mark] = [Points(label="delay", ink="grey", x=t, y=rtt, size=size)]
    for algorithm, ink in zip(algorithms, SERIES, strict=False):
        label, y = algorithm.estimator, algorithm.waits
        marks.append(Line(label=label, ink=ink, x=t, y=y, steps=True, width=1.1))
        with np.errstate(invalid="ignore"):
            early = rtt > algorithm.waits
        marks.append(Points(label="", ink=ink, x=t[early], y=rtt[early], shape="cross", size=4))
    marks.append(_only_in_legend("spurious retransmission", "cross"))
    lost = np.isnan(rtt)
    if lost.any():
        bottom = np.full(int(lost.sum()), scale.low or 0.0)
        marks.append(Points(label="lost", ink="black", x=t[lost], y=bottom, shape="tick", size=6))
    x = Scale("probe") if counted else Scale("sent [s]")
    return Picture(tuple(marks), scale, x, aside=_shown_count(replay))


def _only_in_legend(label: str, shape: Shape) -> Points:
    """Return a mark that appears only in the legend."""
    none = np.empty(0)
    return Points(label=label, ink="grey", x=none, y=none, shape=shape, size=5)


def histogram(replay: Judged, first: str = "") -> Picture:
    """Show the distributions of the delays and of the timers of at most six algorithms.

    The algorithm named `first` is always shown.
    """
    known = _answered(replay)
    algorithms = _drawn(replay, first)
    everything = np.concatenate([known, *(algorithm.waits for algorithm in algorithms)])
    low, high = max(float(everything.min()), 1e-6), max(float(everything.max()), 2e-6)
    edges = np.geomspace(low, high * 1.001, 80)
    counts = _counts(known, edges)
    marks: list[Mark] = [
        Blocks(label="delays", ink="grey", left=edges[:-1], right=edges[1:], y=counts, alpha=0.6)
    ]
    for algorithm, ink in zip(algorithms, SERIES, strict=False):
        own = np.append(_counts(algorithm.waits, edges), 0.0)
        marks.append(Line(label=algorithm.estimator, ink=ink, x=edges, y=own, steps=True))
    tallest = max(float(np.max(getattr(mark, "y", 0.0))) for mark in marks)
    y = Scale("probes", low=0.5, high=2 * tallest, log=True)
    return Picture(
        tuple(marks), y, Scale("delay, timer", "s", log=True), aside=_shown_count(replay)
    )


def _counts(values: Floats, edges: Floats) -> Floats:
    # Values below the first edge are in the first bin.
    counts: Floats = np.histogram(np.maximum(values, edges[0]), edges)[0].astype(np.float64)
    return counts


def scatter(replay: Judged) -> Picture:
    """Show the delay and the RTO of each answered probe.

    Below the diagonal the RTO was shorter than the delay: the probe was retransmitted spuriously.
    """
    rtt = replay.delays.rtt_s
    x = _answered(replay)
    known = ~np.isnan(rtt)
    marks: list[Mark] = []
    for algorithm, ink in zip(_drawn(replay), SERIES, strict=False):
        y = algorithm.waits[known]
        marks.append(Points(label=algorithm.estimator, ink=ink, x=x, y=y, size=1.5))
    ends = np.array([float(x.min()), float(x.max())])
    marks.append(Line(label="timer = delay", ink="grey", x=ends, y=ends, dashed=True))
    scales = Scale("timer", "s", log=True), Scale("delay", "s", log=True)
    return Picture(tuple(marks), *scales, aside=_shown_count(replay))


def _answered(replay: Judged) -> Floats:
    rtt = replay.delays.rtt_s
    known = rtt[~np.isnan(rtt)]
    if not len(known):
        raise ValueError(
            f"{replay.delays.name}: no probe was answered, so there is nothing to draw"
        )
    return known


def pareto(replay: Judged) -> Picture:
    """Show spurious retransmissions against the mean timer, with intervals, and the front."""
    front = list(replay.front())
    shares = [algorithm.spurious_share for algorithm in replay.algorithms]
    # A logarithmic axis has no zero. So algorithms without spurious retransmissions are at the left
    # edge, and intervals that start at zero end there.
    positive = [end for share in shares for end in (share.value, share.low) if end > 0]
    left_edge = min(positive or [shares[0].high]) / 2
    named = _named(replay)
    marks: list[Mark] = []
    for algorithm in replay.algorithms:
        look = _look(named.index(algorithm)) if algorithm in named else _OTHER
        marks += _of_front(algorithm, algorithm in front, look, left_edge)
    xs = np.array([max(algorithm.spurious_share.value, left_edge) for algorithm in front])
    ys = np.array([algorithm.timer.value for algorithm in front])
    marks.append(Line(label="front", ink="grey", x=xs, y=ys, steps=True, width=1.0))
    marks.append(_only_in_legend("filled: no other timer is better in both", "dot"))
    if others := len(replay.algorithms) - len(named):
        marks.append(_only_in_legend(f"{others} others", "square"))
    y = Scale("mean timer", "s", log=True)
    x = Scale("answers that were retransmitted spuriously", "%", low=0.9 * left_edge, log=True)
    return Picture(tuple(marks), y, x)


def _of_front(
    algorithm: JudgedBy, on_front: bool, look: tuple[Ink, Shape], left_edge: float
) -> list[Mark]:
    """Return an algorithm's point and its two intervals. Points on the front are filled."""
    ink, shape = look
    named = look != _OTHER
    share, timer = algorithm.spurious_share, algorithm.timer
    x, high = (max(end, left_edge) for end in (share.value, share.high))
    low = share.low or (left_edge if share.value == 0 else left_edge / 100)
    rank = 2.0 if named else 1.5
    at, mean = np.array([x]), np.array([timer.value])
    label = algorithm.estimator + ("" if share.value > 0 else " (none seen)") if named else ""
    left, right = np.array([max(low, left_edge)]), np.array([high])
    bottom, top = np.array([min(timer.low, timer.value)]), np.array([max(timer.high, timer.value)])
    point = Points(
        label=label,
        ink=ink,
        x=at,
        y=mean,
        shape=shape,
        size=6,
        hollow=not on_front,
        rank=rank + 0.1,
    )
    of_share = Spans(label="", ink=ink, y=mean, left=left, right=right, width=1.4, rank=rank)
    of_timer = Bars(label="", ink=ink, x=at, low=bottom, high=top, width=1.4, caps=True, rank=rank)
    return [of_share, of_timer, point]


#: The maximum number of timers that the legend of a front names.
_NAMED_MAX = 20

#: The shapes of points. After each six timers, the colours repeat with the next shape.
_SHAPES: tuple[Shape, ...] = ("dot", "up", "down", "square")

#: The colour and the shape of timers that the legend does not name.
_OTHER: tuple[Ink, Shape] = ("grey", "square")


def _look(place: int) -> tuple[Ink, Shape]:
    """Return the colour and the shape of a named timer. No two timers share both."""
    shape, colour = divmod(place, len(SERIES))
    return SERIES[colour], _SHAPES[shape]


def _named(replay: Judged) -> list[JudgedBy]:
    """Return the timers to label: all of them, or some of the front if there are many."""
    if len(replay.algorithms) <= _NAMED_MAX:
        return list(replay.algorithms)
    front = list(replay.front())
    return front[:: -(-len(front) // _NAMED_MAX)]


def _drawn(replay: Judged, first: str = "") -> list[JudgedBy]:
    """Return the estimators to show, at most one for each colour.

    The estimator named `first` comes first, then the estimators of the front.
    """
    if len(replay.algorithms) <= len(SERIES):
        return list(replay.algorithms)
    front = list(replay.front())
    step = max(1, -(-len(front) // len(SERIES)))
    others = [algorithm for algorithm in replay.algorithms if algorithm not in front]
    named_first = [algorithm for algorithm in replay.algorithms if algorithm.estimator == first]
    others_chosen = [
        algorithm for algorithm in [*front[::step], *others] if algorithm not in named_first
    ]
    chosen = [*named_first, *others_chosen][: len(SERIES)]
    return [algorithm for algorithm in replay.algorithms if algorithm in chosen]


def _shown_count(replay: Judged) -> str:
    """Return a note on the number of timers that are shown, if not all of them are."""
    count = len(replay.algorithms)
    return f"{len(SERIES)} of {count} timers drawn" if count > len(SERIES) else ""


#: Kinds of pictures by name.
KINDS: dict[str, Callable[[Judged], Picture]] = {
    "timeline": timeline,
    "histogram": histogram,
    "scatter": scatter,
    "pareto": pareto,
}


def replayed(replay: Judged, kind: str) -> Picture:
    """Return a picture of a replay.

    Parameters
    ----------
    replay
        The replayed recording with its algorithms.
    kind
        One of `KINDS`.

    Raises
    ------
    ValueError
        If there is no such kind, or nothing to show.
    """
    check_kind(kind, KINDS)
    return KINDS[kind](replay)
