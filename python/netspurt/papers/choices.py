"""Sweeps over choices that a paper leaves open, to find contacts with early timeouts.

A contact is the time in which a spacecraft can communicate over relay satellites. A timeout is
early if it happens while the ACK is on its way.
"""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netspurt.papers.bench import Bench
from netspurt.papers.contacts import contacts, stored
from netspurt.papers.over_starts import any_spurious, single_relay
from netspurt.papers.registry import Measured, registered
from netspurt.papers.study import FLOW, LINK
from netspurt.quantities import quantity
from netspurt.scenario import load
from netspurt.sweep import Sweep, run_sweep

Floats = NDArray[np.float64]

#: The number of instants of a contact at which its delay is read.
_INSTANTS = 2000


@dataclass(frozen=True)
class Bands:
    """Which constant delays cause spurious retransmissions, for one combination of choices.

    Attributes
    ----------
    delay
        The constant delays of the link `LINK` [s], ascending, shape (n,). In a contact, the delay
        of this link changes.
    affected
        True if a transfer over that delay has spurious retransmissions, shape (n,).
    """

    delay: Floats
    affected: NDArray[np.bool_]

    def share(self, delays: Floats) -> float:
        """Return the share of `delays` [s] for which the nearest delay of the sweep is affected."""
        nearest = np.abs(self.delay[:, None] - delays[None, :]).argmin(axis=0)
        return float(self.affected[nearest].mean())

    def affected_trips(self, fixed: float) -> str:
        """Return the affected round trips as text [ms]. `fixed` is the other links' delay [s]."""
        edges = np.flatnonzero(np.diff(np.concatenate([[0], self.affected, [0]])))
        trips = 2e3 * (self.delay + fixed)
        spans = [f"{trips[a]:.0f}-{trips[b - 1]:.0f}" for a, b in edges.reshape(-1, 2).tolist()]
        return " ".join(spans) or "none"


def bands(
    bench: Bench, file: str, queues: list[str], acks: list[str], windows: list[str]
) -> dict[tuple[str, str, str], Bands]:
    """Sweep a scenario over buffers [packets], delays of ACKs [ms] and initial windows [segments].

    The constant delays are the values of the file's axis `delay`. If the delay of ACKs is `0`, the
    receiver acknowledges every segment.
    """
    delayed = ["every segment" if ms == "0" else {"delayed": f"{ms} ms"} for ms in acks]
    segments = [f"{n} segments" for n in windows]
    axes = {
        "queue": {"path": f"{LINK}.queue", "values": [f"{n} packets" for n in queues]},
        "acks": {"path": f"{FLOW}.tcp.acks", "values": delayed},
        "window": {"path": f"{FLOW}.tcp.initial_window", "values": segments},
    }
    bench.announce(f"sweeping {file}")
    base = load(bench.paper.folder / file)
    sweep = Sweep.of(base.replace({f"sweep.over.{name}": axis for name, axis in axes.items()}))
    with tempfile.TemporaryDirectory() as scratch:
        cases = run_sweep(sweep, Path(scratch) / "sweep")[0].read()
    delay = np.array([quantity(text)[1] for text in cases["delay"]])
    affected = np.asarray(cases["spurious"]) > 0
    combinations = list(itertools.product(queues, acks, windows))
    # The file's last axis is the delay, and it varies fastest. So the cases of a combination follow
    # each other.
    of_each = zip(combinations, np.split(delay, len(combinations)), strict=True)
    parts = np.split(affected, len(combinations))
    return {key: Bands(delays, part) for (key, delays), part in zip(of_each, parts, strict=True)}


@registered
def spurious_by_choice(  # noqa: PLR0913 - a claim gives all these arguments
    bench: Bench,
    *,
    contact: str,
    clock: str,
    sizes: str,
    sweep: str,
    queues: str,
    acks: str,
    windows: str,
    beside: str,
) -> Measured:
    """Return whether a transfer has a spurious retransmission, and a table of several contacts.

    The value is 1 or 0, as `any_spurious` returns it. The cells of the table are shares. A share is
    the part of a contact's time in which its delay would cause spurious retransmissions if this
    delay were constant. The table has a row for each combination of choices, and a column for the
    contact `contact` and for each contact in the list `beside`.
    """
    by_choice = bands(bench, sweep, queues.split(","), acks.split(","), windows.split(","))
    names = single_relay(bench)
    delays = {}
    for name in names:
        curve = stored(bench.paper, contacts(bench.paper)[name])
        delays[name] = curve.at(np.linspace(0.0, curve.lasts, _INSTANTS))
    fixed = bench.of_study.fixed_delay(contacts(bench.paper)[contact])
    shown = [contact, *beside.split(",")]
    heading = ("buffer", "ACKs after", "window", *shown, "contacts affected", "affected RTT ms")
    rows: list[tuple[str, ...]] = [heading]
    for (queue, delayed, window), of_choices in by_choice.items():
        shares = {name: of_choices.share(delays[name]) for name in names}
        cells = (f"{shares[name]:.2f}" for name in shown)
        affected = str(sum(share > 0 for share in shares.values()))
        rows.append(
            (queue, f"{delayed} ms", window, *cells, affected, of_choices.affected_trips(fixed))
        )
    return Measured(any_spurious(bench, contact=contact, clock=clock, sizes=sizes).value, rows)
