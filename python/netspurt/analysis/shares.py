"""Divides a difference among its causes: the share of each cause is its Shapley value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import factorial


def shares(causes: Sequence[str], outcome: Callable[[frozenset[str]], float]) -> dict[str, float]:
    """Return each cause's share of the difference between the outcomes with all and with no causes.

    A cause's share is the change when this cause is added, averaged over all orders in which the
    causes can be added one by one. So causes that act together divide their joint effect, and the
    sum of the shares is the whole difference.

    Parameters
    ----------
    causes
        The names of the causes.
    outcome
        A function that returns the outcome for a set of causes. It is called several times for each
        subset.

    References
    ----------
    L. S. Shapley, *A Value for n-Person Games*, 1953.

    Examples
    --------
    >>> def seconds(present):
    ...     return 60 + 10 * ("loss" in present) + 6 * ({"loss", "window"} <= present)
    >>> shares(["loss", "window"], seconds)
    {'loss': 13.0, 'window': 3.0}
    """
    shares_found = {}
    for cause in causes:
        others = [other for other in causes if other != cause]
        total = 0.0
        for size in range(len(others) + 1):
            weight = factorial(size) * factorial(len(others) - size) / factorial(len(causes))
            for chosen in combinations(others, size):
                present = frozenset(chosen)
                total += weight * (outcome(present | {cause}) - outcome(present))
        shares_found[cause] = total
    return shares_found
