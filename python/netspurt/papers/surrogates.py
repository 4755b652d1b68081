"""Measures of timers on surrogates.

A surrogate is an invented recording that fits a printed row. A setting has the constants F1, F2 and
G of RFC 889's timer. A variant is a model of the order of delays and losses, which the printed row
does not show. Most measures return a number for each variant. A claim is confirmed only if it holds
for all variants, so it does not depend on the unknown order.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from netspurt import _core
from netspurt.analysis import Interval, block_bootstrap
from netspurt.delays import Delays
from netspurt.papers.bench import Bench
from netspurt.papers.recordings import PaperSurrogates, Setting, Variant
from netspurt.papers.registry import Measured, in_unit, registered
from netspurt.papers.tables import names_in


def _surrogates(bench: Bench) -> PaperSurrogates:
    return bench.keep("surrogates", lambda: PaperSurrogates(bench.paper))


def _setting(text: str) -> Setting:
    f1, f2, g = (float(Fraction(word)) for word in text.split(","))
    return f1, f2, g


def _numbers(text: str) -> list[float]:
    return [float(Fraction(word)) for word in text.split(",")]


def _rows(surrogates: PaperSurrogates, rows: str) -> list[str]:
    return list(surrogates.rows) if rows == "all" else names_in(rows)


def _mean_of(values: NDArray[np.float64]) -> Interval:
    """Return the mean over surrogates with its interval.

    Surrogates are independent, so each block of the bootstrap is one surrogate.
    """
    return block_bootstrap(values, lambda sums: sums[0] / sums[-1], length=1)


def verdict_of(intervals: list[Interval]) -> str:
    """Return whether a setting is better or worse than another one, by the intervals of its lead.

    The result is `no difference` if all intervals are exactly zero. It is `cannot tell` if an
    interval contains zero, or if the signs of intervals differ.
    """
    if all(interval.low == interval.high == 0 for interval in intervals):
        return "no difference"
    signs = {interval.sign for interval in intervals}
    return (
        {1: "better", -1: "worse"}.get(signs.pop(), "cannot tell")
        if len(signs) == 1
        else ("cannot tell")
    )


def _gains(
    surrogates: PaperSurrogates, names: list[str], setting: Setting, baseline: Setting
) -> dict[str, dict[Variant, Interval]]:
    """Return the lead of a setting over a baseline, by row and variant.

    The lead is in points: percentage points of efficiency.
    """
    leads: dict[str, dict[Variant, Interval]] = {name: {} for name in names}
    for variant, name in surrogates.each(names):
        both = [surrogates.setting(name, variant, s).efficiency[:, 0] for s in (setting, baseline)]
        leads[name][variant] = _mean_of(100 * (both[0] - both[1]))
    return leads


def _gain_table(
    surrogates: PaperSurrogates, gains: dict[str, dict[Variant, Interval]]
) -> list[tuple[str, ...]]:
    rows = [("run", *(str(variant) for variant in surrogates.variants), "verdict")]
    for name, by_variant in gains.items():
        shown = [f"{i.value:+.2f} ({i.low:+.2f} to {i.high:+.2f})" for i in by_variant.values()]
        rows.append((name, *shown, verdict_of(list(by_variant.values()))))
    return rows


@registered
def points_ahead(bench: Bench, *, rows: str, setting: str, against: str, over: str) -> Measured:
    """Return the lead of a setting over another setting, for each variant.

    The lead is in points of efficiency. `over` says how several rows are combined: ``median``,
    ``mean``, or ``each`` (a number for each row).
    """
    surrogates = _surrogates(bench)
    gains = _gains(surrogates, _rows(surrogates, rows), _setting(setting), _setting(against))
    values = np.array([[lead.value for lead in leads.values()] for leads in gains.values()])
    table = _gain_table(surrogates, gains)
    verdicts = Counter(row[-1] for row in table[1:])
    summary = ", ".join(f"{count} {word}" for word, count in verdicts.items())
    table.append(("all runs", *[""] * len(surrogates.variants), summary))
    if over == "each":
        return Measured([float(v) for v in values.ravel()], table)
    by_variant = np.median(values, axis=0) if over == "median" else values.mean(axis=0)
    return Measured([float(v) for v in by_variant], table)


@registered
def efficiency_of(bench: Bench, *, rows: str, setting: str) -> Measured:
    """Return the mean efficiency of each row for each variant.

    The table also has the range that contains 19 of 20 runs.
    """
    surrogates = _surrogates(bench)
    names = _rows(surrogates, rows)
    table = [("run", "variant", "printed", "mean", "19 of 20 runs")]
    values = []
    for variant, name in surrogates.each(names):
        efficiencies = surrogates.setting(name, variant, _setting(setting)).efficiency[:, 0]
        low, high = np.quantile(efficiencies, [0.025, 0.975])
        printed = surrogates.rows[name].account.efficiency
        span = f"{low:.3f} to {high:.3f}"
        table.append((name, str(variant), f"{printed:g}", f"{efficiencies.mean():.3f}", span))
        values.append(float(efficiencies.mean()))
    return Measured(values, table)


@registered
def spurious_spared(bench: Bench, *, rows: str, setting: str, against: str) -> Measured:
    """Return how many spurious retransmissions per run a setting avoids, for each variant.

    The comparison is with the setting `against`.
    """
    surrogates = _surrogates(bench)
    names = _rows(surrogates, rows)
    table: list[tuple[str, ...]] = [("variant", f"spurious, {setting}", f"spurious, {against}")]
    spared = []
    for variant in surrogates.variants:
        counts = [
            float(np.mean([surrogates.setting(n, variant, s).spurious.mean() for n in names]))
            for s in (_setting(setting), _setting(against))
        ]
        table.append((str(variant), *(f"{count:.2f}" for count in counts)))
        spared.append(counts[1] - counts[0])
    return Measured(spared, table)


def _grid(
    bench: Bench, rows: str, axes: tuple[list[float], list[float], list[float]]
) -> dict[Variant, NDArray[np.float64]]:
    """Return each setting's mean efficiency over rows and seeds, by variant [%]."""
    surrogates = _surrogates(bench)
    names = _rows(surrogates, rows)
    efficiency = {}
    for variant in surrogates.variants:
        means = [surrogates.replayed(n, variant, *axes).efficiency.mean(axis=0) for n in names]
        efficiency[variant] = 100 * np.mean(means, axis=0)
    return efficiency


def _axes(grid: str) -> tuple[list[float], list[float], list[float]]:
    """Read a grid's values of F1, F2 and G. Colons separate the three lists of values."""
    falling, rising, g = (_numbers(words) for words in grid.split(":"))
    return falling, rising, g


def _settings(axes: tuple[list[float], list[float], list[float]]) -> list[Setting]:
    return [(f1, f2, g) for f1 in axes[0] for f2 in axes[1] for g in axes[2]]


def _shown(setting: Setting) -> str:
    f1, f2, g = (str(Fraction(v).limit_denominator(64)) for v in setting)
    return f"F1 {f1}, F2 {f2}, G {g}"


@registered
def regret(bench: Bench, *, rows: str, setting: str, grid: str) -> Measured:
    """Return, for each variant, the lead of a grid's best setting over `setting` [points]."""
    axes = _axes(grid)
    settings = _settings(axes)
    place = settings.index(_setting(setting))
    table = [("variant", "efficiency", "best setting", "its efficiency")]
    shortfalls = []
    for variant, means in _grid(bench, rows, axes).items():
        best = int(np.argmax(means))
        cells = (f"{means[place]:.2f} %", _shown(settings[best]), f"{means[best]:.2f} %")
        table.append((str(variant), *cells))
        shortfalls.append(float(means[best] - means[place]))
    return Measured(shortfalls, table)


@registered
def best_weights_apart(bench: Bench, *, rows: str, grid: str) -> Measured:
    """Return F1 minus F2 of the best setting, for each variant."""
    axes = _axes(grid)
    settings = _settings(axes)
    table = [("variant", "best setting", "best with F1 = F2", "points behind")]
    differences = []
    for variant, means in _grid(bench, rows, axes).items():
        best = settings[int(np.argmax(means))]
        equal = [i for i, (f1, f2, _) in enumerate(settings) if f1 == f2]
        single = max(equal, key=lambda i: means[i])
        shortfall = f"{means.max() - means[single]:.2f}"
        table.append((str(variant), _shown(best), _shown(settings[single]), shortfall))
        differences.append(best[0] - best[1])
    return Measured(differences, table)


@registered
def tradeoff(bench: Bench, *, rows: str, setting: str, g: str) -> Measured:
    """Return two counts of surrogates that contradict the expected effect of the factor G.

    A higher G should cause fewer spurious retransmissions and longer waits for losses. The first
    number counts surrogates with more spurious retransmissions at a higher G. The second number
    counts surrogates whose waits are not longer at a higher G.
    """
    surrogates = _surrogates(bench)
    f1, f2, _ = _setting(setting)
    factors = sorted(_numbers(g))
    names = _rows(surrogates, rows)
    table = [("variant", "G", "spurious per run", "mean wait for a loss / mean delay")]
    counts = [0, 0]
    for variant in surrogates.variants:
        runs = [surrogates.replayed(n, variant, [f1], [f2], factors) for n in names]
        spurious = np.concatenate([run.spurious for run in runs])
        waited = np.concatenate([run.waited for run in runs])
        counts[0] += int((np.diff(spurious, axis=1) > 0).any(axis=1).sum())
        counts[1] += int((np.diff(waited, axis=1) <= 0).any(axis=1).sum())
        for place, factor in enumerate(factors):
            values = (f"{spurious[:, place].mean():.2f}", f"{np.nanmean(waited[:, place]):.2f}")
            table.append((str(variant), f"{factor:g}", *values))
    return Measured([float(count) for count in counts], table)


@registered
def overshoot(bench: Bench, *, rows: str, rising: str, setting: str) -> Measured:
    """Return the change of F2 that lengthens the waits for losses: raising F2, or lowering it.

    The value is `None` if the variants do not agree.
    """
    surrogates = _surrogates(bench)
    f1, _, g = _setting(setting)
    weights = sorted(_numbers(rising))
    names = [n for n in _rows(surrogates, rows) if surrogates.rows[n].account.lost]
    table = [("variant", *(f"F2 = {weight:g}" for weight in weights))]
    changes = set()
    for variant in surrogates.variants:
        waits = np.mean(
            [surrogates.replayed(n, variant, [f1], weights, [g]).waited.mean(0) for n in names], 0
        )
        table.append((str(variant), *(f"{wait:.2f} means" for wait in waits)))
        changes.add("raising F2" if waits[-1] > waits[0] else "lowering F2")
    return Measured(changes.pop() if len(changes) == 1 else None, table)


@registered
def setting_by_waits(bench: Bench, *, settings: str, aside: str) -> Measured:
    """Return the number of variants in which the first setting has the closest waits for losses.

    Closest means that the median over the runs is nearest to the printed median. The rows `aside`
    are left out.
    """
    surrogates = _surrogates(bench)
    tried = [_setting(text.replace(":", ",")) for text in settings.split(",")]
    names = [
        name
        for name, row in surrogates.rows.items()
        if row.account.lost and name not in names_in(aside)
    ]
    printed = float(np.median([_printed_wait(surrogates, name) for name in names]))
    table = [("variant", *(_shown(setting) for setting in tried))]
    table.append(("printed", *[f"{printed:.2f} means"] * len(tried)))
    closest = 0
    for variant in surrogates.variants:
        medians = [
            float(np.median([surrogates.setting(n, variant, s).waited.mean() for n in names]))
            for s in tried
        ]
        table.append((str(variant), *(f"{median:.2f} means" for median in medians)))
        closest += int(np.argmin([abs(median - printed) for median in medians])) == 0
    return Measured(closest, table)


def _printed_wait(surrogates: PaperSurrogates, name: str) -> float:
    row = surrogates.rows[name]
    mean_s = row.mean_answered_ms(surrogates.probes) / 1000
    return row.account.lost_s / row.account.lost / mean_s


@registered
def length_in_rto(bench: Bench, *, algorithm: str, against: str) -> Measured:
    """Return one estimator's lead over another estimator, in points, for each variant.

    The returned lead counts only runs that have losses and probes of mixed lengths. The table also
    has the lead on all runs with mixed lengths.
    """
    surrogates = _surrogates(bench)
    mixed = [name for name, row in surrogates.rows.items() if row.run.octets is None]
    lossy = [name for name in mixed if surrogates.rows[name].account.lost]
    rows: list[tuple[str, ...]] = [
        (
            "variant",
            "runs",
            "points ahead",
            "between",
            f"spurious, {algorithm}",
            f"spurious, {against}",
        )
    ]
    ahead = []
    for variant in surrogates.variants:
        for kind, names in (("with losses", lossy), ("all", mixed)):
            interval, spurious = _algorithm_ahead(
                surrogates, (variant, names), (algorithm, against)
            )
            span = f"{interval.low:+.2f} and {interval.high:+.2f}"
            counts = (f"{count:.2f}" for count in spurious)
            rows.append((str(variant), kind, f"{interval.value:+.2f}", span, *counts))
            if names is lossy:
                ahead.append(interval.value)
    return Measured(ahead, rows)


def _algorithm_ahead(
    surrogates: PaperSurrogates, runs: tuple[Variant, list[str]], algorithms: tuple[str, str]
) -> tuple[Interval, NDArray[np.float64]]:
    """Return the first estimator's lead in points of efficiency, and a count for each estimator.

    The count is the mean number of its spurious retransmissions.
    """
    variant, names = runs
    sums = [
        [
            [_core.replay(recording._core, algorithm).account() for algorithm in algorithms]
            for recording in made
        ]
        for made in (surrogates.made(name, variant) for name in names)
    ]
    efficiency, spurious = (
        np.array([[[account[key] for account in both] for both in row] for row in sums])
        for key in ("efficiency", "spurious")
    )
    gains = 100 * (efficiency[:, :, 0] - efficiency[:, :, 1]).mean(axis=0)
    return _mean_of(gains), spurious.mean(axis=(0, 1))


# Measures of an algorithm on a few delays.


def _waits(algorithm: str, delays: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return delays [s], and the timer armed for each [s]. `1x50` means fifty delays of 1 s."""
    values: list[float] = []
    for word in delays.split(","):
        delay, _, times = word.partition("x")
        values += [float(delay)] * int(times or 1)
    recording = Delays.of(values, order="sequence")
    return np.array(values), _core.replay(recording._core, algorithm).wait_ns() / 1e9


@registered
@in_unit("s")
def timers(bench: Bench, *, algorithm: str, delays: str) -> Measured:  # noqa: ARG001
    """Return the timer [s] that an algorithm arms for each of the given delays."""
    values, waits = _waits(algorithm, delays)
    table = [("delay", "timer before it")]
    table += [(f"{delay:g} s", f"{wait:.9g} s") for delay, wait in zip(values, waits, strict=True)]
    return Measured([float(wait) for wait in waits], table)


@registered
def spurious_ones(bench: Bench, *, algorithm: str, delays: str) -> Measured:  # noqa: ARG001
    """Return the numbers, counted from 1, of the delays that are longer than their timers."""
    values, waits = _waits(algorithm, delays)
    return Measured([float(place + 1) for place in np.flatnonzero(waits < values)])


@registered
def time_constants(bench: Bench, *, algorithm: str) -> Measured:  # noqa: ARG001
    """Return two time constants of a timer in samples: after a step up, and after a step down.

    A time constant is the number of samples in which the timer's distance from its final value
    falls to 1/e.
    """
    _, waits = _waits(algorithm, "1x200,2x200,1x200")
    constants = []
    for start, end in ((201, 4.0), (401, 2.0)):
        distances = np.abs(waits[start : start + 2] - end)
        constants.append(float(1 / np.log(distances[0] / distances[1])))
    return Measured(constants, [("up", f"{constants[0]:.2f}"), ("down", f"{constants[1]:.2f}")])
