"""Tests the limits and waits that are found in captures which show less than the sender sees.

Such a capture was taken between the two ends, or its first packets or its TCP options are missing.
The simulated paths go from the sender `a` over the node `m` to the receiver `b`.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from netspurt.analysis.let_wait import let_wait
from netspurt.analysis.receive_window import slow_readers, window_limits
from netspurt.captures import explain

from captured_path import captured_between

#: The links from `a` to `m` and from `m` to `b`.
NEAR, FAR = 'rate = "500 Mbit/s", delay = "20 ms"', 'rate = "500 Mbit/s", delay = "5 ms"'
#: Switches of a receiver whose small buffer limits the transfer.
SMALL = 'tcp.receive_buffer = "100 kB"\ntcp.timestamps = false'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a capture at each node. The receive window limits the transfer."""
    folder = tmp_path_factory.mktemp("between")
    return captured_between(folder, NEAR, FAR, send="5 MB", more=SMALL)


def test_a_capture_between_the_ends_gives_the_whole_round_trip(
    folder: Path,
) -> None:
    """From the node `m`, the round trip to the sender is 40 ms, and to the receiver 10 ms."""
    (beside,) = window_limits(explain(folder / "a.pcapng").tables)
    (between,) = window_limits(explain(folder / "m.pcapng").tables)
    assert between.trip.mean_s == pytest.approx(beside.trip.mean_s, rel=0.02)
    assert beside.trip.mean_s == pytest.approx(0.05, rel=0.1)


def test_windows_of_unknown_scale_are_not_named_as_a_limit(
    tmp_path: Path,
) -> None:
    # A link limits the transfer. The capture lacks the last octets of the SYNs. Some of the options
    # of the SYNs are in these octets.
    near = 'rate = "10 Mbit/s", delay = "20 ms", queue = "100 packets"'
    large = 'tcp.receive_buffer = "2 MB"\ntcp.timestamps = false'
    made = captured_between(tmp_path, near, FAR, send="5 MB", more=large, record='snap = "46 B"')
    tables = explain(made / "a.pcapng").tables
    assert window_limits(tables) == slow_readers(tables) == []
    (spent,) = tables["spent"].records()
    assert spent["receive_window_ns"] == 0


def without_first(capture: bytes, packets: int) -> bytes:
    """Return a pcapng file without this number of packets at its beginning."""
    kept, place = bytearray(), 0
    while place < len(capture):
        kind, length = struct.unpack_from("<II", capture, place)
        packets -= kind == 6
        if kind != 6 or packets < 0:
            kept += capture[place : place + length]
        place += length
    return bytes(kept)


def test_causes_of_waits_are_left_open_if_the_place_of_the_capture_is_unknown(
    folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "later.pcapng"
    file.write_bytes(without_first((folder / "b.pcapng").read_bytes(), 40))
    (one,) = let_wait(explain(file).tables)
    assert not one.is_seen
    assert "Only a capture beside this end shows which" in one.sentence("the connection")


def test_a_capture_between_the_ends_shows_waits_for_the_senders_timers(
    tmp_path: Path,
) -> None:
    """The last segments of the transfer are lost, and a timeout repairs the losses.

    The round trip from the node `m` to the sender is 180 ms.
    """
    near = 'rate = "1 Gbit/s", delay = "90 ms"'
    far = 'rate = "20 Mbit/s", delay = "10 ms", queue = "200 packets", '
    far += 'loss = [{packets = [205, 206, 207, 208]}, "none"]'
    made = captured_between(tmp_path, near, far, send="300 kB", more="tcp.tlp = false")
    beside, between = (
        explain(made / f"{node}.pcapng").tables["waits"].records()[0] for node in "am"
    )
    assert between["timer"] == beside["timer"] == "retransmission"
    assert between["waited_ns"] == pytest.approx(beside["waited_ns"], rel=0.01)
    assert between["srtt_ns"] == pytest.approx(beside["srtt_ns"], rel=0.02)
    assert 190e6 < beside["srtt_ns"] < 260e6


def test_a_timeout_that_looks_like_a_tail_loss_probe_counts_as_a_timeout(
    tmp_path: Path,
) -> None:
    """The last segment and its first retransmission are lost.

    The sender sends no tail loss probes. So the timer fires twice. The RTO before the second firing
    is twice as long.
    """
    lossy = 'rate = "20 Mbit/s", delay = "20 ms", loss = [{ packets = [20, 20] }, "none"]'
    near = 'rate = "1 Gbit/s", delay = "1 ms"'
    made = captured_between(tmp_path, near, lossy, send="20 segments", more="tcp.tlp = false")
    waits = explain(made / "a.pcapng").tables["waits"].records()
    assert [(one["timer"], one["backoffs"]) for one in waits] == [
        ("retransmission", 0),
        ("retransmission", 1),
    ]
