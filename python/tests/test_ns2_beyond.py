"""Tests the packet that a sender of the simulator ns-2 sends beyond the end of its data.

This packet is sent if ns-2's setting `bugfix` is off and a third duplicate ACK comes after all
data has been acknowledged. The packet has the size of a full packet.
"""

from __future__ import annotations

import pytest

from ns2_cases import Row, drive, first_difference, rows_of, scenario_of

#: The settings that the cases have in common.
BASE = {
    **drive.CASE,
    "bugfix": 0,
    "links": "10e6,0.001,1000 1000000,0.05,100",
    "minrto": 0,
    "window": 8,
    "stop": 20.0,
}

#: The delay rises, so all packets except the first two are retransmitted. The retransmissions cause
#: duplicate ACKs.
RENO = {**BASE, "recovery": "reno", "packets": 9, "initial_window": 2, "delays": "0.106,1,2,0.735"}

#: A case with NewReno, in which the delay of the ACKs rises.
NEWRENO = {
    **BASE,
    "recovery": "newreno",
    "packets": 25,
    "initial_window": 5,
    "delays": "0.344,2,1,0.515",
}

#: The case `RENO`, but the packet beyond the data, which is the sender's 18th packet, is lost.
LOST = {**RENO, "drops": "1,2,18"}

#: The last events of ns-2.35 in the case `RENO`.
ANSWER = [
    Row(2515608, "dupack", 9, 11),
    Row(2523608, "dupack", 9, 11),
    Row(2523608, "send", 10, 11),
    Row(2531608, "dupack", 9, 11),
    Row(3319760, "ack", 10, 80),
]


def test_the_third_duplicate_ack_makes_the_sender_send_a_full_packet_beyond_the_data() -> None:
    own_rows = rows_of(scenario_of(RENO).run())
    assert first_difference(own_rows[-len(ANSWER) :], ANSWER) is None, own_rows[-len(ANSWER) :]


@pytest.mark.parametrize("case", [RENO, NEWRENO, LOST], ids=["reno", "newreno", "lost"])
def test_runs_with_packets_beyond_the_data_have_the_events_of_ns2(case: dict[str, object]) -> None:
    if not drive.available():
        pytest.skip("ns-2 is not installed: these cases are not compared")
    assert first_difference(rows_of(scenario_of(case).run()), drive.run(case)) is None
