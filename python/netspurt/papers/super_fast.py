"""Measures of Super Fast Retransmit in single transfers whose losses are chosen.

Super Fast Retransmit (SFR) is a timer beside the RTO. It runs for a multiple of the handshake's
round trip, and then retransmits the first outstanding segment. A measure is a function that returns
the value that decides a claim of a paper (`registry.py`). A grid is one scenario, run with several
values of its keys; each combination of values is a case.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from netspurt.papers.bench import Bench, BenchCase
from netspurt.papers.data import PaperError
from netspurt.papers.registry import Measured, in_unit, only, registered
from netspurt.papers.swept import Swept
from netspurt.papers.traces import at_sender
from netspurt.run import Run


def _text(argument: str) -> str:
    # Arguments contain no spaces: `_` stands for a space.
    return argument.replace("_", " ")


def _run_at(bench: Bench, grid: str, at: str) -> Run:
    """Return the run of the grid's case that has the value `at`. Values are compared as text."""
    for case in bench.grid(grid):
        if _text(at) in map(str, case.values.values()):
            return case.run
    raise PaperError(f"the grid {grid} has no case {_text(at)!r}")


def _handshake(run: Run) -> float:
    """Return the handshake's round trip at the sender [s]."""
    syns = at_sender(run).where(kind="syn").seconds()
    return float(syns[1] - syns[0])


def _retransmissions(run: Run, cause: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the times of the sender's retransmissions with a cause [s]."""
    return at_sender(run).where(way="out", cause=cause).seconds()


def _since_ack(run: Run) -> float:
    """Return the time from an ACK of new octets to the first SFR retransmission [s].

    The ACK is the last ACK before the retransmission.
    """
    at = _first_by_sfr(run)
    acks = at_sender(run).where(kind="ack").seconds()
    return float(at - acks[acks < at][-1])


def _since_sent(run: Run) -> float:
    """Return the time from the first segment of data to the first SFR retransmission [s]."""
    return float(_first_by_sfr(run) - at_sender(run).where(way="out", kind="data").seconds()[0])


def _first_by_sfr(run: Run) -> float:
    times = _retransmissions(run, "sfr")
    if not len(times):
        raise PaperError(f"{run.title}: there is no SFR retransmission")
    return float(times[0])


@registered
@in_unit("ms")
def sfr_timer(bench: Bench, *, grid: str, at: str) -> Measured:
    """Return how long SFR's timer ran after an ACK restarted it [ms], in one case of a grid."""
    run = _run_at(bench, grid, at)
    trip, waited = 1e3 * _handshake(run), 1e3 * _since_ack(run)
    rows = [
        ("handshake", "timer", "round trips"),
        (f"{trip:.2f} ms", f"{waited:.2f} ms", f"{waited / trip:.3f}"),
    ]
    return Measured(waited, rows)


@registered
def timers_in_round_trips(bench: Bench, *, grid: str) -> Measured:
    """Return, for each case of a grid, how long SFR's timer ran [round trips of the handshake]."""
    rows: list[tuple[str, ...]] = [("case", "handshake", "timer", "round trips")]
    in_trips = []
    for case in bench.grid(grid):
        trip, waited = _handshake(case.run), _since_ack(case.run)
        in_trips.append(waited / trip)
        cells = (f"{1e3 * trip:.2f} ms", f"{1e3 * waited:.2f} ms", f"{in_trips[-1]:.3f}")
        rows.append((_named(case), *cells))
    return Measured(in_trips, rows)


def _named(case: BenchCase) -> str:
    return ", ".join(str(value) for value in case.values.values())


@registered
def timer_after_sending(bench: Bench, *, grid: str) -> Measured:
    """Return the time from the first segment of a flight to SFR's timeout, in round trips.

    The network loses all segments of the flight. Exactly one case of the grid must have an SFR
    retransmission.
    """
    runs = (case.run for case in bench.grid(grid) if len(_retransmissions(case.run, "sfr")))
    run = only(runs, f"cases of {grid} with an SFR retransmission")
    trip, waited = _handshake(run), _since_sent(run)
    return Measured(waited / trip, [("handshake", "timer"), (f"{trip:.5f} s", f"{waited:.5f} s")])


@registered
def timer_after_acks(bench: Bench, *, grid: str, clean: str) -> Measured:
    """Return the shortest time that SFR's timer ran after an ACK of new octets, in round trips.

    This first number is the minimum over the cases of a grid. The second number counts the SFR
    retransmissions in the case of the grid `clean` that has no losses. It is 0 if the timer is
    cancelled when nothing is outstanding.
    """
    minimum = min(_since_ack(case.run) / _handshake(case.run) for case in bench.grid(grid))
    runs = (case.run for case in bench.grid(clean) if not run_lost(case.run))
    run = only(runs, f"cases of {clean} without losses")
    return Measured([minimum, float(len(_retransmissions(run, "sfr")))])


def run_lost(run: Run) -> int:
    """Return the number of packets that the links of a run lost."""
    return int(run.links["lost"].sum())


@registered
def sfr_repairs(bench: Bench, *, grid: str) -> Measured:
    """Return the number of SFR retransmissions in a transfer in which one segment is lost twice.

    The value is `None` if no timeout caused a retransmission.
    """
    case = only(bench.grid(grid), f"cases of {grid}")
    sent = at_sender(case.run).where(way="out", kind="retransmission")
    rows = [("at", "packet", "cause")]
    rows += [
        (f"{1e3 * t:.1f} ms", str(packet), str(cause))
        for t, packet, cause in zip(sent.seconds(), sent["packet"], sent["cause"], strict=True)
    ]
    after_timeout = len(_retransmissions(case.run, "rto")) > 0
    return Measured(float(len(_retransmissions(case.run, "sfr"))) if after_timeout else None, rows)


@registered
@in_unit("kB")
def sfr_cutout(bench: Bench, *, grid: str) -> Measured:
    """Return the number of acknowledged octets that switches SFR off [kB], with its range.

    In each case, one segment is lost after all octets before it were acknowledged. The value is the
    middle of the range. It is `None` if the cases do not show one limit between on and off.
    """
    rows = [("lost", "acknowledged", "repaired by")]
    on, off = [0.0], list[float]()
    for case in bench.grid(grid):
        sent = at_sender(case.run).where(way="out", kind="retransmission")
        acknowledged_kb = float(sent["seq"][0] - 1) / 1e3
        cause = str(sent["cause"][0])
        (on if cause == "sfr" else off).append(acknowledged_kb)
        rows.append((f"segment {sent['packet'][0]}", f"{acknowledged_kb:.3f} kB", cause))
    if not off or max(on) >= min(off):
        return Measured(None, rows)
    return Measured((max(on) + min(off)) / 2, rows, [(max(on), min(off))])


@registered
@in_unit("Mbit/s, ms, ms")
def line_of(bench: Bench, *, grid: str, link: str) -> Measured:
    """Return the highest rate of a link in a grid [Mbit/s], and half of each handshake's time [ms].

    In each case, one transfer fills the link.
    """
    rows: list[tuple[str, ...]] = [("case", "carried", "half the handshake")]
    rates, delays = [], []
    for case in bench.grid(grid):
        carried = case.run.links.where(link=link, direction="forward")["carried_bytes"][0]
        duration_s = float(at_sender(case.run).where(kind="data").seconds()[-1])
        rates.append(8e-6 * float(carried) / duration_s)
        delays.append(1e3 * _handshake(case.run) / 2)
        rows.append((_named(case), f"{rates[-1]:.3f} Mbit/s", f"{delays[-1]:.2f} ms"))
    return Measured([max(rates), *delays], rows)


@registered
def tail_of_timeouts(bench: Bench, *, sweep: str, sender: str) -> Measured:
    """Return how many of the last segments need a timeout if they are lost.

    Each case loses one segment. The value is `None` if the segments that need a timeout are not
    exactly the last ones.
    """
    swept = bench.swept(sweep)
    timeouts = _by_place(swept, "timeouts")
    senders = [str(label) for label in swept.order["sender"]]
    heads = (f"{s}: timeouts, time [ms]" for s in senders)
    rows: list[tuple[str, ...]] = [("lost, from the end", *heads)]
    spans = _by_place(swept, "completion_ns_max")
    for place in swept.order["place"]:
        cells = [
            f"{timeouts[str(place), s]:.0f}, {spans[str(place), s] / 1e6:.0f}" for s in senders
        ]
        rows.append((str(place), *cells))
    needed = [int(place) for place in swept.order["place"] if timeouts[str(place), sender]]
    last = max(needed, default=0)
    return Measured(float(last) if needed == list(range(1, last + 1)) else None, rows)


def _by_place(swept: Swept, measure: str) -> dict[tuple[str, str], float]:
    """Return a measure of each case, by the labels of the loss and of the sender."""
    first, second = swept.order
    cases = swept.cases
    return {
        (str(a), str(b)): float(value)
        for a, b, value in zip(cases[first], cases[second], cases[measure], strict=True)
    }


@registered
@in_unit("%")
def most_saved_by_sfr(bench: Bench, *, sweeps: str, without: str) -> Measured:
    """Return the maximum share by which SFR shortens transfers with several losses [%].

    The result is a share of Reno's duration. The argument `without` is the label for a single loss
    on the axis of losses. Transfers with this label are left out.
    """
    max_saved = -np.inf
    rows: list[tuple[str, ...]] = [("sweep", "lost", "sender", "done", "spurious")]
    for name in sweeps.split(","):
        swept = bench.swept(name)
        spans, counts = _by_place(swept, "completion_ns_max"), _by_place(swept, "spurious")
        for (place, sender), span in spans.items():
            duration, spurious = f"{span / 1e6:.0f} ms", f"{counts[place, sender]:.0f}"
            rows.append((name, place, sender, duration, spurious))
            if sender == "sfr" and place != _text(without):
                max_saved = max(max_saved, 100 * (1 - span / spans[place, "reno"]))
    return Measured(float(max_saved), rows)
