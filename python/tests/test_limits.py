"""What limited the rate of captured connections: the receive window, a full link, losses."""

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
from netspurt.scenario import Scenario

from conftest import Command

PATH = """
stop = "120 s"
seed = {seed}
[links.path]
between = ["a", "b"]
rate    = "{rate}"
delay   = "25 ms"
queue   = "{queue} packets"
loss    = {{ probability = {loss} }}
[flows.x]
from    = "a"
to      = "b"
profile = "linux-6"
send    = "{send}"
tcp.congestion = "{congestion}"
{more}
[record]
spy     = ["a", "b"]
capture = true
"""

#: A receive buffer of ten segments, without memory that counts twice.
SMALL = """tcp.receive.counts_memory = false
tcp.receive_buffer = "14480 B"
"""


def captured(folder: Path, **words: Any) -> Path:
    """Return the folder of a run, which has a capture beside each end."""
    known = {"seed": 3, "rate": "50 Mbit/s", "queue": 2000, "loss": 0, "congestion": "cubic"}
    known |= {"more": "", "send": "2 MB"}
    run = Scenario.parse(PATH.format(**{**known, **words}), name="path").run()
    run.save(folder / "run")
    return folder / "run"


def share(found: Explained, part: str) -> float:
    """Return the share of a part in the time of the only connection."""
    (spent,) = found.table("spent").records()
    whole = sum(value for name, value in spent.items() if name.endswith("_ns"))
    return float(spent[f"{part}_ns"] / whole)


def without_handshake(capture: bytes) -> bytes:
    """Return a capture in pcapng without its first three packets."""
    kept, packets = b"", 0
    while capture:
        kind, length = struct.unpack("<II", capture[:8])
        packets += kind == _PACKET
        if kind != _PACKET or packets > 3:
            kept += capture[:length]
        capture = capture[length:]
    return kept


#: The type of a block with a packet.
_PACKET = 6


def told(netspurt: Command, file: Path) -> str:
    result = netspurt("explain", file)
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


def test_the_window_that_holds_a_sender_back_is_named_at_both_ends_with_the_rate_it_allows(
    tmp_path: Path, netspurt: Command
) -> None:
    folder = captured(tmp_path, more=SMALL)
    for end in ("a", "b"):
        found = explain(folder / f"{end}.pcapng")
        assert share(found, "receive_window") > 0.85, end
        (limit,) = window_limits(found.tables)
        assert limit.window_bytes == 14_480
        # A round trip takes 50 ms of the links, and up to 5 ms in the queue behind the flight.
        assert 0.9 < limit.allowed_bps / (8 * 14_480 / 0.05) <= 1
        assert limit.is_constant
        words = told(netspurt, folder / f"{end}.pcapng")
        assert "announced at most 14,480 octets" in words
        assert f"A larger receive buffer at {limit.receiver} helps." in words


def test_a_large_window_holds_nothing_back_at_either_end(tmp_path: Path) -> None:
    folder = captured(tmp_path, loss=0.01, more=SMALL.replace("14480 B", "4194304 B"))
    for end in ("a", "b"):
        found = explain(folder / f"{end}.pcapng")
        assert share(found, "receive_window") < 0.01, end
        assert window_limits(found.tables) == []


def test_the_rate_that_losses_allow_is_not_above_that_of_the_window(
    tmp_path: Path, netspurt: Command
) -> None:
    folder = captured(tmp_path, more=SMALL, loss=0.02)
    (limit,) = loss_limits(explain(folder / "a.pcapng").tables)
    assert limit.window_bps is not None
    assert limit.had_bps < limit.window_bps
    words = told(netspurt, folder / "a.pcapng")
    assert "Losses limited the rate" in words
    assert "The receive window, 14,480 octets at most, allows at most" in words
    assert "Twice the rate" not in words
    assert "BBR" not in words


def test_losses_with_a_large_window_tell_what_twice_the_rate_needs(
    tmp_path: Path, netspurt: Command
) -> None:
    words = told(netspurt, captured(tmp_path, loss=0.01) / "a.pcapng")
    assert "Twice the rate needs a quarter of the losses or half the round trip." in words
    assert "A congestion control that does not, such as BBR, may be faster" in words


def test_a_constant_rate_with_longer_round_trips_is_that_of_a_full_link(
    tmp_path: Path, netspurt: Command
) -> None:
    folder = captured(tmp_path, rate="4 Mbit/s")
    (limit,) = full_links(explain(folder / "a.pcapng").tables)
    assert limit.rate_bps == pytest.approx(4e6 * 1448 / 1500, rel=0.05)
    assert limit.rtt_s > 2 * limit.rtt_s_min
    assert "most likely the slowest link of the path was full" in told(
        netspurt, folder / "a.pcapng"
    )


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


def test_a_sender_that_does_not_slow_down_waits_for_no_repair(tmp_path: Path) -> None:
    found = explain(captured(tmp_path, loss=0.01, congestion="bbr", send="8 MB") / "a.pcapng")
    assert len(found.table("retransmissions")) > 40
    assert share(found, "repair") < 0.05


def test_a_sender_that_makes_cwnd_smaller_waits_for_repair(tmp_path: Path) -> None:
    found = explain(captured(tmp_path, loss=0.01, send="8 MB") / "a.pcapng")
    assert 0.01 < share(found, "repair") < 0.2


def test_the_longest_connections_are_listed_also_without_losses(
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
    words = told(netspurt, captured(tmp_path, more=more) / "a.pcapng")
    assert "No retransmissions were seen." in words
    listed = words.partition("Longest connections first: ")[2]
    assert "connection 1: " in listed
    assert "mostly receive window" in listed
    assert "; 300,000 octets" in listed


def test_beside_the_receiver_the_window_is_among_the_unknown_only_without_its_scale(
    tmp_path: Path,
) -> None:
    folder = captured(tmp_path, loss=0.003, send="1 MB")
    found = explain(folder / "b.pcapng")
    assert "back: its congestion window, its timers or its application." in finding(found, [])
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(without_handshake((folder / "b.pcapng").read_bytes()))
    words = finding(explain(cut), [])
    assert "back: the receive window, its congestion window" in words
