"""Finds where the level of a series changes (its change points), by three methods.

The first two methods are from Zhang, Duffield, Paxson and Shenker, "On the constancy of Internet
path properties" (IMW 2001). They are a test of ranks (their CP/RankOrder), and a comparison of a
cumulative sum with resamples (their CP/Bootstrap). Each test finds at most one change in a segment,
which is a part of the series. Then both parts of the segment are tested in the same way. The third
method, PELT, finds all changes together. PELT is a check of the other two methods.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netspurt.analysis.ranks import ranks
from netspurt.wording import unknown_name

Floats = NDArray[np.float64]
Method = Literal["rank-order", "bootstrap", "pelt"]

#: The methods by name.
METHODS: tuple[Method, ...] = get_args(Method)

#: The level at which a test is significant, as in the paper of 2001.
ALPHA = 0.05
#: The minimum number of values between two changes, and between a change and an end of the series.
LEAST = 6
#: The number of resamples of a test.
RESAMPLES = 999
#: The maximum number of values in a segment that is resampled. For longer segments, the limit
#: distribution replaces the resamples.
RESAMPLED_VALUES_MAX = 2000
#: The extreme of a Brownian motion, minus the extreme of a sum of single values, in standard
#: deviations of a value (Chernoff 1965; Siegmund, "Sequential analysis", 1985, chapter X).
_CONTINUITY_CORRECTION = 0.5826
#: The maximum number of rounds in which all changes are tested again.
_ROUNDS_MAX = 10
#: The maximum number of values that are in memory at the same time.
_VALUES_MAX = 1 << 20


@dataclass(frozen=True)
class Change:
    """A change of the level of a series.

    Attributes
    ----------
    at
        The index of the first value after the change.
    chance
        The probability that values without a change would show a change as clear as this change.
        The values from the previous change to the next change are tested. NaN with PELT, which has
        no test.
    before, after
        The median of the values since the previous change, and the median of the values until the
        next change.
    """

    at: int
    chance: float
    before: float
    after: float


def find_changes(
    values: ArrayLike,
    *,
    method: Method = "rank-order",
    alpha: float = ALPHA,
    least: int = LEAST,
    seed: int = 1,
) -> list[Change]:
    """Return the changes of level of a series.

    The tests assume that the values are independent. If neighbouring values are correlated, a test
    of values without a change reports a change more often than `alpha` says. In that case use
    medians of longer intervals.

    Parameters
    ----------
    values
        The series, shape (n,). NaN counts as no value.
    method
        ``"rank-order"``, a test of ranks, which outliers hardly influence; ``"bootstrap"``, the
        range of the cumulative sum, compared with shuffled values; or ``"pelt"``, which needs the
        package ruptures.
    alpha
        The significance of each test. PELT does not use it.
    least
        The minimum number of values between two changes.
    seed
        The seed of the resamples; the same seed gives the same changes.

    Raises
    ------
    ValueError
        If `values` does not have one dimension, or another parameter is out of its range.
    ImportError
        If the method is PELT and ruptures is not installed.

    References
    ----------
    Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28 (1979).
    Taylor, "Change-point analysis: a powerful new tool for detecting changes" (2000).
    Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear computational
    cost", JASA 107 (2012).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> step = np.concatenate([rng.normal(40, 1, 100), rng.normal(43, 1, 60)])
    >>> [change.at for change in find_changes(step)]
    [100]
    """
    series = np.asarray(values, dtype=float)
    if series.ndim != 1:
        raise ValueError(f"values has the shape {series.shape}: it must be (n,)")
    if method not in METHODS:
        raise ValueError(unknown_name("method", method, METHODS))
    if not 0 < alpha < 1:
        raise ValueError(f"alpha = {alpha}: it must be between 0 and 1")
    if least < 2:
        raise ValueError(f"least = {least}: a segment needs 2 values")
    places = np.flatnonzero(np.isfinite(series))
    known = series[places]
    if method == "pelt":
        places_found = [(at, np.nan) for at in _pelt(known, least)]
    else:
        test = _rank_order if method == "rank-order" else _bootstrap(seed)
        places_found = _Splitting(known, test, alpha, least).changes()
    return _changes(known, places, places_found)


def _changes(
    known: Floats, places: NDArray[np.intp], found: list[tuple[int, float]]
) -> list[Change]:
    ends = [0, *(at for at, _ in found), len(known)]
    parts = itertools.pairwise(ends) if len(known) else ()
    medians = [float(np.median(known[low:high])) for low, high in parts]
    return [
        Change(int(places[at]), chance, medians[n], medians[n + 1])
        for n, (at, chance) in enumerate(found)
    ]


#: A function of a segment, the index of its first value, and the minimum length of a part. The
#: result is the best place for a change, and the chance of this change.
_Test = Callable[[Floats, int, int], tuple[int, float]]


class _Splitting:
    """A series that is divided until a test finds no change in any part."""

    def __init__(self, series: Floats, test: _Test, alpha: float, least: int) -> None:
        self.series = series
        self.test = test
        self.alpha = alpha
        self.least = least
        self._known: dict[tuple[int, int], tuple[int, float] | None] = {}

    def best(self, low: int, high: int) -> tuple[int, float] | None:
        """Return the best significant change between two indices, with its chance, or `None`."""
        if (low, high) not in self._known:
            found = None
            if high - low >= 2 * self.least:
                at, chance = self.test(self.series[low:high], low, self.least)
                found = (low + at, chance) if chance <= self.alpha else None
            self._known[low, high] = found
        return self._known[low, high]

    def changes(self) -> list[tuple[int, float]]:
        """Return the changes in order, with the chance of each.

        For the chance of a change, the values from the change before it to the change after it are
        tested.
        """
        untested, places = [(0, len(self.series))], []
        while untested:
            low, high = untested.pop()
            found = self.best(low, high)
            if found is not None:
                places.append(found[0])
                untested += [(low, found[0]), (found[0], high)]
        return self._retested(sorted(places))

    def _retested(self, places: list[int]) -> list[tuple[int, float]]:
        """Test each change between its neighbours again, and keep, move or remove the change.

        A segment of the first search may contain several changes. Then the test may report a change
        at a wrong place, or a change that does not exist.
        """
        for _ in range(_ROUNDS_MAX):
            before = list(places)
            for at in before:
                n = places.index(at)
                low, high = self._around(places, n)
                found = self.best(low, high)
                places[n : n + 1] = [] if found is None else [found[0]]
            if places == before:
                break
        tested = ((at, self.best(*self._around(places, n))) for n, at in enumerate(places))
        return [(at, found[1]) for at, found in tested if found is not None]

    def _around(self, places: list[int], n: int) -> tuple[int, int]:
        ends = [0, *places, len(self.series)]
        return ends[n], ends[n + 2]


def _rank_order(segment: Floats, _low: int, least: int) -> tuple[int, float]:
    """Return the best split of a segment by ranks, and its significance.

    The statistic is the largest deviation of the cumulative sum of the ranks from a straight line.
    The formula for the significance takes into account that the best place was chosen (Pettitt
    1979, eq. 2.3). The formula also takes ties into account, because it uses the variance of the
    ranks.
    """
    n = len(segment)
    order = ranks(segment)
    variance = float(order.var(ddof=1))
    if variance == 0:
        return least, 1.0
    sums = np.abs(np.cumsum(order - (n + 1) / 2))[least - 1 : n - least]
    best = int(np.argmax(sums))
    chance = 2 * np.exp(-2 * sums[best] ** 2 / (n * variance))
    return least + best, min(float(chance), 1.0)


def _bootstrap(seed: int) -> _Test:
    """Return a test that compares the range of the cumulative sum with shuffled values (Taylor)."""

    def test(segment: Floats, low: int, least: int) -> tuple[int, float]:
        n = len(segment)
        centred = segment - segment.mean()
        spread = float(np.sqrt(np.mean(centred**2)))
        if spread == 0:
            return least, 1.0
        sums = np.cumsum(centred)
        best = int(np.argmax(np.abs(sums[least - 1 : n - least])))
        range_of_sums = float(np.maximum(sums.max(), 0) - np.minimum(sums.min(), 0))
        if n > RESAMPLED_VALUES_MAX:
            return least + best, kuiper(
                (range_of_sums / spread + 2 * _CONTINUITY_CORRECTION) / np.sqrt(n)
            )
        return least + best, _share(centred, range_of_sums, np.random.default_rng([seed, low, n]))

    return test


def _share(centred: Floats, range_of_sums: float, rng: np.random.Generator) -> float:
    """Return the share of shuffles whose cumulative sum has at least this range.

    The series itself counts as one of the shuffles.
    """
    per_batch = max(1, _VALUES_MAX // len(centred))
    as_wide = 0
    for done in range(0, RESAMPLES, per_batch):
        rows = np.tile(centred, (min(per_batch, RESAMPLES - done), 1))
        sums = np.cumsum(rng.permuted(rows, axis=1, out=rows), axis=1)
        ranges = np.maximum(sums.max(axis=1), 0) - np.minimum(sums.min(axis=1), 0)
        # Sums of the same values in another order may differ in their last bits.
        as_wide += int(np.sum(ranges >= range_of_sums * (1 - 1e-12)))
    return (1 + as_wide) / (1 + RESAMPLES)


def kuiper(extent: float) -> float:
    """Return the probability that a Brownian bridge has at least this range (Kuiper 1960).

    For long series of values with a finite variance, the share of shuffles with at least this range
    approaches this probability.

    Examples
    --------
    >>> round(kuiper(1.747), 3)
    0.05
    """
    if extent < 0.4:
        return 1.0
    squares = np.arange(1, 101, dtype=float) ** 2 * extent**2
    return min(float(2 * np.sum((4 * squares - 1) * np.exp(-2 * squares))), 1.0)


def ruptures() -> ModuleType:
    """Return the package ruptures.

    Raises
    ------
    ImportError
        If ruptures is not installed; the message says how to install it.
    """
    try:
        import ruptures
    except ImportError as missing:
        raise ImportError("PELT needs ruptures: pip install 'netspurt[changes]'") from missing
    library: ModuleType = ruptures
    return library


def _pelt(series: Floats, least: int) -> list[int]:
    """Return the changes of the mean of normal scores, with a penalty of 3 ln n for each.

    Between changes, the scores (Blom 1958) have a variance of at most one. So the penalty needs no
    estimate of the noise, and outliers have little weight.
    """
    from scipy.special import ndtri

    n = len(series)
    if n < 2 * least or np.ptp(series) == 0:
        return []
    scores = ndtri((ranks(series) - 0.375) / (n + 0.25))
    search = ruptures().KernelCPD(kernel="linear", min_size=least)
    found = search.fit(scores.reshape(-1, 1)).predict(pen=3 * np.log(n))
    return [int(at) for at in found[:-1]]
