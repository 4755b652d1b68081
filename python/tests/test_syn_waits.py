"""Tests waits in a handshake with a lost SYN-ACK: SYN and SYN-ACK are retransmitted.

The captures `a`, `m` and `b` are beside the client, in the middle of the path, and beside the
server.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netspurt.captures import explain

from captured_path import captured_between
from conftest import Command

#: A link of the path.
LINK = 'rate = "50 Mbit/s", delay = "10 ms"'


@pytest.fixture(scope="module")
def lost_syn_ack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulate a transfer with a lost first SYN-ACK. Both ends retransmit after 1 s."""
    far = f'{LINK}, loss = ["none", {{ nth = [1] }}]'
    return captured_between(tmp_path_factory.mktemp("syn"), LINK, far, send="100 kB")


@pytest.mark.parametrize("place", ["a", "m"])
def test_a_second_syn_ack_waited_for_no_timer_if_it_answers_a_repeated_syn(
    lost_syn_ack: Path, place: str
) -> None:
    """The timer of the SYN-ACK fires 20 ms before the repeated SYN arrives at the server.

    The server answers this SYN with another SYN-ACK.
    """
    found = explain(lost_syn_ack / f"{place}.pcapng")
    assert len(found.table("retransmissions")) == 2
    waits = found.table("waits").records()
    assert [(wait["timer"], wait["direction"]) for wait in waits] == [("syn", "forward")]


def test_overlapping_waits_of_syn_and_syn_ack_count_once_beside_the_server(
    lost_syn_ack: Path, netspurt: Command
) -> None:
    """Beside the server, the repeated SYN arrives and is answered at one instant."""
    file = lost_syn_ack / "b.pcapng"
    waited_s = explain(file).table("waits").seconds("waited_ns").sum()
    assert waited_s == pytest.approx(2.03, abs=0.01), (
        "the timers of both SYN and SYN-ACK must count"
    )
    (row,) = re.findall(r"^SYN .*", netspurt("explain", file).stdout, re.MULTILINE)
    assert row.endswith("1.02 s"), "time in which both ends wait must count once"
