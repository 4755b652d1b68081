"""Decides whether the seeds of a sweep had an effect, and how many seeds a verdict needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.cases import Columns, groups, measures

#: Columns that differ even between equal runs.
_ALWAYS_DIFFERENT = ("case", "seed", "repeat")
#: The maximum number of seeds. A difference that needs more is reported as too small.
SEEDS_MAX = 1_000_000


def change_nothing(cases: Columns, order: Mapping[str, Sequence[object]]) -> bool:
    """Return whether all runs of each combination are equal in all measures.

    If so, the scenario has nothing random, and further seeds give no further evidence. The result
    is false if no combination ran twice.
    """
    names = [name for name in measures(cases) if name not in _ALWAYS_DIFFERENT]
    several = [rows for _, rows in groups(cases, list(order), order) if len(rows) > 1]
    values = [np.ma.filled(np.ma.asarray(cases[name]).astype(float), np.nan) for name in names]
    equal = (
        np.array_equal(column[rows], np.full(len(rows), column[rows[0]]), equal_nan=True)
        for rows in several
        for column in values
    )
    return bool(several) and all(equal)


def needed(difference: Interval, seeds: int) -> int | None:
    """Estimate the number of seeds that separate this difference from zero; `None` if unknown.

    The interval shrinks with the square root of the number of seeds. The difference is assumed to
    stay the same.

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
