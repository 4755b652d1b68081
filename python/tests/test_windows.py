"""Compares the receive windows and the receive offload of `linux-6` with those of the kernel.

`linux-6` is the profile that imitates Linux. Receive offload (GRO) merges segments that arrive
close together, so the receiver sends fewer ACKs.
"""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest

from netspurt.scenario import Scenario

from conftest import ROOT

#: The folder with the windows of the kernel, and with the program that measured them.
AUTHORITY = ROOT / "authorities" / "linux" / "windows"
sys.path.insert(0, str(AUTHORITY))

from transfer import SCENARIO, announced, filed  # noqa: E402

#: The windows of the model may differ by this share from those of the kernel. This holds for the
#: smallest window, the largest window, and the octet at which the window has grown. The reason is
#: that a host offers a part of its buffer as window, and this part depends on the network cards.
SHARE = 0.03


def test_the_window_begins_and_grows_and_ends_like_the_window_of_the_kernel() -> None:
    kernel, model = filed(), list(announced(Scenario.parse(SCENARIO.read_text()).run()))
    assert len(model) == pytest.approx(len(kernel), rel=0.02)
    assert [row[1:] for row in model[:5]] == [row[1:] for row in kernel[:5]]
    for select in (min, max):
        ours, theirs = (select(window for _, _, window in rows) for rows in (model, kernel))
        assert ours == pytest.approx(theirs, rel=SHARE)


def test_the_window_grows_at_about_the_same_octet_as_in_the_kernel() -> None:
    kernel, model = filed(), list(announced(Scenario.parse(SCENARIO.read_text()).run()))
    grown = []
    for rows in (model, kernel):
        most = max(window for _, _, window in rows)
        grown.append(next(ack for _, ack, window in rows if window >= 0.95 * most))
    assert grown[0] == pytest.approx(grown[1], rel=SHARE)
    theirs = {ack: window for _, ack, window in kernel}
    common = [(window, theirs[ack]) for _, ack, window in model if ack in theirs]
    assert len(common) > 500
    assert all(ours == of_kernel for ours, of_kernel in common)


def test_without_autotuning_the_window_is_far_larger_than_in_the_kernel() -> None:
    """Without autotuning, the maximum of the window is more than twice the kernel's maximum."""
    values = {"flows.f.tcp": {"receive": {"autotuning": False}}}
    model = list(announced(Scenario.parse(SCENARIO.read_text()).replace(values).run()))
    assert max(window for _, _, window in model) > 2 * max(window for _, _, window in filed())


#: The octets of a full segment, and of the 45 full segments that an IP packet can hold.
FULL, PACKET = 1448, 45 * 1448


def offloaded() -> list[tuple[bool, int, list[int]]]:
    """Return, for each run, whether GRO was on, the number of ACKs, and the sizes of packets."""
    runs: dict[tuple[str, str, str], list[int]] = {}
    with (ROOT / "authorities/linux/gro.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            key = row["gro"], row["run"], row["acks"]
            runs.setdefault(key, []).append(int(row["payload_bytes"]))
    return [(gro == "1", int(acks), packets) for (gro, _, acks), packets in runs.items()]


def test_the_kernel_merges_segments_by_the_rules_of_receive_offload() -> None:
    for gro, acks, packets in offloaded():
        assert sum(packets) == 500_000
        assert max(packets) <= (PACKET if gro else FULL)
        # Most of the merged packets have an ACK of their own.
        assert 0.7 * len(packets) <= acks <= len(packets) if gro else acks <= len(packets)
        # Few packets end with a part of a segment: the sender had no more data at that time.
        assert sum(payload % FULL > 0 for payload in packets) <= 8


def test_a_fast_transfer_with_receive_offload_has_about_as_few_acks_as_in_the_kernel() -> None:
    kernel = [acks for gro, acks, _ in offloaded() if gro]
    base = Scenario.parse(FAST)
    plain, merged = (
        acked(base.replace({"flows.bulk.tcp.receive.gro": t})) for t in ("0 s", "0.1 ms")
    )
    assert len(plain) > 150
    assert len(merged) == pytest.approx(np.mean(kernel), rel=0.5)
    assert max(np.diff(merged)) <= PACKET


#: A transfer over a link of 10 Gbit/s.
FAST = """
stop = "1 s"
[links.wire]
between = ["a", "b"]
rate    = "10 Gbit/s"
delay   = "20 us"
queue   = "1000 packets"
[flows.bulk]
from    = "a"
to      = "b"
profile = "linux-6"
send    = "500 kB"
"""


def acked(scenario: Scenario) -> list[int]:
    """Return the acknowledgment number of each ACK of the receiver."""
    segments = scenario.run().segments
    return list(segments.where(direction="reverse", kind="ack")["ack"].tolist())
