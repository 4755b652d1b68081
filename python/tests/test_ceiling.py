"""Tests that `netspurt explain` finds ceilings in captures.

A ceiling is a number of outstanding octets that a sender reaches again and again, but does not
exceed. A ceiling may show that the sender has a limit of its own, such as a full send buffer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from netspurt.analysis.ceiling import ceilings
from netspurt.captures import explain

from conftest import Command
from made_up_captures import ACK, HALF_S, SEGMENT, SYN, SYN_ACK, MadeUp, made_up

#: The octets that are outstanding in a round trip in which the send buffer is full.
CEILING = 120 * SEGMENT


def bursts(
    segments: Iterable[int],
    window: int,
    *,
    lost: int | None = None,
    beside_receiver: bool = False,
) -> bytes:
    """Return a capture of a sender that sends one burst in each round trip.

    The list `segments` has the number of segments of each burst. The receive window is `window`
    octets. In the round trip with the number `lost`, one segment is sent a second time. The capture
    is taken beside the receiver if `beside_receiver` is true, and beside the sender otherwise.
    """
    answered = 1e-4 if beside_receiver else 2 * HALF_S - 1e-4
    packets: list[MadeUp] = [
        (0.0, 0, 0, 0, SYN, 60_000, 0),
        (answered, 1, 0, 1, SYN_ACK, window, 0),
        (2 * HALF_S, 0, 1, 1, ACK, 60_000, 0),
    ]
    octet = 1
    for trip, many in enumerate(segments):
        at = 2 * HALF_S * (trip + 1) + 1e-5
        begin = octet
        for n in range(many):
            packets.append((at + 1e-5 * n, 0, octet, 1, ACK, 60_000, SEGMENT))
            octet += SEGMENT
        if trip == lost:
            packets.append((at + 1e-5 * many, 0, begin, 1, ACK, 60_000, SEGMENT))
        packets.append((at + max(answered, 1e-5 * (many + 1)), 1, 1, octet, ACK, window, 0))
    return made_up(packets)


#: The number of segments of each burst. The application refills its send buffer when a part of the
#: buffer is free.
REFILLED = [(120, 60, 20)[trip % 3] for trip in range(90)]


@pytest.fixture
def refilled(tmp_path: Path) -> Path:
    """Return a capture of the bursts `REFILLED`."""
    file = tmp_path / "refilled.pcap"
    file.write_bytes(bursts(REFILLED, window=65_000))
    return file


def test_a_ceiling_of_outstanding_octets_shows_a_limit_of_the_sender(
    refilled: Path, netspurt: Command
) -> None:
    found = explain(refilled)
    (limit,) = ceilings(found.tables)
    assert limit.outstanding_bytes == CEILING
    assert limit.full_round_trips in {28, 29}, "the first 128 KiB do not count"
    assert limit.round_trips == pytest.approx(3 * limit.full_round_trips, abs=3)
    assert limit.rtt_s == pytest.approx(2 * HALF_S, rel=0.05)
    assert limit.most_bps == pytest.approx(8 * CEILING / (2 * HALF_S), rel=0.05)
    told = " ".join(netspurt("explain", refilled).stdout.split())
    assert "data on its way (a limit of the sender: its send buffer, congestion window" in told
    assert "The sender of connection 0 never had more than 60,000 octets outstanding" in told
    assert "the receive window had room. So the sender has a limit of its own. Look first" in told


def test_without_a_syn_the_receive_window_may_explain_a_ceiling(
    refilled: Path,
) -> None:
    (limit,) = ceilings(explain(refilled).tables)
    told = replace(limit, window_unknown=True).sentence("it")
    assert "had room. So" not in told
    assert "If the receive window had room, the sender has a limit of its own." in told


@pytest.mark.parametrize(
    ("segments", "lost"),
    [
        pytest.param(range(60, 130), None, id="growing outstanding octets"),
        pytest.param(REFILLED[:57], None, id="few round trips"),
        pytest.param(REFILLED, 45, id="a retransmission"),
    ],
)
def test_a_transfer_has_no_ceiling_if_its_outstanding_data_grows_or_if_it_ends_early_or_retransmits(
    tmp_path: Path, segments: Iterable[int], lost: int | None
) -> None:
    file = tmp_path / "other.pcap"
    file.write_bytes(bursts(segments, window=65_000, lost=lost))
    assert len(explain(file).table("ceilings")) == 0


@pytest.mark.parametrize(
    ("segments", "window"),
    [
        pytest.param(REFILLED, CEILING, id="a full receive window"),
        pytest.param([125, *REFILLED], 65_000, id="more outstanding octets before"),
        pytest.param([*REFILLED, *[1] * 120], 65_000, id="a short part of the time"),
    ],
)
def test_a_ceiling_that_something_else_explains_is_no_limit_of_the_sender(
    tmp_path: Path, segments: Iterable[int], window: int
) -> None:
    file = tmp_path / "other.pcap"
    file.write_bytes(bursts(segments, window=window))
    found = explain(file)
    assert len(found.table("ceilings")) == 1
    assert ceilings(found.tables) == []


def test_a_capture_beside_the_receiver_shows_no_limit_of_the_sender(tmp_path: Path) -> None:
    file = tmp_path / "receiver.pcap"
    file.write_bytes(bursts(REFILLED, window=65_000, beside_receiver=True))
    found = explain(file)
    assert found.table("connections")["data_packets"].max() == sum(REFILLED)
    assert ceilings(found.tables) == []
