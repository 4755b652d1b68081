"""Makes incomplete captures from whole ones: without some packets, or with shortened packets.

The module reads only pcapng files that netspurt writes: one section in little-endian order, with
one interface and timestamps in nanoseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Block types of draft-ietf-opsawg-pcapng: section header, interface, enhanced packet.
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6

#: The fixed part of an enhanced packet block: interface, timestamp, captured and original length.
_FIXED = struct.Struct("<IIIII")


class CollectionError(ValueError):
    """A file of a collection is damaged, or a capture disagrees with the tables of its run."""


@dataclass(frozen=True)
class Packet:
    """A packet of a capture.

    Attributes
    ----------
    unix_ns
        The timestamp of the packet, in nanoseconds since 1970.
    size_bytes
        The length of the packet on the wire.
    octets
        The captured octets of the packet.
    """

    unix_ns: int
    size_bytes: int
    octets: bytes


def read_packets(file: Path) -> list[Packet]:
    """Return the packets of a capture.

    Raises
    ------
    CollectionError
        If the file is not pcapng in little-endian order, or is cut or damaged.
    """
    return [_packet(body) for kind, body in _blocks(file) if kind == _PACKET]


def write_part(source: Path, target: Path, keep: Sequence[int], snap_bytes: int) -> None:
    """Write some packets of a file into another file, each cut to `snap_bytes` octets.

    `keep` has the numbers of the packets, counted from 0. Lengths on the wire and timestamps do not
    change. Comments of packets are left out.

    Raises
    ------
    CollectionError
        If the source is not pcapng in little-endian order, or is cut or damaged.
    """
    kept, number = set(keep), -1
    with target.open("xb") as out:
        for kind, body in _blocks(source):
            if kind == _INTERFACE:
                out.write(_block(kind, body[:4] + struct.pack("<I", snap_bytes) + body[8:]))
                continue
            if kind != _PACKET:
                out.write(_block(kind, body))
                continue
            number += 1
            if number in kept:
                out.write(_block(kind, _cut(body, snap_bytes)))


def _blocks(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the type and the body of each block."""
    content, at = file.read_bytes(), 0
    if content[8:12] != b"\x4d\x3c\x2b\x1a":
        raise CollectionError(f"{file} is not a pcapng file in little-endian order")
    while at < len(content):
        if at + 12 > len(content):
            raise CollectionError(f"{file} is cut at octet {at}")
        kind, length = struct.unpack_from("<II", content, at)
        if length < 12 or length % 4 or at + length > len(content):
            raise CollectionError(f"{file} has a block of {length} octets at octet {at}")
        yield kind, content[at + 8 : at + length - 4]
        at += length


def _packet(body: bytes) -> Packet:
    _, high, low, captured, size = _FIXED.unpack_from(body)
    return Packet(high << 32 | low, size, body[_FIXED.size : _FIXED.size + captured])


def _cut(body: bytes, snap_bytes: int) -> bytes:
    """Return a block's body with at most `snap_bytes` octets of its packet, without options."""
    interface, high, low, captured, size = _FIXED.unpack_from(body)
    captured = min(captured, snap_bytes)
    octets = body[_FIXED.size : _FIXED.size + captured]
    padding = bytes(-captured % 4)
    return _FIXED.pack(interface, high, low, captured, size) + octets + padding


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length
