"""Finds out whether events occur at regular intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: The minimum number of events. With fewer events, no period can be distinguished from chance.
_EVENTS_MIN = 5
#: The number of frequencies that are tried for each independent frequency.
_FINENESS = 8
#: The number of parts into which the distance between two tried frequencies is divided around the
#: chosen frequency.
_PARTS_OF_STEP = 50


@dataclass(frozen=True)
class Period:
    """The most likely period of some events, and its significance.

    Attributes
    ----------
    period_s
        The interval, in seconds.
    chance
        The probability that random arrivals look as regular as the events at any searched
        frequency.
    strength
        1 if all events have the same phase, and near 0 if their phases are random.
    """

    period_s: float
    chance: float
    strength: float


def find_period(
    times_s: ArrayLike, *, chance: float = 0.01, longest_s: float | None = None
) -> Period | None:
    """Return the period of events, or `None` if random arrivals are often as regular.

    This is Rayleigh's test of the phases, over all periods from half the mean interval to
    `longest_s`. The power at a frequency says how well the phases of the events agree. For random
    arrivals, the power at one frequency has an exponential distribution. `chance` allows for the
    choice of the best frequency of the whole range.

    Parameters
    ----------
    times_s
        The instants of the events, in seconds, in any order, shape (n,). Fewer than five events
        give no result.
    chance
        The share of series of random arrivals that may be called regular by mistake. The strongest
        frequency is tested. The returned period may be that of a lower frequency, which is slightly
        weaker.
    longest_s
        The longest period; by default a third of the time from the first event to the last.

    Raises
    ------
    ValueError
        If `chance` is not between 0 and 1.

    References
    ----------
    Baluev, "Assessing the statistical significance of periodogram peaks", Monthly Notices of the
    Royal Astronomical Society 385 (2008), equations 5 and 6, for a power with two degrees of
    freedom.

    Examples
    --------
    >>> found = find_period(np.arange(20) * 7.0)
    >>> round(found.period_s, 2)
    7.0
    """
    if not 0 < chance < 1:
        raise ValueError(f"chance = {chance}: write a number between 0 and 1")
    times = np.sort(np.asarray(times_s, dtype=float))
    if len(times) < _EVENTS_MIN or times[-1] == times[0]:
        return None
    duration = times[-1] - times[0]
    slowest = 1 / (duration / 3 if longest_s is None else longest_s)
    fastest = 2 * (len(times) - 1) / duration
    independent = max(int((fastest - slowest) * duration), 1)
    frequencies = np.linspace(slowest, fastest, _FINENESS * independent)
    power = _power(frequencies, times)
    chances = _chances(power, (fastest - slowest) * float(np.sqrt(4 * np.pi * np.var(times))))
    best = float(chances.min())
    if best > chance:
        return None
    # A period also appears at its harmonics, so the lowest strong frequency is taken.
    strong = np.flatnonzero(power >= 0.9 * power.max())
    peak = strong[0]
    while peak + 1 < len(power) and power[peak + 1] > power[peak]:
        peak += 1
    step = frequencies[1] - frequencies[0] if len(frequencies) > 1 else 0.0
    near_frequencies = frequencies[peak] + np.linspace(-step, step, 2 * _PARTS_OF_STEP + 1)
    near_power = _power(near_frequencies, times)
    strength = float(np.sqrt(near_power.max() / len(times)))
    return Period(float(1 / near_frequencies[near_power.argmax()]), float(chances[peak]), strength)


def _chances(power: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """Return the probability that random arrivals have at least this power at some frequency.

    `width` is the width of the range of frequencies, multiplied by the effective length of the
    series: the root of 4 π times the variance of the instants.
    """
    one = np.exp(-power)
    # This is 1 - (1 - one) * exp(-width * one * sqrt(power)), without a loss of digits.
    with np.errstate(divide="ignore"):
        logarithm = np.log1p(-one) - width * one * np.sqrt(power)
    return np.asarray(-np.expm1(logarithm))


def _power(frequencies: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the power at each frequency: on average 1 for random events, at most `len(times)`."""
    phases = np.exp(2j * np.pi * np.outer(frequencies, times - times[0]))
    return np.asarray(np.abs(phases.sum(axis=1)) ** 2 / len(times))
