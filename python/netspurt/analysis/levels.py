"""Finds levels of throughput: the values around which the throughputs of connections cluster.

A mixture of normal distributions is fitted to the logarithms of the throughputs. The method is
expectation maximisation (EM). EM starts from the best division of the values into contiguous
groups. The number of levels is the number with the smallest Bayesian information criterion (BIC,
Schwarz 1978).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: The maximum number of levels that are tried.
MOST = 20
#: The minimum standard deviation of the logarithms of a level's values: half a percent.
SPREAD_MIN = 0.005
#: The maximum number of quantiles of the values that the first division into groups uses.
_POINTS = 300
#: The maximum number of rounds of EM.
_ROUNDS_MAX = 300
#: EM also ends if the log-likelihood per value grows by less than this in a round.
_GAIN_MIN = 1e-6
#: The search tries 1, 2, 3, ... levels. It ends after `_FAILURES_MAX` tries in a row that did not
#: give a smaller BIC than all tries before them.
_FAILURES_MAX = 8


@dataclass(frozen=True)
class Level:
    """A level of throughput.

    Attributes
    ----------
    value
        The centre, in the unit of the values. Its logarithm is the mean of the logarithms.
    spread
        The standard deviation of the logarithms; 0.1 is about 10 %.
    share
        The weight of the level in the mixture.
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
        The index of the level to which each value most likely belongs, shape (n,). It is -1 where
        there is no value.
    bic
        The Bayesian information criterion for each number of levels that was tried, starting at 1.
        The fit with the smallest value is chosen. It may have fewer levels than were tried, because
        levels with a weight of less than 1.5 values are removed.
    """

    levels: tuple[Level, ...]
    member: NDArray[np.intp]
    bic: tuple[float, ...]

    def spans(self, t_s: ArrayLike) -> list[float]:
        """Return each level's time from its first value to its last, as a share of the whole time.

        If the shares of all levels are near 1, the levels exist simultaneously, and the path does
        not move from one level to the next. The share of a level without values is NaN. All shares
        are NaN if all values have the same instant.

        Parameters
        ----------
        t_s
            The instants of the values in seconds, shape (n,).
        """
        t = np.asarray(t_s, dtype=float)
        total = float(np.ptp(t)) if len(t) else 0.0
        times = (t[self.member == n] for n in range(len(self.levels)))
        return [float(np.ptp(own)) / total if len(own) and total else np.nan for own in times]


def find_levels(values: ArrayLike, *, most: int = MOST) -> Levels:
    """Return the levels around which values cluster, on a logarithmic scale.

    A level whose values are not log-normal, such as a level with a tail, may be returned as two
    levels.

    Parameters
    ----------
    values
        Throughputs in any unit, shape (n,), above zero; NaN counts as no value.
    most
        The maximum number of levels to try. The number is also at most a third of the number of
        values, but at least one.

    Raises
    ------
    ValueError
        If there is no value, if a value is infinite or not above zero, or if `values` has several
        dimensions.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> at = rng.choice([20.0, 40.0, 60.0], 300)
    >>> found = find_levels(at * np.exp(rng.normal(0, 0.03, 300)))
    >>> [round(level.value) for level in found.levels]
    [20, 40, 60]
    """
    array = np.asarray(values, dtype=float)
    known = array[np.isfinite(array)]
    if array.ndim != 1 or len(known) == 0:
        raise ValueError("levels need at least one value, in one dimension")
    if np.any(np.isinf(array)):
        raise ValueError("levels need finite values")
    if np.any(known <= 0):
        raise ValueError("levels need values above zero, because they are found by logarithms")
    logs = np.log(known)
    logs -= (centre := float(logs.mean()))
    bic, best = _smallest_bic(logs, max(1, min(most, len(known) // 3)))
    best = best.in_order()
    members = np.argmax(best.log_parts(logs), axis=0)
    member = np.full(len(array), -1, dtype=np.intp)
    member[np.isfinite(array)] = members
    counts = np.bincount(members, minlength=len(best.mean))
    fitted = zip(np.exp(best.mean + centre), best.sd, best.weight, counts, strict=True)
    levels = tuple(Level(float(v), float(s), float(w), int(n)) for v, s, w, n in fitted)
    return Levels(levels, member, tuple(bic))


def _smallest_bic(logs: Floats, most: int) -> tuple[list[float], _Mixture]:
    """Return the smallest BIC for each number of levels, and the best mixture of all.

    Each number is tried twice: with one standard deviation for all levels, and with one for each
    level. The search ends when several consecutive numbers of levels gave no smaller
    BIC.
    """
    fits: list[_Mixture] = []
    criteria: list[float] = []
    for start in _divisions(logs, most):
        both = [replace(start, same_sd=same_sd).full(logs) for same_sd in (True, False)]
        fits.append(min(both, key=lambda mixture: mixture.bic(len(logs))))
        criteria.append(fits[-1].bic(len(logs)))
        if len(criteria) - 1 - int(np.argmin(criteria)) >= _FAILURES_MAX:
            break
    return criteria, fits[int(np.argmin(criteria))]


@dataclass(frozen=True)
class _Mixture:
    """Normal distributions (parts) with weights, shape (k,) each, and the data's log-likelihood.

    `same_sd` is true if all distributions have the same standard deviation. After EM, `likelihood`
    is the log-likelihood before the last step.
    """

    weight: Floats
    mean: Floats
    sd: Floats
    same_sd: bool
    likelihood: float = -np.inf

    def log_parts(self, x: Floats) -> Floats:
        """Return, for each part and value, the logarithm of weight times density, shape (k, n)."""
        # numpy adds up long rows much faster than short ones, so a row has all values of a part.
        z = (x - self.mean[:, np.newaxis]) / self.sd[:, np.newaxis]
        heights = np.log(self.weight / self.sd) - 0.5 * np.log(2 * np.pi)
        return np.asarray(heights[:, np.newaxis] - 0.5 * z * z)

    def bic(self, n: int) -> float:
        """Return the information criterion.

        The free parameters are a mean for each part, a weight for each part except one, and the
        standard deviations: one for each part, or one for all.
        """
        k = len(self.mean)
        free = 2 * k - 1 + (1 if self.same_sd else k)
        return float(free * np.log(n) - 2 * self.likelihood)

    def in_order(self) -> _Mixture:
        """Return the mixture with its parts in the order of their means."""
        order = np.argsort(self.mean)
        parts = (self.weight[order], self.mean[order], self.sd[order])
        return _Mixture(*parts, self.same_sd, self.likelihood)

    def full(self, x: Floats) -> _Mixture:
        """Return the fitted mixture. Parts with a weight of less than 1.5 values are removed.

        A mixture of one part keeps this part.
        """
        mixture = self.fitted(x)
        while len(mixture.weight) > 1 and len(
            large_enough := np.flatnonzero(mixture.weight * len(x) >= 1.5)
        ) < len(mixture.weight):
            parts = (
                mixture.weight[large_enough] / mixture.weight[large_enough].sum(),
                mixture.mean[large_enough],
                mixture.sd[large_enough],
            )
            mixture = _Mixture(*parts, self.same_sd).fitted(x)
        return mixture

    def fitted(self, x: Floats) -> _Mixture:
        """Return the mixture of maximum likelihood near this mixture (EM)."""
        mixture = self
        for _ in range(_ROUNDS_MAX):
            likelihood, next_mixture = mixture._next(x)
            gain, mixture = likelihood - mixture.likelihood, next_mixture
            if gain < _GAIN_MIN * len(x):
                break
        return mixture

    def _next(self, x: Floats) -> tuple[float, _Mixture]:
        """Return the log-likelihood of this mixture, and the mixture after one step of EM."""
        parts = self.log_parts(x)
        top = np.maximum.reduce(parts)
        shares = np.exp(parts - top)
        total = np.add.reduce(shares)
        shares /= total
        likelihood = float(np.add.reduce(np.log(total)) + np.add.reduce(top))
        sizes = np.add.reduce(shares, axis=1) + 1e-12
        mean = shares @ x / sizes
        squares = np.maximum(shares @ (x * x) / sizes - mean**2, 0)
        if self.same_sd:
            squares = np.full(len(sizes), float(sizes @ squares) / len(x))
        sd = np.maximum(np.sqrt(squares), SPREAD_MIN)
        return likelihood, _Mixture(sizes / len(x), mean, sd, self.same_sd, likelihood)


def _divisions(x: Floats, most: int) -> list[_Mixture]:
    """Return the mixtures with which EM starts: the best divisions into 1, 2, ... groups.

    A group consists of neighbouring values. The best division has the smallest sum of squares about
    the means of its groups. In one dimension, the best division is found exactly, by dynamic
    programming.
    """
    points = np.quantile(x, (np.arange(min(_POINTS, len(x))) + 0.5) / min(_POINTS, len(x)))
    n = len(points)
    centred = points - points.mean()
    sums, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (centred, centred**2))
    first, end = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    size = np.maximum(end - first, 1)
    cost = squares[end] - squares[first] - (sums[end] - sums[first]) ** 2 / size
    cost[end <= first] = np.inf
    smallest, cuts = cost[0], []
    starts = [_start(points, [0, n])]
    for groups in range(2, most + 1):
        through = smallest[:, np.newaxis] + cost
        cuts.append(np.argmin(through, axis=0))
        smallest = through[cuts[-1], np.arange(n + 1)]
        ends = [n]
        for cut in reversed(cuts):
            ends.insert(0, int(cut[ends[0]]))
        if ends[0] == 0 or not np.isfinite(smallest[n]) or groups > n:
            break
        starts.append(_start(points, [0, *ends]))
    return starts


def _start(points: Floats, ends: list[int]) -> _Mixture:
    groups = [points[low:high] for low, high in itertools.pairwise(ends)]
    weight = np.array([len(group) for group in groups]) / len(points)
    mean = np.array([group.mean() for group in groups])
    sd = np.array([max(float(group.std()), SPREAD_MIN) for group in groups])
    return _Mixture(weight, mean, sd, same_sd=False)
