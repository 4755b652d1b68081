"""Tests what `netspurt explain` says about senders that stop and receivers with unread data.

A sender stops because its application wrote no more data, because its send buffer is full, or
because of Nagle's algorithm.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from netspurt.analysis.ceiling import ceilings
from netspurt.analysis.full_link import full_links
from netspurt.analysis.held import held_segments
from netspurt.analysis.long_trips import long_trips
from netspurt.analysis.paced import paced
from netspurt.analysis.stopped import all_stopped
from netspurt.analysis.unread import unread
from netspurt.captures import explain
from netspurt.report.findings import finding

from captured_path import captured_between
from conftest import Command
from made_up_captures import ACK, HALF_S, SEGMENT, SYN, SYN_ACK, MadeUp, made_up

#: The flags of a segment that ends a message, and of a segment that ends a direction.
PSH_ACK, FIN_ACK = 0x18, 0x11
#: The time that the link needs for a segment [s], and the number of segments in a burst.
STEP_S, BURST = 0.001, 40
#: The round trip of the path [s].
RTT_S = 2 * HALF_S


def opened(*, beside: bool = True) -> list[MadeUp]:
    """Return the handshake, captured beside end 0 or in the middle of the path."""
    return [
        (0.0, 0, 0, 0, SYN, 60_000, 0),
        (RTT_S if beside else HALF_S, 1, 0, 1, SYN_ACK, 65_000, 0),
        (RTT_S + 1e-5, 0, 1, 1, ACK, 60_000, 0),
    ]


def bursts(
    many: int,
    *,
    every_s: float | None = None,
    refill: int = 0,
    beside: bool = True,
    burst: int = BURST,
    step_s: float = STEP_S,
) -> bytes:
    """Return a capture of bursts over a link, beside their sender or in the middle of the path.

    A burst leaves `every_s` after the burst before it. If `every_s` is `None`, the sender waits for
    room in its send buffer. Then a burst leaves 50 µs after an ACK, when the number of outstanding
    segments has fallen to `refill`.
    """
    packets, octet, idle_at, start = opened(beside=beside), 1, 0.0, 2 * RTT_S
    near_s = 0.0 if beside else HALF_S
    for _ in range(many):
        acks: list[tuple[float, int]] = []
        for n in range(burst):
            at = start + 1e-5 * n
            packets.append((at, 0, octet, 1, ACK, 60_000, SEGMENT))
            octet += SEGMENT
            idle_at = max(idle_at, at + HALF_S) + step_s
            if n % 2:
                acks.append((idle_at + HALF_S, octet))
        packets += [(at - near_s, 1, 1, upto, ACK, 65_000, 0) for at, upto in acks]
        last = len(acks) - 1 - refill // 2
        start = acks[last][0] + 5e-5 if every_s is None else start + every_s
    return made_up(sorted(packets))


@pytest.mark.parametrize(
    ("every_s", "for_buffer", "words"),
    [
        (0.1003, False, "had sent all the data that its application had written"),
        (None, True, "So most likely the send buffer at 10.0.0.1 was full"),
    ],
)
def test_bursts_do_not_fill_a_link_if_they_leave_it_idle(
    tmp_path: Path, netspurt: Command, every_s: float | None, for_buffer: bool, words: str
) -> None:
    file = tmp_path / "bursts.pcap"
    file.write_bytes(bursts(120, every_s=every_s, refill=4))
    tables = explain(file).tables
    (steady,) = tables["steady"].each()
    assert steady["rtt_ns_mean"] > 1.25 * steady["rtt_ns_low"], (
        "the bursts must make the round trips longer"
    )
    assert full_links(tables) == []
    (stopped,) = all_stopped(tables)
    assert stopped.for_buffer == for_buffer
    assert stopped.share > 0.2
    assert paced(tables) == []
    assert ceilings(tables) == []
    output = " ".join(netspurt("explain", file).stdout.split())
    assert words in output
    assert ("data on its way (a limit of the sender" in output) == for_buffer


@pytest.mark.parametrize(("refill", "every_s"), [(4, None), (0, 0.1003)])
def test_the_finding_says_why_the_sender_stopped(
    tmp_path: Path, netspurt: Command, refill: int, every_s: float | None
) -> None:
    file = tmp_path / "bursts.pcap"
    file.write_bytes(bursts(120, every_s=every_s, refill=refill))
    found = explain(file)
    lines = netspurt("explain", file).stdout.splitlines()
    (stopped,) = all_stopped(found.tables)
    assert stopped.sentence("c0") in finding(found, lines)


def test_a_link_with_short_idle_times_between_bursts_is_not_full(
    tmp_path: Path, netspurt: Command
) -> None:
    file = tmp_path / "bursts.pcap"
    file.write_bytes(bursts(120, every_s=0.0603))
    tables = explain(file).tables
    assert (full_links(tables), all_stopped(tables)) == ([], [])
    (limit,) = paced(tables)
    assert limit.was_idle
    output = " ".join(netspurt("explain", file).stdout.split())
    assert "So the slowest link was not full all the time: the sender itself was" in output


def test_no_full_send_buffer_is_named_without_the_window_scale(tmp_path: Path) -> None:
    """Without the SYN of the sender, the window may have been the limit."""
    file = tmp_path / "bursts.pcap"
    whole = bursts(120, refill=4)
    file.write_bytes(whole)
    assert [one.for_buffer for one in all_stopped(explain(file).tables)] == [True]
    record = 16 + 40
    file.write_bytes(whole[:24] + whole[24 + record :])
    tables = explain(file).tables
    assert (full_links(tables), all_stopped(tables)) == ([], [])


def test_uneven_arrivals_and_an_empty_queue_show_an_idle_link(tmp_path: Path) -> None:
    """Half of the round trip lies between the sender and the capture."""
    file = tmp_path / "bursts.pcap"
    file.write_bytes(bursts(120, every_s=0.1003, beside=False, burst=120, step_s=3e-4))
    tables = explain(file).tables
    (steady,) = tables["steady"].each()
    assert steady["delivered_variation"] > 0.1
    assert (full_links(tables), all_stopped(tables), long_trips(tables)) == ([], [], [])


def test_long_round_trips_at_a_changing_rate_are_named(tmp_path: Path, netspurt: Command) -> None:
    link = (
        'rate = { timeline = [["0 s", "8 Mbit/s"], ["1 s", "2 Mbit/s"], ["3 s", "16 Mbit/s"]] }, '
        'delay = "20 ms", queue = "500 packets"'
    )
    fast = 'rate = "1 Gbit/s", delay = "5 ms"'
    folder = captured_between(tmp_path, fast, link, send="6 MB")
    for node in "am":
        found = explain(folder / f"{node}.pcapng")
        assert full_links(found.tables) == []
        (limit,) = long_trips(found.tables)
        assert limit.rtt_s > 2 * limit.rtt_s_min
        output = " ".join(netspurt("explain", folder / f"{node}.pcapng").stdout.split())
        assert "data on its way (round trips were long: a queue, or a delay that varied)" in output
        assert "So data or ACKs waited in a queue for most of a round trip" in output


def test_bursts_fill_a_link_if_they_never_leave_it_idle(tmp_path: Path) -> None:
    file = tmp_path / "bursts.pcap"
    file.write_bytes(bursts(120, every_s=BURST * STEP_S - 1e-4))
    assert len(full_links(explain(file).tables)) == 1


def messages(many: int, held: bool) -> bytes:
    """Return a capture of messages; each has two full segments and a short one, and gets a reply.

    If `held` is true, the short segment waits until the full ones are acknowledged.
    """
    packets, octet, reply, at = opened(), 1, 1, 2 * RTT_S
    for _ in range(many):
        end = octet + 2 * SEGMENT
        for begin in (octet, octet + SEGMENT):
            packets.append((at, 0, begin, reply, ACK, 60_000, SEGMENT))
        packets.append((at + RTT_S, 1, reply, end, ACK, 65_000, 0))
        late = RTT_S + 5e-5 if held else 1e-5
        packets.append((at + late, 0, end, reply, PSH_ACK, 60_000, 200))
        octet = end + 200
        at += late + RTT_S
        packets.append((at, 1, reply, octet, PSH_ACK, 65_000, 100))
        reply, at = reply + 100, at + 1e-4
    return made_up(sorted(packets))


def test_messages_whose_short_end_waits_for_an_ack_show_nagles_algorithm(
    tmp_path: Path, netspurt: Command
) -> None:
    file = tmp_path / "messages.pcap"
    file.write_bytes(messages(30, held=False))
    assert held_segments(explain(file).tables) == []
    file.write_bytes(messages(30, held=True))
    (held,) = held_segments(explain(file).tables)
    assert held.share == pytest.approx(0.5, abs=0.03)
    output = " ".join(netspurt("explain", file).stdout.split())
    assert "a short segment waited at 10.0.0.1 until an ACK came" in output
    assert "data on its way (short segments waited for the ACK of the segment before)" in output
    file.write_bytes(messages(5, held=True))
    assert held_segments(explain(file).tables) == [], "five waits must be too few"


@pytest.mark.parametrize("reads", [True, False])
def test_a_receiver_with_unread_data_is_named_if_it_closes_the_connection_late(
    tmp_path: Path, netspurt: Command, reads: bool
) -> None:
    packets, octets = opened(), 80 * SEGMENT
    for n in range(80):
        end = 1 + SEGMENT * (n + 1)
        at = 2 * RTT_S + 1e-4 * n
        packets.append((at, 0, 1 + SEGMENT * n, 1, ACK, 60_000, SEGMENT))
        packets.append((at + RTT_S, 1, 1, end, ACK, 65_000 if reads else 65_001 - end, 0))
    packets.append((4 * RTT_S, 0, 1 + octets, 1, FIN_ACK, 60_000, 0))
    packets.append((5 * RTT_S, 1, 1, 2 + octets, ACK, 65_000 if reads else 25_000, 0))
    packets.append((3.0, 1, 1, 2 + octets, FIN_ACK, 65_000, 0))
    packets.append((3.0 + 1e-5, 0, 2 + octets, 2, ACK, 60_000, 0))
    file = tmp_path / "unread.pcap"
    file.write_bytes(made_up(sorted(packets)))
    found = unread(explain(file).tables)
    assert len(found) == (0 if reads else 1)
    output = " ".join(netspurt("explain", file).stdout.split())
    assert ("had not read all data, and the connection" in output) == (not reads)
