"""Compares the scenario `early-timeout` with runs of the simulator ns-2.35.

The path of the scenario goes over a geostationary satellite. A timer with a short tick fires there
while an ACK is still on its way.
"""

from __future__ import annotations

import pytest

import netspurt as ns

from conftest import ROOT
from ns2_cases import Row, drive, first_difference, rows_of

#: The keys are the queue in packets and the tick [s]. The values are the instant at which 2000
#: segments were acknowledged [s], and the instants of the earlier timeouts [s]. Debian's ns2
#: 2.35+dfsg-5 gave these values with an endless sender. The values are rounded.
MEASURED = {
    (50, 0.001): (50.1, [8.95, 11.35]),
    (50, 0.5): (21.9, []),
    (100, 0.001): (43.6, [10.6, 15.2]),
    (100, 0.5): (21.6, []),
    (200, 0.001): (21.2, []),
    (200, 0.5): (21.2, []),
    (1000, 0.001): (21.1, []),
    (1000, 0.5): (21.1, []),
}


def run(queue: int, tick: float, send: str) -> list[Row]:
    """Run the scenario, and return the events at the sender."""
    base = ns.load(ROOT / "scenarios" / "early-timeout.toml")
    changes: dict[str, object] = {
        "stop": "60 s",
        "links.space.queue": f"{queue} packets",
        "flows.transfer.send": send,
        "flows.transfer.tcp.clock": {"tick": f"{round(tick * 1000)} ms"},
    }
    return rows_of(base.replace(changes).run())


def case(queue: int, tick: float, packets: int) -> dict[str, object]:
    """Return the settings with which ns-2 runs the same path and transfer."""
    return {
        "recovery": "sack",
        "initial_window": 1,
        "limited_transmit": 0,
        "window": 500,
        "packet": 1500,
        "tick": tick,
        "minrto": 0,
        "delayed_ack": 0.2,
        "packets": packets,
        "links": f"10e6,0.001,100000 1.5e6,0.284,{queue}",
        "stop": 60,
    }


def finished(rows: list[Row]) -> float:
    """Return the instant at which 2000 segments were acknowledged [s]."""
    return next(row.us for row in rows if row.event == "ack" and row.packet >= 2000) / 1e6


def timeouts(rows: list[Row]) -> list[float]:
    """Return the instants of the timeouts [s]."""
    return [row.us / 1e6 for row in rows if row.event == "timeout"]


@pytest.mark.parametrize(("queue", "tick"), MEASURED)
def test_an_endless_sender_agrees_with_ns2_within_50_ms(queue: int, tick: float) -> None:
    rows = run(queue, tick, "unlimited")
    done, fired = MEASURED[queue, tick]
    assert finished(rows) == pytest.approx(done, abs=0.05)
    early = [at for at in timeouts(rows) if at < finished(rows)]
    assert early == pytest.approx(fired, abs=0.05)


@pytest.mark.parametrize(("queue", "tick"), MEASURED)
def test_the_time_of_a_finite_transfer_is_within_5_percent_of_ns2s_time(
    queue: int, tick: float
) -> None:
    """Compares a finite transfer with the times of ns-2's endless sender.

    In the finite transfer, the receiver delays the ACK of the last segment by up to 200 ms, because
    no other segment follows.
    """
    rows = run(queue, tick, "2000 segments")
    done, fired = MEASURED[queue, tick]
    assert finished(rows) == pytest.approx(done, rel=0.05)
    assert len(timeouts(rows)) == len(fired)


def test_the_first_timeout_comes_44_ms_before_the_next_ack() -> None:
    rows = run(50, 0.001, "2000 segments")
    first = next(place for place, row in enumerate(rows) if row.event == "timeout")
    answer = next(row for row in rows[first:] if row.event == "ack")
    assert (answer.us - rows[first].us) / 1e3 == pytest.approx(44, abs=0.5)


@pytest.mark.parametrize("packets", [0, 2000])
@pytest.mark.parametrize(("queue", "tick"), MEASURED)
def test_a_new_run_of_ns2_gives_the_same_events(queue: int, tick: float, packets: int) -> None:
    if not drive.available():
        pytest.skip("ns-2 is not installed: its runs of the early timeout are not made anew")
    send = f"{packets} segments" if packets else "unlimited"
    ns2_rows = drive.run(case(queue, tick, packets))
    assert first_difference(run(queue, tick, send), ns2_rows) is None
