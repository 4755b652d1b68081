"""Tests that a change of a path's delay is distinguished from a queue that the sender fills.

Both the change and the queue make the round trips in a capture longer.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos
from pathlib import Path

import pytest

from netspurt.analysis.full_link import full_links
from netspurt.analysis.paced import paced
from netspurt.analysis.receive_window import window_limits
from netspurt.captures import explain

from captured_path import captured, captured_between
from conftest import Command
from made_up_captures import ACK, SEGMENT, Transfer, made_up

#: A link whose delay grows from 20 ms to 40 ms after 2 s.
GROWS = 'rate = "500 Mbit/s", delay = { timeline = [["0 s", "20 ms"], ["2 s", "40 ms"]] }'
#: A link whose delay grows slowly.
DRIFTS = """rate = "500 Mbit/s", delay = { between = "linear", timeline = [["0 s", "20 ms"],
["10 s", "70 ms"]] }""".replace("\n", " ")


def explanation(netspurt: Command, file: Path) -> str:
    """Return what `netspurt explain` prints about a capture, on one line."""
    result = netspurt("explain", file)
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


def writer(rtt_s: Callable[[float], float], segments: int = 8000, together: int = 1) -> bytes:
    """Return a capture at a sender whose application writes one segment per ms on average.

    `rtt_s` gives the round trip for the time since the beginning, both in seconds. The application
    writes `together` segments at intervals of 10 us, and then pauses.
    """
    transfer, last = Transfer(pace_s=1e-3), 0.0
    transfer.handshake()
    packets = transfer.packets
    begin = packets[-1][0]
    for n in range(segments):
        since = n // together * together * 1e-3 + n % together * 1e-5
        last = max(last, begin + since + rtt_s(since))
        packets.append((begin + since, 0, 1 + n * SEGMENT, 1, ACK, 60_000, SEGMENT))
        packets.append((last, 1, 1, 1 + (n + 1) * SEGMENT, ACK, 60_000, 0))
    return made_up(sorted(packets))


@pytest.mark.parametrize(("rate", "send"), [("8 Mbit/s", "8 MB"), ("50 Mbit/s", "30 MB")])
def test_a_step_of_the_delay_is_not_reported_as_a_full_link(
    tmp_path: Path, netspurt: Command, rate: str, send: str
) -> None:
    # The capture is taken behind the first link, where the data arrives at a constant rate.
    near = f'rate = "{rate}", delay = "1 ms"'
    folder = captured_between(tmp_path, near, GROWS, send=send)
    found = explain(folder / "m.pcapng")
    (steady,) = found.table("steady").records()
    assert steady["rtt_ns_mean"] > 1.5 * found.table("connections")["rtt_ns_min"].min()
    assert full_links(found.tables) == []
    (limit,) = paced(found.tables)
    assert not limit.fills_queue
    words = explanation(netspurt, folder / "m.pcapng")
    assert "Round trips changed although the sender did not send more" in words
    assert "queues were short" not in words
    # In the capture beside the sender, the queue before the first link shows that this link is
    # full.
    assert len(full_links(explain(folder / "a.pcapng").tables)) == 1


@pytest.mark.parametrize(
    ("rtt_s", "together"),
    [
        (lambda t: 0.04 if t < 3 else 0.08, 1),
        (lambda t: 0.04 if t < 3 else 0.08, 5),
        (lambda t: 0.04 if t < 1 else 0.08, 1),
        (lambda t: 0.04 + 0.005 * t, 1),
        (lambda t: 0.06 - 0.02 * cos(4 * t), 1),
    ],
    ids=["step", "step with bursts", "early step", "drift", "wave"],
)
def test_an_application_that_writes_steadily_fills_no_link_if_only_the_delay_changes(
    tmp_path: Path, rtt_s: Callable[[float], float], together: int
) -> None:
    file = tmp_path / "writer.pcap"
    file.write_bytes(writer(rtt_s, together=together))
    found = explain(file)
    (steady,) = found.table("steady").records()
    assert steady["rtt_ns_mean"] > 1.25 * found.table("connections")["rtt_ns_min"].min()
    assert full_links(found.tables) == []
    assert not paced(found.tables)[0].fills_queue


@pytest.mark.parametrize("congestion", ["cubic", "reno", "bbr"])
@pytest.mark.parametrize("queue", [60, 200])
def test_data_arrives_at_a_constant_rate_while_a_queue_grows(
    tmp_path: Path, queue: int, congestion: str
) -> None:
    words = {"rate": "16 Mbit/s", "send": "8 MB", "congestion": congestion}
    found = explain(captured(tmp_path, queue=queue, **words) / "a.pcapng")
    assert len(full_links(found.tables)) == 1
    (steady,) = found.table("steady").records()
    longer = found.table("delay_changes").where(kind="longer")
    (delivered_s,) = 8 * longer["bytes"] / steady["rate_bps"]
    (lasted_s,) = longer.seconds("lasted_ns")
    assert delivered_s == pytest.approx(lasted_s, rel=0.05)


def test_a_full_link_with_a_slower_reverse_direction_is_found(tmp_path: Path) -> None:
    near = 'rate = ["16 Mbit/s", "500 kbit/s"], delay = "20 ms", queue = "200 packets"'
    folder = captured_between(tmp_path, near, 'rate = "1 Gbit/s", delay = "5 ms"', send="8 MB")
    assert len(full_links(explain(folder / "a.pcapng").tables)) == 1


@pytest.mark.parametrize("changes", [GROWS, DRIFTS], ids=["step", "drift"])
def test_a_growing_delay_at_a_full_window_is_not_called_a_queue(
    tmp_path: Path, netspurt: Command, changes: str
) -> None:
    small = 'tcp.receive.counts_memory = false\ntcp.receive_buffer = "60000 B"\n'
    near = 'rate = "500 Mbit/s", delay = "1 ms"'
    folder = captured_between(tmp_path, near, changes, send="10 MB", more=small)
    for place in ("a", "m"):
        (limit,) = window_limits(explain(folder / f"{place}.pcapng").tables)
        assert limit.trip.has_queue, "the mean round trip must be much longer than the shortest"
        assert not limit.has_queue
        words = explanation(netspurt, folder / f"{place}.pcapng")
        assert "data waited in a queue" not in words
        assert f"A larger receive buffer at {limit.receiver} helps." in words


def test_the_text_says_that_a_large_receive_window_filled_a_queue(
    tmp_path: Path, netspurt: Command
) -> None:
    large = 'tcp.receive.counts_memory = false\ntcp.receive_buffer = "300000 B"\n'
    folder = captured(tmp_path, rate="16 Mbit/s", send="8 MB", more=large)
    (limit,) = window_limits(explain(folder / "a.pcapng").tables)
    assert limit.has_queue
    assert "data waited in a queue" in explanation(netspurt, folder / "a.pcapng")
