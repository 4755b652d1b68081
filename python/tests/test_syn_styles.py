"""Tests what the order of the options in a SYN shows about retransmissions of a lone segment.

A lone segment is the only outstanding segment.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from netspurt.captures import explain

#: Options of TCP: maximum segment size, window scale, SACK permitted.
MSS, SCALE, SACK = bytes([2, 4, 5, 180]), bytes([3, 3, 7]), bytes([4, 2])
#: Options of TCP: timestamps, no operation, end of the options.
STAMPS, NOP, END = bytes([8, 10]) + bytes(8), bytes([1]), bytes([0])

#: The options in the SYN of Linux.
LINUX = MSS + SACK + STAMPS + NOP + SCALE
#: The options in the SYN of FreeBSD.
FREEBSD = MSS + NOP + SCALE + SACK + STAMPS
#: The options in the SYN of Windows.
WINDOWS = MSS + NOP + SCALE + NOP + NOP + SACK
#: The options in the SYN of ns-3.
NS3 = STAMPS + SCALE + SACK + END

#: Flags of TCP.
SYN, ACK = 2, 16


def packet(end: int, flags: int, numbers: tuple[int, int], options: bytes, data: int = 0) -> bytes:
    """Return an IPv4 packet. Its TTL is 128 with the options of Windows, and otherwise 64."""
    ports = (4000, 80) if end == 0 else (80, 4000)
    addresses = [bytes((10, 0, 0, 1 + end)), bytes((10, 0, 0, 2 - end))]
    tcp = struct.pack(">HHIIBBHHH", *ports, *numbers, 0x50 + 4 * len(options), flags, 999, 0, 0)
    total = 20 + len(tcp) + len(options) + data
    ttl = 128 if options == WINDOWS else 64
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, total, 0, 0x4000, ttl, 6, 0, *addresses)
    return ip + tcp + options + bytes(data)


def lone(options: bytes, before: int = 0) -> bytes:
    """Return a capture at a sender that retransmitted its last segment after 300 ms.

    The argument `before` is the number of octets that were outstanding before this segment. The
    round trip takes 50 ms.
    """
    first = [(0.06, packet(0, ACK, (1, 1), b"", before))] if before else []
    packets = [
        (0.0, packet(0, SYN, (0, 0), options)),
        (0.05, packet(1, SYN | ACK, (0, 1), LINUX)),
        (0.05, packet(0, ACK, (1, 1), b"")),
        *first,
        (0.06, packet(0, ACK, (1 + before, 1), b"", 100)),
        (0.36, packet(0, ACK, (1 + before, 1), b"", 100)),
        (0.41, packet(1, ACK, (1, 101 + before), b"")),
    ]
    capture = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for at, octets in packets:
        micros = round(1e6 * at)
        capture += struct.pack("<IIII", 0, micros, len(octets), len(octets)) + octets
    return capture


@pytest.mark.parametrize(
    ("options", "cause"), [(LINUX, "tlp"), (WINDOWS, "tlp"), (FREEBSD, "rto"), (NS3, "rto")]
)
def test_a_stack_without_tail_loss_probes_retransmits_a_lone_segment_after_a_timeout(
    tmp_path: Path, options: bytes, cause: str
) -> None:
    file = tmp_path / "lone.pcap"
    file.write_bytes(lone(options))
    (sent,) = explain(file).table("retransmissions").records()
    assert sent["cause"] == cause
    assert sent["cause_evidence"] == ("lone-by-syn" if cause == "rto" else "lone-by-time")


@pytest.mark.parametrize(
    ("options", "rule"), [(LINUX, "tail"), (FREEBSD, "tail"), (NS3, "silence")]
)
def test_only_a_stack_with_tail_loss_probes_is_said_to_have_sent_a_probe(
    tmp_path: Path, options: bytes, rule: str
) -> None:
    file = tmp_path / "tail.pcap"
    file.write_bytes(lone(options, before=100))
    (sent,) = explain(file).table("retransmissions").records()
    assert sent["cause_evidence"] == rule


def test_one_tail_loss_probe_shows_that_a_freebsd_sender_probes_lone_segments(
    tmp_path: Path,
) -> None:
    file = tmp_path / "rack.pcap"
    capture = lone(FREEBSD, before=100)
    for at, octets in [
        (0.5, packet(0, ACK, (201, 1), b"", 100)),
        (0.55, packet(1, ACK, (1, 301), b"")),
        (0.6, packet(0, ACK, (301, 1), b"", 100)),
        (0.9, packet(0, ACK, (301, 1), b"", 100)),
        (0.95, packet(1, ACK, (1, 401), b"")),
    ]:
        micros = round(1e6 * at)
        capture += struct.pack("<IIII", 0, micros, len(octets), len(octets)) + octets
    file.write_bytes(capture)
    rows = explain(file).table("retransmissions").records()
    assert [row["cause_evidence"] for row in rows] == ["tail", "lone-by-habit"]
    assert [row["cause"] for row in rows] == ["tlp", "tlp"]
