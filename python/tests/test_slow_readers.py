"""Tests that a small receive buffer is distinguished from an application that reads slowly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from netspurt.analysis.full_link import full_links
from netspurt.analysis.receive_window import _both_ways, slow_readers, window_limits
from netspurt.captures import Explained, explain
from netspurt.report.findings import finding

from captured_path import captured
from conftest import Command
from made_up_captures import ACK, HALF_S, SEGMENT, SYN, SYN_ACK, MadeUp, Transfer, made_up

#: The rate of an application that reads 12,500 octets in 25 ms [bit/s].
READ_BPS = 8 * 12_500 / 0.025
#: The times between two segments of a sender [s]: a little less than the reader needs for a
#: segment, or much less.
PACES = {"paced": 0.95e-3, "burst": 0.1e-3}


def reading(folder: Path, pace: str, beside: int = 0) -> Path:
    """Return a capture of a transfer to an application that reads slowly.

    `beside` is 0 for a capture beside the sender, and 1 beside the receiver.
    """
    file = folder / f"{pace}-{beside}.pcap"
    slow = Transfer(pace_s=PACES[pace], reads_s=0.025, read=12_500, beside=beside)
    file.write_bytes(slow.capture(8000))
    return file


def share(found: Explained, part: str) -> float:
    """Return the share of its time that the only connection of a capture spent in this part."""
    (spent,) = found.table("spent").records()
    return float(spent[f"{part}_ns"] / sum(v for name, v in spent.items() if name.endswith("_ns")))


def told(netspurt: Command, file: Path) -> str:
    """Return what `netspurt explain` prints, in one line."""
    result = netspurt("explain", file)
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


@pytest.mark.parametrize("pace", PACES)
def test_a_slow_reader_is_named_in_place_of_a_full_link(
    tmp_path: Path, netspurt: Command, pace: str
) -> None:
    file = reading(tmp_path, pace)
    found = explain(file)
    assert share(found, "receive_window") > 0.8
    assert full_links(found.tables) == []
    (limit,) = window_limits(found.tables)
    assert limit.is_slow
    assert limit.had_bps == pytest.approx(READ_BPS, rel=0.05)
    assert limit.mean_bytes < 0.75 * limit.window_bytes
    words = told(netspurt, file)
    assert "because the application at 10.0.0.2 read more slowly than data could come" in words
    assert "An application that reads faster helps. A larger receive buffer does not" in words
    assert "link of the path was full" not in words
    assert "read more slowly" in finding(found, [])


@pytest.mark.parametrize("pace", PACES)
def test_a_slow_reader_is_named_beside_the_receiver_but_a_full_link_is_not_named(
    tmp_path: Path, netspurt: Command, pace: str
) -> None:
    file = reading(tmp_path, pace, beside=1)
    found = explain(file)
    assert full_links(found.tables) == []
    limits = [*window_limits(found.tables), *slow_readers(found.tables)]
    assert [limit.is_slow for limit in limits] == [True]
    words = told(netspurt, file)
    assert "link of the path was full" not in words
    assert "read more slowly" in words


@pytest.mark.parametrize("beside", [0, 1])
def test_an_application_that_reads_a_small_buffer_immediately_is_no_slow_reader(
    tmp_path: Path, netspurt: Command, beside: int
) -> None:
    file = tmp_path / "small.pcap"
    file.write_bytes(Transfer(pace_s=0.2e-3, cwnd=100_000, beside=beside).capture(8000))
    found = explain(file)
    assert share(found, "receive_window") > 0.9
    (limit,) = window_limits(found.tables)
    assert limit.is_open
    assert slow_readers(found.tables) == []
    words = told(netspurt, file)
    assert "A larger receive buffer at 10.0.0.2 helps." in words
    assert "reads faster" not in words
    if beside == 0:
        # If round trips of data take much longer than the round trip of the handshake, the ACKs may
        # wait for the application.
        assert not limit.answers_late
        never = replace(limit, window_bytes=0).sentence("it")
        assert "every window of 10.0.0.2 was zero" in never
        late = replace(limit, handshake_s=limit.trip.min_s / 5).sentence("it")
        assert "helps." not in late
        assert "may help. The shortest round trip of data took 40 ms, but the handshake's" in late
        assert "handshake's round trip took only 8 ms. So acknowledgments may wait until" in late


def test_a_larger_buffer_may_not_help_if_the_window_is_mostly_open(
    tmp_path: Path, netspurt: Command
) -> None:
    """The application reads 18,000 octets in 20 ms; the window allows a higher rate."""
    file = tmp_path / "most.pcap"
    file.write_bytes(Transfer(pace_s=0.1e-3, reads_s=0.02, read=18_000).capture(3000))
    (limit,) = window_limits(explain(file).tables)
    assert 0.75 < limit.open_share < 0.95
    assert limit.had_bps == pytest.approx(8 * 18_000 / 0.02, rel=0.05)
    assert limit.had_bps < 0.85 * limit.allowed_bps
    words = told(netspurt, file)
    assert "A larger receive buffer at 10.0.0.2, or an application that reads faster, may" in words
    assert "had not read made the window 11% smaller on average. If this application" in words
    assert "cannot read faster than 7.06 Mbit/s, a larger buffer does not help for long." in words


def test_a_window_that_is_not_filled_is_no_limit(tmp_path: Path) -> None:
    file = tmp_path / "cwnd.pcap"
    file.write_bytes(Transfer(pace_s=0.2e-3, cwnd=20_000).capture(8000))
    found = explain(file)
    assert share(found, "receive_window") < 0.01
    assert window_limits(found.tables) == []


def test_a_sender_that_had_sent_all_data_was_not_held_back_by_a_slow_reader(tmp_path: Path) -> None:
    more = 'app = { reply = "700 B", requests = 60, serve = "30 ms" }'
    found = explain(captured(tmp_path, send="100 B", more=more) / "a.pcapng")
    opened = found.table("connections").where(direction="forward")["window_open_share"]
    assert opened[0] < 0.75, "the window must be clearly smaller than its maximum"
    assert slow_readers(found.tables) == []


def test_no_single_window_is_named_if_both_ends_sent_much_data(tmp_path: Path) -> None:
    def ways(octets: int) -> list[dict[str, object]]:
        return [
            {"unique_bytes": 1000, "destination": "10.0.0.2"},
            {"unique_bytes": octets, "destination": "10.0.0.1"},
        ]

    assert _both_ways(ways(249)) is None
    assert _both_ways(ways(1000)[:1]) is None
    either = _both_ways(ways(250))
    assert either == ("10.0.0.2", "10.0.0.1")
    (limit,) = window_limits(explain(reading(tmp_path, "burst")).tables)
    assert limit.both_ways is None
    words = replace(limit, both_ways=either).sentence("connection 0")
    assert "this may be the window of 10.0.0.2 or 10.0.0.1. A larger" in words


def test_an_application_that_stopped_reading_once_is_distinguished_from_a_slow_one(
    tmp_path: Path, netspurt: Command
) -> None:
    trip_s, octets = 2 * HALF_S, 60_000
    packets: list[MadeUp] = [
        (0.0, 0, 0, 0, SYN, octets, 0),
        (trip_s, 1, 0, 1, SYN_ACK, octets, 0),
        (trip_s + 1e-5, 0, 1, 1, ACK, octets, 0),
    ]
    for begin, start_s in ((1, 0.1), (1 + octets, 2.3)):
        for n in range(octets // SEGMENT):
            at, octet = start_s + 1e-4 * n, begin + SEGMENT * n
            # The application reads the first window only at 2.29 s, and the second one at once.
            window = octets if begin > 1 else octets - SEGMENT * (n + 1)
            packets.append((at, 0, octet, 1, ACK, octets, SEGMENT))
            packets.append((at + trip_s, 1, 1, octet + SEGMENT, ACK, window, 0))
    packets.append((2.29, 1, 1, 1 + octets, ACK, octets, 0))
    file = tmp_path / "stopped.pcap"
    file.write_bytes(made_up(sorted(packets)))
    (limit,) = window_limits(explain(file).tables)
    assert (limit.is_slow, limit.closed, limit.stopped_once) == (True, 1, True)
    assert limit.closed_s == pytest.approx(2.14, abs=0.02)
    words = told(netspurt, file)
    assert "because the application at 10.0.0.2 stopped reading once" in words
    assert "and 10.0.0.2 closed it once, for 2.1" in words
