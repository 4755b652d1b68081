"""Bars of several series side by side. Each bar has an interval."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netspurt.pictures.marks import SERIES, Bars, Blocks, Floats, Mark

#: `_GROUP_WIDTH` is the width of a group of bars, as a share of the distance between two groups.
#: `_BAR_WIDTH` is the width of a bar, as a share of its space in the group.
_GROUP_WIDTH, _BAR_WIDTH = 0.8, 0.92


def bars(series: Mapping[str, tuple[Floats, Floats, Floats]]) -> tuple[Mark, ...]:
    """Return groups of bars. The groups are centred at the whole numbers of the x axis.

    Parameters
    ----------
    series
        For each name the values, and the lower and upper ends of their intervals, shape (n,) each.
        A missing value is NaN.
    """
    width = _GROUP_WIDTH / len(series)
    marks: list[Mark] = []
    for n, (name, (values, low, high)) in enumerate(series.items()):
        at: Floats = np.arange(len(values), dtype=np.float64) + (n - (len(series) - 1) / 2) * width
        half = _BAR_WIDTH * width / 2
        ink, hatched = SERIES[n % len(SERIES)], n >= len(SERIES)
        left, right = at - half, at + half
        marks.append(Blocks(label=name, ink=ink, left=left, right=right, y=values, hatched=hatched))
        marks.append(Bars(label="", ink="black", x=at, low=low, high=high, caps=True, rank=2.1))
    return tuple(marks)
