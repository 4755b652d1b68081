"""Measures of a study: transfers that start at many instants of a contact, by size and clock.

A contact is the time in which a spacecraft can communicate over relay satellites (`study.py`). A
quick study has only a few of the starts. A measure is a function that returns the value that
decides a claim of a paper (`registry.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.crossings import crossings
from netspurt.papers.bench import Bench
from netspurt.papers.registry import Measured, in_unit, registered
from netspurt.papers.stop_and_wait import waited
from netspurt.papers.study import FLOW, Transfers
from netspurt.papers.traces import configuration
from netspurt.quantities import quantity

#: The size of the packets [octets], and the rate of the slowest link [bit/s].
PACKET = 1500
RATE = 1.5e6

#: The maximum number of instants at which transfers start in a contact, if values are changed.
_STARTS_IF_CHANGED = 2


def single_relay(bench: Bench) -> list[str]:
    """Return the names of the contacts without handoffs."""
    return [n for n, c in bench.of_study.contacts.items() if c.variability != "handoff"]


def fine_and_coarse(bench: Bench) -> tuple[str, str]:
    """Return the study's finer and its coarser clock."""
    fine, coarse = bench.of_study.clocks
    return fine, coarse


def throughputs(bench: Bench, contact: str, size: int, clock: str) -> NDArray[np.float64]:
    """Return the throughput of each transfer of a contact [bit/s]."""
    return bench.transfers(contact).where(size=size, clock=clock).throughput(PACKET)


def _mean(bench: Bench, contact: str, size: int, clock: str) -> float:
    return float(throughputs(bench, contact, size, clock).mean())


def _spread(values: NDArray[np.float64]) -> float:
    """Return the range of values as a share of their mean."""
    return float(np.ptp(values) / values.mean())


def _share(transfers: Transfers) -> float:
    """Return the share of transfers with spurious retransmissions."""
    return float((transfers.spurious > 0).mean())


@registered
def all_delivered(bench: Bench, *, size: str) -> Measured:
    """Return the size [segments] if every transfer of this size delivered all its segments.

    Otherwise the value is `None`.
    """
    rows = [("contact", "transfers", "complete transfers")]
    all_whole = True
    for name in bench.of_study.contacts:
        transfers = bench.transfers(name).where(size=int(size))
        complete = int(((transfers.delivered == int(size)) & np.isfinite(transfers.seconds)).sum())
        all_whole = all_whole and 0 < len(transfers) == complete
        rows.append((name, str(len(transfers)), str(complete)))
    return Measured(int(size) if all_whole else None, rows)


@registered
@in_unit("s")
def starts_apart(bench: Bench) -> Measured:
    """Return the mean time between starts, and the largest shift from a regular instant [s]."""
    study = bench.of_study
    gaps, shifts = [], []
    rows = [("contact", "starts", "first", "last", "contact lasts")]
    for name, contact in study.contacts.items():
        starts = study.starts(contact, whole=True)
        gaps.append(np.diff(starts))
        shifts.append(starts - study.every * np.arange(1, len(starts) + 1))
        ends = (f"{starts[0]:.1f} s", f"{starts[-1]:.1f} s", f"{study.lasts(contact):.1f} s")
        rows.append((name, str(len(starts)), *ends))
    shift = float(np.abs(np.concatenate(shifts)).max())
    return Measured([float(np.concatenate(gaps).mean()), shift], rows)


@registered
def never_limited(bench: Bench, *, run: str) -> Measured:
    """Return the receive window [segments], or `None` if it ever limited a transfer."""
    limited = {n: int(bench.transfers(n).window_limited.sum()) for n in bench.of_study.contacts}
    rows = [("contact", "times limited"), *((name, str(n)) for name, n in limited.items())]
    flow = next(iter(configuration(bench.run(run))["flows"].values()))
    window = quantity(flow["tcp"]["receive_window"])[1]
    return Measured(window if not any(limited.values()) else None, rows)


@registered
def any_spurious(bench: Bench, *, contact: str, clock: str, sizes: str) -> Measured:
    """Return 1 if any transfer of these sizes has a spurious retransmission, else 0."""
    tick = dict(zip(("fine", "coarse"), fine_and_coarse(bench), strict=True))[clock]
    rows = [("segments", "transfers", "with spurious retransmissions", "timeouts per transfer")]
    spurious = False
    for size in sizes.split(","):
        transfers = bench.transfers(contact).where(size=int(size), clock=tick)
        spurious = spurious or bool(transfers.spurious.any())
        cells = (f"{(transfers.spurious > 0).sum()}", f"{transfers.timeouts.mean():.2f}")
        rows.append((size, str(len(transfers)), *cells))
    return Measured(int(spurious), rows)


@registered
def clock_ratio(bench: Bench, *, contact: str, size: str) -> Measured:
    """Return the mean throughput with the fine clock, divided by the mean with the coarse clock."""
    fine, coarse = (_mean(bench, contact, int(size), tick) for tick in fine_and_coarse(bench))
    rows = [("clock", "mean throughput")]
    for tick, value in zip(fine_and_coarse(bench), (fine, coarse), strict=True):
        rows.append((tick, f"{value / 1e6:.4f} Mbit/s"))
    return Measured(fine / coarse, rows)


@registered
def clock_difference(bench: Bench, *, sizes: str) -> Measured:
    """Return the largest difference between the mean throughputs of the clocks, as a share.

    Contacts with handoffs are left out.
    """
    rows = [("contact", "segments", "fine over coarse")]
    max_difference = 0.0
    for name in single_relay(bench):
        for size in sizes.split(","):
            fine, coarse = (_mean(bench, name, int(size), c) for c in fine_and_coarse(bench))
            max_difference = max(max_difference, abs(fine / coarse - 1))
            rows.append((name, size, f"{fine / coarse:.5f}"))
    return Measured(max_difference, rows)


@registered
def not_growing(bench: Bench) -> Measured:
    """Return the number of contacts with a step of size at which mean throughput does not grow.

    A step goes from one size to the next larger one. The clock is the coarse one.
    """
    sizes, (_, coarse) = bench.of_study.sizes, fine_and_coarse(bench)
    rows = [("contact", *(f"{size} segments" for size in sizes))]
    count = 0
    for name in bench.of_study.contacts:
        means = [_mean(bench, name, size, coarse) for size in sizes]
        count += bool((np.diff(means) <= 0).any())
        rows.append((name, *(f"{value / 1e6:.3f} Mbit/s" for value in means)))
    return Measured(count, rows)


def _spreads(bench: Bench, name: str) -> list[float]:
    _, coarse = fine_and_coarse(bench)
    return [_spread(throughputs(bench, name, size, coarse)) for size in bench.of_study.sizes]


@registered
def long_vary_more(bench: Bench) -> Measured:
    """Return the number of contacts whose longest transfers vary at least as much as the shortest.

    The clock is the coarse one. Contacts with handoffs are left out.
    """
    rows = [("contact", *(f"{size} segments" for size in bench.of_study.sizes))]
    count = 0
    for name in single_relay(bench):
        spreads = _spreads(bench, name)
        count += spreads[-1] >= spreads[0]
        rows.append((name, *(f"{value:.1%}" for value in spreads)))
    return Measured(count, rows)


@registered
def most_varying(bench: Bench, *, contacts: str) -> Measured:
    """Return two factors by which these contacts vary more: in round trips, and in throughput.

    A factor is the minimum variation of these contacts, divided by the maximum variation of the
    other contacts without handoffs. For throughputs, the result is the minimum factor over all
    sizes, with the coarse clock.
    """
    these = contacts.split(",")
    swings, spreads = {}, {}
    rows = [("contact", "round trips", *(f"{size} segments" for size in bench.of_study.sizes))]
    for name in single_relay(bench):
        swings[name] = bench.of_study.swing(bench.of_study.contacts[name])
        spreads[name] = _spreads(bench, name)
        shown = (f"{value:.1%}" for value in spreads[name])
        rows.append((name, f"{2e3 * swings[name]:.1f} ms", *shown))
    others = [name for name in swings if name not in these]
    trips = min(swings[n] for n in these) / max(swings[n] for n in others)
    by_size = [
        min(spreads[n][place] for n in these) / max(spreads[n][place] for n in others)
        for place in range(len(bench.of_study.sizes))
    ]
    return Measured([trips, min(by_size)], rows)


@registered
def utilisation(bench: Bench, *, size: str) -> Measured:
    """Return the minimum mean throughput over contacts, as a share of the link's rate.

    The clock is the coarse one. Contacts with handoffs are left out.
    """
    _, coarse = fine_and_coarse(bench)
    shares = {n: _mean(bench, n, int(size), coarse) / RATE for n in single_relay(bench)}
    rows = [("contact", "share"), *((name, f"{value:.1%}") for name, value in shares.items())]
    return Measured(min(shares.values()), rows)


@registered
def spikes_of_small(bench: Bench, *, sizes: str) -> Measured:
    """Return the number of transfers of these sizes in which a round trip exceeds the timer.

    The clock is the fine one. Contacts with handoffs are left out, and the transfers start at the
    instants of a quick study.
    """
    study, (fine, _) = bench.of_study, fine_and_coarse(bench)
    rows = [("contact", "segments", "transfers", "that exceed the timer", "timeouts")]
    total = 0
    for name in single_relay(bench):
        bench.announce(f"small transfers of {name}")
        contact = study.contacts[name]
        starts = [f"{start:.6f} s" for start in study.starts(contact, whole=False)]
        for size in sizes.split(","):
            runs = [
                study.scenario(
                    contact,
                    {
                        f"{FLOW}.send": f"{size} segments",
                        f"{FLOW}.start": start,
                        f"{FLOW}.tcp.clock.tick": fine,
                    },
                ).run()
                for start in starts
            ]
            count = sum(bool(crossings(run.rto, run.rtt)) for run in runs)
            timeouts = sum(int(run.flows["timeouts"].sum()) for run in runs)
            total += count
            rows.append((name, size, str(len(runs)), str(count), str(timeouts)))
    return Measured(total, rows)


def _ordered(values: dict[str, float]) -> str:
    """Return names in ascending order of their values, with `<` or `=` between them."""
    names = sorted(values, key=lambda name: values[name])
    text = names[0]
    for before, name in pairwise(names):
        equal = values[before] == values[name]
        text += f" {'=' if equal else '<'} {name}"
    return text


@registered
def order_by_share(bench: Bench, *, contacts: str, sizes: str) -> Measured:
    """Return contacts in the order of the share of transfers with spurious retransmissions.

    The clock is the fine one. The share is the mean over `sizes`.
    """
    fine, _ = fine_and_coarse(bench)
    shares = {}
    for name in contacts.split(","):
        by_size = [bench.transfers(name).where(size=int(s), clock=fine) for s in sizes.split(",")]
        shares[name] = float(np.mean([_share(transfers) for transfers in by_size]))
    rows = [("contact", "share"), *((name, f"{value:.3f}") for name, value in shares.items())]
    return Measured(_ordered(shares), rows)


@registered
def order_by_throughput(bench: Bench, *, contacts: str, size: str) -> Measured:
    """Return contacts in the order of their mean throughput with the fine clock."""
    fine, _ = fine_and_coarse(bench)
    means = {name: _mean(bench, name, int(size), fine) for name in contacts.split(",")}
    rows = [("contact", "mean throughput")]
    rows += [(name, f"{value / 1e6:.4f} Mbit/s") for name, value in means.items()]
    return Measured(_ordered(means), rows)


@registered
def order_by_spread(bench: Bench, *, contact: str) -> Measured:
    """Return the two sizes with the widest ranges of throughput, then `>`, then the other sizes.

    The clock is the coarse one.
    """
    _, coarse = fine_and_coarse(bench)
    rows: list[tuple[str, ...]] = [("segments", "least", "most", "range")]
    ranges = {}
    for size in bench.of_study.sizes:
        values = throughputs(bench, contact, size, coarse) / 1e6
        ranges[size] = float(np.ptp(values))
        shown = (f"{v:.3f} Mbit/s" for v in (values.min(), values.max(), np.ptp(values)))
        rows.append((str(size), *shown))
    order = sorted(ranges, key=lambda size: -ranges[size])
    widest, others = sorted(order[:2]), sorted(order[2:])
    return Measured(f"{', '.join(map(str, widest))} > {', '.join(map(str, others))}".strip(), rows)


# Transfers with other values: a constant delay, and a minimum RTO.


def _varied(  # noqa: PLR0913 - all these describe one case
    bench: Bench,
    contact: str,
    size: int,
    clock: str,
    values: Mapping[str, str] | None = None,
    *,
    static: bool = False,
) -> Transfers:
    changed_study = replace(
        bench.of_study, sizes=(size,), clocks=(clock,), quick=_STARTS_IF_CHANGED
    )
    return bench.varied(contact, changed_study, values, static=static)


@registered
def static_spurious(bench: Bench, *, contact: str, size: str) -> Measured:
    """Return the minimum number of spurious retransmissions over the starts, with the fine clock.

    The delay is constant: the mean delay of the contact.
    """
    fine, _ = fine_and_coarse(bench)
    transfers = _varied(bench, contact, int(size), fine, static=True)
    rows = [("start", "spurious", "timeouts", "lasts")]
    for start, spurious, fired, seconds in zip(
        transfers.start, transfers.spurious, transfers.timeouts, transfers.seconds, strict=True
    ):
        rows.append((f"{start:.1f} s", str(spurious), str(fired), f"{seconds:.1f} s"))
    return Measured(int(transfers.spurious.min()), rows)


@registered
def static_and_moving(bench: Bench, *, size: str) -> Measured:
    """Return the effect of constant delays, and the spurious retransmissions of stop-and-wait.

    The first number compares the shares of transfers with spurious retransmissions: the share if
    the delay is constant (the mean delay), minus the share if the delay moves. This difference is
    the mean over all contacts without handoffs, with the fine clock. The second number is the
    number of spurious retransmissions of stop-and-wait in these contacts, with both clocks.
    """
    fine, coarse = fine_and_coarse(bench)
    rows = [("contact", "constant delay", "moving delay", "spurious of stop-and-wait")]
    differences, total = [], 0
    for name in single_relay(bench):
        static = _share(_varied(bench, name, int(size), fine, static=True))
        moving = _share(bench.transfers(name).where(size=int(size), clock=fine))
        fired = sum(waited(bench, name, clock).spurious for clock in (fine, coarse))
        differences.append(static - moving)
        total += fired
        rows.append((name, f"{static:.2f}", f"{moving:.2f}", str(fired)))
    return Measured([float(np.mean(differences)), float(total)], rows)


@registered
def static_throughput(bench: Bench) -> Measured:
    """Return the largest difference between mean throughputs over moving and constant delays.

    The result is a share. It is the maximum over all sizes and all contacts without handoffs, with
    the coarse clock.
    """
    _, coarse = fine_and_coarse(bench)
    rows = [("contact", *(f"{size} segments" for size in bench.of_study.sizes))]
    max_difference = 0.0
    for name in single_relay(bench):
        cells = []
        for size in bench.of_study.sizes:
            static = _varied(bench, name, size, coarse, static=True).throughput(PACKET)
            ratio = _mean(bench, name, size, coarse) / float(static.mean())
            max_difference = max(max_difference, abs(ratio - 1))
            cells.append(f"{ratio - 1:+.2%}")
        rows.append((name, *cells))
    return Measured(max_difference, rows)


@registered
def lost_by_fine_clock(bench: Bench, *, size: str) -> Measured:
    """Return the maximum share of throughput that the fine clock costs, over contacts.

    Contacts with handoffs are left out.
    """
    lost = {}
    for name in single_relay(bench):
        fine, coarse = (_mean(bench, name, int(size), clock) for clock in fine_and_coarse(bench))
        lost[name] = 1 - fine / coarse
    rows = [("contact", "lost"), *((name, f"{value:.1%}") for name, value in lost.items())]
    return Measured(max(lost.values()), rows)


@registered
@in_unit("s")
def least_floor(bench: Bench, *, contacts: str, floors: str, size: str) -> Measured:
    """Return the smallest minimum RTO [s] with which the fine clock has no spurious retransmission.

    With each larger value in the list `floors`, there is no spurious retransmission either. If even
    the largest value has one, the result is `None`. `floors` are in seconds and ascend.
    """
    fine, _ = fine_and_coarse(bench)
    names = contacts.split(",")
    rows = [("minimum RTO", "spurious in", "spurious retransmissions", "mean throughput")]
    smallest = None
    for floor in floors.split(","):
        values = {f"{FLOW}.tcp.rto.min": f"{floor} s"}
        transfers = {name: _varied(bench, name, int(size), fine, values) for name in names}
        spurious = {name: int(own.spurious.sum()) for name, own in transfers.items()}
        affected = " ".join(name for name, count in spurious.items() if count)
        smallest = None if affected else smallest or floor
        mean = np.concatenate([own.throughput(PACKET) for own in transfers.values()]).mean() / 1e6
        total = str(sum(spurious.values()))
        rows.append((f"{floor} s", affected or "none", total, f"{mean:.3f} Mbit/s"))
    return Measured(None if smallest is None else float(smallest), rows)
