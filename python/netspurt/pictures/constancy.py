"""Pictures of a series with its change-free periods, and of the lengths of such periods.

A change-free period is a time in which the level of the values does not change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from netspurt.pictures.marks import (
    SERIES,
    Floats,
    Mark,
    Picture,
    Points,
    Polyline,
    Rules,
    Scale,
    Spans,
)
from netspurt.pictures.measures import ELAPSED, fitting_unit
from netspurt.pictures.scales import of_times

#: The free space beside a series, as a part of its duration.
_MARGIN = 0.01


class Steady(Protocol):
    """A period without a change."""

    @property
    def start_s(self) -> float:
        """The beginning of the period, in seconds."""

    @property
    def end_s(self) -> float:
        """The end of the period, in seconds."""

    @property
    def median(self) -> float:
        """The median of the values in the period."""


def periods(  # noqa: PLR0913 - the picture shows all these
    t_s: ArrayLike,
    values: ArrayLike,
    found: Sequence[Steady],
    *,
    what: str,
    unit: str = "s",
    beneath: str = "",
) -> Picture:
    """Return a picture of a series, the median of each change-free period, and the changes.

    Parameters
    ----------
    t_s, values
        The series, shape (n,) each.
    found
        The change-free periods of the series, in order.
    what
        The name of the values.
    unit
        The unit of the values. Seconds get a suitable prefix.
    beneath
        The text at the x axis, if `t_s` is not a time in seconds.
    """
    t, series = np.asarray(t_s, dtype=float), np.asarray(values, dtype=float)
    size, name = (1.0, "") if beneath else _time_unit(t)
    x = t / size
    marks: list[Mark] = [Points(label=what, ink="grey", x=x, y=series, size=2)]
    if found:
        left, right, median = np.array(
            [[period.start_s, period.end_s, period.median] for period in found]
        ).T
        label = "median of a change-free period"
        left, right = left / size, right / size
        ends = {"left": left, "right": right, "caps": False}
        marks.append(Spans(label=label, ink="black", y=median, width=2, rank=2.1, **ends))
        if len(found) > 1:
            marks.append(Rules(label="change", ink="red", x=left[1:], width=1, dashed=True))
    scale = of_times(what, [series]) if unit == "s" else Scale(f"{what} [{unit}]")
    if not scale.log:
        # Changes are small compared with the values, so the axis does not start at zero.
        scale = replace(scale, low=None, high=None)
    low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)
    spare = _MARGIN * (high - low)
    across = Scale(beneath or f"time [{name}]", low=low - spare, high=high + spare)
    return Picture(tuple(marks), scale, across)


def _time_unit(t: Floats) -> tuple[float, str]:
    """Return the size [s] and the name of the unit of a time axis."""
    return fitting_unit(ELAPSED, float(np.max(t, initial=0)))


def lengths_of_periods(
    lengths: Mapping[str, ArrayLike], *, unit: str = "s", mark: tuple[float, str] | None = None
) -> Picture:
    """Return a picture of the share of the time in periods that have at least a given length.

    Parameters
    ----------
    lengths
        The lengths of the change-free periods, by the name of a method or a path.
    unit
        `s`, or the name of the units that are counted.
    mark
        A length for comparison, and its name.
    """
    ordered = {name: np.sort(np.asarray(values, dtype=float)) for name, values in lengths.items()}
    every = np.concatenate([*ordered.values(), np.empty(0)])
    size, named = _time_unit(every) if unit == "s" else (1.0, unit)
    marks: list[Mark] = []
    for n, (name, values) in enumerate(ordered.items()):
        length = values[values > 0] / size
        if not len(length):
            continue
        # The share is constant between the lengths of two successive periods. It falls at the
        # length of each period.
        remaining = np.cumsum(length[::-1])[::-1] / length.sum()
        x = np.concatenate([[length[0] / 2], length])
        y = np.concatenate([remaining, [0.0]])
        ink = SERIES[n % len(SERIES)]
        marks.append(Polyline(label=name, ink=ink, x=x, y=y, steps=True, width=1.5))
    if mark is not None:
        at = np.array([mark[0] / size])
        marks.append(Rules(label=mark[1], ink="red", x=at, width=1, dashed=True))
    y_scale = Scale("share of the time in periods at least this long", low=0.0, high=1.02)
    return Picture(
        tuple(marks), y_scale, Scale(f"length of a change-free period [{named}]", log=True)
    )
