"""Tests that waiting time counts only once if both ends of a connection wait."""

from __future__ import annotations

from pathlib import Path

from netspurt.captures import explain

from conftest import Command
from made_up_captures import ACK, SYN, SYN_ACK, made_up


def test_a_lost_syn_ack_makes_both_ends_wait_at_the_same_time(
    tmp_path: Path, netspurt: Command
) -> None:
    """The capture is beside the end that answers the SYN. All SYN-ACKs but the last are lost."""
    file = tmp_path / "lost.pcap"
    syn, syn_ack = (100, 0, SYN, 60_000, 0), (900, 101, SYN_ACK, 60_000, 0)
    packets = [
        (0.0, 0, *syn),
        (0.00003, 1, *syn_ack),
        (1.0, 0, *syn),
        (1.00003, 1, *syn_ack),
        (2.0, 1, *syn_ack),
        (2.02, 0, *syn),
        (2.02003, 1, *syn_ack),
        (2.06, 0, 101, 901, ACK, 60_000, 0),
        (2.07, 1, 901, 101, ACK, 60_000, 500),
        (2.11, 0, 101, 1401, ACK, 60_000, 0),
    ]
    file.write_bytes(made_up(packets))
    waits = explain(file).table("waits")
    assert sorted(waits["direction"].tolist()) == ["forward", "forward", "reverse"]
    assert waits.seconds("waited_ns").sum() > 2.9
    told = netspurt("explain", file).stdout
    (row,) = (line for line in told.splitlines() if line.startswith("SYN "))
    assert row.split()[-2:] == ["2.02", "s"]
    assert "counted from the last progress" not in told, (
        "this note is printed only if the waits are longer than the silences before timers"
    )
