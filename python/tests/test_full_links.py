"""Tests how a capture shows that a link was full, and cases that only look like a full link.

A link is full if it transmits all the time. Then it limits the rate of the sender.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netspurt.analysis.full_link import FullLink, full_links
from netspurt.analysis.loss_rate import LossLimit, loss_limits
from netspurt.analysis.marked import marked_links
from netspurt.analysis.overflow import Overflow
from netspurt.analysis.paced import paced
from netspurt.analysis.shared_link import shared_links
from netspurt.captures import explain

from captured_path import captured, captured_between
from conftest import Command
from made_up_captures import ACK, SEGMENT, Transfer, made_up

#: The rate of payload on a link of 16 Mbit/s.
PAYLOAD_BPS = 16e6 * 1448 / 1500
#: A link that a sender fills. With CUBIC, the default of `captured`, the link's queue overflows.
FULL = {"rate": "16 Mbit/s", "queue": 200, "send": "16 MB"}


def explanation(netspurt: Command, file: Path) -> str:
    """Return what `netspurt explain` prints about a capture, on one line."""
    result = netspurt("explain", file)
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


@pytest.fixture(scope="module")
def overflowing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a transfer with CUBIC that made a queue overflow."""
    return captured(tmp_path_factory.mktemp("full"), **FULL)


def test_a_full_link_is_found_even_if_the_ack_number_stands_still(
    overflowing: Path,
) -> None:
    found = explain(overflowing / "a.pcapng")
    assert len(found.table("retransmissions")) > 0
    (limit,) = full_links(found.tables)
    assert limit.rate_bps == pytest.approx(PAYLOAD_BPS, rel=0.02)
    assert limit.rtt_s is not None
    assert limit.rtt_s_min is not None
    assert limit.rtt_s > 2 * limit.rtt_s_min


#: A link whose queue marks packets instead of dropping them.
MARKING = 'rate = "16 Mbit/s", delay = "25 ms", queue = { codel = { ecn = true } }'


def test_marks_of_a_short_queue_show_a_full_link_at_every_capture_point(
    tmp_path: Path, netspurt: Command
) -> None:
    folder = captured_between(
        tmp_path, MARKING, 'rate = "1 Gbit/s", delay = "5 ms"', send="16 MB", more="tcp.ecn = true"
    )
    for node in "amb":
        found = explain(folder / f"{node}.pcapng")
        (limit,) = marked_links(found.tables).values()
        assert full_links(found.tables) == [limit]
        assert limit.reductions >= 4
        assert (limit.rtt_s is not None) == (node == "a"), (
            "only the sender's capture shows round trips of the whole path"
        )
        assert 0.8 * PAYLOAD_BPS < limit.rate_bps < PAYLOAD_BPS
        assert paced(found.tables) == []
        assert loss_limits(found.tables) == []
        words = explanation(netspurt, folder / f"{node}.pcapng")
        assert "marked data of connection 0 as congested (ECN)" in words
        assert "data on its way (most likely the slowest link was full)" in words
    forward, reverse = explain(folder / "a.pcapng").table("connections").records()
    assert forward["ecn_permitted"]
    assert reverse["ecn_permitted"]
    assert (forward["ece_packets"], reverse["cwr_packets"]) == (0, 0)
    assert reverse["ece_packets"] >= forward["cwr_packets"] == limit.reductions


def test_losses_that_make_cwnd_smaller_do_not_count_as_marks(tmp_path: Path) -> None:
    lossy = 'rate = "16 Mbit/s", delay = "25 ms", loss = { probability = 0.005 }'
    folder = captured_between(
        tmp_path, lossy, 'rate = "1 Gbit/s", delay = "5 ms"', send="4 MB", more="tcp.ecn = true"
    )
    tables = explain(folder / "a.pcapng").tables
    assert max(tables["connections"]["cwr_packets"]) >= 4
    assert marked_links(tables) == {}


def test_losses_at_a_constant_rate_show_a_full_queue_in_a_receivers_capture(
    overflowing: Path, netspurt: Command
) -> None:
    found = explain(overflowing / "b.pcapng")
    assert loss_limits(found.tables) == []
    (limit,) = full_links(found.tables)
    assert isinstance(limit, FullLink)
    assert limit.losses is not None
    assert limit.losses >= 5
    assert limit.rate_bps == pytest.approx(PAYLOAD_BPS, rel=0.02)
    words = explanation(netspurt, overflowing / "b.pcapng")
    assert f"although data was lost {limit.losses} times" in words
    assert "Losses may have limited" not in words


def test_losses_at_a_varying_rate_are_named_as_the_limit_in_a_receivers_capture(
    tmp_path: Path,
) -> None:
    folder = captured(tmp_path, rate="40 Mbit/s", send="4 MB", loss=0.005)
    found = explain(folder / "b.pcapng")
    assert full_links(found.tables) == []
    assert len(loss_limits(found.tables)) == 1


@pytest.mark.parametrize("loss", [0, 0.005])
def test_a_link_is_full_if_data_that_is_sent_faster_does_not_arrive_faster(
    tmp_path: Path, netspurt: Command, loss: float
) -> None:
    folder = captured(tmp_path, **FULL, congestion="bbr", loss=loss)
    (limit,) = full_links(explain(folder / "a.pcapng").tables)
    assert limit.rate_bps == pytest.approx(PAYLOAD_BPS, rel=0.05)
    assert limit.rtt_s is not None
    assert limit.rtt_s_min is not None
    assert limit.rtt_s < 1.25 * limit.rtt_s_min, "the round trips alone must not show a full link"
    words = explanation(netspurt, folder / "a.pcapng")
    assert "data that was sent faster did not arrive faster" in words
    assert "data on its way (most likely the slowest link was full)" in words


def test_delayed_acks_in_a_receivers_capture_do_not_look_like_full_links(
    tmp_path: Path,
) -> None:
    folder = captured(tmp_path, **FULL, congestion="bbr")
    found = explain(folder / "b.pcapng")
    assert len(found.table("steady")) == 1
    assert full_links(found.tables) == []


def test_a_constant_rate_without_a_queue_is_reported_without_a_certain_cause(
    tmp_path: Path, netspurt: Command
) -> None:
    file = tmp_path / "paced.pcap"
    file.write_bytes(Transfer(pace_s=1e-3, cwnd=20_000).capture(8000))
    found = explain(file)
    assert full_links(found.tables) == []
    (limit,) = paced(found.tables)
    assert limit.rate_bps == pytest.approx(8 * 20_000 / 0.041, rel=0.05)
    words = explanation(netspurt, file)
    assert "queues were short" in words
    assert "data on its way (the application, the pacing, the congestion window or the" in words
    assert "does not show whether the slowest link was full" in words
    assert "Losses do not explain the rate" not in words


def test_losses_that_do_not_slow_the_sender_do_not_explain_its_rate(
    tmp_path: Path, netspurt: Command
) -> None:
    words: dict[str, Any] = {**FULL, "congestion": "bbr", "loss": 0.05, "send": "8 MB"}
    folder = captured(tmp_path, **words)
    found = explain(folder / "a.pcapng")
    assert loss_limits(found.tables) == []
    (limit,) = paced(found.tables)
    assert limit.losses is not None
    assert limit.losses.had_bps > 4 * limit.losses.formula_bps
    told_of = explanation(netspurt, folder / "a.pcapng")
    assert f"Losses do not explain the rate: data was lost {limit.losses.cuts} times" in told_of


def test_losses_are_a_possible_cause_of_a_constant_rate_if_they_allow_this_rate(
    tmp_path: Path,
) -> None:
    """A policer drops packets above a given rate.

    Here a policer of 10 Mbit/s drops a few packets in every other round trip of 21.5 ms.
    """
    file = tmp_path / "paced.pcap"
    file.write_bytes(Transfer(pace_s=1e-3, cwnd=20_000).capture(8000))
    (limit,) = paced(explain(file).tables)
    losses = LossLimit(0, "forward", 40, 1536, 154, 0.0215, True, 4.09e6, 8.64e6, None)
    said = dataclasses.replace(limit, losses=losses).sentence("connection 0")
    assert "Losses may have kept the congestion window small: data was lost 40 times in" in said
    assert "gives 4.09 Mbit/s for such losses. 154 packets were lost, 4 at a time" in said
    assert "A policer causes such losses" in said
    single = dataclasses.replace(losses, lost=41)
    assert "policer" not in dataclasses.replace(limit, losses=single).sentence("connection 0")


def test_the_rates_of_connections_that_share_a_full_link_add_up_to_its_rate(
    tmp_path: Path, netspurt: Command
) -> None:
    """The second transfer begins two seconds after the first transfer, and ends later."""
    more = """
tcp.congestion = "reno"
[flows.y]
from    = "a"
to      = "b"
profile = "linux-6"
send    = "16 MB"
start   = "2 s"
tcp.congestion = "reno"
"""
    link = 'rate = "16 Mbit/s", delay = "25 ms", queue = "100 packets"'
    near = 'rate = "1 Gbit/s", delay = "1 ms"'
    folder = captured_between(tmp_path, near, link, send="16 MB", more=more)
    tables = explain(folder / "a.pcapng").tables
    assert len(full_links(tables)) == 2
    (shared,) = shared_links(tables)
    assert shared.connections == 2
    assert shared.rate_bps == pytest.approx(PAYLOAD_BPS, rel=0.03)
    assert "2 connections from 10.0.0.1 to 10.0.0.3 filled a link at the same time" in explanation(
        netspurt, folder / "a.pcapng"
    )
    alone = captured(tmp_path / "alone", **FULL)
    assert shared_links(explain(alone / "a.pcapng").tables) == []


@pytest.mark.parametrize(("queue", "congestion"), [(5, "reno"), (20, "reno"), (40, "reno")])
def test_losses_of_a_filled_queue_are_not_named_as_the_limit(
    tmp_path: Path, netspurt: Command, queue: int, congestion: str
) -> None:
    words = {"rate": "16 Mbit/s", "send": "16 MB", "queue": queue, "congestion": congestion}
    folder = captured(tmp_path, **words)
    found = explain(folder / "a.pcapng")
    assert loss_limits(found.tables) == []
    (limit,) = full_links(found.tables)
    assert isinstance(limit, Overflow)
    # Each packet in the queue adds 0.75 ms to the round trip, which takes 50 ms without a queue.
    assert limit.rtt_s_losses == pytest.approx(0.050 + queue * 0.75e-3, rel=0.05)
    told_of = explanation(netspurt, folder / "a.pcapng")
    assert f"Before {limit.losses} losses of connection 0, round trips took" in told_of
    assert "data on its way (most likely the slowest link was full)" in told_of


@pytest.mark.parametrize("queue", [40, 2000])
def test_losses_independent_of_the_queue_are_named_as_the_limit(tmp_path: Path, queue: int) -> None:
    words = {"rate": "16 Mbit/s", "send": "8 MB", "loss": 0.004, "congestion": "reno"}
    found = explain(captured(tmp_path, **words, queue=queue) / "a.pcapng")
    assert full_links(found.tables) == []
    assert len(loss_limits(found.tables)) == 1


def varying(seed: int, spread_s: float, window: int = 60_000) -> bytes:
    """Return a capture beside a sender with a constant rate, on a path whose delay varies.

    The number `window` is the receive window that the packets announce [octets]. Packets keep their
    order. The round trip is 40 ms plus the absolute value of a random process. The process is
    correlated over about 30 ms, and has the standard deviation `spread_s` [s].
    """
    draws, more_s, last = np.random.default_rng(seed), 0.0, 0.0
    transfer = Transfer(pace_s=1e-3)
    transfer.handshake()
    packets = transfer.packets
    begin = packets[-1][0]
    for n in range(8000):
        at = begin + n * 1e-3
        more_s += -more_s / 30 + spread_s * (2 / 30) ** 0.5 * draws.normal()
        last = max(last, at + 0.04 + abs(more_s))
        packets.append((at, 0, 1 + n * SEGMENT, 1, ACK, 60_000, SEGMENT))
        packets.append((last, 1, 1, 1 + (n + 1) * SEGMENT, ACK, 60_000, 0))
    return made_up(sorted((*packet[:5], window, packet[6]) for packet in packets))


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_path_whose_delay_varies_is_not_called_a_full_link(
    tmp_path: Path, netspurt: Command, seed: int
) -> None:
    file = tmp_path / "varying.pcap"
    file.write_bytes(varying(seed, 0.02))
    found = explain(file)
    assert full_links(found.tables) == []
    (limit,) = paced(found.tables)
    assert limit.rtt_s > 1.25 * limit.rtt_s_min
    assert limit.is_uneven
    assert "so the delay of the path varied by itself" in explanation(netspurt, file)


def test_the_receive_window_may_explain_a_constant_rate_only_if_its_scale_is_unknown(
    tmp_path: Path, netspurt: Command
) -> None:
    """At most 29,000 octets are outstanding, so a window of 28,000 must have a scale."""
    file = tmp_path / "varying.pcap"
    for window, is_unknown in ((28_000, True), (29_000, False), (60_000, False)):
        file.write_bytes(varying(0, 0.005, window))
        found = explain(file)
        assert found.table("connections")["outstanding_bytes_max"].max() == 29_000
        (limit,) = paced(found.tables)
        assert limit.window_unknown == is_unknown
        words = "The receive window may be the reason, too: the capture lacks the options of a SYN"
        assert (words in explanation(netspurt, file)) == is_unknown
