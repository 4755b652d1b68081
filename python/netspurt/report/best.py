"""Sentences on a sweep: the best value of an axis, and values that are not measurably worse.

An axis is a setting that a sweep varies. A label is a value of an axis, as text. A combination has
one label of each axis. A measure is a column of the results, or a ratio of two columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from netspurt.analysis.cases import GroupComparison, Summary, compare, direction, summarise
from netspurt.analysis.grouping import Columns
from netspurt.analysis.repeats import NO_INTERVAL
from netspurt.pictures.measures import Shown
from netspurt.sweep import SweepFolder
from netspurt.wording import by_chance, few, number, rounded

#: The number of significant digits of a figure in a table or a sentence.
_FIGURE = 4


def figure(value: float) -> str:
    """Return a figure as tables show it; `-` for NaN and infinity."""
    return rounded(value, _FIGURE) if np.isfinite(value) else "-"


@dataclass(frozen=True)
class Best:
    """Sentences on the best label of an axis.

    Attributes
    ----------
    words
        The sentences.
    decided
        True if at least one other label is worse than the best label.
    compared
        The number of comparisons. Each comparison uses only one combination of the other axes'
        labels.
    """

    words: str
    decided: bool
    compared: int = 0


@dataclass(frozen=True)
class ComparedAxis:
    """An axis of a sweep whose labels are compared by a measure.

    Attributes
    ----------
    cases, folder
        The cases of the sweep, and its folder.
    axis
        The name of the axis.
    measure
        The measure.
    shown
        How the figures of the measure are shown.
    exact
        True if nothing in the sweep is random.
    """

    cases: Columns
    folder: SweepFolder
    axis: str
    measure: str
    shown: Shown
    exact: bool

    @property
    def others(self) -> list[str]:
        """The names of the other axes."""
        return [name for name in self.folder.names if name != self.axis]

    def summary(self, by: Sequence[str]) -> list[Summary]:
        """Return the mean of the measure for each group that the axes `by` form."""
        return summarise(self.cases, self.measure, by, self.folder.labels, exact=self.exact)

    def compared(self, baseline: str, by: Sequence[str]) -> list[GroupComparison]:
        """Compare the other labels with `baseline`, in each combination of the axes `by`."""
        return compare(
            self.cases,
            self.measure,
            self.axis,
            self.folder.labels,
            paired=self.folder.paired,
            baseline=baseline,
            by=by,
            exact=self.exact,
        )


def best_of(axis: ComparedAxis) -> Best | None:
    """Return which label of an axis is best by a measure, and which are not measurably worse.

    The result is `None` if fewer than two labels have the measure, or if each label is worse than
    another one. The cases of all values of the other axes count together. Another label may be
    better in some combinations of the other axes. If this happens more often than chance explains,
    a further sentence names one of these combinations. With more than `_MOST_WITHIN` comparisons,
    there is no such sentence.
    """
    rows = axis.summary([axis.axis])
    known = [row for row in rows if np.isfinite(row.mean.value)]
    if len(known) < 2:
        return None
    sign = direction(axis.measure, None)
    for row in sorted(known, key=lambda row: -sign * row.mean.value):
        others = axis.compared(row.labels[0], [])
        # A comparison leaves out each case whose counterpart does not have the measure. So another
        # label may be better than the label with the best mean.
        if all(other.verdict != "better" for other in others):
            decided = any(other.verdict == "worse" for other in others)
            words = [*_best_sentences(row, others, axis.axis, axis.shown)]
            within = _within_combinations(axis, row.labels[0]) if decided else []
            words += _exceptions(axis, within)
            return Best(" ".join(words), decided, len(within))
    return None


#: The share of comparisons that chance alone decides wrongly.
_WRONG = 0.05

#: The maximum number of comparisons within combinations of the other axes.
_MOST_WITHIN = 300


def _within_combinations(axis: ComparedAxis, best: str) -> list[GroupComparison]:
    """Compare the other labels of an axis with the best label, in each combination of other axes.

    The result is empty if there is only one combination, or if there are too many comparisons.
    """
    labels = axis.folder.labels
    combinations = math.prod(len(labels[name]) for name in axis.others)
    if combinations == 1 or combinations * (len(labels[axis.axis]) - 1) > _MOST_WITHIN:
        return []
    return axis.compared(best, axis.others)


def _exceptions(axis: ComparedAxis, within: Sequence[GroupComparison]) -> Iterator[str]:
    """Yield a sentence on combinations of the other axes in which another label is better.

    There is no sentence if chance alone could make other labels better this often.
    """
    better = [one for one in within if one.verdict == "better"]
    if len(better) <= (0 if axis.exact else _WRONG * len(within)):
        return
    means = {row.labels: row.mean.value for row in axis.summary([*axis.others, axis.axis])}
    first = better[0]
    where = ", ".join(f"{a} = {b}" for a, b in zip(axis.others, first.labels, strict=True))
    unit = f" {axis.shown.unit}" if axis.shown.unit else ""
    own, best = (
        f"{figure(axis.shown.factor * means[*first.labels, label])}{unit}"
        for label in (first.label, first.baseline)
    )
    told = f"with {where}, {first.label} is better: {own} against {best}"
    count = len({one.labels for one in better})
    if count == 1:
        yield f"But {told}."
    else:
        every = len({one.labels for one in within})
        yield (
            f"But in {count} of {every} combinations another value is better. For example, {told}."
        )


def _best_sentences(
    best: Summary, others: Sequence[GroupComparison], axis: str, shown: Shown
) -> Iterator[str]:
    """Yield sentences on the best label, and on the other labels grouped by their verdicts."""
    names = {
        verdict: [other.label for other in others if other.verdict == verdict]
        for verdict in ("worse", "cannot tell", "same")
    }
    what, mean = f"{axis} = {best.labels[0]}", _with_interval(best, shown)
    if len(names["same"]) == len(others):
        if any(other.without for other in others):
            yield (
                f"All values of {axis} are equal by {shown.words}, in the cases that have this "
                "measure."
            )
        else:
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
        yield f"Equal to {what} in every case: {few(names['same'])}."
    if names["cannot tell"]:
        yield f"Cannot be told apart from {what}: {few(names['cannot tell'])}."
    if len(names["worse"]) == len(others) == 1:
        yield f"{names['worse'][0]} is worse."
        return
    whole = len(names["worse"]) == len(others)
    yield "All other values are worse." if whole else f"Worse: {few(names['worse'])}."


def _with_interval(best: Summary, shown: Shown) -> str:
    told = best.mean.scaled(shown.factor)
    unit = f" {shown.unit}" if shown.unit else ""
    if not np.isfinite(told.low):
        why = "too few runs for an interval" if best.repeats < 2 else NO_INTERVAL
        return f"{figure(told.value)}{unit} ({why})"
    if told.low == told.high:
        return f"{figure(told.value)}{unit}"
    return f"{figure(told.value)}{unit} (95 %: {figure(told.low)} .. {figure(told.high)})"


def chance(comparisons: int) -> str:
    """Return the sentence on verdicts that chance alone gives, or nothing below ten comparisons."""
    if comparisons < 10:
        return ""
    return (
        f"Of {number(comparisons)} comparisons at 95 %, chance alone would call about "
        f"{by_chance(comparisons)} better or worse."
    )
