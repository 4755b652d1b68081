"""Lines of `netspurt sweep show` and `compare` on measures and on the number of seeds.

A sweep runs a scenario for each combination of some values, once for each seed. Each of these runs
is a case. A measure is a column of their results.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from netspurt.wording import counted, number

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval
    from netspurt.analysis.cases import GroupComparison, Summary
    from netspurt.analysis.grouping import Columns
    from netspurt.sweep import SweepFolder


def measure_lines(cases: Columns, folder: SweepFolder) -> Iterator[str]:
    """Yield the measures in groups (see `_by_kind`), and a command that shows one measure."""
    kinds = _by_kind(cases, folder)
    heads = {
        "differ": "differ between cases",
        "equal": "the same in all cases",
        "nothing": "zero or empty in all cases",
    }
    for kind, names in kinds.items():
        if names:
            yield f"{heads[kind]}: {', '.join(names)}"
    by = ["--by", folder.names[0]] if folder.names else []
    words = ["netspurt", "sweep", "show", folder.where, "-m", suggested(cases, folder), *by]
    yield f"Show one: {shlex.join(words)}"


def suggested(cases: Columns, folder: SweepFolder) -> str:
    """Return a measure to begin with: if possible, a usual measure that differs between cases."""
    from netspurt.analysis.cases import USUAL

    kinds = _by_kind(cases, folder)
    there = kinds["differ"] or kinds["equal"] or ["sent"]
    return next((name for name in USUAL if name in there), there[0])


def _by_kind(cases: Columns, folder: SweepFolder) -> dict[str, list[str]]:
    """Return the measures in three groups: different values, equal values, zero or no values."""
    import numpy as np

    from netspurt.analysis.grouping import measures

    kinds: dict[str, list[str]] = {"differ": [], "equal": [], "nothing": []}
    for name in measures(cases):
        if name in ("case", "seed", "repeat", *folder.names):
            continue
        values = np.ma.compressed(np.ma.asarray(cases[name])).astype(float)
        known = values[np.isfinite(values)]
        some = len(known) > 0 and bool(known.any())
        differ = some and bool(np.any(known != known[0]))
        kinds["differ" if differ else "equal" if some else "nothing"].append(name)
    return kinds


#: A figure with its interval, and the number of repeats from which it was computed.
Figured = tuple["Interval", int]


def of_all(
    cases: Columns, folder: SweepFolder, measures: Sequence[str], shown: Sequence[Figured]
) -> Iterator[str]:
    """Yield the lines below the tables of measures.

    They are about requests, flows and connections that had not ended, and about the seeds.
    """
    from netspurt.analysis.unended import left_out, unfinished

    yield from left_out(cases, measures)
    yield from unfinished(cases, folder.scenario())
    yield from of_seeds(cases, folder, shown)
    yield from of_few_runs(measures, shown)


#: With at least `_RUNS_ENOUGH` runs in each group, intervals of skewed values are about right.
_RUNS_ENOUGH = 20


def of_few_runs(measures: Sequence[str], shown: Sequence[Figured]) -> Iterator[str]:
    """Yield a line if intervals rest on few runs, and the values may be skewed."""
    from netspurt.analysis.counts import counts_events

    few = any(one.low < one.high and repeats < _RUNS_ENOUGH for one, repeats in shown)
    if few and not all(map(counts_events, measures)):
        yield (
            f"With fewer than {_RUNS_ENOUGH} runs in a group, intervals are too narrow if a few "
            "runs have far larger values than other runs, as times have after rare timeouts: only "
            "about 80 to 90 of 100 such intervals contain the true mean."
        )


def of_seeds(cases: Columns, folder: SweepFolder, shown: Sequence[Figured]) -> Iterator[str]:
    """Yield a line if the seeds had no effect, or if an interval is missing."""
    from netspurt.analysis.grouping import seeds_change_nothing
    from netspurt.sweep.randomness import is_exact

    missing = [
        repeats for one, repeats in shown if math.isnan(one.low) and not math.isnan(one.value)
    ]
    equal = f"The {counted(folder.seeds, 'run')} of each combination are equal"
    if is_exact(folder, cases):
        yield (
            f"{equal}: nothing in this scenario is random, so more seeds add no evidence. "
            f"{_THIS_PATH}"
        )
    elif seeds_change_nothing(cases, folder.labels):
        yield (
            f"{equal}. If the scenario has random draws, they changed nothing in these runs, "
            "and a rare event may be missing."
        )
    elif any(repeats > 1 for repeats in missing):
        from netspurt.analysis.repeats import NO_INTERVAL

        yield f"{NO_INTERVAL}. More seeds may show it."
    if any(repeats < 2 for repeats in missing):
        yield _too_few(folder)


_THIS_PATH = (
    "Figures and verdicts hold for this path only. Random losses, or an axis with `draw = true`, "
    "would make the runs differ."
)


def _too_few(folder: SweepFolder) -> str:
    """Return why groups of one run have no interval, and what would give them one."""
    from netspurt.sweep.randomness import draws_nothing

    if folder.seeds > 1:
        return "A group with one run has no interval. Larger groups have one: see --by."
    if draws_nothing(folder):
        return f"Nothing in this scenario is random, so more seeds add no evidence. {_THIS_PATH}"
    return (
        "An interval needs 2 runs of each combination, and there is only 1 run. "
        "`--set sweep.seeds=20` in a new folder gives 20 runs. Then intervals are about right."
    )


#: If there are at least `_MANY_GROUPS` groups, and each has only one run, a hint on larger groups
#: is printed.
_MANY_GROUPS = 10


def joinable(rows: Sequence[Summary], names: Sequence[str]) -> Iterator[str]:
    """Yield how groups of one run each can be joined into larger groups, which have an interval."""
    if len(rows) >= _MANY_GROUPS and all(row.cases + row.without == 1 for row in rows):
        yield (
            f"{number(len(rows))} groups of one run each have no interval. If the values of an "
            f"axis ({', '.join(names)}) are random paths, give it `draw = true` and the sweep "
            f"`seeds = {len(rows)}`; otherwise give the sweep more `seeds`."
        )


def undecided(rows: Sequence[GroupComparison], axis: str, seeds: int) -> Iterator[str]:
    """Yield the number of seeds that would decide comparisons with the verdict *cannot tell*."""
    from netspurt.analysis.seeds import needed

    told = {}
    for row in rows:
        if row.verdict == "cannot tell" and (wanted := needed(row.difference, seeds)):
            told[", ".join((*row.labels, f"{axis} = {row.label}"))] = wanted
    if told:
        each = "; ".join(f"{number(wanted)} for {name}" for name, wanted in told.items())
        yield (
            "`cannot tell`: the true difference may be anywhere in the interval, which contains "
            "zero. To confirm the measured difference, about this many seeds are needed: "
            f"{each}."
        )


#: For each quantile, the minimum number of flows, requests or connections that a case needs.
_TIMES = {"p50": 2, "p90": 10, "p99": 100, "p999": 1000}

#: For each kind of duration: the item that has a duration, and the columns with the number of all
#: such items and of those that have ended.
_ITEMS = {
    "completion_ns": ("flow", "flows", "finished"),
    "request_ns": ("request", "requests", "requests_complete"),
    "connection_ns": ("connection", "connections", "connections_complete"),
}


def undefined(measure: str, rows: Sequence[Summary]) -> Iterator[str]:
    """Yield how many cases have no ratio because its denominator is 0 there."""
    if count := sum(row.undefined for row in rows):
        them = "it" if count == 1 else "them"
        yield (
            f"`{measure.partition('/')[2].strip()}` is 0 in {counted(count, 'case')}: the median "
            f"and the percentiles leave {them} out; the mean is the ratio of the sums of all cases"
        )


def lacking(cases: Columns, measure: str, rows: Sequence[Summary]) -> Iterator[str]:
    """Yield how many cases are left out because they do not have the measure, and why."""
    without = sum(row.without for row in rows)
    do, are = ("does", "is") if without == 1 else ("do", "are")
    yield f"{counted(without, 'case')} {do} not have the measure and {are} left out"
    yield from why_unknown(cases, measure)


def why_unknown(cases: Columns, measure: str) -> Iterator[str]:
    """If the measure is a quantile, yield why cases that ran to their end have no value."""
    import numpy as np

    kind, _, share = measure.rpartition("_")
    if kind not in _ITEMS or share not in _TIMES:
        return
    item, *counts = _ITEMS[kind]
    least = _TIMES[share]
    unknown = np.ma.getmaskarray(np.ma.asarray(cases[measure])) & (cases["status"] == "done")
    every, ended = (np.ma.asarray(cases[name])[unknown].astype(int) for name in counts)
    # `place` is the index of the quantile in the durations in ascending order.
    place = every - every // least
    tally = {
        f"with fewer than {number(least)} {item}s": every < least,
        f"in which the {item} at the quantile's place had not ended": (every >= least)
        & (ended < place),
    }
    told = {why: int(which.sum()) for why, which in tally.items()}
    reasons = [f"{counted(count, 'case')} {why}" for why, count in told.items() if count]
    if reasons:
        yield f"the quantile is unknown in {' and in '.join(reasons)}"
