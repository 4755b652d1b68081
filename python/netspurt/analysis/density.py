"""Computes the density of packets from the timestamps of a capture (Jacobson 1988, postscript).

The method: select the packets of one direction, take the first differences of their timestamps,
smooth these differences, and invert them. Jacobson's mail does not say how to smooth the
differences; this module uses an exponential mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def density(t: Floats, gain: float) -> tuple[Floats, Floats]:
    """Return the packet density after each packet except the first.

    Parameters
    ----------
    t
        Timestamps in order, shape (n,) [s]. Equal timestamps have the difference 0.
    gain
        The weight of each new difference in the mean. It is above 0 and at most 1.

    Returns
    -------
    at
        Instants, shape (n - 1,) [s].
    rate
        Packets per second at these instants. It is infinite while all differences so far are 0.

    Raises
    ------
    ValueError
        If there are fewer than two timestamps, if they are not in order, or if the gain is out of
        range.

    Examples
    --------
    >>> at, rate = density(np.array([0.0, 0.5, 1.0, 1.25, 1.5]), gain=1.0)
    >>> rate.tolist()
    [2.0, 2.0, 4.0, 4.0]
    """
    # scipy is imported here because the import is slow and few callers need it.
    from scipy.signal import lfilter

    if not 0 < gain <= 1:
        raise ValueError(f"gain = {gain:g}: write a gain above 0 and at most 1")
    if len(t) < 2:
        raise ValueError(f"a density needs at least two packets, and there are {len(t)}")
    steps = np.diff(t)
    if np.any(steps < 0):
        raise ValueError("the timestamps are not in order")
    # The mean starts at the first difference.
    initial = [(1 - gain) * steps[0]]
    mean, _ = lfilter([gain], [1.0, gain - 1.0], steps, zi=initial)
    with np.errstate(divide="ignore"):
        rate: Floats = 1.0 / np.asarray(mean, dtype=np.float64)
    return t[1:], rate


def held_at(at: Floats, t: Floats, value: Floats) -> Floats:
    """Return the values at some instants. A value holds from its instant to the next.

    Parameters
    ----------
    at
        The instants for which to return the value, shape (m,) [s].
    t, value
        The instants at which the value changes, and the new values, shape (n,). The value is 0
        before the first change.
    """
    place = np.searchsorted(t, at, side="right") - 1
    known: Floats = np.where(place >= 0, value[np.maximum(place, 0)], 0.0)
    return known


def correlation(a: Floats, b: Floats) -> float:
    """Return the correlation of two series at the instants at which both are finite.

    The result is NaN if one of the series is constant, or if there are fewer than two such
    instants.
    """
    both = np.isfinite(a) & np.isfinite(b)
    x, y = a[both], b[both]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
