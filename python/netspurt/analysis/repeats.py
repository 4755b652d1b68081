"""Computes intervals for the figures of groups of cases, from the sums of each repeat.

A repeat consists of one run of each combination of a sweep's values. With few repeats, the
bootstrap's interval is far too narrow. So an interval is at least as wide as Student's interval for
a linear approximation of the figure. If the values of the repeats are skewed, Student's interval of
a mean ends too early on the side of the rare values. So the interval of a figure that does not
count events also contains the interval for skewed values of Hall (1992).

If all repeats of a group are equal although the scenario draws random numbers, an event that is too
rare for these repeats may be missing. Then only counts of events have an interval. It allows for
unseen events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import Interval, Resamples

Floats = NDArray[np.float64]

#: Why several repeats may have no interval.
NO_INTERVAL = (
    "no interval: runs with different seeds are equal, so an event that is rare may be missing"
)

#: The greatest difference that rounding causes between equal figures, as a share of the figures.
_ROUNDING = 1e-12

#: If the skewness of values, divided by the root of their number, is smaller than `_SYMMETRIC`, the
#: values count as symmetric. For such values, Hall's transformation has almost no effect, but loses
#: digits.
_SYMMETRIC = 1e-6


@dataclass(frozen=True)
class RepeatedFigure:
    """The figure of a group: the ratio of the sums of its repeats.

    Attributes
    ----------
    value
        The ratio, or NaN if the denominator is zero.
    parts
        The part of each repeat in the linear approximation of the ratio, shape (repeats,). The mean
        of the parts is zero.
    size
        The greatest absolute figure of a repeat.
    """

    value: float
    parts: Floats
    size: float

    @classmethod
    def of(cls, sums: Floats) -> RepeatedFigure:
        """Return the figure of the sums of numerator and denominator, shape (2, repeats)."""
        if not sums.size or not sums[1].sum():
            return cls(np.nan, np.full(sums.shape[1], np.nan), np.nan)
        value = float(sums[0].sum() / sums[1].sum())
        mean = sums[1].mean()
        return cls(value, (sums[0] - value * sums[1]) / mean, float(np.abs(sums[0]).max() / mean))

    @property
    def is_constant(self) -> bool:
        """Whether the figure is known and all repeats are equal."""
        if np.isnan(self.value):
            return False
        return bool(np.abs(self.parts).max() <= _ROUNDING * self.size)


def _student_half_width(spreads: Sequence[Floats], size: float) -> float:
    """Return half the width of Student's interval for a sum of independent means (Welch 1947).

    `size` is the size of the figures. It shows which differences come from rounding. The result is
    NaN if there are only two repeats and they are equal. A spread of zero then proves nothing,
    because two throws of a coin are also equal in half of all cases.
    """
    from scipy.special import stdtrit

    variances = np.array([np.var(spread, ddof=1) / len(spread) for spread in spreads])
    freedom = np.array([len(spread) - 1 for spread in spreads])
    variance = float(variances.sum())
    if not variance > (_ROUNDING * size) ** 2:
        return 0.0 if freedom.min() > 1 else np.nan
    degrees = variance**2 / np.sum(variances**2 / freedom)
    return float(stdtrit(degrees, 0.975) * np.sqrt(variance))


def _widened(
    value: float, ends: tuple[float, float], spreads: Sequence[Floats], size: float
) -> Interval:
    """Return an interval that contains `ends` and Student's interval.

    Its bounds are NaN if one of these values is NaN. If the repeats are equal except for rounding,
    the interval is exactly the value.
    """
    student = _student_half_width(spreads, size)
    low, high = ends if student else (value, value)
    half_width = float(np.max([value - low, high - value, 0.0, student]))
    return Interval(value, value - half_width, value + half_width, 0.95, 1)


def _skewed_ends(figure: RepeatedFigure) -> tuple[float, float]:
    """Return the ends of Hall's interval for the mean of skewed values.

    Student's statistic is transformed so that its distribution is not skewed. The ends are NaN if
    there are fewer than three repeats, because their skewness is not known.

    References
    ----------
    Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical Society B
    54 (1992), p. 223: the cubic transformation. Student's quantiles replace the
    quantiles of the bootstrap.
    """
    from scipy.special import stdtrit

    n = len(figure.parts)
    if n < 3:
        return np.nan, np.nan
    spread = float(np.std(figure.parts, ddof=1))
    third = n / ((n - 1) * (n - 2)) * float(np.sum((figure.parts / spread) ** 3))
    skewness, quantiles = third / np.sqrt(n), stdtrit(n - 1, np.array([0.975, 0.025]))
    if abs(skewness) < _SYMMETRIC:
        statistics = quantiles
    else:
        inner = 1 + skewness * (quantiles - skewness / 6)
        statistics = 3 / skewness * (np.cbrt(inner) - 1)
    low, high = figure.value - statistics * spread / np.sqrt(n)
    return float(low), float(high)


def interval(sums: Floats, *, exact: bool, counts: bool = False) -> Interval:
    """Return the ratio of two sums, with an interval if there are several repeats.

    `exact` is true if nothing in the sweep is random. If all repeats are equal, there is an
    interval only if `exact` is true. `counts` is true if the figure counts events. Then the
    interval does not allow for skewed values, because the function `rare_events_end` does.
    """
    figure = RepeatedFigure.of(sums)
    if sums.shape[1] < 2 or np.isnan(figure.value):
        return Interval.without(figure.value)
    if figure.is_constant:
        return Interval.certain(figure.value) if exact else Interval.without(figure.value)
    drawn = Resamples(sums, length=1, seed=1).interval(lambda s: s[0] / s[1])
    told = _widened(figure.value, (drawn.low, drawn.high), [figure.parts], figure.size)
    low, high = (np.nan, np.nan) if counts else _skewed_ends(figure)
    return replace(told, low=float(np.fmin(told.low, low)), high=float(np.fmax(told.high, high)))


def _allowing_unseen(difference: Interval, unseen: Sequence[float], *, paired: bool) -> Interval:
    """Return the difference of two counts, with an interval that allows for unseen events.

    If neither group varied, the interval reaches the greater of the two bounds `unseen`. If the
    groups are not paired and exactly one of them did not vary, two squares are added: the square of
    the bound of the group that did not vary, and the square of the interval's half width. They are
    added because groups that are not paired are independent (Newcombe 1998).
    """
    bound, one_varied = float(np.fmax(unseen[0], unseen[1])), bool(np.isnan(unseen).any())
    if np.isnan(bound) or (paired and one_varied):
        return difference
    own = difference.high - difference.value if one_varied else 0.0
    half_width = float(np.hypot(bound, own))
    value = difference.value
    return replace(difference, low=value - half_width, high=value + half_width)


def difference(
    sums: Sequence[Floats], unseen: Sequence[float], *, paired: bool, exact: bool
) -> Interval:
    """Return the figure of the first group minus the figure of the second.

    Parameters
    ----------
    sums
        The sums of the repeats of each group.
    unseen
        For each group of equal counts, the bound of its unseen events; NaN for any other group.
    paired
        Whether the repeats of the groups are pairs.
    exact
        Whether nothing is random. Then equal repeats prove that further repeats would be equal,
        too.
    """
    figures = [RepeatedFigure.of(own) for own in sums]
    value = figures[0].value - figures[1].value
    if min(own.shape[1] for own in sums) < 2 or np.isnan(value):
        return Interval.without(value)
    constant = [one.is_constant for one in figures]
    if all(constant) and exact:
        return Interval.certain(value)
    if all(constant) if paired else any(np.logical_and(constant, np.isnan(unseen))):
        return _allowing_unseen(Interval.without(value), unseen, paired=paired)
    return _allowing_unseen(_varying(sums, figures, paired=paired), unseen, paired=paired)


def _varying(
    sums: Sequence[Floats], figures: Sequence[RepeatedFigure], *, paired: bool
) -> Interval:
    """Return the difference of two figures, with the interval that their repeats give."""
    first, second = figures
    value, size = first.value - second.value, max(first.size, second.size)
    if paired:
        drawn = Resamples(np.concatenate(sums), length=1).interval(
            lambda s: s[0] / s[1] - s[2] / s[3]
        )
        return _widened(value, (drawn.low, drawn.high), [first.parts - second.parts], size)
    both = [Resamples(own, length=1, seed=seed) for seed, own in enumerate(sums, start=1)]
    with np.errstate(divide="ignore", invalid="ignore"):
        resampled = [r.resampled[0] / r.resampled[1] for r in both]
    low, high = np.nanquantile(resampled[0] - resampled[1], [0.025, 0.975])
    return _widened(value, (float(low), float(high)), [first.parts, second.parts], size)
