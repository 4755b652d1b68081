"""Constancy of a path, in the three senses of Zhang, Duffield, Paxson and Shenker (IMW 2001).

*Mathematical*: between two change points, the values come from one distribution; the measure is how
long such change-free periods last. *Operational*: the values stay within a band in which the
differences do not matter to an application. *Predictive*: the recent past predicts the next value
well.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netspurt.analysis.changes import Change

Floats = NDArray[np.float64]

#: The longest change-free periods of delay and throughput in the measurements of Zhang et al. from
#: 1999 to 2001, in seconds, as Tarr and Ghita (2005) quote them. netspurt compares new measurements
#: with these lengths.
IN_2001 = {"delay": 30 * 60.0, "throughput": 20 * 60.0}

#: How many values each moving average covers.
AVERAGED = (1, 2, 4, 8, 16, 32)
#: The gains of the exponential averages.
GAINS = (0.5, 0.25, 0.125, 0.0625)
#: The number of values in a block. An exponential average is computed block by block.
_BLOCK = 128
#: Relative errors below this are errors of rounding, and not of a prediction.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class SteadyPeriod:
    """A period without a change, or within a band.

    Attributes
    ----------
    start_s, end_s
        The instant of the first value of the period, and the instant of the first value after the
        period, in seconds as in the series. The last period ends at the last instant of the series.
    first, count
        The index of the first value of the period, and the number of its values, without those that
        are NaN.
    median, mean, sd
        The median, the mean and the standard deviation (of the population) of the values in the
        period.
    """

    start_s: float
    end_s: float
    first: int
    count: int
    median: float
    mean: float
    sd: float

    @property
    def length_s(self) -> float:
        """The length of the period, in seconds."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Lengths:
    """The distribution of the lengths of periods.

    Attributes
    ----------
    length_s
        The lengths in ascending order, in seconds, shape (k,).
    """

    length_s: Floats

    @property
    def longest_s(self) -> float:
        """The length of the longest period, in seconds; NaN without periods."""
        return float(self.length_s[-1]) if len(self.length_s) else np.nan

    def quantile(self, share: float) -> float:
        """Return a quantile of the lengths; NaN without periods. Each period counts once."""
        return float(np.quantile(self.length_s, share)) if len(self.length_s) else np.nan

    def at_an_instant(self, share: float) -> float:
        """Return a quantile of the length of the period that contains a random instant.

        A long period contains more instants than a short period, so this result describes the path
        better than `quantile`. Half of the time is in periods of at least `at_an_instant(0.5)`.
        """
        total = float(self.length_s.sum())
        if not total > 0:
            return np.nan
        place = np.searchsorted(np.cumsum(self.length_s), share * total)
        return float(self.length_s[min(int(place), len(self.length_s) - 1)])

    def share_of_time(self, at_least_s: float) -> float:
        """Return the share of the time that is in periods of at least this length."""
        total = float(self.length_s.sum())
        return float(self.length_s[self.length_s >= at_least_s].sum()) / total if total else np.nan


def lengths_of(periods: Iterable[SteadyPeriod]) -> Lengths:
    """Return the distribution of the lengths of periods, which may come from several series."""
    return Lengths(np.sort(np.array([period.length_s for period in periods], dtype=float)))


def change_free_periods(
    t_s: ArrayLike, values: ArrayLike, changes: Sequence[Change]
) -> list[SteadyPeriod]:
    """Return the periods between changes, before the first change, and after the last change.

    Parameters
    ----------
    t_s, values
        The instants in seconds, in order, and the values, shape (n,) each.
    changes
        The changes, as `find_changes` returns them.

    Raises
    ------
    ValueError
        If the shapes differ, or if instants go back in time.

    Examples
    --------
    >>> step = [5.0, 5.1, 4.9, 8.0, 8.1]
    >>> change = Change(at=3, chance=0.01, before=5.0, after=8.05)
    >>> [(period.start_s, period.end_s) for period in change_free_periods(range(5), step, [change])]
    [(0.0, 3.0), (3.0, 4.0)]
    """
    t, series = _series(t_s, values)
    if len(t) == 0:
        return []
    return _periods(t, series, [0, *(change.at for change in changes), len(t)])


def band_periods(t_s: ArrayLike, values: ArrayLike, *, ratio: float) -> list[SteadyPeriod]:
    """Return the periods in which the largest value is at most `ratio` times the smallest.

    The first period begins with the first value. A period ends before the first value that would
    make its band too wide. This value begins the next period.

    Raises
    ------
    ValueError
        If `ratio` is not above one, if a value is not above zero, if the shapes differ, or if
        instants go back in time.

    Examples
    --------
    >>> [period.count for period in band_periods(range(5), [10, 11, 10, 13, 12], ratio=1.2)]
    [3, 2]
    """
    if not ratio > 1:
        raise ValueError(f"ratio = {ratio}: write a ratio above one")
    t, series = _series(t_s, values)
    if np.any(series <= 0):
        raise ValueError("a band is a ratio of two values, so all values must be above zero")
    if len(t) == 0:
        return []
    ends, low, high = [0], np.inf, -np.inf
    for place, value in enumerate(series.tolist()):
        if math.isnan(value):
            continue
        low, high = min(low, value), max(high, value)
        if high > ratio * low:
            ends.append(place)
            low = high = value
    return _periods(t, series, [*ends, len(t)])


def category_periods(
    t_s: ArrayLike, values: ArrayLike, edges: Sequence[float]
) -> list[SteadyPeriod]:
    """Return the periods in which the values stay between two neighbouring edges.

    The values below the first edge and the values above the last edge also form categories.

    Examples
    --------
    >>> delay = [0.05, 0.06, 0.15, 0.12, 0.07]
    >>> [period.count for period in category_periods(range(5), delay, [0.1, 0.2, 0.3])]
    [2, 2, 1]
    """
    t, series = _series(t_s, values)
    known = np.flatnonzero(np.isfinite(series))
    if len(known) == 0:
        return []
    kinds = np.searchsorted(np.asarray(edges, dtype=float), series[known], side="right")
    return _periods(t, series, [0, *known[1:][np.diff(kinds) != 0].tolist(), len(t)])


def _series(t_s: ArrayLike, values: ArrayLike) -> tuple[Floats, Floats]:
    t, series = np.asarray(t_s, dtype=float), np.asarray(values, dtype=float)
    if t.shape != series.shape or t.ndim != 1:
        raise ValueError(
            f"t_s and values have the shapes {t.shape} and {series.shape}: both must be (n,)"
        )
    if not np.isfinite(t).all():
        raise ValueError("t_s has an instant that is not finite: leave out its value")
    if np.any(np.diff(t) < 0):
        raise ValueError("t_s goes back in time: sort the values by time")
    return t, series


def _periods(t: Floats, series: Floats, ends: Sequence[int]) -> list[SteadyPeriod]:
    periods = []
    for first, end in itertools.pairwise(ends):
        known = series[first:end][np.isfinite(series[first:end])]
        if len(known) == 0:
            continue
        end_s = t[end] if end < len(t) else t[-1]
        figures = map(float, (np.median(known), known.mean(), known.std()))
        periods.append(SteadyPeriod(float(t[first]), float(end_s), first, len(known), *figures))
    return periods


@dataclass(frozen=True)
class Prediction:
    """The errors of predictions of the next value by an average of the past.

    Attributes
    ----------
    name
        `last value`, `mean of 8` or `EWMA 1/8`.
    error
        The mean of abs(ln(predicted / observed)): 0.1 is about 10 %.
    error_p95
        The 95th percentile of abs(ln(predicted / observed)).
    count
        The number of predictions.
    """

    name: str
    error: float
    error_p95: float
    count: int


def predictions(values: ArrayLike) -> list[Prediction]:
    """Return the prediction errors of moving averages and of exponential averages.

    All averages predict the same values: every value except the first. A moving average uses fewer
    values where there are not enough past values. An exponential average begins with the first
    value.

    Parameters
    ----------
    values
        The series, shape (n,), above zero; NaN counts as no value.

    Raises
    ------
    ValueError
        If a value is not above zero.

    Examples
    --------
    >>> best = min(predictions([4, 5, 4, 5, 4, 5, 4, 5]), key=lambda average: average.error)
    >>> best.name, round(best.error, 3)
    ('mean of 2', 0.128)
    """
    series = np.asarray(values, dtype=float)
    known = series[np.isfinite(series)]
    if np.any(known <= 0):
        raise ValueError("a relative error needs values above zero")
    if len(known) < 2:
        return []
    sums = np.concatenate([[0.0], np.cumsum(known)])
    predicted_places = np.arange(1, len(known))
    averages = []
    for past in AVERAGED:
        first_places = np.maximum(predicted_places - past, 0)
        mean = (sums[predicted_places] - sums[first_places]) / (predicted_places - first_places)
        averages.append(_prediction("last value" if past == 1 else f"mean of {past}", mean, known))
    for gain in GAINS:
        name = f"EWMA 1/{1 / gain:g}"
        averages.append(_prediction(name, _ewma(known, gain), known))
    return averages


def _ewma(known: Floats, gain: float) -> Floats:
    """Return the average after each value except the last, because nothing follows the last value.

    One product of matrices gives the average after each value of a block. `average` is the average
    at the end of the previous block.
    """
    ages = np.subtract.outer(np.arange(_BLOCK), np.arange(_BLOCK))
    weights = np.where(ages >= 0, gain * (1 - gain) ** np.maximum(ages, 0), 0.0)
    decay = (1 - gain) ** np.arange(1, _BLOCK + 1)
    parts, average = [], float(known[0])
    for first in range(0, len(known) - 1, _BLOCK):
        block = known[first : min(first + _BLOCK, len(known) - 1)]
        n = len(block)
        parts.append(weights[:n, :n] @ block + decay[:n] * average)
        average = float(parts[-1][-1])
    return np.concatenate(parts)


def _prediction(name: str, predicted: Floats, known: Floats) -> Prediction:
    errors = np.abs(np.log(predicted / known[1:]))
    # Sums of equal values are rounded, so their averages may differ from them in the last bits.
    errors[errors < _ROUNDING] = 0.0
    return Prediction(name, float(errors.mean()), float(np.quantile(errors, 0.95)), len(errors))


def neighbours(values: ArrayLike, changes: Sequence[Change]) -> float:
    """Return the correlation of neighbouring values within the change-free periods.

    The tests for changes assume that the correlation is zero. The result is NaN if there are fewer
    than three values, or if the values do not vary within the periods.
    """
    series = np.asarray(values, dtype=float)
    ends = [0, *(change.at for change in changes), len(series)]
    products = squares = 0.0
    count = 0
    for first, end in itertools.pairwise(ends):
        known = series[first:end][np.isfinite(series[first:end])]
        # The mean of equal values may differ from them in its last bit.
        vary = len(known) > 0 and np.ptp(known) > 0
        deviations = known - known.mean() if vary else np.zeros(len(known))
        products += float(deviations[1:] @ deviations[:-1])
        squares += float(deviations @ deviations)
        count += len(known)
    return products / squares if count > 2 and squares > 0 else np.nan


def medians_every(t_s: ArrayLike, values: ArrayLike, every_s: float) -> tuple[Floats, Floats]:
    """Return the medians of a series in intervals of equal length since the first instant.

    Returns
    -------
    t_s
        The beginnings of the intervals that have a value, in seconds.
    median
        The median of the values in each of these intervals.

    Raises
    ------
    ValueError
        If `every_s` is not above zero, if the shapes differ, or if instants go back in time.

    Examples
    --------
    >>> t, median = medians_every([0, 1, 2, 3, 10], [5, 7, 6, 9, 8], 4)
    >>> t.tolist(), median.tolist()
    ([0.0, 8.0], [6.5, 8.0])
    """
    t, series = _series(t_s, values)
    if not every_s > 0:
        raise ValueError(f"every_s = {every_s}: write a time above zero")
    known = np.isfinite(series)
    if not known.any():
        return np.empty(0), np.empty(0)
    places = np.floor((t[known] - t[0]) / every_s)
    known_values = series[known]
    firsts = np.flatnonzero(np.diff(places, prepend=-1))
    medians = [float(np.median(part)) for part in np.split(known_values, firsts[1:])]
    return t[0] + every_s * places[firsts], np.array(medians)
