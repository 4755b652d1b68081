"""The section of a sweep: its measures, grouped by the varied values, with intervals.

An axis is a setting that a sweep varies. A label is a value of an axis, as text. A measure is a
column of the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.cases import (
    USUAL,
    GroupComparison,
    Summary,
    compare,
    direction,
    summarise,
)
from netspurt.analysis.grouping import measures
from netspurt.analysis.unended import unended, unfinished
from netspurt.pictures.cases import Figures, of_cases
from netspurt.pictures.measures import Shown, alike, in_words
from netspurt.quantities import positions
from netspurt.report.axes import conditions, explained_axes
from netspurt.report.best import ComparedAxis, best_of, chance, figure
from netspurt.report.parts import MOST_ROWS, Flow, Group, Link, Panel, Part, Rows, Section, Side
from netspurt.sweep import SweepFolder
from netspurt.sweep.cases import Cases
from netspurt.sweep.randomness import is_exact
from netspurt.wording import counted, number, plain

#: The measures of a page, the most important first. A page has only measures that the sweep has and
#: that vary.
MEASURES = (
    *(one for one in USUAL if one.endswith("_mean")),
    "request_ns_p99",
    "connection_ns_p99",
    "goodput_bps",
    "spurious",
    "retransmissions",
    "timeouts",
    "waited_ns",
    "dropped",
    "lost",
)
_MOST_MEASURES = 6

#: The maximum number of labels of the second axis in a picture with lines or bars. With more
#: labels, the picture is a heat-map.
_LINES = 8

#: The labels of an axis are compared if the axis has at most this number of labels.
_COMPARED = 24


@dataclass(frozen=True)
class _Sweep:
    """A sweep, and the figures that its page shows.

    Attributes
    ----------
    folder, cases
        Its folder, and the cases that have ended.
    shown
        The measures of the page, and how their figures are shown.
    means
        For each measure, the mean of each group. A group is a combination of labels of all axes.
    verdicts
        For each axis that is compared, and each measure, the comparisons with the first label.
    exact
        Whether all runs of each combination are equal, because nothing in the scenario is random.
    conditions
        The axes that vary conditions of the path. Nobody chooses these, so none of their values is
        called best.
    """

    folder: SweepFolder
    cases: Cases
    shown: Mapping[str, Shown]
    means: Mapping[str, Sequence[Summary]]
    verdicts: Mapping[str, Mapping[str, Sequence[GroupComparison]]]
    exact: bool
    conditions: set[str]

    @classmethod
    def of(cls, folder: SweepFolder) -> _Sweep:
        """Read a sweep."""
        cases = folder.read()
        chosen = _chosen(cases)
        exact = is_exact(folder, cases)
        means = {
            one: summarise(cases, one, folder.names, folder.labels, exact=exact) for one in chosen
        }
        verdicts = {
            axis: {
                one: compare(
                    cases, one, axis, folder.labels, paired=folder.paired, by=[], exact=exact
                )
                for one in chosen
            }
            for axis in folder.names
            if 2 <= len(folder.labels[axis]) <= _COMPARED
        }
        shown = alike(dict(_most(means)))
        return cls(folder, cases, shown, means, verdicts, exact, conditions(folder))


def _most(means: Mapping[str, Sequence[Summary]]) -> Iterator[tuple[str, float]]:
    """Yield each measure with its largest absolute mean. This mean decides the unit."""
    for measure, rows in means.items():
        known = [abs(row.mean.value) for row in rows if np.isfinite(row.mean.value)]
        yield measure, max(known, default=0.0)


def sweep_section(folder: SweepFolder, name: str, remarks: Sequence[str] = ()) -> Section:
    """Return the section of a sweep.

    Parameters
    ----------
    folder
        The sweep's folder.
    name
        The name of the sweep on the page.
    remarks
        The lines that `netspurt sweep show` prints on the number of seeds.

    Raises
    ------
    SweepError
        If no case has ended.
    """
    sweep = _Sweep.of(folder)
    answers, within = _answers(sweep)
    verdicts = [rows for axis in sweep.verdicts if (rows := _verdicts(sweep, axis))]
    part = Part(
        name=name,
        answer=answers[0] if answers else "",
        words=[*_words(folder), *answers[1:], *map(plain, remarks)],
        tables=[
            *([_table(sweep)] if folder.names else []),
            *verdicts,
            *explained_axes(folder),
        ],
        links=[Link("the sweep's folder", folder.where)],
        notes=[*_without(sweep), *_notes(sweep, within)],
        foot=[
            f"fingerprint {folder.fingerprint}: sweeps with equal fingerprints have the same cases"
        ],
    )
    groups = list(_groups(sweep))
    return Section(plain(folder.title or name), [part], groups=groups)


#: The maximum number of measures for which the page names the best value of an axis.
_MOST_ANSWERED = 4

#: The maximum share of requests, flows or connections that a measure may leave out. If a measure
#: leaves out more, its sentences do not come first.
_LEFT_OUT_MAX = 0.01


def _answers(sweep: _Sweep) -> tuple[list[str], int]:
    """Return for each measure which value of each axis is best, and the number of comparisons.

    Measures with two properties come first: some value is worse than the best value, and the
    measure leaves out few requests, flows or connections. A measure leaves out items that had not
    ended when their run ended. Otherwise the measures come in the order of their importance. The
    number counts only the comparisons within combinations of the other axes.
    """
    told: list[tuple[bool, str]] = []
    within = 0
    for measure in [*sweep.shown][:_MOST_ANSWERED]:
        shown = sweep.shown[measure]
        found = [
            best_of(ComparedAxis(sweep.cases, sweep.folder, axis, measure, shown, sweep.exact))
            for axis in sweep.verdicts
            if axis not in sweep.conditions
        ]
        known = [one for one in found if one]
        if known:
            words = plain(" ".join(one.words for one in known))
            missing, every, _ = unended(sweep.cases, measure)
            whole = missing <= _LEFT_OUT_MAX * every
            told.append((whole and any(one.decided for one in known), words))
            within += sum(one.compared for one in known)
    return [words for _, words in sorted(told, key=lambda one: not one[0])], within


def _words(folder: SweepFolder) -> Iterator[str]:
    """Yield sentences on what was varied, and on how the cases ended."""
    one_path = "" if folder.names or folder.drawn else "one path, "
    yield f"{counted(folder.cases, 'case')}: {one_path}{folder.varied}."
    tally = folder.tally()
    ends = {"done": tally.done, "cut": tally.cut, "late": tally.late, "failed": tally.errors}
    ends["to run"] = folder.cases - tally.cases
    yield "Cases: " + ", ".join(f"{number(n)} {word}" for word, n in ends.items() if n) + "."
    if tally.first_error is not None:
        case, why = tally.first_error
        yield f"First failure, case {case}: {why}"


def _without(sweep: _Sweep) -> Iterator[str]:
    """Yield sentences on the cases that lack measures and are left out of the means."""
    lacking: dict[int, list[str]] = {}
    for measure, rows in sweep.means.items():
        if missing := sum(row.without for row in rows):
            lacking.setdefault(missing, []).append(in_words(measure)[0])
    for missing, words in lacking.items():
        one = len(words) == 1
        of_these = "this measure" if one else "these measures"
        leave_out = "Its mean leaves" if one else "Their means leave"
        yield (
            f"{number(missing)} of {counted(len(sweep.cases['case']), 'case')} "
            f"{'has' if missing == 1 else 'have'} no value of {of_these}: {', '.join(words)}. "
            f"{leave_out} such cases out: cases that failed, did not finish, or have too few times "
            "for a quantile."
        )


def _notes(sweep: _Sweep, within: int) -> Iterator[str]:
    folder = sweep.folder
    for measure in sweep.means:
        missing, every, things = unended(sweep.cases, measure)
        if missing:
            yield (
                f"The measure {in_words(measure)[0]} leaves out {number(missing)} of "
                f"{number(every)} {things}, which had not ended when their run ended."
            )
    yield from unfinished(sweep.cases, folder.scenario())
    if not folder.names:
        varied = "Only drawn values vary" if folder.drawn else "Nothing is varied"
        yield f"{varied}, so there are no groups to compare."
    if not sweep.shown:
        yield "No measure varies among the cases."
    elif len(folder.names) > 1:
        yield "Each difference is computed from the cases of all values of the other axes."
    compared = sum(len(rows) for each in sweep.verdicts.values() for rows in each.values())
    if (told := chance(compared + within)) and not sweep.exact:
        yield told
    yield "`netspurt sweep show` and `netspurt sweep compare` show every other measure."


def _chosen(cases: Cases) -> list[str]:
    """Return the measures of `MEASURES` that the cases have and that vary.

    If several measures have equal values, only the first is returned. For example, flows with one
    request have several equal times.
    """
    known = set(measures(cases))
    chosen: dict[bytes, str] = {}
    for name in MEASURES:
        if name in known and _varies(cases, name):
            values = np.ma.filled(np.ma.asarray(cases[name]).astype(float), np.nan)
            chosen.setdefault(values.tobytes(), name)
    return list(chosen.values())[:_MOST_MEASURES]


def _varies(cases: Cases, name: str) -> bool:
    values = np.ma.compressed(np.ma.asarray(cases[name]))
    return len(np.unique(values)) > 1


def _table(sweep: _Sweep) -> Rows:
    """Return the table with a row for each group: the means of all measures with intervals."""
    by = list(sweep.folder.names)
    told = list(sweep.means.values())
    groups = [row.labels for row in told[0]] if told else []
    rows = [
        (
            *labels,
            *(
                _interval(own[n].mean.scaled(sweep.shown[measure].factor), exact=sweep.exact)
                for measure, own in sweep.means.items()
            ),
        )
        for n, labels in enumerate(groups[:MOST_ROWS])
    ]
    more = len(groups) - len(rows)
    return Rows(
        "Means" if sweep.exact else "Means and 95 % intervals",
        (*by, *(shown.label for shown in sweep.shown.values())),
        rows,
        tuple(range(len(by), len(by) + len(told))),
        more=more,
        elsewhere="`netspurt sweep show` prints all rows.",
    )


def _verdicts(sweep: _Sweep, axis: str) -> Rows | None:
    """Return the table that compares the labels of an axis with its first label, over all groups.

    Return `None` if there is nothing to compare.
    """
    cells: dict[str, list[str]] = {}
    baseline, condition = "", axis in sweep.conditions
    for measure, rows in sweep.verdicts[axis].items():
        for row in rows:
            baseline = row.baseline
            scaled = row.difference.scaled(sweep.shown[measure].factor)
            verdict = row.verdict
            if condition and verdict in ("better", "worse"):
                verdict = "higher" if scaled.value > 0 else "lower"
            told = _interval(scaled, verdict, exact=sweep.exact)
            cells.setdefault(row.label, []).append(told)
    count = len(sweep.shown)
    whole = [(label, *told) for label, told in cells.items() if len(told) == count]
    pairing = "pair by pair" if sweep.folder.paired else "between groups"
    words = "higher, lower" if condition else "better, worse"
    words += ", same" * sweep.folder.paired
    caption = f"Differences from {axis} {baseline}, {pairing}: {words} or cannot tell"
    head = (axis, *(shown.label for shown in sweep.shown.values()))
    return Rows(caption, head, whole, tuple(range(1, 1 + count))) if whole else None


def _interval(mean: Interval, verdict: str = "", *, exact: bool) -> str:
    """Return a figure, with its verdict if there is one, and its interval in a line below.

    The interval is left out if there is none, or if nothing in the sweep is random.
    """
    if not np.isfinite(mean.value):
        return "-"
    around = ""
    if np.isfinite(mean.low) and not exact:
        all_equal = mean.low == mean.high
        around = "\nall equal" if all_equal else f"\n{figure(mean.low)} .. {figure(mean.high)}"
    return ", ".join(filter(None, (figure(mean.value), verdict))) + around


def _groups(sweep: _Sweep) -> Iterator[Group]:
    """Yield a picture of each measure. With more than two axes, each axis has its own pictures."""
    folder = sweep.folder
    names = list(folder.names)
    ways = [names] if len(names) in (1, 2) else [[name] for name in names]
    orders: dict[str, list[str]] = {}
    for measure, shown in sweep.shown.items():
        for by in ways:
            rows = summarise(sweep.cases, measure, by, folder.labels, exact=sweep.exact)
            figures: Figures = {row.labels: row.mean for row in rows}
            if not any(np.isfinite(row.mean.value) for row in rows):
                continue
            kind = _kind(figures, by)
            # All pictures of an axis have the order of the first picture, so that labels are easy
            # to find.
            order = orders.setdefault(by[0], _best_first(figures, measure))
            title = f"{shown.words[0].upper()}{shown.words[1:]}, by {' and '.join(by)}"
            drawn = of_cases(kind, figures, by, measure, shown, order)
            panel = Panel(f"apart-{kind}", title, drawn)
            yield Group([Side(folder.where, [Flow(measure, [panel])])], "")


def _best_first(figures: Figures, measure: str) -> list[str]:
    """Return the labels of the first axis of figures. The best label by this measure is first.

    A label with several figures counts with their mean. All pictures of an axis have the order of
    the first picture, so that labels are easy to find.
    """
    sign = direction(measure, None)
    known: dict[str, list[float]] = {}
    for labels, one in figures.items():
        known.setdefault(labels[0], []).append(one.value)
    means = {
        label: np.mean([v for v in values if np.isfinite(v)] or [np.nan])
        for label, values in known.items()
    }
    return sorted(means, key=lambda label: np.nan_to_num(-sign * means[label], nan=np.inf))


def _kind(figures: Figures, by: Sequence[str]) -> str:
    """Return the kind of picture that suits the labels."""
    rows = list(dict.fromkeys(labels[0] for labels in figures))
    series = dict.fromkeys(labels[-1] for labels in figures)
    if len(by) == 2 and len(series) > _LINES:
        return "heat-map"
    if len(rows) > 2 and positions(rows) is not None:
        return "line"
    return "dot" if len(by) == 1 else "bar"
