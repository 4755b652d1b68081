"""Measures of transfers through an echo gateway, over grids of paths, windows and segment sizes.

Data and ACKs both cross the line to the echo gateway, which sends them back. So both wait in the
queue of this line. A measure is a function that returns the value that decides a claim of a paper
(`registry.py`). A grid is one scenario, run with several values of its keys; each combination of
values is a case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.fragments import SmallNet
from netspurt.analysis.listings import Trace
from netspurt.analysis.queue_limit import queue_limit
from netspurt.analysis.shares import shares
from netspurt.papers.bench import Bench, BenchCase
from netspurt.papers.registry import Measured, in_unit, registered
from netspurt.quantities import quantity
from netspurt.run import Run

Floats = NDArray[np.float64]


@dataclass(frozen=True, order=True)
class EchoPath:
    """A path: its queue limit [packets], the delay of its line [s] and the line's rate [bit/s]."""

    limit: int
    crossing: float
    rate: float

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> EchoPath:
        """Return the path of a case of a grid."""
        limit, crossing, rate = (quantity(values[k])[1] for k in ("limit", "crossing", "rate"))
        return cls(int(limit), crossing, rate)

    def __str__(self) -> str:
        return f"{self.limit} packets, {1e3 * self.crossing:g} ms, {self.rate / 1e3:g} kbit/s"


def mss_of(values: Mapping[str, Any]) -> int:
    """Return the user octets of a full segment of a case."""
    return int(quantity(values["size"])[1]) - 40


def window_of(values: Mapping[str, Any]) -> int:
    """Return the receive window of a case [octets]."""
    return int(quantity(values["window"])[1])


def duration(run: Run) -> float:
    """Return the duration of a run's transfer [s]; infinite if the transfer did not end."""
    flows = run.flows
    duration_s = float(flows.seconds("finished_ns")[0] - flows.seconds("start_ns")[0])
    return duration_s if np.isfinite(duration_s) else float("inf")


#: A transfer of a grid: its path, its window and its segment size [octets].
Key = tuple[EchoPath, int, int]


def durations(bench: Bench, grid: str) -> dict[Key, float]:
    """Return the durations of a grid's transfers [s]."""

    def make() -> dict[Key, float]:
        return {
            (EchoPath.of(case.values), window_of(case.values), mss_of(case.values)): duration(
                case.run
            )
            for case in bench.grid(grid)
        }

    return bench.keep(f"durations of {grid}", make)


def _spread(values: list[float]) -> tuple[str, ...]:
    return tuple(f"{f(values):.2f}" for f in (np.min, np.median, np.max))


@registered
def slower_through_echo(bench: Bench, *, echo: str, sink: str, limit: str, case: str) -> Measured:
    """Return the rate through an echo divided by the rate to a sink: the median over paths.

    Only the paths with the queue limit `limit` [packets] are used. `case` gives the window and the
    segment size [octets], written as `WINDOW/MSS`.
    """
    through, direct = durations(bench, echo), durations(bench, sink)
    rows: list[tuple[str, ...]] = [
        ("limit", "window", "mss", "paths", "slower", "least", "median", "most")
    ]
    ratios_of: dict[tuple[int, int, int], list[float]] = {}
    for (path, octets, size), duration_s in through.items():
        ratio = direct[path, octets, size] / duration_s
        ratios_of.setdefault((path.limit, octets, size), []).append(ratio)
    for (packets, octets, size), ratios in sorted(ratios_of.items()):
        slow = sum(ratio < 1 for ratio in ratios)
        cells = (str(packets), f"{octets} B", str(size), str(len(ratios)), str(slow))
        rows.append((*cells, *_spread(ratios)))
    wanted = ratios_of[int(limit), *_case(case)]
    return Measured(float(np.median(wanted)), rows)


def _case(text: str) -> tuple[int, int]:
    """Return the window and the segment size of `WINDOW/MSS` [octets]."""
    window, _, mss = text.partition("/")
    return int(window), int(mss)


def _kilobytes(case: BenchCase) -> float:
    return float(case.run.flows["acked_bytes"][0]) / 1e3


def _rate_of_packets(case: BenchCase) -> float:
    carried = int(case.run.links.where(link="up", direction="forward")["carried"][0])
    return carried / duration(case.run)


@registered
def bound_of_packets(bench: Bench, *, grid: str, limit: str) -> Measured:
    """Return whether a queue of `limit` packets bounds the rate of the packets that leave it.

    *Bounded* means that, on each path, a short transfer without losses has fewer packets per second
    with the limit than without it. *Except long and clean* means two things about transfers with
    the limit. Without losses, a long transfer has more packets per second than a short transfer.
    With losses, a long transfer does not have more packets per second than a short transfer.
    """
    rows: list[tuple[str, ...]] = [("limit", "path", "transfer", "loss", "packets/s")]
    rates: dict[tuple[str, str], dict[tuple[bool, bool, bool], float]] = {}
    short = min(_kilobytes(case) for case in bench.grid(grid))
    for case in bench.grid(grid):
        values = case.values
        bounded = values["limit"] == limit.replace("_", " ")
        long, clean = _kilobytes(case) > short, values["loss"] == "none"
        rate = _rate_of_packets(case)
        rates.setdefault((values["crossing"], values["rate"]), {})[bounded, long, clean] = rate
        loss = "none" if clean else f"{values['loss'][0]['probability']:g}"
        path = f"{values['crossing']}, {values['rate']}"
        rows.append((values["limit"], path, values["send"], loss, f"{rate:.1f}"))
    by_path = list(rates.values())
    capped = all(rates_of[True, False, True] < rates_of[False, False, True] for rates_of in by_path)
    escapes = all(rates_of[True, True, True] > rates_of[True, False, True] for rates_of in by_path)
    losses_hold = all(
        rates_of[True, True, False] <= rates_of[True, False, False] for rates_of in by_path
    )
    verdict = "bounded" if capped else "not bounded"
    return Measured(verdict + ", except long and clean" * (escapes and losses_hold), rows)


@registered
def losses_to_learn(bench: Bench, *, grid: str, window: str, fits: str) -> Measured:
    """Return the median number of cuts that bring ssthresh to at most `fits` [octets].

    The transfers have a receive window of `window` octets. Transfers without losses, and transfers
    that end before ssthresh is that low, are left out. For each receive window and segment size,
    the table has the range of the first ssthresh after a cut. It also has the number of cuts that
    would suffice if cwnd began at the receive window and each cut halved cwnd.
    """
    rows: list[tuple[str, ...]] = [
        (
            "window",
            "mss",
            "transfers",
            "without cuts",
            "that reach the limit",
            "cuts needed",
            "ssthresh after the first cut",
            "cuts if each halves the window",
        )
    ]
    firsts: dict[tuple[int, int], list[int]] = {}
    cuts: dict[tuple[int, int], list[int | None]] = {}
    for case in bench.grid(grid):
        key = window_of(case.values), mss_of(case.values)
        ssthresh = _thresholds(case.run)
        low_enough = np.flatnonzero(ssthresh <= int(fits))
        count = 0 if not len(ssthresh) else int(low_enough[0]) + 1 if len(low_enough) else None
        cuts.setdefault(key, []).append(count)
        firsts.setdefault(key, []).extend(ssthresh[:1].tolist())
    learnt: dict[int, list[int]] = {}
    for (octets, mss), own in cuts.items():
        counts = [count for count in own if count]
        learnt.setdefault(octets, []).extend(counts)
        halvings = int(np.ceil(np.log2(octets / int(fits))))
        clean = sum(count == 0 for count in own)
        cells = (f"{octets} B", str(mss), str(len(own)), str(clean), str(len(counts)))
        range_of_cuts = f"{min(counts)} to {max(counts)}" if counts else "-"
        first = firsts[octets, mss]
        range_of_first = f"{min(first)} to {max(first)} B" if first else "-"
        rows.append((*cells, range_of_cuts, range_of_first, str(halvings)))
    wanted = learnt[int(window)]
    return Measured(float(np.median(wanted)) if wanted else None, rows)


def _thresholds(run: Run) -> NDArray[np.int64]:
    """Return ssthresh after each cut [octets]."""
    own = run.cwnd.where(direction="forward")["ssthresh_bytes"].astype(np.int64)
    after: NDArray[np.int64] = own[1:][np.diff(own) != 0]
    return after


@registered
@in_unit("s")
def cost_of_a_loss(bench: Bench, *, grid: str, mss: str) -> Measured:
    """Return the mean time that one loss adds to a transfer with segments of `mss` octets [s].

    The mean is over all paths and losses. The table has the added time for all segment sizes, in
    seconds and in minimum round trips.
    """
    rows: list[tuple[str, ...]] = [
        ("path", "mss", "without loss", "transfers with a loss", "cost of a loss", "in round trips")
    ]
    clean: dict[tuple[str, str, int], float] = {}
    lossy: dict[tuple[str, str, int], list[float]] = {}
    for case in bench.grid(grid):
        key = (case.values["crossing"], case.values["rate"], mss_of(case.values))
        if case.values["loss"] == "none":
            clean[key] = duration(case.run)
        else:
            lossy.setdefault(key, []).append(duration(case.run))
    costs = []
    for (crossing, rate, size), duration_s in lossy.items():
        without = clean[crossing, rate, size]
        cost = float(np.mean(duration_s)) - without
        if size == int(mss):
            costs.append(cost)
        trips = cost / (4 * quantity(crossing)[1])
        cells = (f"{crossing}, {rate}", str(size), f"{without:.1f} s", str(len(duration_s)))
        rows.append((*cells, f"{cost:.1f} s", f"{trips:.1f}"))
    return Measured(float(np.mean(costs)), rows)


@registered
def slower_case(bench: Bench, *, echo: str, split: str, limit: str, cases: str) -> Measured:
    """Return the median ratio of the durations of two cases, over paths with one queue limit.

    The limit is `limit` [packets]. The two cases are `WINDOW/MSS,WINDOW/MSS`, the slow case first.
    The table explains the difference between two transfers: the slow case through an echo, and the
    fast case with ACKs on a separate path. Three causes have a share in this difference: the
    segment size, the window, and the shared queue. The table has the mean of each share over these
    paths.
    """
    through, apart = durations(bench, echo), durations(bench, split)
    (slow_window, slow_mss), (fast_window, fast_mss) = map(_case, cases.split(","))
    rows: list[tuple[str, ...]] = [
        ("queue limit", "paths", "slower paths", "least ratio", "median ratio", "greatest ratio")
    ]
    ratios: dict[int, list[float]] = {}
    for path in sorted({path for path, _, _ in through}):
        ratio = through[path, slow_window, slow_mss] / through[path, fast_window, fast_mss]
        ratios.setdefault(path.limit, []).append(ratio)
    for packets, ratios_of in ratios.items():
        count = sum(ratio > 1 for ratio in ratios_of)
        rows.append((str(packets), str(len(ratios_of)), str(count), *_spread(ratios_of)))

    def mean(present: frozenset[str]) -> float:
        window = slow_window if "window" in present else fast_window
        mss = slow_mss if "segment size" in present else fast_mss
        from_grid = through if "shared queue" in present else apart
        paths = (path for path, _, _ in from_grid if path.limit == int(limit))
        return float(np.mean([from_grid[path, window, mss] for path in set(paths)]))

    causes = ("segment size", "window", "shared queue")
    rows.append(("", "", "", "", "", ""))
    rows.append(("cause", "share of the difference", "", "", "", ""))
    shares_of = shares(causes, mean)
    rows += [(cause, f"{share:+.1f} s", "", "", "", "") for cause, share in shares_of.items()]
    total = mean(frozenset(causes)) - mean(frozenset())
    rows.append(("together", f"{sum(shares_of.values()):+.1f} s", "", "", "", ""))
    rows.append(("difference", f"{total:+.1f} s", "", "", "", ""))
    return Measured(float(np.median(ratios[int(limit)])), rows)


@registered
def limits_inferred(bench: Bench, *, grid: str, others: str) -> Measured:
    """Return the median queue limit that is inferred from captures, for each true limit.

    The captures are beside the sender. The result is `None` if no capture of a limit has a usable
    drop. The table also has other grids, whose ACKs share the queue or whose segments are
    fragmented.
    """
    rows: list[tuple[str, ...]] = [
        (
            "transfers",
            "mss",
            "limit",
            "with a usable drop",
            "least",
            "median",
            "most",
            "right limits",
        )
    ]
    values: list[float | None] = []
    for name in (grid, *others.split(",")):
        found: dict[tuple[int, int], list[int]] = {}
        for case in bench.grid(name):
            limit = int(quantity(case.values["limit"])[1])
            packets = _limit_seen(case, alone=name == grid)
            own = found.setdefault((mss_of(case.values), limit), [])
            own.extend([packets] if packets is not None else [])
        for (mss, limit), own in sorted(found.items()):
            ends = (str(min(own)), f"{np.median(own):g}", str(max(own))) if own else ("-",) * 3
            right = f"{sum(inferred == limit for inferred in own)} of {len(own)}"
            rows.append((name, str(mss), str(limit), str(len(own)), *ends, right))
            if name == grid:
                values.append(float(np.median(own)) if own else None)
    known = [value for value in values if value is not None]
    return Measured(known if len(known) == len(values) else None, rows)


def _limit_seen(case: BenchCase, *, alone: bool) -> int | None:
    """Return the limit that the capture beside the sender shows; `None` if no drop is usable.

    `alone` is false if ACKs share the queue with the data, or if segments are fragmented. Then the
    time of a packet is computed from the true rate and not inferred.
    """
    run = case.run
    mss = mss_of(case.values)
    trace = Trace.of(run.segments.where(node="source"))
    packets = SmallNet(250).packets(mss)
    wire = (mss + 20 + 20 * packets) / packets
    packet_s = None if alone else 8 * wire / quantity(case.values["rate"])[1]
    return queue_limit(trace, packets, packet_s).packets


@registered
def acks_per_segment(bench: Bench, *, grid: str, limit: str) -> Measured:
    """Return the median number of packets that a receiver sent per received segment.

    The median is over all transfers of the grid with the queue limit `limit` [packets]. Two or
    three of the packets open and close the connection. All others are ACKs.
    """
    rows: list[tuple[str, ...]] = [("limit", "window", "mss", "paths", "least", "median", "most")]
    ratios: dict[Key, float] = {}
    for case in bench.grid(grid):
        sent = int(case.run.links.where(link="sink-out", direction="forward")["carried"][0])
        received = int(case.run.flows["received"][0])
        key = EchoPath.of(case.values), window_of(case.values), mss_of(case.values)
        ratios[key] = sent / received
    kinds = sorted({(path.limit, window, mss) for path, window, mss in ratios})
    for kind in kinds:
        own = [
            ratio
            for (path, window, mss), ratio in ratios.items()
            if (path.limit, window, mss) == kind
        ]
        cells = (str(kind[0]), f"{kind[1]} B", str(kind[2]), str(len(own)))
        rows.append((*cells, *_spread(own)))
    wanted = [ratio for (path, _, _), ratio in ratios.items() if path.limit == int(limit)]
    return Measured(float(np.median(wanted)), rows)


@registered
@in_unit("B")
def headers_seen(bench: Bench, *, run: str, mss: str) -> Measured:
    """Return the sizes of the IP headers of a segment's fragments [octets].

    The sizes are computed from the lengths and offsets of the packets that arrive at the sink. Only
    the first fragment has a TCP header.
    """
    at = bench.run(run).segments.where(node="sink", way="in", len_bytes=int(mss))
    ids, offsets = at["id"], np.ma.filled(at["offset_bytes"], 0).astype(np.int64)
    rows: list[tuple[str, ...]] = [
        ("offset", "octets on the line", "IP header", "TCP header", "user octets")
    ]
    fragments = np.flatnonzero(ids == ids[0])
    fragments = fragments[np.argsort(offsets[fragments], kind="stable")]
    starts = offsets[fragments]
    payload = np.diff(np.append(starts, int(mss) + _TCP))
    headers = at["size_bytes"][fragments].astype(np.int64) - payload
    tcp = np.where(starts == 0, _TCP, 0)
    columns = (starts, at["size_bytes"][fragments], headers, tcp, payload - tcp)
    rows.extend(tuple(map(str, map(int, values))) for values in zip(*columns, strict=True))
    return Measured([float(header) for header in headers], rows)


#: A TCP header without options [octets].
_TCP = 20
