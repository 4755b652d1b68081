"""Computes intervals for correlated series, by the circular block bootstrap.

Delays are correlated, so a bootstrap of single probes would make intervals too narrow. This module
draws blocks of neighbours instead (Politis and Romano 1992). A *resample* consists of as many drawn
blocks as fill the length of the series. The length of a block follows from the series'
autocorrelation (Politis and White 2004, corrected by Patton, Politis and White 2009).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netspurt.quantities import known

Floats = NDArray[np.float64]
#: A function that takes sums, shape (columns + 1, resamples), and returns a figure per resample.
Statistic = Callable[[Floats], Floats]

#: The number of resamples for an interval.
RESAMPLES = 2000
#: The maximum number of bins into which probes are summed before blocks are drawn.
BINS = 50_000
#: With fewer values, the correlation of neighbours cannot be estimated.
VALUES_MIN = 8
#: The upper bound of the estimated correlation of neighbours.
CORRELATION_MAX = 0.97
#: The maximum number of values that are in memory at the same time.
_VALUES_MAX = 1 << 22
#: A matrix has a row for each resample, and says how often the resample has each block. A part of a
#: dense matrix has at most `_PART` values, unless a single row has more.
_PART = 1 << 15
#: If blocks have at least this number of values, a resample draws few of them. Then a sparse matrix
#: is faster than a dense matrix.
_SPARSE_LENGTH_MIN = 4
#: The minimum length of a Fourier transform; shorter transforms of a long series take more time.
_TRANSFORM_MIN = 1 << 14
#: With more than `_MANY_BLOCKS` blocks, an expansion gives the quantile of Student's distribution.
_MANY_BLOCKS = 1000


@dataclass(frozen=True)
class Interval:
    """A figure with its interval.

    Attributes
    ----------
    value
        The figure of the recording itself.
    low, high
        The ends of the interval, from percentiles of the resampled figures. They are NaN if fewer
        than half of the resamples have a figure.
    level
        The share of intervals that contain the true figure, if the blocks are long enough.
    block
        The number of values in a block. A value is a probe, or a bin of probes.
    """

    value: float
    low: float
    high: float
    level: float
    block: int

    @classmethod
    def without(cls, value: float) -> Interval:
        """Return a figure without an interval: its ends are NaN."""
        return cls(value, np.nan, np.nan, 0.95, 1)

    @classmethod
    def certain(cls, value: float) -> Interval:
        """Return a figure whose interval is the figure itself, because nothing is random."""
        return cls(value, value, value, 0.95, 1)

    def scaled(self, factor: float) -> Interval:
        """Return the figure and the interval in another unit, multiplied by a factor above zero."""
        ends = (self.value * factor, self.low * factor, self.high * factor)
        return Interval(*ends, self.level, self.block)

    def bounded(self, low: float, high: float) -> Interval:
        """Return the interval without its impossible values below `low` and above `high`."""
        # The mean of equal values may differ from them in its last bit, and the interval must
        # contain the mean.
        ends = (
            min(float(np.clip(self.low, low, high)), self.value),
            max(float(np.clip(self.high, low, high)), self.value),
        )
        return Interval(self.value, *ends, self.level, self.block)

    def data(self) -> dict[str, float | None]:
        """Return the figure and the ends; `None` in place of NaN."""
        return {"value": known(self.value), "low": known(self.low), "high": known(self.high)}

    @property
    def sign(self) -> int:
        """-1 if the whole interval is below zero, 1 if it is above zero, else 0."""
        return int(self.low > 0) - int(self.high < 0)


def block_length(series: ArrayLike) -> int:
    """Return the block length for the mean of a series, from its autocorrelation.

    Parameters
    ----------
    series
        Values in order, shape (n,); NaN counts as the mean.

    Returns
    -------
    int
        The length. It is 1 if the series shows no correlation, and at most n/4.

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
    values = np.asarray(series, dtype=float)
    n, known = len(values), np.isfinite(values)
    if not known.any():
        return 1
    # The range is tested and not the deviations from the mean, because the mean of equal values may
    # differ from them in its last bit.
    if n < 8 or np.ptp(values[known]) == 0:
        return 1
    centred = np.where(known, values - values[known].mean(), 0.0)
    # The search ends after several small autocorrelations in a row (`quiet` is their number), or at
    # the lag `lags`.
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
    """Return the autocovariances up to a lag.

    The series is divided into parts, so the time is proportional to its length. Each part is
    correlated with itself and the `lags` values after it, by a Fourier transform.
    """
    n = len(centred)
    lags = min(lags, n - 1)
    whole = 1 << int(2 * n - 1).bit_length()
    size = min(whole, max(_TRANSFORM_MIN, 1 << int(4 * lags).bit_length()))
    length = size - lags
    both = np.zeros(lags + 1)
    for first in range(0, n, length):
        part = np.fft.rfft(centred[first : first + length], size)
        longer = np.fft.rfft(centred[first : first + size], size)
        both += np.fft.irfft(np.conj(part) * longer, size)[: lags + 1]
    return both / n


class Resamples:
    """Sums over a recording, resampled in blocks, with the same probes for every statistic.

    Parameters
    ----------
    columns
        The summed values of each probe, shape (k, n) or (n,).
    length
        Probes per block; by default the largest of the block lengths that the columns need.
    seed
        The seed of the draws; the same seed gives the same intervals.
    memory
        True if neighbours may be correlated beyond a block. By default, it is false only if
        `length` is 1.

    Raises
    ------
    ValueError
        If there are fewer than two probes, or a block is longer than the series.
    """

    resampled: Floats

    def __init__(
        self,
        columns: ArrayLike,
        *,
        length: int | None = None,
        seed: int = 1,
        memory: bool | None = None,
    ) -> None:
        self._set(columns, length, memory=memory)
        _draw([self], seed)

    @classmethod
    def each(
        cls, every: Sequence[ArrayLike], *, length: int | None = None, seed: int = 1
    ) -> list[Resamples]:
        """Return the resamples of several recordings that have the same number of probes.

        The results are the same as with `Resamples`, but blocks are drawn only once for all
        recordings.

        Parameters
        ----------
        every
            The columns of each recording, as for `Resamples`.
        length, seed
            As for `Resamples`.

        Raises
        ------
        ValueError
            As for `Resamples`, or if the numbers of probes or the lengths of blocks differ.
        """
        found = [cls.__new__(cls) for _ in every]
        for one, columns in zip(found, every, strict=True):
            one._set(columns, length)
        if len({(len(one._rows), one._rows_of_block) for one in found}) > 1:
            raise ValueError("the recordings must have equally many probes, and equal blocks")
        _draw(found, seed)
        return found

    def _set(self, columns: ArrayLike, length: int | None, *, memory: bool | None = None) -> None:
        """Set all attributes except `resampled`."""
        data = np.atleast_2d(np.asarray(columns, dtype=float))
        n = data.shape[-1]
        if n < 2:
            raise ValueError(f"the number of probes, {n}, is too few to resample")
        self.length = length or max(block_length(row) for row in data)
        self.memory = length != 1 if memory is None else memory
        if not 1 <= self.length <= n:
            raise ValueError(f"length = {length}: it must be from 1 to {n}, the number of probes")
        rows = np.concatenate([data, np.ones((1, n))]).T
        self.sums = rows.sum(axis=0)
        # Bins much shorter than a block hardly change the result, and they limit the use of memory.
        step = -(-n // BINS)
        self._rows = np.add.reduceat(rows, np.arange(0, n, step), axis=0)
        self._rows_of_block = max(1, round(self.length / step))

    def interval(self, statistic: Statistic, level: float = 0.95) -> Interval:
        """Return a statistic of the sums with its interval.

        The interval contains the percentile interval and its mirror image about the value, because
        figures of rare events are skewed to one side. The interval is widened by Student's
        distribution for this number of blocks, because a few blocks underestimate the spread. In a
        short series, values may be correlated over more than a block. So, if `memory` is true, a
        second interval is computed for an autoregressive series with the same correlation of
        neighbours. The wider interval is used (prewhitening; Andrews and Monahan 1992).

        Parameters
        ----------
        statistic
            A function from sums, shape (k + 1, resamples), to a figure for each resample. A mean is
            ``lambda s: s[0] / s[-1]``: the last sum is the number of probes. Resamples whose
            figure is NaN are left out.
        level
            The probability that the interval contains the true figure.
        """
        return joint_interval([self], lambda sums: statistic(sums[0]), level)

    def prewhitened(self, statistic: Statistic, level: float) -> float:
        """Return the half width that the interval has if the series is autoregressive of order 1.

        The result is zero if the series has fewer than `VALUES_MIN` values or does not vary.
        """
        from scipy.special import stdtrit

        parts = self._parts(statistic)
        n, scatter = len(parts), float(np.sum(parts**2))
        if n < VALUES_MIN or not np.isfinite(scatter) or scatter == 0:
            return 0.0
        correlation = float(np.dot(parts[1:], parts[:-1])) / scatter
        # The autocorrelation of a short series is underestimated (Kendall 1954).
        correlation = min(max(correlation + (1 + 3 * correlation) / n, 0.0), CORRELATION_MAX)
        residuals = parts[1:] - correlation * parts[:-1]
        lags = max(1, round(4 * (n / 100) ** (2 / 9)))
        covariance = _autocovariance(residuals - residuals.mean(), lags)
        weights = 1 - np.arange(1, len(covariance)) / (lags + 1)
        level_of_residuals = max(covariance[0] + 2 * weights @ covariance[1:], 0.1 * covariance[0])
        variance = n * float(level_of_residuals) / (1 - correlation) ** 2
        independent = scatter / variance * n if variance > 0 else float(n)
        return float(stdtrit(max(independent - 1, 2.0), (1 + level) / 2)) * float(np.sqrt(variance))

    def _parts(self, statistic: Statistic) -> Floats:
        """Return the influence of each probe, or bin of probes, on a statistic, shape (n,)."""
        steps = 1e-4 * np.abs(self.sums)
        moved = np.diag(steps)
        base = self.sums[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = (statistic(base + moved) - statistic(base - moved)) / (2 * steps)
        slopes = np.where(steps > 0, slopes, 0.0)
        parts = self._rows @ slopes
        centred: Floats = parts - parts.mean()
        return centred


#: A function like `Statistic` that takes the sums of several recordings.
JointStatistic = Callable[[Sequence[Floats]], Floats]


def joint_interval(
    parts: Sequence[Resamples], statistic: JointStatistic, level: float = 0.95
) -> Interval:
    """Return a statistic of several recordings with an interval, as `Resamples.interval` does.

    Blocks are drawn within each recording, so the interval applies to these recordings and not to
    others.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic([part.sums[:, np.newaxis] for part in parts])[0])
        values = statistic([part.resampled for part in parts])
    length = max(part.length for part in parts)
    values = values[np.isfinite(values)]
    if len(values) < RESAMPLES // 2:
        return Interval(value, np.nan, np.nan, level, length)
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    below, above = value - float(low), float(high) - value
    half_width = max(below, above, 0.0) * stretch(parts, level)
    if half_width > 0 and any(part.memory for part in parts):
        squares = (
            _half_width_of_one(parts, place, statistic, level) ** 2 for place in range(len(parts))
        )
        half_width = max(half_width, math.sqrt(sum(squares)))
    return Interval(value, value - half_width, value + half_width, level, length)


def _half_width_of_one(
    parts: Sequence[Resamples], place: int, statistic: JointStatistic, level: float
) -> float:
    """Return the half width of the interval if only one recording is resampled."""
    fixed = [part.sums[:, np.newaxis] for part in parts]

    def with_sums(sums: Floats) -> Floats:
        wide = [np.broadcast_to(column, (len(column), sums.shape[1])) for column in fixed]
        return statistic([*wide[:place], sums, *wide[place + 1 :]])

    return parts[place].prewhitened(with_sums, level)


def stretch(parts: Sequence[Resamples], level: float) -> float:
    """Return the factor by which an interval from few blocks must be widened.

    The factor is a quantile of Student's distribution, divided by the same quantile of the normal
    distribution.

    References
    ----------
    Abramowitz and Stegun, "Handbook of Mathematical Functions", eq. 26.7.5: the expansion that is
    used for many blocks. Its error is below 1e-8 there.
    """
    blocks = max(sum(part.sums[-1] / part.length for part in parts), 3.0)
    quantile = (1 + level) / 2
    normal = NormalDist().inv_cdf(quantile)
    if blocks > _MANY_BLOCKS:
        square, degrees = normal**2, float(blocks) - 1
        first, second = (square + 1) / 4, (5 * square**2 + 16 * square + 3) / 96
        return 1 + first / degrees + second / degrees**2
    # scipy is imported here because the import is slow and needs much memory.
    from scipy.special import stdtrit

    return float(stdtrit(blocks - 1, quantile)) / normal


def block_bootstrap(
    columns: ArrayLike, statistic: Statistic, *, length: int | None = None, seed: int = 1
) -> Interval:
    """Return a statistic of a recording with its interval, as from `Resamples.interval`.

    Examples
    --------
    >>> rng = np.random.default_rng(2)
    >>> mean = block_bootstrap(rng.normal(5.0, 1.0, 400), lambda s: s[0] / s[-1])
    >>> mean.low < 5.0 < mean.high
    True
    """
    return Resamples(columns, length=length, seed=seed).interval(statistic)


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    statistic: Statistic,
    *,
    length: int | None = None,
    seed: int = 1,
) -> Interval:
    """Return the difference of a statistic between two treatments of the same probes.

    Each resample has the same probes of both treatments, so the effects of the path cancel out.

    Parameters
    ----------
    first, second
        Columns of equal shape, as for `Resamples`. The difference is the figure of the first minus
        the figure of the second.
    statistic, length, seed
        As for `block_bootstrap`.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> path = rng.exponential(1.0, 300)
    >>> paired_difference(path + 0.1, path, lambda s: s[0] / s[-1]).sign
    1
    """
    a, b = (np.atleast_2d(np.asarray(columns, dtype=float)) for columns in (first, second))
    if a.shape != b.shape:
        raise ValueError(f"shapes {a.shape} and {b.shape}: the probes must be the same")
    rows = len(a)

    def difference(sums: Floats) -> Floats:
        count = sums[-1:]
        first_figure = statistic(np.concatenate([sums[:rows], count]))
        return first_figure - statistic(np.concatenate([sums[rows:-1], count]))

    return block_bootstrap(np.concatenate([a, b]), difference, length=length, seed=seed)


def _draw(every: Sequence[Resamples], seed: int) -> None:
    """Set `resampled` of recordings that have equally many rows and equally long blocks."""
    if every:
        sums = _resample([one._rows for one in every], every[0]._rows_of_block, seed)
        for one, own in zip(every, sums, strict=True):
            one.resampled = own.T


def _resample(every: Sequence[Floats], length: int, seed: int) -> list[Floats]:
    """Return sums of resamples, shape (RESAMPLES, k), for each of several arrays of n rows."""
    n = len(every[0])
    length = min(length, n)
    blocks_per_resample, remainder = divmod(n, length)
    blocks, remainders = [], []
    for rows in every:
        twice = np.cumsum(np.concatenate([rows, rows]), axis=0)
        running = np.concatenate([np.zeros((1, rows.shape[1])), twice])
        blocks.append(running[length : length + n] - running[:n])
        remainders.append(running[remainder : remainder + n] - running[:n])
    rng = np.random.default_rng(seed)
    sums = [np.empty((RESAMPLES, rows.shape[1])) for rows in every]
    # If blocks have few values, many blocks are drawn. Then a dense matrix is faster.
    draw = _sparse if length >= _SPARSE_LENGTH_MIN else _dense
    per_batch = max(1, _VALUES_MAX // n)
    for done in range(0, RESAMPLES, per_batch):
        count = min(per_batch, RESAMPLES - done)
        for part, drawn in draw(rng, (count, blocks_per_resample), n):
            for own, block in zip(sums, blocks, strict=True):
                # One matrix product gives the sums.
                own[done + part : done + part + drawn.shape[0]] = drawn @ block
        last = rng.integers(0, n, size=count)
        for own, rest in zip(sums, remainders, strict=True):
            own[done : done + count] += rest[last]
    return sums


def _sparse(rng: np.random.Generator, shape: tuple[int, int], n: int) -> Iterator[tuple[int, Any]]:
    """Draw blocks, and yield a sparse matrix of how often each resample has each of `n` blocks.

    `shape` has the number of resamples, and the number of blocks that are drawn for each. The
    matrix comes with the number of its first resample, which is 0.
    """
    from scipy.sparse import csr_array

    starts = rng.integers(0, n, size=shape)
    ends = np.arange(shape[0] + 1) * shape[1]
    yield 0, csr_array((np.ones(starts.size), starts.ravel(), ends), shape=(shape[0], n))


def _dense(
    rng: np.random.Generator, shape: tuple[int, int], n: int
) -> Iterator[tuple[int, Floats]]:
    """Yield the matrix of `_sparse` as arrays, each with a part of the resamples.

    So only a small part of the matrix is in memory.
    """
    count, drawn = shape
    per_part = max(1, _PART // n)
    for done in range(0, count, per_part):
        rows = min(per_part, count - done)
        starts = rng.integers(0, n, size=(rows, drawn)) + n * np.arange(rows)[:, np.newaxis]
        counts = np.bincount(starts.ravel(), minlength=rows * n)
        yield done, counts.reshape(rows, n).astype(float)
