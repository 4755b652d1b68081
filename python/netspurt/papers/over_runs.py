"""Measures of single transfers whose timer counts ticks, from the tables of their runs.

A measure is a function that returns the value that decides a claim of a paper (`registry.py`). A
contact is the time in which a spacecraft can communicate over relay satellites. Its rise is the
beginning of this time.
"""

from __future__ import annotations

from functools import reduce
from math import gcd

import numpy as np

from netspurt.analysis.crossings import crossings
from netspurt.papers.bench import Bench
from netspurt.papers.contacts import contacts, stored
from netspurt.papers.data import PaperError
from netspurt.papers.registry import Measured, in_unit, only, registered, words
from netspurt.papers.traces import at_sender, configuration
from netspurt.quantities import quantity
from netspurt.run import Run


def _start(run: Run) -> float:
    return float(run.flows.seconds("start_ns")[0])


def _end(run: Run) -> float:
    return float(run.flows.seconds("finished_ns")[0])


@registered
@in_unit("B")
def largest_packet(bench: Bench, *, run: str) -> Measured:
    """Return the size of the largest packet of a run [octets]."""
    return Measured(int(at_sender(bench.run(run))["size_bytes"].max()))


@registered
def sender_of(bench: Bench, *, run: str) -> Measured:
    """Return the name of the sender's recovery, or `None` if SACK recovery sent nothing."""
    finished = bench.run(run)
    flow = next(iter(configuration(finished)["flows"].values()))
    causes = finished.table("retransmissions")
    rows = [("cause", "retransmissions")]
    rows += [(str(c), str(n)) for c, n in zip(causes["cause"], causes["sent"], strict=True)]
    used = "sack-recovery" in causes["cause"].tolist()
    return Measured(str(flow["tcp"]["recovery"]).upper() if used else None, rows)


@registered
@in_unit("ms")
def ticks_read(bench: Bench, *, runs: str) -> Measured:
    """Return, for each run, the greatest common divisor of its round-trip samples [ms]."""
    rows: list[tuple[str, ...]] = [("run", "samples", "least", "most")]
    divisors = []
    for name in runs.split(","):
        samples = bench.run(name).rtt["rtt_ns"].tolist()
        divisors.append(reduce(gcd, samples) / 1e6)
        ends = (f"{end(samples) / 1e6:g} ms" for end in (min, max))
        rows.append((name, str(len(samples)), *ends))
    return Measured(divisors, rows)


@registered
def deviations_in_timer(bench: Bench, *, run: str, least: str) -> Measured:
    """Return the median of the difference between the RTO and srtt, in multiples of rttvar.

    Values with an rttvar below `least` ticks are left out, because rounding changes them too much.
    Values during a backoff are also left out.
    """
    rto = bench.run(run).rto
    srtt, rttvar, rto_s = (rto.seconds(f"{name}_ns") for name in ("srtt", "rttvar", "rto"))
    tick = _tick(bench.run(run))
    known = (rttvar >= float(least) * tick) & (rto["backoff"] == 1)
    factors = (rto_s[known] - srtt[known]) / rttvar[known]
    rows: list[tuple[str, ...]] = [("values", "least", "median", "most")]
    ends = (f"{f(factors):.3f}" for f in (np.min, np.median, np.max))
    rows.append((str(len(factors)), *ends))
    return Measured(float(np.median(factors)), rows)


def _tick(run: Run) -> float:
    flow = next(iter(configuration(run)["flows"].values()))
    return quantity(flow["tcp"]["clock"]["tick"])[1]


@registered
def first_timer(bench: Bench, *, run: str) -> Measured:
    """Return rttvar and the RTO after the first sample, as multiples of that sample."""
    finished = bench.run(run)
    first = float(finished.rtt.seconds("rtt_ns")[0])
    at = int(np.flatnonzero(finished.rto.seconds() >= finished.rtt.seconds()[0])[0])
    values = {
        name: float(finished.rto.seconds(f"{name}_ns")[at]) for name in ("srtt", "rttvar", "rto")
    }
    rows = [("", "seconds"), ("first sample", f"{first:.3f}")]
    rows += [(name, f"{value:.3f}") for name, value in values.items()]
    return Measured([values["rttvar"] / first, values["rto"] / first], rows)


@registered
def after_a_timeout(bench: Bench, *, run: str) -> Measured:
    """Return cwnd [segments] after the first timeout, and ssthresh as a share of the old cwnd."""
    finished = bench.run(run)
    fired = float(finished.rto.where(fired=True).seconds()[0])
    flow = next(iter(configuration(finished)["flows"].values()))
    smss = quantity(flow["tcp"]["packet_size"])[1] - 40
    cwnd = finished.cwnd
    after = int(np.flatnonzero(cwnd.seconds() >= fired)[0])
    windows = cwnd["cwnd_bytes"] / smss
    threshold = float(cwnd["ssthresh_bytes"][after] / smss)
    rows = [
        ("", "segments"),
        ("cwnd before", f"{windows[after - 1]:.2f}"),
        ("cwnd after", f"{windows[after]:.2f}"),
        ("ssthresh after", f"{threshold:.2f}"),
    ]
    return Measured([float(windows[after]), threshold / float(windows[after - 1])], rows)


@registered
@in_unit("s")
def first_timeout(bench: Bench, *, run: str) -> Measured:
    """Return the first instant at which a round trip exceeded the RTO and the timer fired [s].

    The result has this instant twice: counted from the contact's rise, and from the transfer's
    start.
    """
    finished = bench.run(run)
    sent = at_sender(finished).where(way="out", kind="retransmission")
    exceedances = crossings(finished.rto, finished.rtt, sent)
    rows = [("at", "timer", "timeout", "retransmitted", "packet", "spurious")]
    for exceedance in exceedances:
        retransmitted = (
            "-" if exceedance.retransmitted is None else f"{exceedance.retransmitted:.3f} s"
        )
        rto = f"{exceedance.rto:.3f} s"
        cells = (
            str(exceedance.timeout).lower(),
            retransmitted,
            str(exceedance.packet),
            str(exceedance.spurious).lower(),
        )
        rows.append((f"{exceedance.t:.3f} s", rto, *cells))
    fired = [exceedance.t for exceedance in exceedances if exceedance.timeout]
    return Measured([fired[0], fired[0] - _start(finished)] if fired else None, rows)


@registered
@in_unit("ms")
def early_by(bench: Bench, *, run: str) -> Measured:
    """Return the time from the first timeout to the next ACK of new data [ms]."""
    finished = bench.run(run)
    fired = finished.rto.where(fired=True).seconds()
    if len(fired) == 0:
        return Measured(None)
    acks = at_sender(finished).where(kind="ack").seconds()
    after = acks[acks > fired[0]]
    rows = [("timeout", "next new ACK"), (f"{fired[0]:.3f} s", f"{after[0]:.3f} s")]
    return Measured(float(1e3 * (after[0] - fired[0])), rows)


@registered
@in_unit("s")
def ends_at(bench: Bench, *, run: str) -> Measured:
    """Return the end of a transfer, counted from the contact's rise [s]."""
    finished = bench.run(run)
    rows = [("start", "end", "duration")]
    rows.append(
        (
            f"{_start(finished):.3f} s",
            f"{_end(finished):.3f} s",
            f"{_end(finished) - _start(finished):.3f} s",
        )
    )
    return Measured(_end(finished), rows)


@registered
def clocks_ratio(bench: Bench, *, runs: str) -> Measured:
    """Return the ratio of two runs' ends (from the contact's rise), and of their durations."""
    fine, coarse = (bench.run(name) for name in words(runs, 2))
    durations = [_end(run) - _start(run) for run in (fine, coarse)]
    rows = [("run", "end", "duration")]
    for name, run, span in zip(runs.split(","), (fine, coarse), durations, strict=True):
        rows.append((name, f"{_end(run):.2f} s", f"{span:.2f} s"))
    return Measured([_end(fine) / _end(coarse), durations[0] / durations[1]], rows)


@registered
def spurious_in(bench: Bench, *, run: str) -> Measured:
    """Return the number of spurious retransmissions of a run."""
    return Measured(int(bench.run(run).flows["spurious"].sum()))


@registered
def used_after_step(bench: Bench, *, run: str, contact: str, window: str) -> Measured:
    """Return the minimum use of the line after a step up of the delay, divided by its use before.

    The step is the only step up of `contact`, whose delay the run follows. Use is the number of
    packets that arrive in `window` seconds. The first window after the step is left out. It
    contains a time without arrivals. This time is as long as the growth of the delay, and the
    sender cannot influence it.
    """
    finished = bench.run(run)
    jumps = stored(bench.paper, contacts(bench.paper)[contact]).jumps()
    instant = only((t for t, by in jumps if by > 0), f"steps up of {contact}'s delay")
    arrivals = finished.segments.where(node=str(finished.flows["to"][0]), way="in").seconds()
    width = float(window)
    edges = instant + width * np.arange(-3, 11)
    counts = np.histogram(arrivals, edges)[0]
    before, after = counts[:3].mean(), counts[4:]
    rows = [("from", "packets a second")]
    rows += [(f"{t:.1f} s", f"{n / width:.1f}") for t, n in zip(edges[:-1], counts, strict=True)]
    return Measured(float(after.min() / before), rows)


@registered
def spikes_by_size(bench: Bench, *, grid: str) -> Measured:
    """Return for each size the range of round trips with pacing, divided by the range without.

    The grid has the axes `pacing`, `start` and `size`. The result has a number for each size: the
    mean quotient of the transfers that start at the same instant.
    """
    runs: dict[str, dict[tuple[bool, str], Run]] = {}
    for case in bench.grid(grid):
        of_size = runs.setdefault(str(case.values["size"]), {})
        of_size[bool(case.values["pacing"]), str(case.values["start"])] = case.run
    rows: list[tuple[str, ...]] = [
        ("size", "starts", "least", "mean", "most", "longest queue, without and with pacing")
    ]
    means = []
    for size, own in runs.items():
        starts = [start for paced, start in own if paced]
        if len(own) != 2 * len(starts):
            raise PaperError(f"the axis `pacing` of the grid {grid} must be [true, false]")
        ratios = [_range(own[True, start]) / _range(own[False, start]) for start in starts]
        means.append(float(np.mean(ratios)))
        shown = (f"{f(ratios):.3f}" for f in (np.min, np.mean, np.max))
        queues = (
            max(int(own[paced, start].links["queue_packets_max"].max()) for start in starts)
            for paced in (False, True)
        )
        rows.append((size, str(len(starts)), *shown, " and ".join(map(str, queues))))
    return Measured(means, rows)


def _range(run: Run) -> float:
    return float(np.ptp(run.rtt.seconds("rtt_ns")))
