"""Results of a sweep with their intervals: summaries of groups, and comparisons.

The resamples are of repeats. The n-th runs of all combinations in a group are drawn together,
because they may have had the same losses. Combinations are not resampled. So an interval covers
other random draws, but not other values.

With few repeats the bootstrap's interval is far too narrow. So an interval is at least as wide as
Student's interval for the linear part of the figure.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import Interval, Resamples
from netspurt.analysis.counts import most_unseen

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[np.generic]]

#: At most this many sums are resampled.
_MOST = 4000

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

#: The quantiles of a case's completion and request times, as in the names of measures.
_SHARES = ("p50", "p90", "p99", "p999")

#: The measures for which less is better, and those for which more is better.
LESS = (
    "retransmissions",
    "spurious",
    "undone",
    "timeouts",
    "duplicates",
    "waited_ns",
    "completion_ns_mean",
    "completion_ns_max",
    *(f"completion_ns_{share}" for share in _SHARES),
    "dropped",
    "lost",
    "queue_packets_max",
    "echo_probes_lost",
    "echo_probe_rtt_ns_mean",
    "request_ns_mean",
    "request_ns_max",
    *(f"request_ns_{share}" for share in _SHARES),
    "connection_ns_mean",
    "connection_ns_max",
    *(f"connection_ns_{share}" for share in _SHARES),
    *(f"{what}_{cause}" for what in ("retransmissions", "spurious") for cause in _CAUSES),
)
MORE = (
    "goodput_bps",
    "fairness",
    "acked_bytes",
    "delivered_bytes",
    "finished",
    "requests_complete",
)


@dataclass(frozen=True)
class Summary:
    """The figures of a group of cases for a measure.

    Attributes
    ----------
    labels
        The group's labels.
    cases, without
        The number of cases with the measure, and the number without it. A case that was cut has no
        measure.
    mean
        The mean (for a ratio the ratio of the sums) with its interval.
    median
        The median of the cases.
    percentiles
        Percentiles of the cases.
    """

    labels: tuple[str, ...]
    cases: int
    without: int
    mean: Interval
    median: float
    percentiles: dict[float, float]


@dataclass(frozen=True)
class Comparison:
    """The comparison of a group of cases with its counterpart.

    Attributes
    ----------
    labels
        The labels that the group and its counterpart share.
    label, baseline
        The compared label, and the one it is compared with.
    pairs
        The number of pairs of cases. If the cases are not paired, it is the number of cases in the
        smaller group.
    without
        The number of cases of both groups that are left out, because they or their counterparts do
        not have the measure.
    difference
        The figure minus the baseline's figure, with its interval.
    verdict
        *better*, *worse*, *cannot tell*, or *same* if all pairs are equal.
    """

    labels: tuple[str, ...]
    label: str
    baseline: str
    pairs: int
    without: int
    difference: Interval
    verdict: str


def figure(cases: Columns, measure: str) -> tuple[Floats, Floats]:
    """Return two values of each case, whose sums are the numerator and denominator of a measure.

    Parameters
    ----------
    cases
        The columns of a sweep.
    measure
        A column, or two separated by a slash: `dropped/sent`.

    Raises
    ------
    ValueError
        If there is no such column of numbers.
    """
    above, stroke, below = measure.partition("/")
    top = _numbers(cases, above.strip())
    return top, (_numbers(cases, below.strip()) if stroke else np.ones_like(top))


def measures(cases: Columns) -> list[str]:
    """Return the columns of numbers."""
    return [name for name, column in cases.items() if column.dtype.kind in "iuf"]


def _numbers(cases: Columns, name: str) -> Floats:
    if name not in cases or cases[name].dtype.kind not in "iuf":
        known = measures(cases)
        near = difflib.get_close_matches(name, known, n=3)
        told = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
        raise ValueError(f"no measure {name!r}: {told}")
    column = np.ma.asarray(cases[name]).astype(np.float64)
    filled: Floats = np.ma.filled(column, np.nan)
    return filled


def label_text(label: object) -> str:
    """Return a label as text, in the form of a column whose labels are not all numbers.

    Examples
    --------
    >>> label_text(1.0), label_text(1e-7), label_text("4 segments")
    ('1', '0.0000001', '4 segments')
    """
    if not isinstance(label, float) or not np.isfinite(label):
        return str(label)
    return format(Decimal(repr(label)), "f").removesuffix(".0")


def _labels(cases: Columns, name: str, order: Mapping[str, Sequence[object]]) -> list[str]:
    """Return the labels of an axis in order; for another column, return its values.

    Raises
    ------
    ValueError
        If there is no such column, or it has too many values to form groups.
    """
    if name in order:
        return [label_text(label) for label in order[name]]
    if name in cases and cases[name].dtype.kind in "iuU":
        return [label_text(value) for value in np.unique(np.ma.compressed(cases[name])).tolist()]
    raise ValueError(_not_varied(name, order))


def _not_varied(name: str, order: Mapping[str, Sequence[object]]) -> str:
    there = f"the axes are {', '.join(order)}" if order else "the sweep has no axes"
    return f"there is no axis {name!r}: {there}"


def _places(cases: Columns, name: str, labels: Sequence[str]) -> NDArray[np.intp]:
    """Return the index of each case's label in `labels`; -1 for other labels."""
    values, inverse = np.unique(np.ma.getdata(cases[name]), return_inverse=True)
    place = {label: n for n, label in enumerate(labels)}
    if values.dtype.kind == "f":
        numbers = {float(label): n for label, n in place.items()}
        found = [numbers.get(value, -1) for value in values.tolist()]
    else:
        found = [place.get(label_text(value), -1) for value in values.tolist()]
    places: NDArray[np.intp] = np.array(found, dtype=np.intp)[inverse.reshape(-1)]
    return places


def groups(
    cases: Columns, by: Sequence[str], order: Mapping[str, Sequence[object]]
) -> list[tuple[tuple[str, ...], NDArray[np.intp]]]:
    """Return the labels and the rows of each group, in the order of the labels.

    Axes form groups, and so does any other column of whole numbers or texts.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    if not by:
        return [((), np.arange(len(cases["case"])))]
    labels = {name: _labels(cases, name, order) for name in by}
    keys = np.stack([_places(cases, name, labels[name]) for name in by], axis=1)
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    rows = np.argsort(inverse.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(inverse.reshape(-1), minlength=len(unique)))[:-1]
    names = [tuple(labels[n][int(k)] for n, k in zip(by, key, strict=True)) for key in unique]
    return list(zip(names, np.split(rows, ends), strict=True))


def _by_repeat(cases: Columns, rows: NDArray[np.intp], top: Floats, bottom: Floats) -> Floats:
    """Return the sums of numerator and denominator for each repeat, shape (2, repeats).

    If there are many repeats, neighbouring repeats are added up. A few thousand independent sums
    have the same spread and can be resampled quickly.
    """
    repeats, place = np.unique(np.asarray(cases["repeat"])[rows], return_inverse=True)
    sums = np.zeros((2, len(repeats)))
    np.add.at(sums[0], place, top[rows])
    np.add.at(sums[1], place, bottom[rows])
    step = -(-len(repeats) // _MOST)
    return np.add.reduceat(sums, np.arange(0, len(repeats), step), axis=1) if step > 1 else sums


def _figure(sums: Floats) -> tuple[float, Floats]:
    """Return the ratio of two sums, and its linear part in each repeat, shape (repeats,)."""
    if not sums.size or not sums[1].sum():
        return np.nan, np.full(sums.shape[1], np.nan)
    value = float(sums[0].sum() / sums[1].sum())
    return value, (sums[0] - value * sums[1]) / sums[1].mean()


def _reach(spreads: Sequence[Floats]) -> float:
    """Return half of Student's interval for a sum of independent means (Welch 1947).

    The result is NaN if there are only two repeats and they are equal. Their spread of zero proves
    nothing: two throws of a coin are equal in half of all cases, too.
    """
    from scipy.special import stdtrit

    squares = np.array([np.var(one, ddof=1) / len(one) for one in spreads])
    free = np.array([len(one) - 1 for one in spreads])
    whole = float(squares.sum())
    scale = max(float(np.max(np.abs(one))) for one in spreads)
    if not whole > (1e-12 * scale) ** 2:
        return 0.0 if free.min() > 1 else np.nan
    return float(stdtrit(whole**2 / np.sum(squares**2 / free), 0.975) * np.sqrt(whole))


def _widened(value: float, low: float, high: float, spreads: Sequence[Floats]) -> Interval:
    """Return an interval that contains `low`, `high` and Student's interval; NaN if one is NaN."""
    reach = float(np.max([value - low, high - value, 0.0, _reach(spreads)]))
    return Interval(value, value - reach, value + reach, 0.95, 1)


def _interval(sums: Floats, seed: int = 1) -> Interval:
    """Return the ratio of two sums. It has an interval if combinations ran more than once."""
    value, spread = _figure(sums)
    if sums.shape[1] < 2 or np.isnan(value):
        return Interval(value, np.nan, np.nan, 0.95, 1)
    drawn = Resamples(sums, length=1, seed=seed).interval(lambda s: s[0] / s[1])
    return _widened(value, drawn.low, drawn.high, [spread])


def _unseen(
    cases: Columns, measure: str, rows: NDArray[np.intp], columns: tuple[Floats, Floats]
) -> float:
    """Return the largest likely count of an event that no case has; NaN if a case has it."""
    repeats = len(np.unique(np.asarray(cases["repeat"])[rows]))
    return most_unseen(measure, columns[0][rows], columns[1][rows], repeats)


def summarise(
    cases: Columns,
    measure: str,
    by: Sequence[str],
    order: Mapping[str, Sequence[object]],
    percentiles: Sequence[float] = (5, 95),
) -> list[Summary]:
    """Summarise a measure of groups of cases.

    Parameters
    ----------
    cases
        The columns of a sweep.
    measure
        A column, or a ratio of two.
    by
        The axes that form groups; the cases of a group are combined.
    order
        The labels of all axes, in order.
    percentiles
        Percentiles to compute, from 0 to 100.
    """
    top, bottom = figure(cases, measure)
    found = []
    for labels, rows in groups(cases, by, order):
        has = rows[np.isfinite(top[rows]) & np.isfinite(bottom[rows])]
        with np.errstate(divide="ignore", invalid="ignore"):
            each = top[has] / bottom[has]
        each = each[np.isfinite(each)]
        mean = _interval(_by_repeat(cases, has, top, bottom))
        unseen = _unseen(cases, measure, has, (top, bottom))
        mean = mean if np.isnan(unseen) else replace(mean, high=unseen)
        if len(each) and each.min() >= 0:
            # A mean of values that are not negative is not negative.
            mean = replace(mean, low=float(np.maximum(mean.low, 0.0)))
        found.append(
            Summary(
                labels,
                cases=len(has),
                without=len(rows) - len(has),
                mean=mean,
                median=float(np.median(each)) if len(each) else float("nan"),
                percentiles={
                    p: float(np.percentile(each, p)) if len(each) else float("nan")
                    for p in percentiles
                },
            )
        )
    return found


def compare(  # noqa: PLR0913 - each is a choice of its own
    cases: Columns,
    measure: str,
    axis: str,
    order: Mapping[str, Sequence[object]],
    *,
    paired: bool,
    baseline: str | None = None,
    by: Sequence[str] | None = None,
    better: str | None = None,
) -> list[Comparison]:
    """Compare the labels of an axis with one of them, group by group.

    Parameters
    ----------
    cases
        The columns of a sweep.
    measure
        A column, or a ratio of two.
    axis
        The axis whose labels are compared.
    order
        The labels of all axes, in order.
    paired
        Whether runs of all combinations share their seeds. If they do, differences are taken pair
        by pair, and effects of the seeds cancel out.
    baseline
        The label to compare with; by default the first.
    by
        The axes that form groups; by default all other axes.
    better
        `less` or `more`. The default depends on the measure.

    Raises
    ------
    ValueError
        If a name or a label does not exist, or if neither `better` nor the measure decides what is
        better.
    """
    if axis not in order:
        raise ValueError(_not_varied(axis, order))
    labels = _labels(cases, axis, order)
    baseline = labels[0] if baseline is None else _known(baseline, axis, labels)
    top, bottom = figure(cases, measure)
    sign = direction(measure, better)
    others = [name for name in order if name != axis]
    by = others if by is None else list(by)
    if axis in by:
        raise ValueError(f"{axis} is the compared axis and cannot form groups")
    has = np.isfinite(top) & np.isfinite(bottom)
    combination = _combinations(cases, others, order)
    beside = _Beside(combination, np.asarray(cases["repeat"]).astype(np.int64), has, paired)
    rows = dict(groups(cases, [*by, axis], order))
    found = []
    for key in dict.fromkeys(labels_of[:-1] for labels_of in rows):
        first = rows.get((*key, baseline))
        for label in labels:
            second = rows.get((*key, label))
            if label == baseline or first is None or second is None:
                continue
            chosen = beside.comparable(second, first)
            difference = _difference(cases, chosen, (top, bottom), paired=paired)
            difference = _allowing(difference, cases, measure, chosen)
            told = {0: "cannot tell", sign: "better", -sign: "worse"}[difference.sign]
            pairs = min(map(len, chosen))
            without = len(first) + len(second) - sum(map(len, chosen))
            verdict = "same" if beside.same(chosen, (top, bottom)) else told
            found.append(Comparison(key, label, baseline, pairs, without, difference, verdict))
    return found


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
    raise ValueError(f"{axis} has no {baseline!r}: there are {', '.join(labels)}")


@dataclass(frozen=True)
class _Beside:
    """The keys that decide which cases of two groups are counterparts.

    Attributes
    ----------
    combination, repeat
        For each case, the number of its combination (without the compared axis), and the number of
        its run.
    has
        Whether each case has the measure.
    paired
        Whether runs with the same number share their seed.
    """

    combination: NDArray[np.int64]
    repeat: NDArray[np.int64]
    has: NDArray[np.bool_]
    paired: bool

    def comparable(self, one: NDArray[np.intp], other: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Return the cases of each group that have counterparts in the other.

        If a case was cut, its counterpart is left out too; otherwise one group would have more of
        the hard cases. If the groups share no combination, as with listed scenarios, all cases of a
        run are counterparts of all cases of the run with the same number.
        """
        known = [rows[self.has[rows]] for rows in (one, other)]
        shared = np.intersect1d(self.combination[one], self.combination[other]).size > 0
        if shared and self.paired:
            key = self.combination * (int(self.repeat.max()) + 1) + self.repeat
        else:
            key = self.combination if shared else self.repeat
        if not shared and not self.paired:
            return known
        both = np.intersect1d(key[known[0]], key[known[1]])
        return [rows[np.isin(key[rows], both)] for rows in known]

    def same(self, rows: Sequence[NDArray[np.intp]], columns: Sequence[Floats]) -> bool:
        """Return whether each case has the same values as its counterpart; false if not paired."""
        if not self.paired or len(rows[0]) < 2 or len(rows[0]) != len(rows[1]):
            return False
        one, other = (r[np.lexsort((self.repeat[r], self.combination[r]))] for r in rows)
        return all(np.array_equal(column[one], column[other]) for column in columns)


def direction(measure: str, better: str | None) -> int:
    """Return 1 if higher values of a measure are better, and -1 if lower values are.

    Raises
    ------
    ValueError
        If neither `better` nor the measure's name says which values are better.
    """
    above = measure.partition("/")[0].strip()
    known = "less" if above in LESS else "more" if above in MORE else None
    chosen = better or known
    if chosen not in ("less", "more"):
        raise ValueError(
            f"it is not known which values of {measure!r} are better: give less or more"
        )
    return 1 if chosen == "more" else -1


def _combinations(
    cases: Columns, names: Sequence[str], order: Mapping[str, Sequence[object]]
) -> NDArray[np.int64]:
    """Return, for each case, the number of its combination of labels of these axes."""
    combination = np.zeros(len(cases["case"]), dtype=np.int64)
    for name in names:
        texts = _labels(cases, name, order)
        combination = combination * len(texts) + _places(cases, name, texts)
    return combination


def _allowing(
    difference: Interval, cases: Columns, measure: str, rows: Sequence[NDArray[np.intp]]
) -> Interval:
    """Return the difference of two counts, with an interval that allows for unseen events."""
    unseen = float(np.max([_unseen(cases, measure, one, figure(cases, measure)) for one in rows]))
    return difference if np.isnan(unseen) else replace(difference, low=-unseen, high=unseen)


def _difference(
    cases: Columns,
    rows: Sequence[NDArray[np.intp]],
    columns: tuple[Floats, Floats],
    *,
    paired: bool,
) -> Interval:
    """Return the figure of the first group minus the figure of the second."""
    first, second = (_by_repeat(cases, r, *columns) for r in rows)
    (one, spread), (other, other_spread) = _figure(first), _figure(second)
    value = one - other
    if min(first.shape[1], second.shape[1]) < 2 or np.isnan(value):
        return Interval(value, np.nan, np.nan, 0.95, 1)
    if paired:
        sums = np.concatenate([first, second])
        drawn = Resamples(sums, length=1).interval(lambda s: s[0] / s[1] - s[2] / s[3])
        return _widened(value, drawn.low, drawn.high, [spread - other_spread])
    both = Resamples(first, length=1, seed=1), Resamples(second, length=1, seed=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        figures = [r.resampled[0] / r.resampled[1] for r in both]
    low, high = np.nanquantile(figures[0] - figures[1], [0.025, 0.975])
    return _widened(value, float(low), float(high), [spread, other_spread])
