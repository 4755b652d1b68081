"""The section of a sweep: its measures by the varied values, with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.cases import Summary, compare, measures, summarise
from netspurt.pictures.cases import Figures, of_cases, positions
from netspurt.pictures.measures import fitting_unit, in_words
from netspurt.report.parts import MOST_ROWS, Flow, Group, Link, Panel, Part, Rows, Section, Side
from netspurt.sweep import SweepFolder
from netspurt.sweep.cases import Cases
from netspurt.wording import counted, number, plain

#: The measures of a page, the most important first. A page has those that the sweep has and that
#: vary.
MEASURES = (
    "completion_ns_mean",
    "request_ns_p50",
    "request_ns_p99",
    "connection_ns_p50",
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

#: The most labels of the second name in a picture with lines.
_LINES = 8

#: The most labels of an axis that are compared.
_COMPARED = 24


def sweep_section(folder: SweepFolder, name: str) -> Section:
    """Return the section of a sweep.

    Raises
    ------
    SweepError
        If no case has ended.
    """
    cases = folder.read()
    chosen = _chosen(cases)
    verdicts = [rows for axis in folder.names if (rows := _verdicts(cases, folder, axis, chosen))]
    part = Part(
        name=name,
        words=list(_words(folder)),
        tables=[*([_table(cases, folder, chosen)] if folder.names else []), *verdicts],
        links=[Link("the sweep's folder", folder.where)],
        notes=[*_without(cases, folder, chosen), *_notes(folder, chosen)],
        foot=[f"fingerprint {folder.fingerprint}"],
    )
    groups = list(_groups(cases, folder, chosen))
    return Section(plain(folder.title or name), [part], groups=groups)


def _words(folder: SweepFolder) -> Iterator[str]:
    """Yield sentences on what was varied, and on how the cases ended."""
    over = ", ".join(f"{name} ({len(folder.labels[name])})" for name in folder.names)
    pairing = "paired" if folder.paired else "not paired"
    runs = f"{counted(folder.seeds, 'run')} each, {pairing}"
    yield f"{counted(folder.cases, 'case')}: {over or 'one path'}, {runs}."
    tally = folder.tally()
    ends = {"done": tally.done, "cut": tally.cut, "late": tally.late, "failed": tally.errors}
    ends["to run"] = folder.cases - tally.cases
    yield "Cases: " + ", ".join(f"{number(n)} {word}" for word, n in ends.items() if n) + "."
    if tally.first_error is not None:
        case, why = tally.first_error
        yield f"First failure, case {case}: {why}"


def _without(cases: Cases, folder: SweepFolder, chosen: Sequence[str]) -> Iterator[str]:
    """Yield sentences on cases without measures: their groups look better or worse than real."""
    lacking: dict[int, list[str]] = {}
    for measure in chosen:
        rows = summarise(cases, measure, folder.names, folder.labels)
        if missing := sum(row.without for row in rows):
            lacking.setdefault(missing, []).append(in_words(measure)[0])
    for missing, words in lacking.items():
        whose = "its" if len(words) == 1 else "their"
        yield (
            f"{counted(missing, 'case')} of {number(len(cases['case']))} without "
            f"{', '.join(words)}, such as those that failed, did not finish, or have too few times "
            f"for a quantile, are left out of {whose} means."
        )


def _notes(folder: SweepFolder, chosen: Sequence[str]) -> Iterator[str]:
    if not folder.names:
        yield "Nothing is varied, so there are no groups to compare."
    if not chosen:
        yield "No measure varies among the cases."
    yield "`netspurt sweep show` and `netspurt sweep compare` tell every other measure."


def _chosen(cases: Cases) -> list[str]:
    """Return those of the measures that the cases have and that vary."""
    known = set(measures(cases))
    varying = (name for name in MEASURES if name in known and _varies(cases, name))
    return list(varying)[:_MOST_MEASURES]


def _varies(cases: Cases, name: str) -> bool:
    values = np.ma.compressed(np.ma.asarray(cases[name]))
    return len(np.unique(values)) > 1


def _table(cases: Cases, folder: SweepFolder, chosen: Sequence[str]) -> Rows:
    """Return the table with a row for each group: the means of all measures with intervals."""
    by = list(folder.names)
    told = [summarise(cases, measure, by, folder.labels) for measure in chosen]
    units = [
        _unit((row.mean.value for row in rows), measure)
        for rows, measure in zip(told, chosen, strict=True)
    ]
    groups = [row.labels for row in told[0]] if told else []
    rows = [
        (*labels, *(_cell(rows[n], unit[0]) for rows, unit in zip(told, units, strict=True)))
        for n, labels in enumerate(groups[:MOST_ROWS])
    ]
    right = range(len(by), len(by) + len(chosen))
    head = (*by, *(words for _, words in units))
    more = len(groups) - len(rows)
    return Rows(
        "Means and 95 % intervals",
        head,
        rows,
        tuple(right),
        more=more,
        elsewhere="`netspurt sweep show` prints all.",
    )


def _verdicts(cases: Cases, folder: SweepFolder, axis: str, chosen: Sequence[str]) -> Rows | None:
    """Return the table that compares the labels of an axis with its first label, over all groups.

    Return `None` if the axis has one label, or more than a table can show.
    """
    labels = folder.labels[axis]
    if not 2 <= len(labels) <= _COMPARED or not chosen:
        return None
    cells: dict[str, list[str]] = {}
    head, baseline = [axis], ""
    for measure in chosen:
        rows = compare(cases, measure, axis, folder.labels, paired=folder.paired, by=[])
        factor, words = _unit((row.difference.value for row in rows), measure)
        head.append(words)
        for row in rows:
            baseline = row.baseline
            told = _interval(row.difference.scaled(factor))
            cells.setdefault(row.label, []).append(f"{told} {row.verdict}")
    whole = [(label, *told) for label, told in cells.items() if len(told) == len(chosen)]
    pairing = "pair by pair" if folder.paired else "between groups"
    caption = f"Differences from {axis} {baseline}, {pairing}: better, worse or cannot tell"
    return Rows(caption, tuple(head), whole, tuple(range(1, 1 + len(chosen)))) if whole else None


def _unit(values: Iterable[float], measure: str) -> tuple[float, str]:
    """Return the factor for a measure's figures, and the measure's name with the unit."""
    words, factor, unit = in_words(measure)
    known = [abs(value) for value in values if np.isfinite(value)]
    size, unit = fitting_unit(unit, factor * max(known, default=0.0))
    return factor / size, f"{words} [{unit}]" if unit else words


def _cell(row: Summary, factor: float) -> str:
    return _interval(row.mean.scaled(factor))


def _interval(mean: Interval) -> str:
    if not np.isfinite(mean.value):
        return "-"
    around = f" ({mean.low:.4g} .. {mean.high:.4g})" if np.isfinite(mean.low) else ""
    return f"{mean.value:.4g}{around}"


def _groups(cases: Cases, folder: SweepFolder, chosen: Sequence[str]) -> Iterator[Group]:
    """Yield pictures of each measure: one for two varied names, else one for each name."""
    names = list(folder.names)
    ways = [names] if len(names) in (1, 2) else [[name] for name in names]
    for measure in chosen:
        for by in ways:
            rows = summarise(cases, measure, by, folder.labels)
            figures: Figures = {row.labels: row.mean for row in rows}
            if not any(np.isfinite(row.mean.value) for row in rows):
                continue
            kind = _kind(figures, by)
            words = in_words(measure)[0]
            title = f"{words[0].upper()}{words[1:]}, by {' and '.join(by)}"
            panel = Panel(f"apart-{kind}", title, of_cases(kind, figures, by, measure))
            yield Group([Side(folder.where, [Flow(measure, [panel])])], "")


def _kind(figures: Figures, by: Sequence[str]) -> str:
    """Return the kind of picture that suits the labels."""
    rows = list(dict.fromkeys(labels[0] for labels in figures))
    series = dict.fromkeys(labels[-1] for labels in figures)
    if len(by) == 2 and len(series) > _LINES:
        return "heat-map"
    return "line" if len(rows) > 2 and positions(rows) is not None else "bar"
