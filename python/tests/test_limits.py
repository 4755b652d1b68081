"""Tests which limit is named for a captured connection: receive window, full link or losses."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from netspurt.analysis.full_link import full_links
from netspurt.analysis.loss_rate import loss_limits
from netspurt.analysis.receive_window import window_limits
from netspurt.captures import Explained, explain
from netspurt.report.findings import finding

from captured_path import captured, captured_between
from conftest import Command
from made_up_captures import ACK, SYN, SYN_ACK, MadeUp, made_up

#: A receive buffer of ten segments of 1448 octets. Only payload counts in it, not memory.
SMALL = """tcp.receive.counts_memory = false
tcp.receive_buffer = "14480 B"
"""


def share(found: Explained, part: str) -> float:
    """Return the share of time that the only connection of a capture spent on this part."""
    (spent,) = found.table("spent").records()
    whole = sum(value for name, value in spent.items() if name.endswith("_ns"))
    return float(spent[f"{part}_ns"] / whole)


def without_handshake(capture: bytes) -> bytes:
    """Return a pcapng capture without its first three packets."""
    kept, packets = b"", 0
    while capture:
        kind, length = struct.unpack("<II", capture[:8])
        packets += kind == _PACKET
        if kind != _PACKET or packets > 3:
            kept += capture[:length]
        capture = capture[length:]
    return kept


#: The type of a pcapng block that holds a packet.
_PACKET = 6


def explanation(netspurt: Command, file: Path) -> str:
    """Return what `netspurt explain` prints about a capture, on one line."""
    result = netspurt("explain", file)
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


def test_a_limiting_receive_window_is_named_with_its_rate_in_captures_at_both_ends(
    tmp_path: Path, netspurt: Command
) -> None:
    folder = captured(tmp_path, more=SMALL)
    for end in ("a", "b"):
        found = explain(folder / f"{end}.pcapng")
        assert share(found, "receive_window") > 0.85, end
        (limit,) = window_limits(found.tables)
        assert limit.window_bytes == 14_480
        # The round trip takes 50 ms. Delayed ACKs make its mean about 3 ms longer.
        assert 0.9 < limit.allowed_bps / (8 * 14_480 / 0.05) <= 1
        assert limit.is_open
        words = explanation(netspurt, folder / f"{end}.pcapng")
        assert "announced at most 14,480 octets" in words
        assert f"A larger receive buffer at {limit.receiver} helps." in words


def test_a_large_receive_window_is_not_named_as_a_limit_at_either_end(tmp_path: Path) -> None:
    folder = captured(tmp_path, loss=0.01, more=SMALL.replace("14480 B", "4194304 B"))
    for end in ("a", "b"):
        found = explain(folder / f"{end}.pcapng")
        assert share(found, "receive_window") < 0.01, end
        assert window_limits(found.tables) == []


def test_with_a_small_receive_window_the_text_does_not_advise_fewer_losses(
    tmp_path: Path, netspurt: Command
) -> None:
    folder = captured(tmp_path, more=SMALL, loss=0.02)
    (limit,) = loss_limits(explain(folder / "a.pcapng").tables)
    assert limit.window_bps is not None
    assert limit.had_bps < limit.window_bps
    words = explanation(netspurt, folder / "a.pcapng")
    assert "Losses limited the rate" in words
    assert "The receive window, 14,480 octets at most, allows at most" in words
    assert "The rate doubles" not in words
    assert "BBR" not in words


def test_with_a_large_receive_window_the_text_says_what_doubles_the_rate(
    tmp_path: Path, netspurt: Command
) -> None:
    words = explanation(netspurt, captured(tmp_path, loss=0.01) / "a.pcapng")
    assert "data on its way (the congestion window, which losses kept small)" in words
    assert (
        "The rate doubles with a quarter of the losses, or with half the round trip, unless"
        in words
    )
    assert "Other congestion control, such as BBR, may be faster on this path." in words


def test_a_constant_rate_with_longer_round_trips_shows_a_full_link(
    tmp_path: Path, netspurt: Command
) -> None:
    folder = captured(tmp_path, rate="4 Mbit/s")
    (limit,) = full_links(explain(folder / "a.pcapng").tables)
    assert limit.rate_bps == pytest.approx(4e6 * 1448 / 1500, rel=0.05)
    assert limit.rtt_s is not None
    assert limit.rtt_s_min is not None
    assert limit.rtt_s > 2 * limit.rtt_s_min
    words = explanation(netspurt, folder / "a.pcapng")
    assert "most likely the slowest link of the path was full" in words
    assert "data on its way (most likely the slowest link was full)" in words


@pytest.mark.parametrize(
    "words",
    [
        {"loss": 0.01},
        {"more": SMALL},
        {"send": "200 kB", "rate": "1 Gbit/s"},
        {"loss": 0.01, "congestion": "bbr"},
    ],
    ids=["losses", "receive window", "short", "bbr"],
)
def test_no_link_is_full_if_round_trips_stay_short(tmp_path: Path, words: dict[str, Any]) -> None:
    assert full_links(explain(captured(tmp_path, **words) / "a.pcapng").tables) == []


def test_an_application_that_sends_at_a_constant_rate_fills_no_link(tmp_path: Path) -> None:
    more = 'app = { reply = "20 kB", requests = 60, think = "60 ms", serve = "2 ms" }'
    folder = captured(tmp_path, send="10 kB", more=more)
    assert full_links(explain(folder / "a.pcapng").tables) == []


def test_bbr_spends_less_than_5_percent_of_its_time_on_repair(tmp_path: Path) -> None:
    found = explain(captured(tmp_path, loss=0.01, congestion="bbr", send="8 MB") / "a.pcapng")
    assert len(found.table("retransmissions")) > 40
    assert share(found, "repair") < 0.05


def test_a_cubic_sender_spends_1_to_20_percent_of_the_time_on_repair(
    tmp_path: Path,
) -> None:
    found = explain(captured(tmp_path, loss=0.01, send="8 MB") / "a.pcapng")
    assert 0.01 < share(found, "repair") < 0.2


def test_the_longest_connections_are_listed_even_without_losses(
    tmp_path: Path, netspurt: Command
) -> None:
    more = """[flows.y]
from = "a"
to = "b"
profile = "linux-6"
send = "300 kB"
tcp.receive.counts_memory = false
tcp.receive_buffer = "14480 B"
"""
    words = explanation(netspurt, captured(tmp_path, more=more) / "a.pcapng")
    assert "No retransmissions were seen." in words
    listed = words.partition("Longest connections first: ")[2]
    assert "connection 1: " in listed
    assert "mostly receive window" in listed
    assert "; 300,000 octets" in listed


@pytest.mark.parametrize("loss", [0, 0.01])
def test_the_receive_window_has_about_the_same_share_of_time_at_both_ends(
    tmp_path: Path, loss: float
) -> None:
    """The share beside the sender may be larger.

    A capture beside the sender shows which data fills the window. In such a capture, the round trip
    before this data also counts as time of the receive window.
    """
    folder = captured(tmp_path, more=SMALL, loss=loss)
    sender, receiver = (
        share(explain(folder / f"{node}.pcapng"), "receive_window") for node in "ab"
    )
    assert sender > 0.1
    assert sender - 0.07 < receiver < sender + 0.01


def test_beside_the_receiver_only_a_window_of_unknown_scale_is_a_possible_limit(
    tmp_path: Path,
) -> None:
    folder = captured(tmp_path, loss=0.003, send="1 MB")
    found = explain(folder / "b.pcapng")
    assert "back: its congestion window, its timers or its application." in finding(found, [])
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(without_handshake((folder / "b.pcapng").read_bytes()))
    words = finding(explain(cut), [])
    assert "back: the receive window, its congestion window" in words


def test_the_advice_is_to_read_faster_if_a_receiver_closes_its_window(
    tmp_path: Path, netspurt: Command
) -> None:
    packets: list[MadeUp] = [(0.0, 0, 0, 0, SYN, 9000, 0), (0.03, 1, 0, 1, SYN_ACK, 9000, 0)]
    packets += [(0.03, 0, 1, 1, ACK, 9000, 0), (0.03, 1, 1, 1, ACK, 9000, 0)]
    octet, at = 1, 0.03
    for _ in range(4):
        packets += [(at, 0, octet + 1000 * n, 1, ACK, 9000, 1000) for n in range(9)]
        octet += 9000
        # The window of 0 is announced three times. The repetitions do not count as closings.
        packets += [(at + later, 1, 1, octet, ACK, 0, 0) for later in (0.03, 0.1, 0.2)]
        packets += [(at + 0.3, 1, 1, octet, ACK, 9000, 0)]
        at += 0.3
    file = tmp_path / "closed.pcap"
    file.write_bytes(made_up(packets))
    words = explanation(netspurt, file)
    assert "because the application at 10.0.0.2 read more slowly than data could come" in words
    assert "9,000 octets at most, and 10.0.0.2 closed it 4 times, for 1.08 s in all." in words
    assert "An application that reads faster helps." in words
    assert "A larger receive buffer does not help for long." in words
    assert share(explain(file), "application") == 0


def test_a_caution_says_that_data_was_lost_before_a_capture_on_the_path(
    tmp_path: Path, netspurt: Command
) -> None:
    link = 'rate = "50 Mbit/s", delay = "10 ms"'
    folder = captured_between(tmp_path, f"{link}, loss = {{ probability = 0.01 }}", link)
    words = {end: explanation(netspurt, folder / f"{end}.pcapng") for end in ("a", "m", "b")}
    cautions = {end: "originals never came to the capture point" in words[end] for end in words}
    assert cautions == {"a": False, "m": True, "b": False}
    alone = netspurt("explain", folder / "m.pcapng", "--connection", "0").stdout
    assert "originals never came to the capture point" in " ".join(alone.split())


def test_octets_from_before_the_capture_do_not_count_as_lost(
    tmp_path: Path, netspurt: Command
) -> None:
    """The capture begins in the middle of a connection.

    Two segments from before the capture and the first captured segment are lost and retransmitted.
    In a second capture, the original transmission of one more retransmitted segment is missing, but
    the capture has later octets. Only this original counts as lost before the capture point.
    """
    flight = [(n / 1000, 0, 10_001 + 1000 * n, 1, ACK, 9000, 1000) for n in range(8)]
    answers = [(0.1 + n / 1000, 1, 1, 8001, ACK, 60_000, 0) for n in range(4)]
    repair = [(0.104 + n / 1000, 0, 8001 + 1000 * n, 1, ACK, 9000, 1000) for n in range(3)]
    file = tmp_path / "midway.pcap"
    file.write_bytes(made_up([*flight, *answers, *repair, (0.21, 1, 1, 18_001, ACK, 60_000, 0)]))
    assert len(explain(file).table("retransmissions")) == 3
    assert "never came to the capture point" not in explanation(netspurt, file)
    late = [one for one in flight if one[2] != 12_001]
    again = [*repair, (0.107, 0, 12_001, 1, ACK, 9000, 1000)]
    file.write_bytes(made_up([*late, *answers, *again, (0.21, 1, 1, 18_001, ACK, 60_000, 0)]))
    assert "1 original never came to the capture point: it was lost between" in explanation(
        netspurt, file
    )


def test_a_comparison_counts_all_retransmissions_and_says_which_part_of_captures_it_compares(
    tmp_path: Path, netspurt: Command
) -> None:
    files = [captured(tmp_path / str(loss), loss=loss) / "a.pcapng" for loss in (0, 0.02)]
    again = len(explain(files[1]).table("retransmissions"))
    assert again > 20
    words = " ".join(netspurt("compare", *files).stdout.split())
    assert "until one of the runs is over" in words
    assert f"retransmissions in {files[1]}: SACK recovery or RACK {again}" in words
    assert f"SACK recovery or RACK 0 {again}" in words, "the table of causes must have both counts"
    span = " ".join(netspurt("compare", *files, "--span", "500ms").stdout.split())
    assert "until one of the runs is over" not in span


def test_a_list_of_retransmissions_has_one_name_for_causes_that_look_alike(
    tmp_path: Path, netspurt: Command
) -> None:
    folder = captured(tmp_path, loss=0.01)
    output = netspurt("explain", folder / "a.pcapng", "--connection", "0").stdout
    listed = output.partition("Retransmissions (time")[2]
    assert "loss seen in ACKs (" in listed
    assert "SACK recovery (" not in listed
    assert "--json names the most likely cause." in " ".join(listed.split())
