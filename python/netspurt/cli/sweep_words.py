"""Lines of `netspurt sweep show` and `compare` on measures and on the number of seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from netspurt.wording import counted, number

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval
    from netspurt.analysis.cases import Columns, Comparison
    from netspurt.sweep import SweepFolder


def measure_lines(cases: Columns, folder: SweepFolder) -> Iterator[str]:
    """Yield the measures that differ between cases, the other measures, and how to name one."""
    kinds = _by_kind(cases, folder)
    heads = {
        "differ": "differ between cases",
        "equal": "the same in all cases",
        "nothing": "zero or empty in all cases",
    }
    for kind, names in kinds.items():
        if names:
            yield f"{heads[kind]}: {', '.join(names)}"
    by = f" --by {folder.names[0]}" if folder.names else ""
    yield f"Show one: netspurt sweep show {folder.where} -m {suggested(cases, folder)}{by}"


def suggested(cases: Columns, folder: SweepFolder) -> str:
    """Return a measure to begin with: if possible, a usual one that differs between cases."""
    kinds = _by_kind(cases, folder)
    there = kinds["differ"] or kinds["equal"] or ["sent"]
    return next((name for name in _USUAL if name in there), there[0])


def _by_kind(cases: Columns, folder: SweepFolder) -> dict[str, list[str]]:
    """Return the measures in three groups: different values, equal values, zero or no values."""
    import numpy as np

    from netspurt.analysis.cases import measures

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


#: The measures that are suggested, the best first.
_USUAL = (
    "completion_ns_mean",
    "request_ns_mean",
    "connection_ns_mean",
    "goodput_bps",
    "retransmissions",
)


def of_seeds(cases: Columns, folder: SweepFolder, shown: Iterable[Interval]) -> Iterator[str]:
    """Yield a line if the seeds had no effect, or if a missing interval needs more runs."""
    from netspurt.analysis.seeds import change_nothing

    if change_nothing(cases, folder.labels):
        yield (
            f"The {counted(folder.seeds, 'run')} of each combination are equal: nothing in this "
            "scenario is random, so more seeds are no more evidence. Figures and verdicts hold for "
            "this one path exactly, and say nothing of others; an axis with `draw = true`, or "
            "random losses, would make seeds differ."
        )
    elif any(math.isnan(one.low) and not math.isnan(one.value) for one in shown):
        yield (
            f"An interval needs 2 runs of each combination, and 3 where two are equal; there "
            f"{'is' if folder.seeds == 1 else 'are'} {folder.seeds}. `--set sweep.seeds=20` in a "
            "new folder gives 20, from which intervals are about right."
        )


def undecided(rows: Sequence[Comparison], axis: str, seeds: int) -> Iterator[str]:
    """Yield the number of seeds that would decide comparisons with the verdict *cannot tell*."""
    from netspurt.analysis.seeds import needed

    told = {}
    for row in rows:
        if row.verdict == "cannot tell" and (wanted := needed(row.difference, seeds)):
            told[", ".join((*row.labels, f"{axis} = {row.label}"))] = wanted
    if told:
        each = "; ".join(f"{name}: {number(wanted)}" for name, wanted in told.items())
        yield (
            "`cannot tell`: the true difference may be anywhere in the interval, which contains "
            f"zero. Seeds needed to confirm the measured difference, about: {each}."
        )


#: The number of times that a case needs for each of its quantiles.
_TIMES = {"_p50": 2, "_p90": 10, "_p99": 100, "_p999": 1000}


def needing(measure: str) -> str:
    """Return the condition under which a case has a quantile; empty for another measure."""
    least = _TIMES.get(f"_{measure.partition(',')[0].rpartition('_')[2]}")
    return "" if least is None else f" (a case needs {number(least)} times for this quantile)"
