"""Measures of sweeps and runs of web traffic: durations, a sender's gains, use of a link.

A measure is a function that returns the value that decides a claim of a paper (`registry.py`). The
senders are Reno, and Reno with settings of Super Fast Retransmit (SFR). A cell is a combination of
the labels of a sweep's axes, with the sender last. The base is the first label of the axis of
senders. A gain says by how many percent the durations in a cell are shorter than the base's
durations.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

import numpy as np

from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.cases import compare
from netspurt.analysis.sites import label_timeouts, rank_correlation
from netspurt.connections import of_run
from netspurt.papers.bench import Bench
from netspurt.papers.registry import Measured, in_unit, registered
from netspurt.papers.swept import SENDER, Sweeps, Swept, interval_text
from netspurt.papers.traces import configuration
from netspurt.quantities import quantity
from netspurt.run import Run
from netspurt.sweep import Sweep

#: The column of the sweep's cases that decides claims, and the columns that tables show beside it.
MEAN = "connection_ns_mean"
QUANTILES = ("connection_ns_p50", "connection_ns_p90", "connection_ns_p99")
_HEADS = ("mean", "median", "90 %", "99 %")


def _labels(cell: str) -> tuple[str, ...]:
    # Arguments contain no spaces: `_` stands for a space, and `/` separates the labels of a cell.
    return tuple(cell.replace("_", " ").split("/")) if cell else ()


def gain_rows(swept: Swept) -> list[tuple[str, ...]]:
    """Return a row for each cell: the gains of the mean and of quantiles, and counts of SFR."""
    rows = [("cell", *(f"gain of the {name}" for name in _HEADS), "retransmissions, spurious")]
    gains = [swept.gains(measure) for measure in (MEAN, *QUANTILES)]
    for cell in gains[0]:
        shown = (interval_text(by[cell]) for by in gains)
        sent = (
            swept.mean(f"{count}_sfr", *cell).value for count in ("retransmissions", "spurious")
        )
        rows.append((", ".join(cell), *shown, ", ".join(f"{mean:.1f}" for mean in sent)))
    return rows


@registered
@in_unit("ms")
def mean_duration(bench: Bench, *, sweep: str, cell: str) -> Measured:
    """Return the mean duration of the connections of a cell [ms], from SYN to the last ACK of data.

    The result is the mean of the means of all seeds.
    """
    swept = bench.swept(sweep)
    rows: list[tuple[str, ...]] = [("cell", *_HEADS)]
    for labels in swept.cells:
        spans = (swept.mean(m, *labels).scaled(1e-6) for m in (MEAN, *QUANTILES))
        rows.append((", ".join(labels), *(interval_text(span, "ms") for span in spans)))
    mean = swept.mean(MEAN, *_labels(cell)).scaled(1e-6)
    return Measured(mean.value, rows, [(mean.low, mean.high)])


@registered
@in_unit("%")
def gain_of_sender(bench: Bench, *, sweep: str, cell: str) -> Measured:
    """Return how much shorter a cell's mean duration is than the base's [%]."""
    swept = bench.swept(sweep)
    gain = swept.gains(MEAN)[_labels(cell)]
    return Measured(gain.value, gain_rows(swept), [(gain.low, gain.high)])


@registered
def gains_in_order(bench: Bench, *, sweep: str, cells: str) -> Measured:
    """Return the minimum difference between the gains of successive cells, in points.

    Each difference is the gain of a cell minus the gain of the next cell.

    The result is None if one of these differences could be chance, because its 95 % interval
    contains zero.
    """
    swept = bench.swept(sweep)
    gains = swept.gains(MEAN)
    in_order = [gains[_labels(cell)] for cell in cells.split(",")]
    steps = list(map(_difference, in_order[:-1], in_order[1:]))
    rows = gain_rows(swept)
    rows += [_padded(rows, "difference", interval_text(step, "points")) for step in steps]
    if any(step.low <= 0 <= step.high for step in steps):
        return Measured(None, rows)
    return Measured(min(step.value for step in steps), rows)


def _padded(rows: Sequence[Sequence[str]], *cells: str) -> tuple[str, ...]:
    """Return the cells as a row. Empty cells make the row as long as the rows above it."""
    return (*cells, *[""] * (len(rows[0]) - len(cells)))


def _difference(first: Interval, second: Interval) -> Interval:
    """Return the difference of two gains, as if their errors were independent."""
    value = first.value - second.value
    half_width = hypot(first.high - first.value, second.high - second.value)
    return Interval(value, value - half_width, value + half_width, first.level, 1)


@registered
@in_unit("%")
def least_gain_of_sender(bench: Bench, *, sweep: str) -> Measured:
    """Return the gain of the mean [%] in the cell with the smallest gain, with its interval."""
    swept = bench.swept(sweep)
    smallest = min(swept.gains(MEAN).values(), key=lambda gain: gain.value)
    return Measured(smallest.value, gain_rows(swept), [(smallest.low, smallest.high)])


@registered
def best_sender(bench: Bench, *, sweep: str) -> Measured:
    """Return the label of the sender with the minimum mean duration, as a number.

    The result is None if the difference between this sender and another sender could be chance. The
    base is left out of the comparison.
    """
    swept = bench.swept(sweep)
    gains = swept.gains(MEAN)
    best = max(gains, key=lambda cell: gains[cell].value)[-1]
    comparisons = compare(
        swept.cases, MEAN, SENDER, swept.order, paired=True, baseline=best, better="less"
    )
    base = str(swept.order[SENDER][0])
    rows = gain_rows(swept)
    for pair in comparisons:
        name = f"duration of {pair.label} minus duration of {best}"
        rows.append(_padded(rows, name, interval_text(pair.difference.scaled(1e-6), "ms")))
    not_by_chance = all(pair.difference.low > 0 for pair in comparisons if pair.label != base)
    return Measured(float(best) if not_by_chance else None, rows)


@registered
def near_with_fewer(bench: Bench, *, sweep: str, first: str, second: str) -> Measured:
    """Return the difference of two senders' mean durations [%], and a ratio of retransmissions.

    The difference has no sign, and is a share of the second sender's mean duration. The ratio is
    the first sender's SFR retransmissions divided by the second sender's.
    """
    swept = bench.swept(sweep)
    spans = [swept.mean(MEAN, sender).value for sender in (first, second)]
    counts = [swept.mean("retransmissions_sfr", sender).value for sender in (first, second)]
    difference = 100 * abs(spans[0] / spans[1] - 1)
    return Measured([difference, counts[0] / counts[1]], gain_rows(swept))


@registered
def falls_by_label(bench: Bench, *, sweep: str, best: str) -> Measured:
    """Return the label `best` if its gain is the largest and gains fall from label to label.

    Otherwise the result is None. It is also None if the fall from one label to the next could be
    chance.
    """
    swept = bench.swept(sweep)
    gains = list(swept.gains(MEAN).values())
    steps = list(map(_difference, gains[:-1], gains[1:]))
    largest = max(swept.gains(MEAN).items(), key=lambda item: item[1].value)[0][-1]
    falls = all(step.low > 0 for step in steps) and largest == best
    return Measured(float(best) if falls else None, gain_rows(swept))


@registered
def whole_lives(bench: Bench, *, run: str, limits: str) -> Measured:
    """Return how much the share of connections within a limit grows from limit to limit [points].

    The value is the minimum of these increases. The limits are in kB. The table has the share for
    each limit. A connection is within a limit if neither direction carries more octets, because
    each end of a connection has its own limit.
    """
    connections = bench.run(run).table("connections")
    octets = np.maximum(connections["forward_bytes"], connections["reverse_bytes"])
    limit_texts = limits.split(",")
    shares = [100 * float((octets <= 1e3 * float(limit)).mean()) for limit in limit_texts]
    rows = [("limit", "connections within"), *zip(limit_texts, map(_percent, shares), strict=True)]
    return Measured(float(np.diff(shares).min()), rows)


def _percent(share: float) -> str:
    return f"{share:.2f} %"


@registered
@in_unit("%")
def link_use(bench: Bench, *, sweep: str, cells: str, link: str, rate: str) -> Measured:
    """Return the share of time in which a link transmits packets, in several cells [%].

    The sender is the base. Of the two directions of the link, the busier direction counts. The
    result for a cell is the mean over the runs of the whole sweep, with Student's 95 % interval.
    The runs are always made, because the folder of a study (the kept results of whole sweeps) does
    not have this share.
    """
    from scipy.special import stdtrit

    whole_sweep = Sweeps.of(bench.paper).sweep(sweep, whole=True)
    rate_bps = quantity(rate.replace("_", " "))[1]
    rows: list[tuple[str, ...]] = [("cell", "seeds", "mean", "least", "most")]
    means, bands = [], []
    for cell in map(_labels, cells.split(",")):
        bench.announce(f"running {', '.join(cell)} for the use of {link}")
        runs = (whole_sweep.scenario(number).run() for number in _cases_of_base(whole_sweep, cell))
        used = np.array([100 * _used(run, link, rate_bps) for run in runs])
        half_width = float(stdtrit(len(used) - 1, 0.975) * used.std(ddof=1)) / len(used) ** 0.5
        means.append(float(used.mean()))
        bands.append((means[-1] - half_width, means[-1] + half_width))
        ends = (
            f"{means[-1]:.1f} +- {half_width:.1f} %",
            f"{used.min():.1f} %",
            f"{used.max():.1f} %",
        )
        rows.append((", ".join(cell), str(len(used)), *ends))
    return Measured(means, rows, bands)


def _cases_of_base(sweep: Sweep, cell: tuple[str, ...]) -> range:
    """Return the numbers of a cell's cases with the base sender. The numbers are consecutive."""
    place = 0
    for labels, label in zip(
        sweep.labels.values(), (*cell, str(sweep.labels[SENDER][0])), strict=True
    ):
        place = place * len(labels) + list(map(str, labels)).index(label)
    return range(place * sweep.seeds, (place + 1) * sweep.seeds)


def _used(run: Run, link: str, rate_bps: float) -> float:
    """Return the share of the time in which the busier direction of a link transmits."""
    carried = float(run.links.where(link=link)["carried_bytes"].max())
    return 8 * carried / (rate_bps * quantity(str(configuration(run)["stop"]))[1])


@registered
def heavy_tail(bench: Bench, *, run: str, share: str) -> Measured:
    """Return the share of all octets that the largest replies contain.

    `share` says what part of all replies counts as the largest, from 0 to 1.
    """
    finished = bench.run(run)
    table = finished.table("connections")
    sizes = np.sort(table["reverse_bytes"].astype(np.float64))[::-1]
    large = max(1, round(float(share) * len(sizes)))
    gaps = np.diff(table["opened_ns"].astype(np.float64))
    rows = [
        ("connections", "mean reply", "largest", "gaps between arrivals: sd over mean"),
        (
            str(len(sizes)),
            f"{sizes.mean() / 1e3:.2f} kB",
            f"{sizes[0] / 1e3:.0f} kB",
            f"{gaps.std() / gaps.mean():.2f}",
        ),
    ]
    return Measured(float(sizes[:large].sum() / sizes.sum()), rows)


@registered
def base_sender(bench: Bench, *, base: str, off: str) -> Measured:
    """Return `Reno` if the base recovers by Reno, and if it equals SFR that is switched off.

    The base and SFR are equal if they give the same connections: all columns but `flow` are equal
    for all connections. Otherwise the result is None.
    """
    with_base, switched_off = (bench.run(name).table("connections") for name in (base, off))
    equal = len(with_base) == len(switched_off) and all(
        np.array_equal(np.ma.filled(with_base[name], -1), np.ma.filled(switched_off[name], -1))
        for name in with_base
        if name != "flow"
    )
    causes = bench.run(base).table("retransmissions")
    used = sorted({str(c) for c, n in zip(causes["cause"], causes["sent"], strict=True) if n})
    rows = [("connections", "equal", "causes"), (str(len(with_base)), str(equal), ", ".join(used))]
    settings = configuration(bench.run(base))["populations"]["web"]["tcp"]
    reno = settings["recovery"] == "reno" and "fast" in used and "sack-recovery" not in used
    return Measured("Reno" if reno and equal else None, rows)


@registered
def idle_against_throughput(bench: Bench, *, run: str, site: str) -> Measured:
    """Return the rank correlation of the longest idle time and throughput for one site."""
    connections = of_run(bench.run(run)).at(site)
    correlation = rank_correlation(connections.idle_s, connections.throughput_bps)
    return Measured(
        correlation.value,
        [("correlation",), (interval_text(correlation, "", 2),)],
        [(correlation.low, correlation.high)],
    )


@registered
@in_unit("%")
def timeouts_told_by_idle(bench: Bench, *, run: str, threshold: str) -> Measured:
    """Return the share of connections with the right label, timeout or no timeout [%].

    A connection gets the label timeout if its longest idle time exceeds a threshold [ms], and if
    nothing else explains this idle time. Four things explain an idle time: a wait for the other
    end, for the receive window or for a round trip, and work on a request.
    """
    labels = label_timeouts(of_run(bench.run(run)), threshold_s=float(threshold) / 1e3)
    low, high = (100 * end for end in labels.right.between)
    rows = [("right labels", "connections"), (str(labels.right.hits), str(labels.right.count))]
    return Measured(100 * labels.right.value, rows, [(low, high)])
