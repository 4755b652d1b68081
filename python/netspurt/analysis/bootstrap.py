"""Intervals for series whose neighbours resemble each other: the circular block bootstrap.

Delays come in spells, so single probes drawn at random would make intervals too narrow. Blocks of
neighbours are drawn instead (Politis and Romano 1992), as long as the series' own memory asks for
(Politis and White 2004, corrected by Patton, Politis and White 2009).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
#: From sums, shape (columns + 1, resamples), to a figure for each resample.
Statistic = Callable[[Floats], Floats]

#: Resamples of an interval.
RESAMPLES = 2000
#: Probes are summed by so many bins at most before blocks are drawn.
BINS = 50_000
#: Fewer values than this do not tell how far neighbours resemble each other.
SHORTEST = 8
#: The most of a value that its successor is taken to keep.
MOST_KEPT = 0.97
#: The most values that are held at once.
_ROOM = 1 << 22


@dataclass(frozen=True)
class Interval:
    """A figure with the interval it lies in.

    Attributes
    ----------
    value
        The figure of the recording itself.
    low, high
        The interval's ends, from percentiles of the resampled figures; NaN where hardly any
        resample has one.
    level
        How many intervals of a hundred hold the true figure, over 100, if the blocks are long
        enough.
    block
        How many probes a block has.
    """

    value: float
    low: float
    high: float
    level: float
    block: int

    def scaled(self, factor: float) -> Interval:
        """Return it in another unit, by a factor above zero."""
        ends = (self.value * factor, self.low * factor, self.high * factor)
        return Interval(*ends, self.level, self.block)

    @property
    def sign(self) -> int:
        """-1 or 1 where the whole interval is below or above zero, else 0."""
        return int(self.low > 0) - int(self.high < 0)


def block_length(series: ArrayLike) -> int:
    """Return how long blocks should be for the mean of a series, by its autocorrelation.

    Parameters
    ----------
    series
        Values in order, shape (n,); NaN counts as the mean.

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
    values = np.asarray(series, dtype=float)
    n, known = len(values), np.isfinite(values)
    if not known.any():
        return 1
    centred = np.where(known, values - values[known].mean(), 0.0)
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


class Resamples:
    """Sums over a recording, drawn again in blocks: the same probes for every statistic.

    Parameters
    ----------
    columns
        What is summed of each probe, shape (k, n) or (n,).
    length
        Probes a block; by default the longest that any of the columns asks for.
    seed
        Of the draws: the same seed, the same intervals.
    memory
        Whether neighbours may resemble each other further than blocks go; by default where `length`
        is not 1.

    Raises
    ------
    ValueError
        When there is nothing to draw from, or a block does not fit in.
    """

    def __init__(
        self,
        columns: ArrayLike,
        *,
        length: int | None = None,
        seed: int = 1,
        memory: bool | None = None,
    ) -> None:
        data = np.atleast_2d(np.asarray(columns, dtype=float))
        n = data.shape[-1]
        if n < 2:
            raise ValueError(f"{n} probes: nothing to draw from")
        self.length = length or max(block_length(row) for row in data)
        self._memory = length != 1 if memory is None else memory
        if not 1 <= self.length <= n:
            raise ValueError(f"length = {length}: from 1 to the {n} probes there are")
        rows = np.concatenate([data, np.ones((1, n))]).T
        self.sums = rows.sum(axis=0)
        # Sums over bins well below a block change nothing that matters, and bound the memory.
        step = -(-n // BINS)
        binned = np.add.reduceat(rows, np.arange(0, n, step), axis=0)
        self.resampled = _resample(binned, max(1, round(self.length / step)), seed).T
        self._rows = binned

    def interval(self, statistic: Statistic, level: float = 0.95) -> Interval:
        """Return a statistic of the sums with its interval.

        It holds the percentile interval and its mirror image about the value, since figures of rare
        events are skewed to one side, and is stretched as Student's distribution is for so many
        blocks, since few blocks resemble each other too much. Blocks of a short series end before
        its memory does, so the interval is no narrower than that of a series whose values keep as
        much of the last one as neighbours here do (prewhitening; Andrews and Monahan 1992).

        Parameters
        ----------
        statistic
            From sums, shape (k + 1, resamples), to a figure for each resample: a mean is
            ``lambda s: s[0] / s[-1]``, since the last sum is the number of probes. A resample
            without a figure, NaN, is left out.
        level
            The interval's probability.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(statistic(self.sums[:, np.newaxis])[0])
            values = statistic(self.resampled)
        values = values[np.isfinite(values)]
        if len(values) < RESAMPLES // 2:
            return Interval(value, np.nan, np.nan, level, self.length)
        tail = (1 - level) / 2
        low, high = np.quantile(values, [tail, 1 - tail])
        below, above = value - float(low), float(high) - value
        reach = max(below, above, 0.0) * self.stretch(level)
        if reach > 0 and self._memory:
            reach = max(reach, self._prewhitened(statistic, level))
        return Interval(value, value - reach, value + reach, level, self.length)

    def _prewhitened(self, statistic: Statistic, level: float) -> float:
        """Return how far the interval reaches if what is left of the past fades at one rate."""
        from scipy.stats import t

        parts = self._parts(statistic)
        n, scatter = len(parts), float(np.sum(parts**2))
        if n < SHORTEST or not np.isfinite(scatter) or scatter == 0:
            return 0.0
        kept = float(np.dot(parts[1:], parts[:-1])) / scatter
        # A short series looks more forgetful than it is (Kendall 1954).
        kept = min(max(kept + (1 + 3 * kept) / n, 0.0), MOST_KEPT)
        rest = parts[1:] - kept * parts[:-1]
        lags = max(1, round(4 * (n / 100) ** (2 / 9)))
        covariance = _autocovariance(rest - rest.mean(), lags)
        weights = 1 - np.arange(1, len(covariance)) / (lags + 1)
        level_of_rest = max(covariance[0] + 2 * weights @ covariance[1:], 0.1 * covariance[0])
        variance = n * float(level_of_rest) / (1 - kept) ** 2
        alone = scatter / variance * n if variance > 0 else float(n)
        return float(t.ppf((1 + level) / 2, max(alone - 1, 2.0))) * float(np.sqrt(variance))

    def _parts(self, statistic: Statistic) -> Floats:
        """Return by how much each probe, or bin of some, moves a statistic, shape (n,)."""
        steps = 1e-4 * np.abs(self.sums)
        moved = np.diag(steps)
        base = self.sums[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = (statistic(base + moved) - statistic(base - moved)) / (2 * steps)
        slopes = np.where(steps > 0, slopes, 0.0)
        parts = self._rows @ slopes
        centred: Floats = parts - parts.mean()
        return centred

    def stretch(self, level: float) -> float:
        """Return how much wider an interval of few blocks is than one of many."""
        from scipy.stats import norm, t

        blocks = max(self.sums[-1] / self.length, 3.0)
        quantile = (1 + level) / 2
        return float(t.ppf(quantile, blocks - 1) / norm.ppf(quantile))


def block_bootstrap(
    columns: ArrayLike, statistic: Statistic, *, length: int | None = None, seed: int = 1
) -> Interval:
    """Return a statistic of a recording with its interval, as `Resamples.interval` has it.

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
    """Return by how much a statistic differs between two treatments of the same probes.

    Each resample has the same probes of both, so what the path did cancels out.

    Parameters
    ----------
    first, second
        Columns of equal shape, as `Resamples` takes them; the difference is the first's figure
        less the second's.
    statistic, length, seed
        As for `block_bootstrap`.

    Raises
    ------
    ValueError
        When the shapes differ.

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
        one = statistic(np.concatenate([sums[:rows], count]))
        return one - statistic(np.concatenate([sums[rows:-1], count]))

    return block_bootstrap(np.concatenate([a, b]), difference, length=length, seed=seed)


def _resample(rows: Floats, length: int, seed: int) -> Floats:
    """Return sums of resamples, shape (RESAMPLES, k)."""
    n, k = rows.shape
    length = min(length, n)
    whole, rest = divmod(n, length)
    running = np.concatenate([np.zeros((1, k)), np.cumsum(np.concatenate([rows, rows]), axis=0)])
    places = np.arange(n)
    blocks = running[places + length] - running[places]
    remainders = running[places + rest] - running[places]
    rng = np.random.default_rng(seed)
    sums = np.empty((RESAMPLES, k))
    at_once = max(1, _ROOM // n)
    for done in range(0, RESAMPLES, at_once):
        count = min(at_once, RESAMPLES - done)
        # How often each block is drawn, so that the sums are one product of matrices.
        starts = rng.integers(0, n, size=(count, whole)) + n * np.arange(count)[:, np.newaxis]
        drawn = np.bincount(starts.ravel(), minlength=count * n).reshape(count, n)
        last = rng.integers(0, n, size=count)
        sums[done : done + count] = drawn @ blocks + remainders[last]
    return sums
