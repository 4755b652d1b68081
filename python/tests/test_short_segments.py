"""Tests what `netspurt explain` says about Nagle's algorithm, window scaling and policers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from netspurt.analysis.loss_rate import LossLimit
from netspurt.analysis.nagle import _is_short, short_segments
from netspurt.analysis.receive_window import WindowLimit, _unscaled_by, window_limits
from netspurt.captures import explain
from netspurt.report.findings import finding

from conftest import Command
from made_up_captures import ACK, SYN, SYN_ACK, MadeUp, Transfer, made_up

#: The flags of a segment that ends a message.
PSH_ACK = 0x18
#: The round trip of the path, and the delay of the receiver's ACKs [s].
RTT_S, DELAY_S = 0.02, 0.04


def one_at_a_time(
    length: int, *, count: int = 40, thinks_s: float = 50e-6, beside: int = 0
) -> bytes:
    """Return a capture of a sender that has one segment outstanding at a time.

    After each ACK, the sender waits for `thinks_s`, and then sends the next segment. `beside` is
    the end beside which the capture was taken; end 0 sends the data.
    """
    away = 0.0 if beside == 0 else RTT_S / 2
    packets: list[MadeUp] = [
        (away, 0, 0, 0, SYN, 60_000, 0),
        (RTT_S - away, 1, 0, 1, SYN_ACK, 60_000, 0),
        (RTT_S + away, 0, 1, 1, ACK, 60_000, 0),
    ]
    at = RTT_S + 1e-3
    for n in range(count):
        packets.append((at + away, 0, 1 + n * length, 1, PSH_ACK, 60_000, length))
        at += RTT_S + DELAY_S
        packets.append((at - away, 1, 1, 1 + (n + 1) * length, ACK, 60_000, 0))
        at += thinks_s
    return made_up(sorted(packets))


def test_nagles_algorithm_explains_short_segments_that_wait_for_acks(
    tmp_path: Path, netspurt: Command
) -> None:
    file = tmp_path / "short.pcap"
    file.write_bytes(one_at_a_time(100))
    found = explain(file)
    (short,) = short_segments(found.tables)
    assert (short.source, short.destination, short.outstanding_bytes) == (
        "10.0.0.1",
        "10.0.0.2",
        100,
    )
    assert short.rtt_s == pytest.approx(RTT_S + DELAY_S, rel=0.02)
    words = " ".join(netspurt("explain", file).stdout.split())
    assert "data on its way (short segments waited for the ACK of the segment before)" in words
    assert "never had more than one short segment outstanding, with at most 100 octets" in words
    assert (
        "The ACKs took 59 ms on average, but the handshake's round trip took only 20 ms. So "
        "10.0.0.2 may delay ACKs, or data waited in a queue or for a slow link." in words
    )
    assert "let the application at 10.0.0.1 write each message with one call" in words
    assert "Nagle's algorithm" in finding(found, [])
    for handshake_s, rtt_s in ((0.05, short.rtt_s), (0.0001, 0.01)):
        prompt = replace(short, handshake_s=handshake_s, rtt_s=rtt_s).sentence("it")
        assert "on average. To mend this" in prompt


@pytest.mark.parametrize(
    ("segment", "mss", "own_mss", "is_short"),
    [
        (1000, 1460, 1460, True),
        (536, 1460, 536, False),
        (1448, 1460, 1460, False),
        (1400, None, 1460, False),
    ],
)
def test_segments_of_different_sizes_below_the_smaller_mss_are_short(
    segment: int, mss: int | None, own_mss: int, is_short: bool
) -> None:
    row = {
        "mss_bytes": own_mss,
        "timestamps": True,
        "segment_bytes_max": segment,
        "data_packets": 100,
        "retransmissions": 0,
        "unique_bytes": 50 * segment,
        "outstanding_bytes_max": segment,
        "rtt_ns_mean": 20e6,
    }
    assert _is_short(row, {"mss_bytes": mss}) == is_short
    assert not _is_short({**row, "unique_bytes": 99 * segment}, {"mss_bytes": mss})


@pytest.mark.parametrize(
    "capture",
    [
        one_at_a_time(536),  # The receiver's MSS is not known, so a full segment has 536 octets.
        one_at_a_time(600),
        one_at_a_time(100, thinks_s=0.03),  # The application has no data when the ACK comes.
        one_at_a_time(100, count=9),
        one_at_a_time(100, beside=1),
    ],
    ids=["full", "larger", "an application that thinks", "few segments", "beside the receiver"],
)
def test_nagles_algorithm_does_not_explain_every_transfer_of_single_segments(
    capture: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "other.pcap"
    file.write_bytes(capture)
    assert short_segments(explain(file).tables) == []


def limit_of(tmp_path: Path, buffer: int) -> WindowLimit:
    """Return the limit of a sender that fills the window of a receiver with this buffer."""
    file = tmp_path / f"{buffer}.pcap"
    file.write_bytes(Transfer(pace_s=0.1e-3, cwnd=200_000, buffer=buffer).capture(8000))
    (limit,) = window_limits(explain(file).tables)
    return limit


def test_a_window_of_65535_octets_without_scaling_is_not_blamed_on_the_buffer(
    tmp_path: Path,
) -> None:
    limit = limit_of(tmp_path, 65_535)
    assert limit.unscaled_by == "10.0.0.1"
    words = limit.sentence("it")
    assert "because the SYN of 10.0.0.1 came without the option for window scaling" in words
    assert "A larger receive buffer does not help. Switch window scaling on at 10.0.0.1" in words
    queue = replace(limit, trip=replace(limit.trip, min_s=limit.trip.mean_s / 2)).sentence("it")
    assert "So data waited in a queue. Window scaling at 10.0.0.1 helps only if other" in queue
    assert "Switch window scaling on" not in queue
    below = replace(limit, outstanding_bytes=40_000, window_bytes_min=20_000).sentence("it")
    assert "made its window larger" in below, "the largest window was never full"
    small = limit_of(tmp_path, 64_000)
    assert small.unscaled_by is None
    assert "A larger receive buffer at 10.0.0.2 helps." in small.sentence("it")


@pytest.mark.parametrize(
    ("first", "second", "syns", "told"),
    [
        (None, None, 1, "a"),
        (7, None, 1, "b"),
        (7, None, 4, "a or b"),
        (7, 7, 1, None),
    ],
)
def test_the_end_whose_syn_did_not_offer_window_scaling_is_named(
    first: int | None, second: int | None, syns: int, told: str | None
) -> None:
    row = {"direction": "forward", "source": "a", "window_scale": first, "syns": syns}
    back = {"direction": "reverse", "source": "b", "window_scale": second, "syns": 1}
    assert _unscaled_by(row, back, 65_535) == _unscaled_by(back, row, 65_535) == told
    assert _unscaled_by(row, back, 64_000) is None


def test_a_window_that_is_full_only_while_it_grows_needs_a_larger_initial_buffer(
    tmp_path: Path,
) -> None:
    limit = limit_of(tmp_path, 60_000)
    assert not limit.has_grown
    grown = replace(limit, window_bytes=400_000, outstanding_bytes=250_000)
    assert grown.has_grown
    words = grown.sentence("it")
    assert "made its window larger during the transfer, up to 400,000 octets" in words
    assert "at most 250,000 octets were outstanding" in words
    assert "the second number of net.ipv4.tcp_rmem" in words
    assert not replace(grown, outstanding_bytes=300_001).has_grown, (
        "a window that was nearly full limited the rate by itself"
    )
    assert not replace(grown, open_share=0.9).has_grown, (
        "an application that reads slowly limited the rate"
    )
    assert not replace(grown, trip=replace(grown.trip, of_data=False)).has_grown


def test_losses_in_groups_without_a_queue_may_come_from_a_policer() -> None:
    limit = LossLimit(
        connection=0,
        direction="forward",
        cuts=10,
        packets=1000,
        lost=30,
        rtt_s=0.03,
        rtt_seen=True,
        formula_bps=5e6,
        had_bps=5e6,
        window_bytes=None,
    )
    words = limit.policer_sentence()
    assert words.startswith("30 packets were lost, 3 at a time on average, while round trips")
    assert "a short queue overflowed" in words
    for unlike in (
        replace(limit, lost=29),
        replace(limit, rtt_seen=False),
        replace(limit, is_delay_varied=True),
    ):
        assert unlike.policer_sentence() == ""
