"""Finds glitches: bursts of delays that are many times as long as the typical delay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Glitch:
    """A burst of long delays.

    Attributes
    ----------
    start, end
        The index of the first probe of the burst, and the index after its last probe.
    peak_s
        The longest delay in the burst, in seconds.
    times
        The longest delay divided by the typical delay around its probe.
    """

    start: int
    end: int
    peak_s: float
    times: float


def find_glitches(
    delay_s: ArrayLike, *, times: float = 3.0, typical_over: int = 101, join: int = 2
) -> list[Glitch]:
    """Return the bursts of delays that exceed the typical delay by the factor `times`.

    The typical delay is the median of the `typical_over` probes around a probe. So delays that stay
    long for more than half of these probes are not a glitch.

    Parameters
    ----------
    delay_s
        Delays in seconds in the order of sending, shape (n,), or NaN if a probe is lost.
    times
        The factor by which a long delay exceeds the typical delay. If the packets have several
        lengths, first divide each delay by the delay for the length of the packet (`Fit.at`).
    typical_over
        The number of probes over which the typical delay is computed. An even number counts as the
        next odd number, and the minimum is 3.
    join
        Long delays belong to one glitch if at most `join` other probes, answered or lost, are
        between them.

    Raises
    ------
    ValueError
        If `times` is not above one, or if `delay_s` does not have one dimension.

    Examples
    --------
    >>> delay = np.full(200, 0.1)
    >>> delay[50:54] = [1.0, 0.8, 0.6, 0.4]
    >>> [(g.start, g.end, round(g.times)) for g in find_glitches(delay)]
    [(50, 54, 10)]
    """
    delay = np.asarray(delay_s, dtype=float)
    if delay.ndim != 1:
        raise ValueError(f"delay_s has the shape {delay.shape}: it must be (n,)")
    if not times > 1:
        raise ValueError(f"times = {times}: write a factor above one")
    if not np.isfinite(delay).any():
        return []
    typical = _moving_median(delay, typical_over)
    with np.errstate(invalid="ignore"):
        long = np.flatnonzero(delay > times * typical)
    if len(long) == 0:
        return []
    bursts = np.split(long, np.flatnonzero(np.diff(long) > join + 1) + 1)
    return [_glitch(delay, typical, burst) for burst in bursts]


def _glitch(
    delay: NDArray[np.float64], typical: NDArray[np.float64], burst: NDArray[np.intp]
) -> Glitch:
    peak = burst[np.argmax(delay[burst])]
    ratio = float(delay[peak] / typical[peak])
    return Glitch(int(burst[0]), int(burst[-1]) + 1, float(delay[peak]), ratio)


def _moving_median(values: NDArray[np.float64], over: int) -> NDArray[np.float64]:
    """Return the median of the values around each value. Near the ends there are fewer values."""
    half = max(over // 2, 1)
    padded = np.pad(values, half, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    # If a probe and all probes around it were lost, its typical delay is the median of all values.
    empty = ~np.isfinite(windows).any(axis=1)
    medians = np.full(len(values), np.nanmedian(values))
    medians[~empty] = np.nanmedian(windows[~empty], axis=1)
    return medians
