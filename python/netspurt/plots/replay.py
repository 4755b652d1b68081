"""Plots of replays: delays and timers over time, their distributions, the front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netspurt.pictures.scales import of_times
from netspurt.plots.files import File, saved
from netspurt.plots.style import (
    BLACK,
    GREY,
    SERIES,
    SETTINGS,
    Size,
    draw_scale,
    legend,
    logarithmic,
    new_figure,
    set_title,
)

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval


Floats = NDArray[np.float64]


class Recording(Protocol):
    """A recording of delays."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def send_times(self) -> str:
        """Whether the times of sending are known."""

    @property
    def sent_s(self) -> Floats:
        """When each probe left, in seconds."""

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
        """The timer of each probe, in seconds."""

    @property
    def spurious_share(self) -> Interval:
        """Spurious retransmissions per answer."""

    @property
    def timer(self) -> Interval:
        """The mean timer, in seconds."""


class Judged(Protocol):
    """Algorithms replayed on a recording."""

    @property
    def delays(self) -> Recording:
        """The recording."""

    @property
    def algorithms(self) -> Sequence[JudgedBy]:
        """The results of each algorithm."""

    def front(self) -> Sequence[JudgedBy]:
        """Return the algorithms that no other one beats in both measures."""


def draw_timeline(axes: Axes, replay: Judged) -> None:
    """Draw delays and timers over time, with losses and spurious retransmissions.

    At most six algorithms are drawn; spurious retransmissions are marked for the first of them.
    """
    delays = replay.delays
    rtt = delays.rtt_s
    t = np.arange(len(rtt), dtype=float) if delays.send_times == "unknown" else delays.sent_s
    axes.set_xlabel("probe" if delays.send_times == "unknown" else "sent [s]")
    dots: Any = {"linestyle": "none", "marker": ".", "markersize": 3, "rasterized": True}
    axes.plot(t, rtt, color=GREY, label="delay", **dots)
    algorithms = _drawn(replay)
    for algorithm, colour in zip(algorithms, SERIES, strict=False):
        axes.step(
            t, algorithm.waits, where="post", color=colour, linewidth=1.1, label=algorithm.estimator
        )
        with np.errstate(invalid="ignore"):
            spurious = rtt > algorithm.waits
        marks: Any = {"linestyle": "none", "marker": "x", "markersize": 4, "color": colour}
        axes.plot(t[spurious], rtt[spurious], **marks)
    axes.plot([], [], linestyle="none", marker="x", color=GREY, label="spurious retransmission")
    # Timers before the first known delay would stretch the axis.
    start = min(len(rtt) - 1, 1 + int(np.argmax(~np.isnan(rtt))))
    waits = [algorithm.waits[start:] for algorithm in algorithms]
    draw_scale(axes, of_times("delay, timer", [rtt, *waits]))
    lost = np.isnan(rtt)
    if lost.any():
        bottom = axes.get_ylim()[0]
        ticks: Any = {"linestyle": "none", "marker": "|", "markersize": 6, "color": BLACK}
        axes.plot(t[lost], np.full(lost.sum(), bottom), label="lost", clip_on=False, **ticks)
        axes.set_ylim(bottom=bottom)


def draw_histogram(axes: Axes, replay: Judged) -> None:
    """Draw the distributions of the delays and of each algorithm's timers."""
    rtt = replay.delays.rtt_s
    known = rtt[~np.isnan(rtt)]
    if not len(known):
        raise ValueError(f"{replay.delays.name}: no probe was answered, there is nothing to draw")
    algorithms = _drawn(replay)
    everything = np.concatenate([known, *(algorithm.waits for algorithm in algorithms)])
    low, high = max(float(everything.min()), 1e-6), max(float(everything.max()), 2e-6)
    bins = np.geomspace(low, high * 1.001, 80).tolist()
    axes.hist(known, bins=bins, color=GREY, alpha=0.6, label="delays")
    for algorithm, colour in zip(algorithms, SERIES, strict=False):
        axes.hist(
            algorithm.waits, bins=bins, histtype="step", color=colour, label=algorithm.estimator
        )
    axes.set_yscale("log")
    logarithmic(axes, "x")
    axes.set_xlabel("delay, timer")
    axes.set_ylabel("probes")


def draw_scatter(axes: Axes, replay: Judged) -> None:
    """Draw each answered probe: its delay, and the timer that was armed for it.

    Below the diagonal the timer was shorter than the delay: the probe was retransmitted spuriously.
    """
    rtt = replay.delays.rtt_s
    known = ~np.isnan(rtt)
    if not known.any():
        raise ValueError(f"{replay.delays.name}: no probe was answered, there is nothing to draw")
    for algorithm, colour in zip(_drawn(replay), SERIES, strict=False):
        dots: Any = {"linestyle": "none", "marker": ".", "markersize": 3, "rasterized": True}
        axes.plot(
            rtt[known], algorithm.waits[known], color=colour, label=algorithm.estimator, **dots
        )
    most = float(np.max(rtt[known]))
    least = float(np.min(rtt[known]))
    axes.plot([least, most], [least, most], color=GREY, linestyle="--", label="timer = delay")
    logarithmic(axes, "x")
    logarithmic(axes, "y")
    axes.set_xlabel("delay")
    axes.set_ylabel("timer")


def draw_pareto(axes: Axes, replay: Judged) -> None:
    """Draw spurious retransmissions against the mean timer, with intervals, and the front."""
    front = replay.front()
    shares = [algorithm.spurious_share for algorithm in replay.algorithms]
    # A logarithmic axis has no zero, so algorithms without spurious retransmissions stand at the
    # left edge, and intervals from zero on leave the picture there.
    seen = [end for share in shares for end in (share.value, share.low) if end > 0]
    least = min(seen or [shares[0].high]) / 2
    named = _named(replay)
    for place, algorithm in enumerate(replay.algorithms):
        share, timer = algorithm.spurious_share, algorithm.timer
        x, high = (max(end, least) for end in (share.value, share.high))
        low = share.low or (least if share.value == 0 else least / 100)
        known = algorithm in named
        colour = SERIES[place % len(SERIES)] if known else GREY
        shape: Any = {
            "color": colour,
            "zorder": 2 if known else 1.5,
            "marker": "o" if algorithm in front else "s",
            "capsize": 2,
        }
        axes.errorbar(
            x,
            timer.value,
            xerr=[[x - low], [high - x]],
            yerr=[[max(timer.value - timer.low, 0)], [max(timer.high - timer.value, 0)]],
            linestyle="none",
            markerfacecolor=colour if algorithm in front else "white",
            clip_on=share.value > 0,
            label=algorithm.estimator + ("" if share.value > 0 else " (none seen)")
            if known
            else None,
            **shape,
        )
    xs = [max(algorithm.spurious_share.value, least) for algorithm in front]
    axes.step(
        xs,
        [algorithm.timer.value for algorithm in front],
        where="post",
        color=GREY,
        linewidth=1,
        label="front",
    )
    axes.set_xlim(left=least)
    logarithmic(axes, "x", _percent)
    axes.set_xlabel("answers that were retransmitted spuriously")
    logarithmic(axes, "y")
    axes.set_ylabel("mean timer")
    axes.plot(
        [], [], linestyle="none", marker="o", color=GREY, label="filled: no other one beats it"
    )
    if others := len(replay.algorithms) - len(named):
        shape = {"marker": "s", "color": GREY, "markerfacecolor": "white"}
        axes.plot([], [], linestyle="none", label=f"{others} others", **shape)


#: The most timers that the legend of a front names.
_NAMED = 20


def _named(replay: Judged) -> list[JudgedBy]:
    """Return the timers that are named: all, or of many those of the front, evenly spaced."""
    if len(replay.algorithms) <= _NAMED:
        return list(replay.algorithms)
    front = list(replay.front())
    return front[:: -(-len(front) // _NAMED)]


#: Kinds of plots by name.
KINDS: dict[str, Callable[[Axes, Judged], None]] = {
    "timeline": draw_timeline,
    "histogram": draw_histogram,
    "scatter": draw_scatter,
    "pareto": draw_pareto,
}


def draw(replay: Judged, kind: str, *, ax: Axes | None = None, size: Size | None = None) -> Figure:
    """Return a figure of one kind.

    Parameters
    ----------
    replay
        What was replayed.
    kind
        One of `KINDS`.
    ax
        An axes of the caller's to draw into; its figure is returned.
    size
        The width and height of a new figure in inches.

    Raises
    ------
    ValueError
        If there is no such kind, or nothing to show.
    """
    if kind not in KINDS:
        raise ValueError(f"no plot of kind {kind!r}: there are {', '.join(KINDS)}")
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        KINDS[kind](axes, replay)
        if kind != "pareto" and len(replay.algorithms) > len(SERIES):
            told = f"{len(SERIES)} of {len(replay.algorithms)} timers drawn"
            axes.set_title(told, loc="right")
        set_title(axes, Path(replay.delays.name).name)
        legend(axes)
    return figure


def _drawn(replay: Judged) -> list[JudgedBy]:
    """Return the estimators to draw, at most one for each colour, those of the front first."""
    if len(replay.algorithms) <= len(SERIES):
        return list(replay.algorithms)
    front = list(replay.front())
    step = max(1, -(-len(front) // len(SERIES)))
    chosen = [
        *front[::step],
        *(algorithm for algorithm in replay.algorithms if algorithm not in front),
    ][: len(SERIES)]
    return [algorithm for algorithm in replay.algorithms if algorithm in chosen]


def _percent(share: float, _place: float = 0) -> str:
    return f"{100 * share:g} %"


@dataclass(frozen=True)
class ReplayPlots:
    """The plots of a replay, as figures; with a file, .png, .svg or .pdf, they are written, too.

    `ax` is an axes of the caller's to draw into, `size` the width and height of a new figure in
    inches.
    """

    replay: Judged

    def timeline(
        self, file: File = None, *, ax: Axes | None = None, size: Size | None = None
    ) -> Figure:
        """Draw delays and timers over time."""
        return self._drawn("timeline", file, ax, size)

    def histogram(
        self, file: File = None, *, ax: Axes | None = None, size: Size | None = None
    ) -> Figure:
        """Draw the distributions of delays and timers."""
        return self._drawn("histogram", file, ax, size)

    def scatter(
        self, file: File = None, *, ax: Axes | None = None, size: Size | None = None
    ) -> Figure:
        """Draw the timer of each probe against its delay."""
        return self._drawn("scatter", file, ax, size)

    def pareto(
        self, file: File = None, *, ax: Axes | None = None, size: Size | None = None
    ) -> Figure:
        """Draw spurious retransmissions against the mean timer."""
        return self._drawn("pareto", file, ax, size)

    def _drawn(self, kind: str, file: File, ax: Axes | None, size: Size | None) -> Figure:
        return saved(draw(self.replay, kind, ax=ax, size=size), file)
