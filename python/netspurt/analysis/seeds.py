"""Estimates how many seeds a verdict of a sweep needs."""

from __future__ import annotations

import math

from netspurt.analysis.bootstrap import Interval

#: The maximum number of seeds. No number is reported for a difference that needs more seeds.
SEEDS_MAX = 1_000_000


def needed(difference: Interval, seeds: int) -> int | None:
    """Estimate how many seeds a sweep needs to separate a difference from zero.

    `difference` is the difference, with its confidence interval, that a sweep shows. `seeds` is the
    number of seeds of this sweep. The estimate assumes that the width of the interval shrinks with
    the square root of the number of seeds, and that the difference stays the same. The result is
    `None` if the difference is 0 or the interval is not finite. It is also `None` if this sweep
    already separates the difference from zero, or if more than `SEEDS_MAX` seeds are needed.

    Examples
    --------
    >>> needed(Interval(1.0, -1.0, 3.0, 0.95, 1), 10), needed(Interval(0.0, -1.0, 1.0, 0.95, 1), 10)
    (40, None)
    """
    half_width = (difference.high - difference.low) / 2
    if not math.isfinite(half_width) or difference.value == 0:
        return None
    wanted = seeds * (half_width / abs(difference.value)) ** 2
    return math.ceil(wanted) if seeds < wanted <= SEEDS_MAX else None
