"""Pictures of means with the range of their values, and of values over time with a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netspurt.pictures.bars import bars
from netspurt.pictures.marks import Floats, Mark, Picture, Polyline, Scale


@dataclass(frozen=True)
class Range:
    """A mean, with the minimum and the maximum of the values or with the ends of its interval."""

    mean: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Floats) -> Range:
        """Return the range of values."""
        return cls(float(values.mean()), float(values.min()), float(values.max()))


@dataclass(frozen=True)
class FitPanel:
    """A value over time, and a fit to this value in the same unit. All arrays have shape (n,)."""

    title: str
    t: Floats
    value: Floats
    fit: Floats | None = None


def ranges(
    groups: Sequence[str], series: Mapping[str, Sequence[Range]], *, label: str, beneath: str
) -> Picture:
    """Return bars of means, and marks from the lower to the upper end of each range.

    Parameters
    ----------
    groups
        The labels along the x axis.
    series
        The ranges of each series, one for each group. Each series has its own colour.
    label, beneath
        The texts at the y and the x axis.
    """
    columns = {
        # A single series needs no legend.
        name if len(series) > 1 else "": (
            np.array([own.mean for own in of_groups]),
            np.array([own.least for own in of_groups]),
            np.array([own.most for own in of_groups]),
        )
        for name, of_groups in series.items()
    }
    all_positive = all(low.min(initial=0.0) >= 0 for _, low, _ in columns.values())
    ticks = tuple((float(n), group) for n, group in enumerate(groups))
    y = Scale(label, low=0.0 if all_positive else None)
    return Picture(bars(columns), y, Scale(beneath, ticks=ticks))


def over_time(panel: FitPanel, *, label: str = "", beneath: str = "") -> Picture:
    """Return a picture of a value over time, with its fit as a dashed line.

    `label` and `beneath` are the texts at the y axis and at the x axis.
    """
    t = panel.t
    marks: list[Mark] = [Polyline(label="computed", ink="blue", x=t, y=panel.value, width=1.6)]
    if panel.fit is not None:
        marks.append(Polyline(label="polynomial", ink="orange", x=t, y=panel.fit, dashed=True))
    x = Scale(beneath, low=float(t.min()), high=float(t.max()))
    return Picture(tuple(marks), Scale(label), x)
