"""Bounds for measures of sweeps: for shares, and for counts of events that few or no runs had.

A measure is a column of a sweep's cases, or a ratio of two columns. A repeat consists of one run of
each combination of the sweep's values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.replayed import poisson_interval

Floats = NDArray[np.float64]

#: Measures of sweeps that count events, except the measures by cause.
_EVENTS = (
    "retransmissions",
    "spurious",
    "undone",
    "timeouts",
    "fast_retransmits",
    "duplicates",
    "dropped",
    "lost",
    "marked",
    "overtook",
    "echo_probes_lost",
    "window_limited",
)


#: Counts that are a part of another count.
_PARTS = {
    "finished": "flows",
    "requests_complete": "requests",
    "connections_complete": "connections",
    "spurious": "retransmissions",
}


def is_share(measure: str) -> bool:
    """Return whether a measure cannot be above 1, because it is a part of a whole.

    Examples
    --------
    >>> is_share("finished/flows"), is_share("spurious_rack/retransmissions_rack")
    (True, True)
    >>> is_share("fairness"), is_share("timeouts/flows"), is_share("spurious_rack/flows")
    (True, False, False)
    """
    part, _, whole = (name.strip() for name in measure.partition("/"))
    if part.startswith("spurious_"):
        return whole in (part.replace("spurious", "retransmissions"), "spurious", "retransmissions")
    return measure == "fairness" or (part in _PARTS and whole == _PARTS[part])


def counts_events(measure: str) -> bool:
    """Return whether a measure counts events. For a ratio, the numerator decides.

    Examples
    --------
    >>> counts_events("spurious_rack/sent"), counts_events("waited_ns")
    (True, False)
    """
    name = measure.partition("/")[0].strip()
    return name in _EVENTS or name.startswith(("retransmissions_", "spurious_"))


def most_unseen(measure: str, figure: float, bottom: Floats, repeats: int) -> float:
    """Return how far the true figure may be from the figure of cases that are all equal.

    Events that are too rare to occur in these cases may cause the difference.

    If the cases have no event, the result is the upper end of a 95 % interval for zero events. For
    a count, it is the interval of Garwood (1936). For a ratio, it is the interval of Clopper and
    Pearson (1934). The cases of a repeat may have had the same random draws, so a repeat counts as
    one case. If the cases have events, each unseen event may change a count by as much as the count
    itself. The result is NaN if the measure does not count events, if there are fewer than two
    repeats, or if all denominators are 0.

    Parameters
    ----------
    measure
        The measure.
    figure
        The count per case, or the ratio.
    bottom
        The denominator of each case. The denominator of a count is 1.
    repeats
        The number of repeats to which these cases belong.

    Examples
    --------
    >>> round(most_unseen("lost", 0, np.ones(100), 100), 4)
    0.0369
    >>> round(most_unseen("lost/sent", 0, np.full(100, 50.0), 100), 6)
    0.000738
    >>> round(most_unseen("lost", 5, np.ones(100), 100), 4)
    0.1844
    """
    if not counts_events(measure) or repeats < 2 or not bottom.sum():
        return float("nan")
    per_repeat = poisson_interval(0)[1] / repeats
    per_chance = per_repeat / float(bottom.mean())
    unseen = float(-np.expm1(-per_chance)) if "/" in measure else per_chance
    return max(unseen, abs(figure) * per_repeat)


def rare_events_end(measure: str, sums: Floats) -> float:
    """Return the upper end of the 95 % interval of a count of rare events, or of its ratio.

    The number of repeats that have an event is nearly a Poisson count. The weight of a repeat is
    the number of its events. So the function returns the upper end for a weighted sum of Poisson
    counts (Fay and Feuer 1997, the gamma interval). The variance of the repeats takes the place of
    the variance of Poisson counts. With a single event, the result is Garwood's (1936) upper end
    for one event. The result is NaN if the measure does not count events, if no repeat has an
    event, or if at least half of the repeats have one.

    Parameters
    ----------
    measure
        The measure.
    sums
        The sums of numerator and denominator of each repeat, shape (2, repeats).

    Examples
    --------
    >>> one = np.stack([np.arange(100) == 7, np.ones(100)]).astype(float)
    >>> round(rare_events_end("lost", one), 4), round(poisson_interval(1)[1] / 100, 4)
    (0.0557, 0.0557)
    """
    top, bottom = sums
    events, repeats = np.count_nonzero(top), len(top)
    if not counts_events(measure) or not 0 < 2 * events < repeats or not bottom.sum():
        return float("nan")
    figure, weight = top.sum() / bottom.sum(), top.max() / bottom.sum()
    parts = (top - figure * bottom) / bottom.mean()
    mean, variance = figure + weight, np.var(parts, ddof=1) / repeats + weight**2
    return _gamma_quantile(mean, variance, 0.975)


def _gamma_quantile(mean: float, variance: float, share: float) -> float:
    """Return a quantile of the gamma distribution with a given mean and variance."""
    from scipy.special import gammaincinv

    return float(gammaincinv(mean**2 / variance, share) * variance / mean)
