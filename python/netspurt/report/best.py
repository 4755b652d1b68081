"""Sentences on a sweep: the best value of an axis, and those that cannot be told apart from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.cases import Columns, Comparison, Summary, compare, direction, summarise
from netspurt.pictures.measures import Shown
from netspurt.report.flows import few
from netspurt.sweep import SweepFolder
from netspurt.wording import by_chance, number, rounded

#: The digits of a figure in a table or a sentence.
_FIGURE = 4


def figure(value: float) -> str:
    """Return a figure as tables show it; `-` for none."""
    return rounded(value, _FIGURE) if np.isfinite(value) else "-"


@dataclass(frozen=True)
class Best:
    """Sentences on the best label of an axis. `decided` says whether any other one is worse."""

    words: str
    decided: bool


def best_of(
    cases: Columns, folder: SweepFolder, axis: str, measure: str, shown: Shown
) -> Best | None:
    """Return which label of an axis is best by a measure, and which cannot be told apart from it.

    The result is `None` if fewer than two labels have the measure. The cases of all values of the
    other axes count together.

    Parameters
    ----------
    cases, folder
        The cases of the sweep, and its folder.
    axis
        The axis whose labels are compared.
    measure, shown
        The measure, and how its figures are shown.
    """
    rows = summarise(cases, measure, [axis], folder.labels)
    known = [row for row in rows if np.isfinite(row.mean.value)]
    if len(known) < 2:
        return None
    sign = direction(measure, None)
    for row in sorted(known, key=lambda row: -sign * row.mean.value):
        others = compare(
            cases,
            measure,
            axis,
            folder.labels,
            paired=folder.paired,
            baseline=row.labels[0],
            by=[],
        )
        # A label may beat that of the best mean in those cases that both have.
        if all(other.verdict != "better" for other in others):
            decided = any(other.verdict == "worse" for other in others)
            return Best(" ".join(_told(row, others, axis, shown)), decided)
    return None


def _told(best: Summary, others: Sequence[Comparison], axis: str, shown: Shown) -> Iterator[str]:
    """Yield sentences on the best label and on the others, in the order of the axis."""
    names = {
        verdict: [other.label for other in others if other.verdict == verdict]
        for verdict in ("worse", "cannot tell", "same")
    }
    what, mean = f"{axis} = {best.labels[0]}", _with_interval(best.mean, shown)
    if len(names["same"]) == len(others):
        yield f"All values of {axis} are equal by {shown.words}: {mean}."
        return
    if not names["worse"]:
        yield (
            f"By {shown.words}, no value of {axis} can be told apart from {what}, which has the "
            f"best mean: {mean}."
        )
        return
    yield f"By {shown.words}, {what} is best: {mean}."
    if names["same"]:
        yield f"Equal in every case: {few(names['same'])}."
    if names["cannot tell"]:
        yield f"Cannot be told apart from {what}: {few(names['cannot tell'])}."
    whole = len(names["worse"]) == len(others)
    yield "All other values are worse." if whole else f"Worse: {few(names['worse'])}."


def _with_interval(mean: Interval, shown: Shown) -> str:
    told = mean.scaled(shown.factor)
    unit = f" {shown.unit}" if shown.unit else ""
    if not np.isfinite(told.low):
        return f"{figure(told.value)}{unit} (too few runs for an interval)"
    return f"{figure(told.value)}{unit} (95 %: {figure(told.low)} .. {figure(told.high)})"


def chance(comparisons: int) -> str:
    """Return the sentence on verdicts that chance alone gives; empty for few comparisons."""
    if comparisons < 10:
        return ""
    return (
        f"Of {number(comparisons)} comparisons at 95 %, chance alone would call about "
        f"{by_chance(comparisons)} better or worse."
    )
