"""Computes the ranks of values, and tests two samples by their ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def ranks(values: ArrayLike) -> Floats:
    """Return the rank of each value, from 1. Equal values have the mean of their ranks.

    Examples
    --------
    >>> ranks([0.3, 0.1, 0.3, 0.2]).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    given = np.asarray(values, dtype=float)
    _, place, counts = np.unique(given, return_inverse=True, return_counts=True)
    means = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(means[place], dtype=float)


def rank_sum_chance(one: ArrayLike, other: ArrayLike) -> float:
    """Return the probability of the difference between two samples, by a test of their ranks.

    It is the probability that two samples of the same distribution differ in their ranks at least
    as much as the samples `one` and `other`. The function uses the normal approximation, corrected
    for ties and for continuity.

    Parameters
    ----------
    one, other
        The samples, shape (n,) and (m,); the probability is NaN if one of them is empty.

    References
    ----------
    Mann and Whitney, "On a test of whether one of two random variables is stochastically larger
    than the other", Annals of Mathematical Statistics 18 (1947).

    Examples
    --------
    >>> round(rank_sum_chance([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]), 3)
    0.012
    """
    from scipy.special import ndtr

    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    n, m = len(a), len(b)
    if not n or not m:
        return np.nan
    every = ranks(np.concatenate([a, b]))
    off = abs(float(every[:n].sum()) - n * (n + m + 1) / 2)
    spread = np.sqrt(n * m / (n + m) * every.var(ddof=1)) if n + m > 1 else 0.0
    return min(float(2 * ndtr(-max(off - 0.5, 0.0) / spread)), 1.0) if spread > 0 else 1.0
