"""Tests what `netspurt explain` says about where a capture was taken, and about late originals.

The original of a segment is its first transmission. It is late if the retransmission comes first.
The captures `a`, `m` and `b` are beside the sender, between the two links, and beside the receiver.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from netspurt.analysis.seen import vantages
from netspurt.captures import explain
from netspurt.cli.pooled import lost_before

from captured_path import captured_between
from conftest import Command

#: The link between the capture and the far host.
FAR = 'rate = "100 Mbit/s", delay = "25 ms"'


@pytest.mark.parametrize(("near", "away"), [("1 ms", "2 ms"), ("0.5 ms", "1 ms")])
def test_a_capture_near_a_host_is_not_said_to_be_on_this_host(
    tmp_path: Path, netspurt: Command, near: str, away: str
) -> None:
    folder = captured_between(tmp_path, f'rate = "1 Gbit/s", delay = "{near}"', FAR)
    for node, told in (
        ("a", "beside 10.0.0.1, which sent all the data."),
        ("m", f"beside 10.0.0.1 (a round trip of at most {away} away), which sent all the data."),
        ("b", "beside 10.0.0.3, which received all the data."),
    ):
        words = " ".join(netspurt("explain", folder / f"{node}.pcapng").stdout.split())
        assert f"The capture was taken {told}" in words, node


@pytest.mark.parametrize("last_octet", [1, 53])
def test_if_both_ends_are_on_one_host_the_capture_was_taken_on_this_host(
    tmp_path: Path, netspurt: Command, last_octet: int
) -> None:
    folder = captured_between(tmp_path, 'rate = "1 Gbit/s", delay = "5 ms"', FAR)
    octets = (folder / "m.pcapng").read_bytes()
    octets = octets.replace(bytes([10, 0, 0, 1]), bytes([127, 0, 0, 1]))
    (tmp_path / "lo.pcapng").write_bytes(
        octets.replace(bytes([10, 0, 0, 3]), bytes([127, 0, 0, last_octet]))
    )
    words = " ".join(netspurt("explain", tmp_path / "lo.pcapng").stdout.split())
    assert "The capture was taken on the host of both ends." in words
    assert "Only a capture beside the sender" not in words
    found = explain(tmp_path / "lo.pcapng")
    assert set(vantages(found.tables).values()) == {"sender"}
    assert set(found.table("habits")["vantage"].tolist()) <= {"sender"}


def test_a_late_original_is_not_reported_as_lost_before_the_capture(tmp_path: Path) -> None:
    reorder = 'order = "overtaking", reorder = { probability = 0.01, by = "120 ms" }'
    near = f'rate = "1 Gbit/s", delay = "5 ms", {reorder}'
    found = explain(captured_between(tmp_path, near, FAR) / "m.pcapng")
    table = found.table("retransmissions")
    late = table["original_late"]
    assert late.sum() > 0
    assert (table["original_missing"] >= late).all()
    assert (table["verdict"][late] == "spurious").all()
    assert list(lost_before(found)) == []
