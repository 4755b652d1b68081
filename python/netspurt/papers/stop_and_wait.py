"""Stop-and-wait over a contact: only one segment is in flight at a time, so no queue builds up.

A contact is the time in which a spacecraft can communicate over relay satellites. It is simulated
as a path with a link whose delay changes over time. The functions marked `registered` are measures:
they return values that decide claims of a paper (`registry.py`).
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from netspurt.papers.bench import Bench
from netspurt.papers.contacts import Contact, stored
from netspurt.papers.registry import Measured, registered
from netspurt.papers.study import FLOW, Study
from netspurt.run import Run
from netspurt.scenario import Scenario
from netspurt.sweep import Sweep, run_sweep

#: A retransmission belongs to a step of the delay if it leaves within this time after the step [s].
_NEAR_S = 10.0


@dataclass(frozen=True)
class Waited:
    """The numbers of segments in a contact: sent, retransmitted, spuriously retransmitted."""

    sent: int
    retransmissions: int
    spurious: int


def scenario(study: Study, contact: Contact) -> Scenario:
    """Return the scenario: one segment in flight and an ACK for each, over the whole contact."""
    values = {
        "stop": f"{study.lasts(contact):.6f} s",
        f"{FLOW}.start": "0 s",
        f"{FLOW}.send": "unlimited",
        f"{FLOW}.tcp.receive_window": "1 segments",
        f"{FLOW}.tcp.acks": "every segment",
    }
    return study.scenario(contact, values)


def waited(bench: Bench, contact: str, clock: str) -> Waited:
    """Return the numbers of segments of stop-and-wait over a contact, with a given clock tick."""
    study = bench.of_study

    def make() -> dict[str, Waited]:
        bench.announce(f"stop-and-wait over {contact}")
        axis = {"path": f"{FLOW}.tcp.clock.tick", "values": list(study.clocks)}
        base = scenario(study, study.contacts[contact])
        sweep = Sweep.of(base.replace({"sweep": {"over": {"clock": axis}}}))
        with tempfile.TemporaryDirectory() as scratch:
            cases = run_sweep(sweep, Path(scratch) / "sweep")[0].read()
        counts = zip(cases["sent"], cases["retransmissions"], cases["spurious"], strict=True)
        sums = (Waited(*(int(count) for count in row)) for row in counts)
        return dict(zip(cases["clock"].tolist(), sums, strict=True))

    return bench.keep(f"stop-and-wait over {contact}", make)[clock]


def _tick(bench: Bench, clock: str) -> str:
    """Return the tick of the study's `fine` or `coarse` clock."""
    fine, coarse = bench.of_study.clocks
    return {"fine": fine, "coarse": coarse}[clock]


@registered
def stop_and_wait(bench: Bench, *, contact: str, clock: str) -> Measured:
    """Return the number of retransmissions of stop-and-wait over a whole contact."""
    counts = waited(bench, contact, _tick(bench, clock))
    rows = [("sent", "retransmissions", "spurious")]
    rows.append((f"{counts.sent:,}", str(counts.retransmissions), str(counts.spurious)))
    return Measured(counts.retransmissions, rows)


@registered
def stop_and_wait_near(bench: Bench, *, contact: str, clock: str, way: str) -> Measured:
    """Count the spurious retransmissions in the 10 s after a step of the delay.

    The value has two numbers: this count, and the time of the step [s]. `way` says whether the
    delay steps up or down.
    """
    study = bench.of_study
    of_contact, tick = study.contacts[contact], _tick(bench, clock)

    def make() -> Run:
        bench.announce(f"stop-and-wait over {contact}, with its segments")
        return scenario(study, of_contact).replace({f"{FLOW}.tcp.clock.tick": tick}).run()

    run = bench.keep(f"stop-and-wait over {contact} by {tick}, with its segments", make)
    (at,) = (t for t, by in stored(bench.paper, of_contact).jumps() if (by > 0) == (way == "up"))
    retransmissions = run.segments.where(way="out", kind="retransmission")
    near = (retransmissions.seconds() >= at) & (retransmissions.seconds() <= at + _NEAR_S)
    rows = [("retransmitted at", "packet", "spurious")]
    for t, packet, spurious in zip(
        retransmissions.seconds(),
        retransmissions["packet"],
        retransmissions["spurious"],
        strict=True,
    ):
        rows.append((f"{t:.3f} s", str(packet), str(bool(spurious)).lower()))
    count = float(np.count_nonzero(near & np.asarray(retransmissions["spurious"], dtype=bool)))
    return Measured([count, at], rows)
