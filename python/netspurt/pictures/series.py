"""Pictures of series of points or lines, one picture below the other, with one range of x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from netspurt.pictures.marks import (
    SERIES,
    Floats,
    Mark,
    Picture,
    Points,
    Polyline,
    Rules,
    Scale,
    reach,
)


@dataclass(frozen=True)
class Series:
    """Points, of shape (n,), and how they are drawn: as a line, as steps, or as dots."""

    name: str
    x: Floats
    y: Floats
    drawn: Literal["line", "steps", "dots"] = "line"
    dashed: bool = False


@dataclass(frozen=True)
class SeriesPanel:
    """A panel: the label of its y axis, its series, and a place to mark on the x axis."""

    label: str
    series: Sequence[Series]
    mark: float | None = None
    mark_label: str = ""


#: The free space on each side of the marks, as a share of the range of x.
_MARGIN = 0.01


def below_each_other(panels: Sequence[SeriesPanel], *, beneath: str) -> list[Picture]:
    """Return a picture for each panel, from top to bottom. All x axes have the same ends.

    Parameters
    ----------
    panels
        The panels.
    beneath
        The text at the x axis of the lowest panel.
    """
    marks = [_marks(panel) for panel in panels]
    low, high = reach([mark for own in marks for mark in own], 0) or (0.0, 1.0)
    margin = _MARGIN * (high - low)
    x = Scale("", low=low - margin, high=high + margin)
    last = Scale(beneath, low=x.low, high=x.high)
    return [
        Picture(tuple(own), Scale(panel.label, low=0.0), x if n < len(panels) else last)
        for n, (panel, own) in enumerate(zip(panels, marks, strict=True), 1)
    ]


def _marks(panel: SeriesPanel) -> list[Mark]:
    marks = [_mark(series, n) for n, series in enumerate(panel.series)]
    if panel.mark is not None:
        at = np.array([panel.mark])
        marks.append(Rules(label=panel.mark_label, ink="black", x=at, dashed=True, rank=1.9))
    return marks


def _mark(series: Series, n: int) -> Mark:
    ink = SERIES[n % len(SERIES)]
    if series.drawn == "dots":
        return Points(label=series.name, ink=ink, x=series.x, y=series.y, size=2)
    steps = series.drawn == "steps"
    return Polyline(
        label=series.name,
        ink=ink,
        x=series.x,
        y=series.y,
        steps=steps,
        dashed=series.dashed,
        width=1.4,
    )
