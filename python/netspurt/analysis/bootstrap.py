"""How sure a figure from one recording is, where delays depend on those before.

Probes that follow each other resemble each other, so they are drawn again in blocks (Künsch 1989;
circular ones, Politis and Romano 1992). The recording is then a sample of what the path does over
such blocks; what happens once an hour no bootstrap of ten minutes knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: From resampled columns, shape (columns, resamples, n), to a figure for each resample.
Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]

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
        The interval's ends: percentiles of the resampled figures.
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

    @property
    def sign(self) -> int:
        """-1 or 1 where the whole interval is below or above zero, else 0."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True)
class Blocks:
    """How to draw again.

    Attributes
    ----------
    length
        Probes a block; `None` for the longest `block_length` of any column.
    kind
        Whether a block that reaches the end goes on at the beginning.
    resamples, level, seed
        How many resamples, how wide the interval, and what the draws start from.
    """

    length: int | None = None
    kind: Literal["moving", "circular"] = "circular"
    resamples: int = 2000
    level: float = 0.95
    seed: int = 1


_USUAL = Blocks()


def block_length(series: ArrayLike) -> int:
    """Return how long blocks are to be for a series.

    The first lag at which the autocorrelation is below ``2 / sqrt(n)``, twice, but no less than
    the cube root of n and no more than a quarter of n: a block should hold what belongs together
    and leave some blocks to draw from.

    Parameters
    ----------
    series
        Shape (n,); NaN counts as the mean.

    Examples
    --------
    >>> block_length(np.tile([1.0, -1.0], 250))
    8
    """
    values = np.asarray(series, dtype=float)
    n = len(values)
    least, most = max(int(np.ceil(n ** (1 / 3))), 1), max(n // 4, 1)
    known = np.isfinite(values)
    if not known.any():
        return min(least, most)
    centred = np.where(known, values - np.mean(values[known]), 0.0)
    power = float(centred @ centred)
    if power == 0:
        return min(least, most)
    padded = np.fft.rfft(centred, 2 * n)
    correlation = np.fft.irfft(padded * np.conj(padded))[:n] / power
    low = np.flatnonzero(correlation < 2 / np.sqrt(n))
    lag = int(low[0]) if len(low) else most
    return int(min(max(2 * lag, least), most))


def block_bootstrap(columns: ArrayLike, statistic: Statistic, how: Blocks = _USUAL) -> Interval:
    """Return a statistic of a recording with its interval.

    Parameters
    ----------
    columns
        What the statistic needs of each probe, shape (columns, n) or (n,).
    statistic
        From columns of shape (columns, resamples, n) to one figure for each resample. A ratio of
        sums is ``lambda c: c[0].sum(-1) / c[1].sum(-1)``.
    how
        How long blocks are, how many resamples, how wide the interval.

    Raises
    ------
    ValueError
        When there is nothing to draw from, or a block does not fit in.

    Examples
    --------
    >>> rng = np.random.default_rng(2)
    >>> mean = block_bootstrap(rng.normal(5.0, 1.0, 400), lambda c: c[0].mean(-1))
    >>> mean.low < 5.0 < mean.high
    True
    """
    data = np.atleast_2d(np.asarray(columns, dtype=float))
    n = data.shape[-1]
    if n < 2 or how.resamples < 1:
        raise ValueError(f"{n} probes, {how.resamples} resamples: nothing to draw from")
    size = max(block_length(row) for row in data) if how.length is None else how.length
    if not 1 <= size <= n:
        raise ValueError(f"length = {size}: from 1 to the {n} probes there are")
    rng = np.random.default_rng(how.seed)
    at_once = max(_ROOM // (n * len(data)), 1)
    figures = []
    for done in range(0, how.resamples, at_once):
        places = _places(rng, (n, size), min(at_once, how.resamples - done), how.kind)
        figures.append(np.asarray(statistic(data[:, places])))
    tail = (1 - how.level) / 2
    low, high = np.nanquantile(np.concatenate(figures), [tail, 1 - tail])
    value = float(np.asarray(statistic(data[:, np.newaxis, :]))[0])
    return Interval(value, float(low), float(high), how.level, size)


def _places(
    rng: np.random.Generator, sizes: tuple[int, int], resamples: int, kind: str
) -> NDArray[np.intp]:
    """Return which of n probes each resample has, in blocks of a size: the last one is cut."""
    n, block = sizes
    starts = n if kind == "circular" else n - block + 1
    firsts = rng.integers(0, starts, size=(resamples, -(-n // block)))
    places = firsts[:, :, np.newaxis] + np.arange(block)
    return np.asarray(places.reshape(resamples, -1)[:, :n] % n, dtype=np.intp)


def paired_difference(
    first: ArrayLike, second: ArrayLike, statistic: Statistic, how: Blocks = _USUAL
) -> Interval:
    """Return by how much a statistic differs between two treatments of the same probes.

    Each resample has the same probes of both, so what the path did cancels out.

    Parameters
    ----------
    first, second
        Columns of equal shape, as `block_bootstrap` takes them; the difference is the first's
        figure less the second's.
    statistic, how
        As for `block_bootstrap`.

    Raises
    ------
    ValueError
        When the shapes differ.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> path = rng.exponential(1.0, 300)
    >>> paired_difference(path + 0.1, path, lambda c: c[0].mean(-1)).sign
    1
    """
    a, b = (np.atleast_2d(np.asarray(columns, dtype=float)) for columns in (first, second))
    if a.shape != b.shape:
        raise ValueError(f"shapes {a.shape} and {b.shape}: the probes must be the same")
    rows = len(a)

    def difference(columns: NDArray[np.float64]) -> NDArray[np.float64]:
        return statistic(columns[:rows]) - statistic(columns[rows:])

    return block_bootstrap(np.concatenate([a, b]), difference, how)
