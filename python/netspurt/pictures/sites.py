"""Pictures of connections to sites: distributions of values, throughput, and idle times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netspurt.pictures.marks import (
    SERIES,
    TIME,
    Floats,
    Ink,
    Mark,
    Picture,
    Points,
    Polyline,
    Rules,
    Scale,
)

#: An axis is logarithmic if the 1 % quantile of its values is above 0, and the 99 % quantile,
#: divided by the 1 % quantile, is more than this number.
_LOG_RATIO = 20


def distributions(
    series: Mapping[str, ArrayLike], *, what: str, unit: str, marks: Sequence[float] = ()
) -> Picture:
    """Return a picture of the cumulative distributions of values, with a line for each site.

    Parameters
    ----------
    series
        The values of each site, by the site's name. Values that are not finite are left out, and so
        are sites without finite values.
    what
        What the values are, as a label of the axis without the unit.
    unit
        The unit of the values: `s` or `bit/s`, to which the picture adds a suitable prefix, or an
        empty text for a ratio.
    marks
        Values at which a vertical line is drawn.
    """
    finite = {name: _sorted_finite(values) for name, values in series.items()}
    finite = {name: values for name, values in finite.items() if len(values)}
    shown: list[Mark] = []
    for n, (name, values) in enumerate(finite.items()):
        share = np.arange(len(values) + 1) / len(values)
        x = np.concatenate([values[:1], values])
        label, ink = f"{name} ({len(values):,})", SERIES[n % len(SERIES)]
        dashed = n // len(SERIES) % 2 == 1
        shown.append(
            Polyline(label=label, ink=ink, x=x, y=share, steps=True, dashed=dashed, width=1.6)
        )
    if marks:
        at = np.array(marks, dtype=float)
        shown.append(Rules(label="", ink="red", x=at, dashed=True))
    scale = _value_scale(what, unit, list(finite.values()))
    return Picture(tuple(shown), Scale("share of connections", low=0.0, high=1.02), scale)


def _sorted_finite(values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=float)
    return np.sort(array[np.isfinite(array)])


def _value_scale(what: str, unit: str, series: Sequence[Floats]) -> Scale:
    """Return a scale. The comment on `_LOG_RATIO` says when it is logarithmic."""
    pooled = np.concatenate([*series, np.empty(0)])
    if not len(pooled):
        return Scale(what, unit)
    low, high = float(np.quantile(pooled, 0.01)), float(np.quantile(pooled, 0.99))
    return Scale(what, unit, log=low > 0 and high > _LOG_RATIO * low)


def throughput_levels(
    t_s: ArrayLike, throughput_bps: ArrayLike, level_of: ArrayLike, levels: Sequence[float]
) -> Picture:
    """Return a picture of throughput over time. The colour of a point shows its level.

    A level is a throughput that many connections have approximately.

    Parameters
    ----------
    t_s
        The instant at which each connection began, in seconds, shape (n,).
    throughput_bps
        The throughput of each connection in bit/s, shape (n,).
    level_of
        The index of each connection's level in `levels`, shape (n,).
    levels
        The levels in bit/s. Each is drawn as a line.
    """
    t, rate = np.asarray(t_s, dtype=float), np.asarray(throughput_bps, dtype=float)
    level_index = np.asarray(level_of)
    elapsed = t - np.nanmin(t) if len(t) else t
    ends = np.array([0.0, float(np.nanmax(elapsed, initial=0.0))])
    marks: list[Mark] = []
    for n, level in enumerate(levels):
        at_level, ink = level_index == n, SERIES[n % len(SERIES)]
        marks.append(Points(label="", ink=ink, x=elapsed[at_level], y=rate[at_level]))
        at = np.full(2, level)
        marks.append(Polyline(label="", ink="grey", x=ends, y=at, width=0.8, rank=1.5))
    y = _value_scale("throughput", "bit/s", [rate[np.isfinite(rate)]])
    return Picture(tuple(marks), y, TIME)


def idle_times(
    idle_s: ArrayLike,
    throughput_bps: ArrayLike,
    waited_for: Sequence[str] | NDArray[np.str_],
    *,
    words: Mapping[str, str],
    threshold_s: float,
) -> Picture:
    """Return a picture of throughput against the longest idle time.

    The colour of a point shows the cause of the idle time.

    Parameters
    ----------
    idle_s, throughput_bps
        The longest idle time of each connection in seconds, and its throughput in bit/s.
    waited_for
        The cause of the idle time. It is empty if the cause is not known.
    words
        The legend's text for each cause. Idle times with other known causes are not drawn.
    threshold_s
        The idle time above which a timeout is assumed. It is drawn as a line.
    """
    idle, rate = np.asarray(idle_s, dtype=float), np.asarray(throughput_bps, dtype=float)
    causes = np.asarray(waited_for, dtype=np.str_)
    known = np.isfinite(idle) & np.isfinite(rate)
    marks: list[Mark] = []
    for n, cause in enumerate(["", *words]):
        of_cause = (causes == cause) & known
        if not of_cause.any():
            continue
        ink: Ink = "black" if not cause else SERIES[(n - 1) % len(SERIES)]
        label = f"{words.get(cause, 'not known')} ({of_cause.sum():,})"
        marks.append(Points(label=label, ink=ink, x=idle[of_cause], y=rate[of_cause], size=4))
    marks.append(Rules(label="", ink="red", x=np.array([threshold_s]), dashed=True))
    y = _value_scale("throughput", "bit/s", [rate[known]])
    x = _value_scale("longest idle time", "s", [idle[known]])
    return Picture(tuple(marks), y, x)
