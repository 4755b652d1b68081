"""Measures of a queue that data and ACKs share, and of listings made from captures.

A measure is a function that returns the value that decides a claim of a paper (`registry.py`). A
grid is one scenario, run with several values of its keys; each combination of values is a case.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.density import correlation, density, held_at
from netspurt.analysis.fragments import IP_HEADER, SmallNet
from netspurt.analysis.in_queue import InQueue
from netspurt.analysis.listings import PACKETDAT, SEND_ACK, Trace, packetdat, send_ack
from netspurt.captures import explain
from netspurt.papers.bench import Bench, BenchCase
from netspurt.papers.data import PaperError
from netspurt.papers.echoing import mss_of, window_of
from netspurt.papers.registry import Measured, registered
from netspurt.quantities import quantity
from netspurt.run import Run
from netspurt.table import Table

Floats = NDArray[np.float64]

#: `LINE` is the name of the line on which data and ACKs may meet. `BEFORE` is the name of the node
#: before this line.
LINE, BEFORE = "up", "outgoing"


@dataclass(frozen=True)
class Filled:
    """A transfer whose window fills a part of the round trip.

    Attributes
    ----------
    path, mss
        The path in words, and the user octets of a segment.
    fill
        The time that the line needs for a window of data, divided by the minimum round trip.
    met
        The share of ACKs that found data in the queue.
    longest, mean
        The maximum and mean length of the queue [packets].
    """

    path: str
    mss: int
    fill: float
    met: float
    longest: int
    mean: float


def filled(bench: Bench, grid: str, limit: int = 250) -> list[Filled]:
    """Return the transfers of a grid of windows, over queues without a limit.

    `limit` is the size above which the net fragments a datagram [octets].
    """
    return bench.keep(f"filled {grid}", lambda: [_filled(case, limit) for case in bench.grid(grid)])


def _filled(case: BenchCase, limit: int) -> Filled:
    run, mss = case.run, mss_of(case.values)
    rate, crossing = quantity(case.values["rate"])[1], quantity(case.values["crossing"])[1]
    wire_bytes = mss + 20 + IP_HEADER * SmallNet(limit).packets(mss)
    segments = max(1, window_of(case.values) // mss)
    queue = run.queue.where(link=LINE, direction="forward")
    t, packets = queue["t_ns"].astype(np.int64), queue["queue_packets"].astype(np.int64)
    acks = run.segments.where(node=BEFORE, direction="reverse")["t_ns"].astype(np.int64)
    inside = InQueue.of(t, packets, acks)
    met = inside.data_met()
    mean_length = float(np.sum(packets[:-1] * np.diff(t))) / float(t[-1] - t[0])
    return Filled(
        f"{case.values['crossing']}, {case.values['rate']}",
        mss,
        8 * wire_bytes * segments / rate / (4 * crossing),
        float((met > 0).mean()) if len(met) else 0.0,
        inside.longest(),
        mean_length,
    )


@registered
def meets_at(bench: Bench, *, grid: str, least: str, most: str) -> Measured:
    """Return the share of the round trip after which ACKs return to the queue of the data.

    The data of a window need a share f of the round trip to pass the line. ACKs return to the queue
    after a share m of the round trip. So ACKs find data in the queue during the share f - m. It
    follows that m = f (1 - share of ACKs that find data). The result is the median over windows
    with f from the argument `least` to the argument `most`, on all paths. The receiver sends an ACK
    after two segments. So ACKs return later, by the time that the line needs for two segments. This
    time may be a large part of the round trip.
    """
    rows: list[tuple[str, ...]] = [("path", "mss", "fill", "ACKs that find data", "meeting after")]
    by_path: dict[tuple[str, int], list[float]] = {}
    transfers = filled(bench, grid)
    for transfer in sorted(transfers, key=lambda transfer: (transfer.path, -transfer.mss)):
        if float(least) <= transfer.fill <= float(most):
            m = transfer.fill * (1 - transfer.met)
            by_path.setdefault((transfer.path, transfer.mss), []).append(m)
            cells = (transfer.path, str(transfer.mss), f"{transfer.fill:.2f}")
            rows.append((*cells, f"{100 * transfer.met:.0f} %", f"{m:.2f}"))
    for (path, mss), shares in by_path.items():
        rows.append((path, str(mss), "median", "", f"{np.median(shares):.2f}"))
    return Measured(float(np.median([m for shares in by_path.values() for m in shares])), rows)


@registered
def acks_that_meet(bench: Bench, *, grid: str, beside: str) -> Measured:
    """Return the maximum share of ACKs that find data in the queue.

    The result's table compares the queues with the queues of the grid `beside`, in which data and
    ACKs may meet.
    """
    rows: list[tuple[str, ...]] = [
        ("path", "mss", "fill", "longest", "mean", f"longest, {beside}", f"mean, {beside}")
    ]
    pairs = zip(filled(bench, grid), filled(bench, beside), strict=True)
    max_share = 0.0
    for of_grid, of_beside in pairs:
        max_share = max(max_share, of_grid.met)
        cells = (
            of_grid.path,
            str(of_grid.mss),
            f"{of_grid.fill:.2f}",
            str(of_grid.longest),
            f"{of_grid.mean:.1f}",
        )
        rows.append((*cells, str(of_beside.longest), f"{of_beside.mean:.1f}"))
    return Measured(max_share, rows)


def followed(run: Run, gain: float) -> tuple[Floats, Floats, Floats]:
    """Return instants [s], the packets per second before a line, and the line's queue length."""
    t = run.segments.where(node=BEFORE).seconds()
    at, rate = density(t, gain)
    queue = run.queue.where(link=LINE, direction="forward")
    length = queue["queue_packets"].astype(np.float64)
    return at, rate, held_at(at, queue.seconds(), length)


@registered
def density_follows(bench: Bench, *, grid: str, gain: str, others: str) -> Measured:
    """Return the correlation of packet density and queue length: the median over a grid's runs.

    The density is the number of packets per second, from an exponential mean with this `gain`. The
    result's table also has the correlations for the gains `others`.
    """
    rows: list[tuple[str, ...]] = [
        ("gain", "runs", "least", "median", "most", "runs at 0.8 or more")
    ]
    medians = {}
    for weight in (gain, *others.split(",")):
        correlations = []
        for case in bench.grid(grid):
            _, rate, length = followed(case.run, float(weight))
            correlations.append(correlation(rate, length))
        medians[weight] = float(np.median(correlations))
        ends = (f"{f(correlations):.2f}" for f in (np.min, np.median, np.max))
        rows.append(
            (
                weight,
                str(len(correlations)),
                *ends,
                str(sum(value >= 0.8 for value in correlations)),
            )
        )
    return Measured(medians[gain], rows)


@registered
def regenerated(bench: Bench, *, runs: str) -> Measured:
    """Compare listings from capture files with listings from the simulator's own records.

    The listings are `packetdat` and `send-ack`, from the capture beside the source. The simulator's
    own records have the kind and the number of each packet, and they show when the packet was first
    acknowledged. The result is `identical`, or says how many lines differ.
    """
    rows: list[tuple[str, ...]] = [("run", "listing", "lines", "lines that differ")]
    differ = 0
    for name in runs.split(","):
        run = bench.run(name)
        trace = Trace.of(_captured(run, "source"))
        lines = {
            "packetdat": (packetdat(trace), _known_packets(run)),
            "send-ack": (send_ack(trace).rows(), _known_sends(run)),
        }
        for listing, (from_capture, from_records) in lines.items():
            count = sum(a != b for a, b in zip(from_capture, from_records, strict=True))
            differ += count
            rows.append((name, listing, str(len(from_capture)), str(count)))
    rows.append(("columns", "packetdat", " ".join(PACKETDAT), ""))
    rows.append(("columns", "send-ack", " ".join(SEND_ACK), ""))
    return Measured("identical" if differ == 0 else f"{differ} lines differ", rows)


def _captured(run: Run, node: str) -> Table:
    """Return the segments of a run's capture at a node, read from the capture's file."""
    with tempfile.TemporaryDirectory() as scratch:
        file = run.save(Path(scratch) / "run") / f"{node}.pcapng"
        if not file.exists():
            raise PaperError(f"a run has no capture at the node `{node}`: set `capture` and `spy`")
        return explain(file, segments=True).segments


def _known_packets(run: Run) -> list[tuple[str, ...]]:
    """Return `packetdat` from the simulator's own records."""
    at = run.segments.where(node="source")
    directions = np.where(at["direction"] == "forward", "data", "acks")
    names = ("kind", *PACKETDAT[3:])
    columns = (at["t_ns"].tolist(), directions.tolist(), *(at[name].tolist() for name in names))
    return [tuple(map(str, line)) for line in zip(*columns, strict=True)]


def _known_sends(run: Run) -> list[tuple[str, ...]]:
    """Return `send-ack` from the kinds and the numbers of packets in the simulator's records."""
    seen = run.segments.where(node="source")
    sent = seen.where(way="out")
    sent = sent.select(sent["len_bytes"] > 0)
    acks = seen.where(way="in", kind="ack")
    numbers, times = acks["packet"].tolist(), acks["t_ns"].tolist()
    first: dict[int, int] = {}
    covered = 0
    for number, t in zip(numbers, times, strict=True):
        for packet in range(covered + 1, number + 1):
            first[packet] = t
        covered = max(covered, number)
    rows: list[tuple[str, ...]] = []
    for t, packet, seq, length, kind in zip(
        *(sent[name].tolist() for name in ("t_ns", "packet", "seq", "len_bytes", "kind")),
        strict=True,
    ):
        acked = first.get(packet)
        ack_cells = ("", "") if acked is None else (str(acked), str(acked - t))
        first_or_again = "again" if kind == "retransmission" else "new"
        rows.append((str(t), str(seq), str(seq + length), first_or_again, *ack_cells))
    return rows
