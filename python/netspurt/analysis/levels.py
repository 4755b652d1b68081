"""Levels of throughput: the values around which the throughputs of connections cluster.

A mixture of normal distributions is fitted to the logarithms (EM, from the best division into
contiguous groups), and the number of levels is the one with the least BIC (Schwarz 1978).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: The most levels that are tried.
MOST = 20
#: The least standard deviation of a level's logarithms: half a percent.
NARROWEST = 0.005
#: The first division into groups is made with this many quantiles of a series.
_POINTS = 300
#: The most rounds of EM, and the gain of log-likelihood per value at which EM ends.
_ROUNDS = 300
_GAIN = 1e-6
#: The search ends after this many larger numbers of levels that were no better.
_IN_VAIN = 8


@dataclass(frozen=True)
class Level:
    """A level of throughput.

    Attributes
    ----------
    value
        Its centre: the value whose logarithm is the mean, in the unit of the values.
    spread
        The standard deviation of the logarithms; 0.1 is about 10 %.
    share
        Its weight in the mixture.
    count
        The number of values that most likely belong to this level.
    """

    value: float
    spread: float
    share: float
    count: int


@dataclass(frozen=True)
class Levels:
    """The levels of a set of values.

    Attributes
    ----------
    levels
        The levels, from the lowest to the highest.
    member
        The index of the level that each value most likely belongs to, shape (n,). It is -1 where
        there is no value.
    bic
        The Bayesian information criterion for each number of levels that was tried, from 1 on. The
        number with the least value is chosen.
    """

    levels: tuple[Level, ...]
    member: NDArray[np.intp]
    bic: tuple[float, ...]

    def spans(self, t_s: ArrayLike) -> list[float]:
        """Return, for each level, the share of the time from its first value to its last.

        If the shares of all levels are near 1, the levels exist at the same time, and the path does
        not move from one to the next.

        Parameters
        ----------
        t_s
            The instants of the values in seconds, shape (n,).
        """
        t = np.asarray(t_s, dtype=float)
        whole = float(np.ptp(t)) if len(t) else 0.0
        own = (t[self.member == n] for n in range(len(self.levels)))
        return [float(np.ptp(one)) / whole if len(one) and whole else np.nan for one in own]


def find_levels(values: ArrayLike, *, most: int = MOST) -> Levels:
    """Return the levels around which values cluster, on a logarithmic scale.

    A level whose values are not log-normal, such as one with a tail, may be returned as two levels.

    Parameters
    ----------
    values
        Throughputs in any unit, shape (n,), above zero; NaN counts as no value.
    most
        The most levels to try. Each level needs at least three values.

    Raises
    ------
    ValueError
        If there is no value, or one is not above zero.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> at = rng.choice([20.0, 40.0, 60.0], 300)
    >>> found = find_levels(at * np.exp(rng.normal(0, 0.03, 300)))
    >>> [round(level.value) for level in found.levels]
    [20, 40, 60]
    """
    given = np.asarray(values, dtype=float)
    known = given[np.isfinite(given)]
    if given.ndim != 1 or len(known) == 0:
        raise ValueError("levels need at least one value, in one dimension")
    if np.any(known <= 0):
        raise ValueError("levels need values above zero, because they are found by logarithms")
    logs = np.log(known)
    logs -= (centre := float(logs.mean()))
    bic, best = _least_bic(logs, max(1, min(most, len(known) // 3)))
    best = best.in_order()
    members = np.argmax(best.log_parts(logs), axis=1)
    member = np.full(len(given), -1, dtype=np.intp)
    member[np.isfinite(given)] = members
    counts = np.bincount(members, minlength=len(best.mean))
    found = zip(np.exp(best.mean + centre), best.sd, best.weight, counts, strict=True)
    levels = tuple(Level(float(v), float(s), float(w), int(n)) for v, s, w, n in found)
    return Levels(levels, member, tuple(bic))


def _least_bic(logs: Floats, most: int) -> tuple[list[float], _Mixture]:
    """Return the least BIC for each number of levels, and the best mixture of all.

    Each number is tried twice: with one standard deviation for all levels, and with one for each
    level. The search ends when several numbers in a row were no better.
    """
    fits: list[_Mixture] = []
    found: list[float] = []
    for start in _divisions(logs, most):
        both = [replace(start, alike=alike).full(logs) for alike in (True, False)]
        fits.append(min(both, key=lambda one: one.bic(len(logs))))
        found.append(fits[-1].bic(len(logs)))
        if len(found) - 1 - int(np.argmin(found)) >= _IN_VAIN:
            break
    return found, fits[int(np.argmin(found))]


@dataclass(frozen=True)
class _Mixture:
    """Normal distributions with weights, shape (k,) each, and the log-likelihood of the data.

    `alike` says that all distributions have the same standard deviation.
    """

    weight: Floats
    mean: Floats
    sd: Floats
    alike: bool
    likelihood: float = -np.inf

    def log_parts(self, x: Floats) -> Floats:
        """Return the logarithm of each part's density times its weight, shape (n, k)."""
        z = (x[:, np.newaxis] - self.mean) / self.sd
        return np.asarray(np.log(self.weight / self.sd) - 0.5 * (z * z + np.log(2 * np.pi)))

    def bic(self, n: int) -> float:
        """Return the information criterion.

        The free parameters are a mean for each part, a weight for all parts but one, and one
        standard deviation for each part or one for all.
        """
        k = len(self.mean)
        free = 2 * k - 1 + (1 if self.alike else k)
        return float(free * np.log(n) - 2 * self.likelihood)

    def in_order(self) -> _Mixture:
        """Return the mixture with its parts in the order of their means."""
        order = np.argsort(self.mean)
        parts = (self.weight[order], self.mean[order], self.sd[order])
        return _Mixture(*parts, self.alike, self.likelihood)

    def full(self, x: Floats) -> _Mixture:
        """Return the fitted mixture without the parts that end with fewer than two values."""
        at = self.fitted(x)
        while len(kept := np.flatnonzero(at.weight * len(x) >= 1.5)) < len(at.weight):
            parts = (at.weight[kept] / at.weight[kept].sum(), at.mean[kept], at.sd[kept])
            at = _Mixture(*parts, self.alike).fitted(x)
        return at

    def fitted(self, x: Floats) -> _Mixture:
        """Return the mixture of maximum likelihood near this one (EM)."""
        at = self
        for _ in range(_ROUNDS):
            likelihood, closer = at._closer(x)
            gained, at = likelihood - at.likelihood, closer
            if gained < _GAIN * len(x):
                break
        return at

    def _closer(self, x: Floats) -> tuple[float, _Mixture]:
        """Return the log-likelihood of this mixture, and the mixture after one step of EM."""
        parts = self.log_parts(x)
        top = parts.max(axis=1, keepdims=True)
        shares = np.exp(parts - top)
        total = shares.sum(axis=1, keepdims=True)
        shares /= total
        likelihood = float(np.log(total).sum() + top.sum())
        sizes = shares.sum(axis=0) + 1e-12
        mean = shares.T @ x / sizes
        squares = np.maximum(shares.T @ (x * x) / sizes - mean**2, 0)
        if self.alike:
            squares = np.full(len(sizes), float(sizes @ squares) / len(x))
        sd = np.maximum(np.sqrt(squares), NARROWEST)
        return likelihood, _Mixture(sizes / len(x), mean, sd, self.alike, likelihood)


def _divisions(x: Floats, most: int) -> list[_Mixture]:
    """Return the divisions into 1, 2, ... groups of neighbours with the least squares, as starts.

    In one dimension the best division is found exactly, by dynamic programming.
    """
    points = np.quantile(x, (np.arange(min(_POINTS, len(x))) + 0.5) / min(_POINTS, len(x)))
    n = len(points)
    centred = points - points.mean()
    one, two = (np.concatenate([[0.0], np.cumsum(part)]) for part in (centred, centred**2))
    first, end = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    size = np.maximum(end - first, 1)
    cost = two[end] - two[first] - (one[end] - one[first]) ** 2 / size
    cost[end <= first] = np.inf
    least, cuts = cost[0], []
    starts = [_start(points, [0, n])]
    for groups in range(2, most + 1):
        through = least[:, np.newaxis] + cost
        cuts.append(np.argmin(through, axis=0))
        least = through[cuts[-1], np.arange(n + 1)]
        ends = [n]
        for cut in reversed(cuts):
            ends.insert(0, int(cut[ends[0]]))
        if ends[0] == 0 or not np.isfinite(least[n]) or groups > n:
            break
        starts.append(_start(points, [0, *ends]))
    return starts


def _start(points: Floats, ends: list[int]) -> _Mixture:
    groups = [points[low:high] for low, high in itertools.pairwise(ends)]
    weight = np.array([len(group) for group in groups]) / len(points)
    mean = np.array([group.mean() for group in groups])
    sd = np.array([max(float(group.std()), NARROWEST) for group in groups])
    return _Mixture(weight, mean, sd, alike=False)
