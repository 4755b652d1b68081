"""Summarises the results of a sweep in groups, and compares groups, with intervals.

A label is the value of an axis in a case, and a combination has one label of each axis. Several
runs with different seeds belong to one combination. The n-th runs of all combinations in a group
are one repeat. Repeats are resampled. The runs of a repeat are drawn together, because they may
have had the same losses. Combinations are not resampled. So an interval accounts for other random
draws, but not for other values of the axes.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.counts import counts_events, is_share, most_unseen, rare_events_end
from netspurt.analysis.grouping import (
    Columns,
    groups,
    labels_of,
    measures,
    not_varied,
    places_of,
)
from netspurt.analysis.repeats import RepeatedFigure, difference, interval
from netspurt.wording import unknown_name

Floats = NDArray[np.float64]

#: The maximum number of sums that are resampled.
_SUMS_MAX = 4000

#: The causes of retransmissions, as they appear in the names of measures.
_CAUSES = (
    "fast",
    "sack_recovery",
    "rack",
    "rto",
    "tlp",
    "sfr",
    "go_back_n",
    "syn",
    "shim",
)

#: The quantiles of completion, request and connection times, as in the names of measures.
_QUANTILES = ("p50", "p90", "p99", "p999")

#: `LESS` are the measures for which less is better; `MORE` are the measures for which more is
#: better.
LESS = (
    "retransmissions",
    "spurious",
    "undone",
    "timeouts",
    "duplicates",
    "waited_ns",
    "completion_ns_mean",
    "completion_ns_max",
    *(f"completion_ns_{share}" for share in _QUANTILES),
    "dropped",
    "lost",
    "queue_packets_max",
    "echo_probes_lost",
    "echo_probe_rtt_ns_mean",
    "request_ns_mean",
    "request_ns_max",
    *(f"request_ns_{share}" for share in _QUANTILES),
    "connection_ns_mean",
    "connection_ns_max",
    *(f"connection_ns_{share}" for share in _QUANTILES),
    *(f"{count}_{cause}" for count in ("retransmissions", "spurious") for cause in _CAUSES),
)
MORE = (
    "goodput_bps",
    "fairness",
    "acked_bytes",
    "delivered_bytes",
    "finished",
    "requests_complete",
)

#: The measures that netspurt suggests first, the most important at the beginning.
USUAL = (
    "request_ns_mean",
    "connection_ns_mean",
    "completion_ns_mean",
    "goodput_bps",
    "retransmissions",
)


@dataclass(frozen=True)
class Summary:
    """The figures of a group of cases for a measure.

    Attributes
    ----------
    labels
        The group's labels.
    cases, without
        The number of cases with the measure, and the number without it. Only cases that are `done`
        have measures.
    mean
        The mean, with its interval. For a ratio, it is the ratio of the sums.
    median
        The median of the cases.
    percentiles
        Percentiles of the cases.
    repeats
        The number of repeats with the measure.
    undefined
        The number of cases without a ratio of their own, because the denominator is 0. Only the
        median and the percentiles leave them out.
    """

    labels: tuple[str, ...]
    cases: int
    without: int
    mean: Interval
    median: float
    percentiles: dict[float, float]
    repeats: int
    undefined: int = 0


@dataclass(frozen=True)
class GroupComparison:
    """The comparison of a group of cases with its counterpart, the group with the baseline label.

    Attributes
    ----------
    labels
        The labels that the group and its counterpart share.
    label, baseline
        The compared label, and the label with which it is compared.
    pairs
        The number of pairs of cases. If the cases are not paired, it is the number of cases in the
        smaller group.
    left_out
        The rows of the cases of both groups that are left out, because they or their counterparts
        do not have the measure.
    difference
        The group's figure minus its counterpart's figure, with its interval.
    verdict
        *better*, *worse*, *cannot tell* or *same*. It is *same* if there are several pairs and the
        two cases of each pair are equal.
    repeats
        The number of repeats in the smaller group.
    """

    labels: tuple[str, ...]
    label: str
    baseline: str
    pairs: int
    left_out: frozenset[int]
    difference: Interval
    verdict: str
    repeats: int

    @property
    def without(self) -> int:
        """The number of cases that are left out."""
        return len(self.left_out)


def figure(cases: Columns, measure: str) -> tuple[Floats, Floats]:
    """Return two values for each case. Their sums are the numerator and denominator of a measure.

    Parameters
    ----------
    cases
        The columns of a sweep.
    measure
        A column, or two columns separated by a slash: `dropped/sent`.

    Raises
    ------
    ValueError
        If there is no such column of numbers.
    """
    numerator, slash, denominator = measure.partition("/")
    top = _numbers(cases, numerator.strip())
    return top, (_numbers(cases, denominator.strip()) if slash else np.ones_like(top))


#: The maximum number of measures that an error lists.
_LISTED = 12


def _numbers(cases: Columns, name: str) -> Floats:
    if name not in cases or cases[name].dtype.kind not in "iuf":
        known = measures(cases)
        similar = difflib.get_close_matches(name, known, n=3)
        raise ValueError(
            f"no measure is called {name!r}: did you mean {' or '.join(similar)}?"
            if similar
            else unknown_name("measure", name, known, most=_LISTED)
        )
    column = np.ma.asarray(cases[name]).astype(np.float64)
    filled: Floats = np.ma.filled(column, np.nan)
    return filled


def _by_repeat(cases: Columns, rows: NDArray[np.intp], top: Floats, bottom: Floats) -> Floats:
    """Return the sums of numerator and denominator for each repeat, shape (2, repeats).

    If there are many repeats, neighbouring repeats are added up, because a few thousand sums
    have the same spread and can be resampled quickly.
    """
    repeats, place = np.unique(np.asarray(cases["repeat"])[rows], return_inverse=True)
    sums = np.zeros((2, len(repeats)))
    np.add.at(sums[0], place, top[rows])
    np.add.at(sums[1], place, bottom[rows])
    step = -(-len(repeats) // _SUMS_MAX)
    return np.add.reduceat(sums, np.arange(0, len(repeats), step), axis=1) if step > 1 else sums


def _unseen(cases: Columns, measure: str, rows: NDArray[np.intp]) -> float:
    """Return by how much the cases' figure may change if events occur that these cases lack.

    The result is NaN if the measure does not count events, or if the repeats differ. If the repeats
    differ, their differences give the interval.
    """
    one = _repeated(cases, measure, rows)
    if not one.is_constant:
        return math.nan
    bottom = figure(cases, measure)[1][rows]
    return most_unseen(measure, one.value, bottom, _repeats(cases, rows))


def _repeated(cases: Columns, measure: str, rows: NDArray[np.intp]) -> RepeatedFigure:
    """Return the figure of a group of cases."""
    return RepeatedFigure.of(_by_repeat(cases, rows, *figure(cases, measure)))


def _repeats(cases: Columns, rows: NDArray[np.intp]) -> int:
    """Return the number of repeats to which these cases belong."""
    return len(np.unique(np.asarray(cases["repeat"])[rows]))


def summarise(  # noqa: PLR0913 - the cases, what is summarised, and how
    cases: Columns,
    measure: str,
    by: Sequence[str],
    order: Mapping[str, Sequence[object]],
    percentiles: Sequence[float] = (5, 95),
    *,
    exact: bool = False,
) -> list[Summary]:
    """Summarise a measure of groups of cases.

    Parameters
    ----------
    cases
        The columns of a sweep.
    measure
        A column, or a ratio of two columns.
    by
        The axes that form groups; the cases of a group are combined.
    order
        The labels of all axes, in order.
    percentiles
        Percentiles to compute, from 0 to 100.
    exact
        True if nothing in the sweep is random. Then an event that no run had is impossible.
    """
    top, bottom = figure(cases, measure)
    summaries = []
    for labels, rows in groups(cases, by, order):
        with_measure = rows[np.isfinite(top[rows]) & np.isfinite(bottom[rows])]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = top[with_measure] / bottom[with_measure]
        values = values[np.isfinite(values)]
        sums = _by_repeat(cases, with_measure, top, bottom)
        mean = interval(sums, exact=exact, counts=counts_events(measure))
        rare = math.nan if exact or np.isnan(mean.high) else rare_events_end(measure, sums)
        mean = replace(mean, high=float(np.fmax(mean.high, rare)))
        unseen = math.nan if exact else _unseen(cases, measure, with_measure)
        if not np.isnan(unseen):
            mean = replace(mean, low=mean.value - unseen, high=mean.value + unseen)
        # A mean of values that are not negative is not negative.
        least = 0.0 if len(values) and values.min() >= 0 else -math.inf
        mean = mean.bounded(least, 1.0 if is_share(measure) else math.inf)
        summaries.append(
            Summary(
                labels,
                cases=len(with_measure),
                without=len(rows) - len(with_measure),
                mean=mean,
                median=float(np.median(values)) if len(values) else float("nan"),
                percentiles={
                    p: float(np.percentile(values, p)) if len(values) else float("nan")
                    for p in percentiles
                },
                repeats=_repeats(cases, with_measure),
                undefined=len(with_measure) - len(values),
            )
        )
    return summaries


def compare(  # noqa: PLR0913 - the cases, what is compared, and how
    cases: Columns,
    measure: str,
    axis: str,
    order: Mapping[str, Sequence[object]],
    *,
    paired: bool,
    baseline: str | None = None,
    by: Sequence[str] | None = None,
    better: str | None = None,
    exact: bool = False,
) -> list[GroupComparison]:
    """Compare the labels of an axis with one label, group by group.

    Parameters
    ----------
    cases
        The columns of a sweep.
    measure
        A column, or a ratio of two columns.
    axis
        The axis whose labels are compared.
    order
        The labels of all axes, in order.
    paired
        True if the runs of all combinations share their seeds. Then differences are computed pair
        by pair, and effects of the seeds cancel out.
    baseline
        The label with which the other labels are compared; by default the first label.
    by
        The axes that form groups; by default all other axes.
    better
        Which values are better: `less` or `more`. The default depends on the measure.
    exact
        True if nothing in the sweep is random. Then an event that no run had is impossible.

    Raises
    ------
    ValueError
        If a name or a label does not exist, or if neither `better` nor the measure decides what is
        better.
    """
    others, by = _other_axes(axis, by, order)
    labels = labels_of(cases, axis, order)
    baseline = labels[0] if baseline is None else _known(baseline, axis, labels)
    top, bottom = figure(cases, measure)
    sign = direction(measure, better)
    has_measure = np.isfinite(top) & np.isfinite(bottom)
    combination = _combinations(cases, others, order)
    repeat = np.asarray(cases["repeat"]).astype(np.int64)
    partners = _Counterparts(combination, repeat, has_measure, paired)
    rows = dict(groups(cases, [*by, axis], order))
    found = []
    for key in dict.fromkeys(group[:-1] for group in rows):
        first = rows.get((*key, baseline))
        for label in labels:
            second = rows.get((*key, label))
            if label == baseline or first is None or second is None:
                continue
            chosen = partners.comparable(second, first)
            told = _difference(cases, measure, chosen, paired=paired, exact=exact)
            known = not (np.isnan(told.low) and _repeated(cases, measure, chosen[0]).is_constant)
            alike = known and partners.same(chosen, (top, bottom))
            words = "same" if alike else {0: "cannot tell", sign: "better"}.get(told.sign, "worse")
            pairs, repeats = min(map(len, chosen)), min(_repeats(cases, own) for own in chosen)
            left_out = _without((first, second), chosen)
            found.append(
                GroupComparison(key, label, baseline, pairs, left_out, told, words, repeats)
            )
    return found


def _difference(
    cases: Columns, measure: str, rows: Sequence[NDArray[np.intp]], *, paired: bool, exact: bool
) -> Interval:
    """Return the figure of the first group minus the figure of the second."""
    unseen = [math.nan if exact else _unseen(cases, measure, own) for own in rows]
    sums = [_by_repeat(cases, own, *figure(cases, measure)) for own in rows]
    told = difference(sums, unseen, paired=paired, exact=exact)
    return told.bounded(-1.0, 1.0) if is_share(measure) else told


def _other_axes(
    axis: str, by: Sequence[str] | None, order: Mapping[str, Sequence[object]]
) -> tuple[list[str], list[str]]:
    """Return the other axes, and the axes that form groups: by default all other axes.

    Raises
    ------
    ValueError
        If there is no such axis, or if the compared axis is to form groups.
    """
    if axis not in order:
        raise ValueError(not_varied(axis, order))
    others = [name for name in order if name != axis]
    by = others if by is None else list(by)
    if axis in by:
        raise ValueError(f"{axis} is the compared axis and cannot form groups")
    return others, by


def _known(baseline: str, axis: str, labels: Sequence[str]) -> str:
    """Return the label that `baseline` means. `1` and `1.0` are the same number."""
    if baseline in labels:
        return baseline
    for label in labels:
        try:
            if float(label) == float(baseline):
                return label
        except ValueError:
            continue
    raise ValueError(f"{axis} has no value {baseline!r}; the values are {', '.join(labels)}")


@dataclass(frozen=True)
class _Counterparts:
    """The keys that decide which cases of two groups are counterparts.

    Attributes
    ----------
    combination, repeat
        For each case, the number of its combination (without the compared axis), and the number of
        its run.
    has
        True for each case that has the measure.
    paired
        True if runs with the same number share their seed.
    """

    combination: NDArray[np.int64]
    repeat: NDArray[np.int64]
    has: NDArray[np.bool_]
    paired: bool

    def comparable(
        self, first: NDArray[np.intp], second: NDArray[np.intp]
    ) -> list[NDArray[np.intp]]:
        """Return the cases of each group that have the measure and a counterpart with the measure.

        If other cases counted, one group might have more of the difficult cases. Counterparts have
        the same combination and, if the runs are paired, the same number of the run. In a sweep
        from `Sweep.listed`, the groups may have no combination in common. Then counterparts of
        paired runs only have the same number of the run. If the runs of such a sweep are not
        paired, all cases with the measure are compared.
        """
        with_measure = [rows[self.has[rows]] for rows in (first, second)]
        shared = np.intersect1d(self.combination[first], self.combination[second]).size > 0
        if shared and self.paired:
            key = self.combination * (int(self.repeat.max()) + 1) + self.repeat
        else:
            key = self.combination if shared else self.repeat
        if not shared and not self.paired:
            return with_measure
        both = np.intersect1d(key[with_measure[0]], key[with_measure[1]])
        return [rows[np.isin(key[rows], both)] for rows in with_measure]

    def same(self, rows: Sequence[NDArray[np.intp]], columns: Sequence[Floats]) -> bool:
        """Return whether each case has the same values as its counterpart.

        The result is false if the cases are not paired, or if there is only one pair.
        """
        if not self.paired or len(rows[0]) < 2 or len(rows[0]) != len(rows[1]):
            return False
        first, second = (r[np.lexsort((self.repeat[r], self.combination[r]))] for r in rows)
        return all(np.array_equal(column[first], column[second]) for column in columns)


def direction(measure: str, better: str | None) -> int:
    """Return 1 if higher values of a measure are better, and -1 if lower values are better.

    Raises
    ------
    ValueError
        If neither `better` nor the measure's name says which values are better.
    """
    numerator = measure.partition("/")[0].strip()
    known = "less" if numerator in LESS else "more" if numerator in MORE else None
    chosen = better or known
    if chosen not in ("less", "more"):
        raise ValueError(
            f"it is not known which values of {measure!r} are better: set `better` (--better) to "
            "less or more"
        )
    return 1 if chosen == "more" else -1


def _combinations(
    cases: Columns, names: Sequence[str], order: Mapping[str, Sequence[object]]
) -> NDArray[np.int64]:
    """Return, for each case, the number of its combination of labels of these axes."""
    combination = np.zeros(len(cases["case"]), dtype=np.int64)
    for name in names:
        texts = labels_of(cases, name, order)
        combination = combination * len(texts) + places_of(cases, name, texts)
    return combination


def _without(
    groups: Sequence[NDArray[np.intp]], chosen: Sequence[NDArray[np.intp]]
) -> frozenset[int]:
    """Return the cases of two groups that were not chosen for the comparison."""
    return frozenset(np.setdiff1d(np.concatenate(groups), np.concatenate(chosen)).tolist())
