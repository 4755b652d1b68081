"""Connections to sites: distributions, throughput over time, throughput against idle time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netspurt.pictures.marks import SERIES, Floats, Ink, Line, Mark, Picture, Points, Rules, Scale

#: The axis is logarithmic if the values differ by more than this factor.
_LOG_RATIO = 20


def distributions(
    series: Mapping[str, ArrayLike], *, what: str, unit: str, marks: Sequence[float] = ()
) -> Picture:
    """Return the distributions of values, with a line for each name.

    Parameters
    ----------
    series
        Values by the name of a site; NaN counts as no value.
    what
        The name of the values.
    unit
        `s` or `bit/s`, which get a suitable prefix; empty for a ratio.
    marks
        Values with a vertical line.
    """
    known = {name: _known(values) for name, values in series.items()}
    known = {name: values for name, values in known.items() if len(values)}
    shown: list[Mark] = []
    for n, (name, values) in enumerate(known.items()):
        share = np.arange(len(values) + 1) / len(values)
        x = np.concatenate([values[:1], values])
        label, ink = f"{name} ({len(values):,})", SERIES[n % len(SERIES)]
        dashed = n // len(SERIES) % 2 == 1
        shown.append(Line(label=label, ink=ink, x=x, y=share, steps=True, dashed=dashed, width=1.6))
    if marks:
        at = np.array(marks, dtype=float)
        shown.append(Rules(label="", ink="red", x=at, dashed=True))
    scale = _value_scale(what, unit, list(known.values()))
    return Picture(tuple(shown), Scale("share of connections", low=0.0, high=1.02), scale)


def _known(values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=float)
    return np.sort(array[np.isfinite(array)])


def _value_scale(what: str, unit: str, series: Sequence[Floats]) -> Scale:
    """Return a scale of values, which is logarithmic if the values differ much."""
    every = np.concatenate([*series, np.empty(0)])
    if not len(every):
        return Scale(what, unit)
    low, high = float(np.quantile(every, 0.01)), float(np.quantile(every, 0.99))
    return Scale(what, unit, log=low > 0 and high > _LOG_RATIO * low)


def throughput_levels(
    t_s: ArrayLike, throughput_bps: ArrayLike, member: ArrayLike, levels: Sequence[float]
) -> Picture:
    """Return throughput over time. The colours show the levels.

    Parameters
    ----------
    t_s, throughput_bps, member
        When each connection began, in seconds, its throughput in bit/s, and the index of its level;
        shape (n,) each.
    levels
        The levels in bit/s, which are drawn as lines.
    """
    t, rate = np.asarray(t_s, dtype=float), np.asarray(throughput_bps, dtype=float)
    levels_of = np.asarray(member)
    since = t - np.nanmin(t) if len(t) else t
    scale, unit = (3600.0, "h") if len(t) and since.max() > 7200 else (60.0, "min")
    ends = np.array([0.0, float(np.max(since, initial=0.0))]) / scale
    marks: list[Mark] = []
    for n, level in enumerate(levels):
        own, ink = levels_of == n, SERIES[n % len(SERIES)]
        marks.append(Points(label="", ink=ink, x=since[own] / scale, y=rate[own]))
        at = np.full(2, level)
        marks.append(Line(label="", ink="grey", x=ends, y=at, width=0.8, rank=1.5))
    y = _value_scale("throughput", "bit/s", [rate[np.isfinite(rate)]])
    return Picture(tuple(marks), y, Scale(f"time [{unit}]"))


def idle_times(
    idle_s: ArrayLike,
    throughput_bps: ArrayLike,
    waited_for: Sequence[str] | NDArray[np.str_],
    *,
    words: Mapping[str, str],
    threshold_s: float,
) -> Picture:
    """Return throughput against the longest idle time, coloured by its cause.

    Parameters
    ----------
    idle_s, throughput_bps
        The longest idle time of each connection in seconds, and its throughput in bit/s.
    waited_for
        The cause of the idle time. It is empty if the cause is not known.
    words
        The causes in words, for the legend.
    threshold_s
        The idle time above which a timeout is assumed. It is drawn as a line.
    """
    idle, rate = np.asarray(idle_s, dtype=float), np.asarray(throughput_bps, dtype=float)
    causes = np.asarray(waited_for, dtype=np.str_)
    known = np.isfinite(idle) & np.isfinite(rate)
    marks: list[Mark] = []
    for n, cause in enumerate(["", *words]):
        own = (causes == cause) & known
        if not own.any():
            continue
        ink: Ink = "black" if not cause else SERIES[(n - 1) % len(SERIES)]
        label = f"{words.get(cause, 'not known')} ({own.sum():,})"
        marks.append(Points(label=label, ink=ink, x=idle[own], y=rate[own], size=4))
    marks.append(Rules(label="", ink="red", x=np.array([threshold_s]), dashed=True))
    y = _value_scale("throughput", "bit/s", [rate[known]])
    x = _value_scale("longest idle time", "s", [idle[known]])
    return Picture(tuple(marks), y, x)
