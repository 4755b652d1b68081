"""What cases of a sweep say, with how sure that is: summaries of groups, and comparisons.

What is drawn again is the number of a repeat: the n-th runs of all combinations in a group go
together, since they may have met the same losses. Between combinations nothing is drawn, so an
interval tells what other random draws might have shown, and not what other values might.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import Interval, Resamples

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[np.generic]]

#: Measures of which less is better, and more.
LESS = (
    "resends",
    "needless",
    "undone",
    "timeouts",
    "duplicates",
    "waited_ns",
    "completion_ns_mean",
    "completion_ns_max",
    "dropped",
    "lost",
    "queue_packets_max",
    "volleys_lost",
    "volley_rtt_ns_mean",
)
MORE = ("goodput_bps", "fairness", "acked_bytes", "delivered_bytes", "finished")


@dataclass(frozen=True)
class Summary:
    """A group of cases and a measure.

    Attributes
    ----------
    labels
        The group's labels.
    cases, without
        How many cases have the measure; how many more have not, as those that were cut.
    mean
        The mean, or of a ratio the ratio of the sums, with its interval.
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
    """A group of cases beside its counterpart.

    Attributes
    ----------
    labels
        The labels that both share.
    label, baseline
        What is compared with what.
    pairs
        How many pairs of cases there are, or of cases in the smaller group where they are not
        paired.
    difference
        The figure less the baseline's, with its interval.
    verdict
        *better*, *worse* or *cannot tell*.
    """

    labels: tuple[str, ...]
    label: str
    baseline: str
    pairs: int
    difference: Interval
    verdict: str


def figure(cases: Columns, measure: str) -> tuple[Floats, Floats]:
    """Return what is summed of each case for a measure, above and below the line.

    Parameters
    ----------
    cases
        The columns of a sweep.
    measure
        A column, or two with a stroke between them: `dropped/sent`.

    Raises
    ------
    ValueError
        When there is no such column of numbers.
    """
    above, stroke, below = measure.partition("/")
    top = _numbers(cases, above.strip())
    return top, (_numbers(cases, below.strip()) if stroke else np.ones_like(top))


def _numbers(cases: Columns, name: str) -> Floats:
    if name not in cases or cases[name].dtype.kind not in "iuf":
        known = [n for n, column in cases.items() if column.dtype.kind in "iuf"]
        raise ValueError(f"no measure {name!r}: there are {', '.join(known)}")
    column = np.ma.asarray(cases[name]).astype(np.float64)
    filled: Floats = np.ma.filled(column, np.nan)
    return filled


def groups(
    cases: Columns, by: Sequence[str], order: Mapping[str, Sequence[object]]
) -> list[tuple[tuple[str, ...], NDArray[np.intp]]]:
    """Return the labels and the rows of each group, in the order of the labels.

    Raises
    ------
    ValueError
        When there is no such column.
    """
    for name in by:
        if name not in order:
            raise ValueError(f"nothing called {name!r} was varied: there are {', '.join(order)}")
    if not by:
        return [((), np.arange(len(cases["case"])))]
    places = []
    for name in by:
        labels = [str(label) for label in order[name]]
        place = {label: n for n, label in enumerate(labels)}
        column = cases[name]
        if column.dtype.kind == "f":
            place = {float(label): n for n, label in enumerate(labels)}  # type: ignore[misc]
            places.append(np.array([place[float(v)] for v in np.ma.filled(column, np.nan)]))  # type: ignore[index]
        else:
            places.append(np.array([place[str(value)] for value in column.tolist()]))
    keys = np.stack(places, axis=1)
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    return [
        (
            tuple(str(order[name][int(n)]) for name, n in zip(by, key, strict=True)),
            np.flatnonzero(inverse == g),
        )
        for g, key in enumerate(unique)
    ]


def _by_repeat(cases: Columns, rows: NDArray[np.intp], top: Floats, bottom: Floats) -> Floats:
    """Return sums above and below the line for each repeat, shape (2, repeats)."""
    repeats, place = np.unique(np.asarray(cases["repeat"])[rows], return_inverse=True)
    sums = np.zeros((2, len(repeats)))
    np.add.at(sums[0], place, top[rows])
    np.add.at(sums[1], place, bottom[rows])
    return sums


def _interval(sums: Floats, seed: int = 1) -> Interval:
    """Return the ratio of two sums; without an interval where each combination ran once."""
    if sums.shape[1] < 2:
        value = float(sums[0].sum() / sums[1].sum()) if sums[1].sum() else float("nan")
        return Interval(value, np.nan, np.nan, 0.95, 1)
    return Resamples(sums, length=1, seed=seed).interval(lambda s: s[0] / s[1])


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
        What was varied and makes groups; the cases of a group are taken together.
    order
        The labels of all that was varied, in order.
    percentiles
        Which to give, from 0 to 100.
    """
    top, bottom = figure(cases, measure)
    found = []
    for labels, rows in groups(cases, by, order):
        has = rows[np.isfinite(top[rows]) & np.isfinite(bottom[rows])]
        with np.errstate(divide="ignore", invalid="ignore"):
            each = top[has] / bottom[has]
        each = each[np.isfinite(each)]
        nothing = Interval(np.nan, np.nan, np.nan, 0.95, 1)
        mean = _interval(_by_repeat(cases, has, top, bottom)) if len(has) else nothing
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
        What was varied and is compared.
    order
        The labels of all that was varied, in order.
    paired
        Whether runs of all combinations share their seeds: then differences are taken pair by
        pair, and what the seeds did cancels out.
    baseline
        The label to compare with; by default the first.
    by
        What makes groups; by default all else that was varied.
    better
        `less` or `more`; by default what is known of the measure.

    Raises
    ------
    ValueError
        When a name or a label is not there, or nobody knows what is better.
    """
    labels = [str(label) for label in order.get(axis, ())]
    if axis not in order:
        raise ValueError(f"nothing called {axis!r} was varied: there are {', '.join(order)}")
    baseline = labels[0] if baseline is None else baseline
    if baseline not in labels:
        raise ValueError(f"{axis} has no {baseline!r}: there are {', '.join(labels)}")
    sign = direction(measure, better)
    by = [name for name in order if name != axis] if by is None else list(by)
    top, bottom = figure(cases, measure)
    rows = dict(groups(cases, [*by, axis], order))
    found = []
    for key in dict.fromkeys(labels_of[:-1] for labels_of in rows):
        first = rows.get((*key, baseline))
        for label in labels:
            second = rows.get((*key, label))
            if label == baseline or first is None or second is None:
                continue
            pairs, difference = _difference(cases, (second, first), (top, bottom), paired=paired)
            verdict = {0: "cannot tell", sign: "better", -sign: "worse"}[difference.sign]
            found.append(Comparison(key, label, baseline, pairs, difference, verdict))
    return found


def direction(measure: str, better: str | None) -> int:
    """Return 1 where more is better and -1 where less is.

    Raises
    ------
    ValueError
        When nobody knows.
    """
    above = measure.partition("/")[0].strip()
    known = "less" if above in LESS else "more" if above in MORE else None
    chosen = better or known
    if chosen not in ("less", "more"):
        raise ValueError(f"is less or more of {measure!r} better? say so: less or more")
    return 1 if chosen == "more" else -1


def _difference(
    cases: Columns,
    rows: tuple[NDArray[np.intp], NDArray[np.intp]],
    columns: tuple[Floats, Floats],
    *,
    paired: bool,
) -> tuple[int, Interval]:
    """Return how many pairs there are, and the first's figure less the second's."""
    top, bottom = columns
    has = [r[np.isfinite(top[r]) & np.isfinite(bottom[r])] for r in rows]
    repeats = np.asarray(cases["repeat"])
    if paired:
        both = np.intersect1d(repeats[has[0]], repeats[has[1]])
        has = [r[np.isin(repeats[r], both)] for r in has]
    first, second = (_by_repeat(cases, r, top, bottom) for r in has)
    pairs = min(len(has[0]), len(has[1]))
    values = [
        float(s[0].sum() / s[1].sum()) if s.size and s[1].sum() else np.nan for s in (first, second)
    ]
    value = values[0] - values[1]
    if min(first.shape[1], second.shape[1]) < 2:
        return pairs, Interval(value, np.nan, np.nan, 0.95, 1)
    if paired:
        sums = np.concatenate([first, second])
        return pairs, Resamples(sums, length=1).interval(lambda s: s[0] / s[1] - s[2] / s[3])
    one, other = Resamples(first, length=1, seed=1), Resamples(second, length=1, seed=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = [r.resampled[0] / r.resampled[1] for r in (one, other)]
    low, high = np.nanquantile(drawn[0] - drawn[1], [0.025, 0.975])
    return pairs, Interval(value, float(low), float(high), 0.95, 1)
