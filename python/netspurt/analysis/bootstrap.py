"""Intervals for series whose neighbours resemble each other: the circular block bootstrap.

Delays come in spells, so single probes drawn at random would make intervals too narrow. Blocks of
neighbours are drawn instead (Politis and Romano 1992), as long as the series' own memory asks for
(Politis and White 2004, corrected by Patton, Politis and White 2009).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Resamples of an interval.
RESAMPLES = 2000
#: Probes are summed by so many bins at most before blocks are drawn.
BINS = 50_000


@dataclass(frozen=True)
class Interval:
    """A value and where it may lie.

    Attributes
    ----------
    value
        What the series itself gives.
    low, high
        The ends of the interval; NaN where too few resamples give a value.
    """

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether both ends lie on one side of zero."""
        return self.low > 0 or self.high < 0


def block_length(series: Floats) -> int:
    """Return how long blocks should be for the mean of a series, by its autocorrelation.

    Parameters
    ----------
    series
        Values in order, shape (n,).

    Returns
    -------
    int
        From 1, for a series without memory, to n/4.

    References
    ----------
    Patton, Politis and White, "Correction to 'Automatic block-length selection for the dependent
    bootstrap'", Econometric Reviews 28 (2009), p. 372.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> white = rng.normal(size=4000)
    >>> smooth = np.convolve(white, np.ones(40), mode="valid")
    >>> block_length(white) < 10 < block_length(smooth)
    True
    """
    n = len(series)
    centred = series - series.mean()
    if n < 8 or not np.any(centred):
        return 1
    # Beyond this lag none is looked at; five in a row that are small end the memory.
    quiet = max(5, int(np.ceil(np.sqrt(np.log10(n)))))
    lags = int(np.ceil(np.sqrt(n))) + quiet
    covariance = _autocovariance(centred, 2 * lags)
    small = np.abs(covariance[1:]) < 2 * np.sqrt(np.log10(n) / n) * covariance[0]
    runs = np.convolve(small[:lags], np.ones(quiet), mode="valid")
    ends = np.flatnonzero(runs == quiet)
    memory = int(ends[0]) if len(ends) else lags
    if memory == 0:
        return 1
    k = np.arange(1, min(2 * memory, len(covariance) - 1) + 1)
    window = np.minimum(1.0, 2 * (1 - k / (2 * memory)))
    weighted = window * covariance[k]
    slope = 2 * np.sum(k * weighted)
    level = covariance[0] + 2 * np.sum(weighted)
    if level <= 0:
        return max(1, min(memory, n // 4))
    length = (2 * slope**2 / (4 / 3 * level**2)) ** (1 / 3) * n ** (1 / 3)
    return int(np.clip(np.ceil(length), 1, max(1, n // 4)))


def _autocovariance(centred: Floats, lags: int) -> Floats:
    """Return the autocovariances up to a lag, by a transform of the padded series."""
    n = len(centred)
    size = 1 << int(2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    both: Floats = np.fft.irfft(spectrum * np.conj(spectrum), size)[: min(lags + 1, n)] / n
    return both


class Blocks:
    """Resamples of a series of rows, in blocks; the same rows for every statistic, so paired.

    Parameters
    ----------
    rows
        What is summed, shape (n, k): a row for each place in the series.
    length
        How long blocks are; by default the longest that any of the columns asks for.
    seed
        Of the draws: the same seed, the same intervals.
    """

    def __init__(self, rows: Floats, *, length: int | None = None, seed: int = 1) -> None:
        n, _ = rows.shape
        if n == 0:
            raise ValueError("no rows to draw from")
        self.length = length or max(block_length(column) for column in rows.T)
        self.sums = rows.sum(axis=0)
        # Sums over bins well below a block change nothing that matters, and bound the memory.
        step = max(1, -(-n // BINS))
        edges = np.arange(0, n, step)
        binned = np.add.reduceat(rows, edges, axis=0)
        self.resampled = _resample(binned, max(1, round(self.length / step)), seed)

    def interval(self, statistic: Callable[[Floats], Floats], level: float = 0.95) -> Interval:
        """Return a statistic of the sums with its percentile interval.

        Parameters
        ----------
        statistic
            From sums, shape (..., k), to values, shape (...). Where it gives NaN a resample is
            left out.
        level
            The interval's probability.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(statistic(self.sums))
            values = statistic(self.resampled)
        values = values[np.isfinite(values)]
        if len(values) < RESAMPLES // 2:
            return Interval(value, np.nan, np.nan)
        tail = (1 - level) / 2
        low, high = np.quantile(values, [tail, 1 - tail])
        return Interval(value, float(low), float(high))


def _resample(rows: Floats, length: int, seed: int) -> Floats:
    """Return sums of resamples, shape (RESAMPLES, k)."""
    n, k = rows.shape
    length = min(length, n)
    whole, rest = divmod(n, length)
    running = np.concatenate([np.zeros((1, k)), np.cumsum(np.concatenate([rows, rows]), axis=0)])
    rng = np.random.default_rng(seed)
    sums = np.empty((RESAMPLES, k))
    for place in range(RESAMPLES):
        starts = rng.integers(0, n, size=whole)
        last = rng.integers(0, n)
        blocks = running[starts + length] - running[starts]
        sums[place] = blocks.sum(axis=0) + running[last + rest] - running[last]
    return sums
