"""Connections of two captures, made at two points of one path, matched segment by segment."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from netspurt import _core
from netspurt.stored import whole_octets


@dataclass(frozen=True)
class MatchedConnection:
    """A connection that at least one of two captures has. Times are in seconds.

    Attributes
    ----------
    client, server
        The two ends of the connection.
    second_client, second_server
        The two ends of the connection in the second capture. They differ from `client` and `server`
        if an address translator (NAT) lies between the two points. If the first capture does not
        have the connection, `client` and `server` have the same values.
    segments
        The number of segments in the two captures. A segment that both captures have counts once.
        Segments that occupy no sequence numbers do not count.
    paired
        The number of segments that both captures have.
    only_first, only_second
        The number of segments that only the first, or only the second, capture has.
    first_copies, second_copies
        The number of further copies of segments in each capture. For example, a capture at several
        points of the path has copies. They do not count as segments.
    out_s, back_s
        `out_s` is the median time of the client's segments from the first capture point to the
        second. `back_s` is the median time of the server's segments from the second capture point
        to the first. A value is NaN if there are no such segments.
    lengths_differ
        True if fewer than half of the data segments are in both captures, and each capture has data
        segments that the other capture lacks. Then segmentation offload probably changed their
        lengths at one of the two points, and the numbers do not show how many segments were lost.
    """

    client: str
    server: str
    segments: int
    paired: int
    only_first: int
    only_second: int
    out_s: float
    back_s: float
    lengths_differ: bool
    second_client: str
    second_server: str
    first_copies: int
    second_copies: int

    @property
    def is_translated(self) -> bool:
        """Whether the connection has other addresses or ports in the second capture."""
        return (self.client, self.server) != (self.second_client, self.second_server)


class PairedSegment(NamedTuple):
    """A segment of one or both captures.

    Attributes
    ----------
    source, destination
        The end that sent the segment, and the other end. If the ends differ in the second capture,
        these are the ends in the first capture.
    seq, octets
        The sequence number, and the payload in octets.
    opens
        True if the segment has a SYN.
    first_ns, second_ns
        When each capture saw the segment, in nanoseconds since 1970, or -1 if it did not.
    segments
        The number of segments that this row stands for.
    first_copies, second_copies
        The number of further copies of the segment in each capture.
    """

    source: str
    destination: str
    seq: int
    octets: int
    opens: bool
    first_ns: int
    second_ns: int
    segments: int
    first_copies: int
    second_copies: int

    @property
    def ends(self) -> frozenset[str]:
        """The two ends, in no order."""
        return frozenset((self.source, self.destination))


#: The minimum share of data segments that are in both captures. If the share is smaller, the
#: segments probably have different lengths at the two points.
MATCHED_MIN = 0.5


def paired(
    first: Path, second: Path
) -> tuple[list[PairedSegment], dict[tuple[str, str], tuple[str, str]]]:
    """Pair the segments of two captures of one path.

    Returns
    -------
    The segments, and the directions that have other ends in the second capture: source and
    destination in the first capture, each with source and destination in the second.

    Raises
    ------
    DelaysError
        If either file is not a capture.
    ValueError
        If either file is a device with more than 64 MiB, such as ``/dev/zero``.
    """
    rows, translated = _core.pair_captures(
        str(first), whole_octets(first), str(second), whole_octets(second)
    )
    return [PairedSegment(*row) for row in rows], dict(translated)


def client_and_server(segments: Sequence[PairedSegment]) -> tuple[str, str]:
    """Return the ends of a connection. The client sent the first SYN.

    Without a SYN, the client is the end that sent the first segment.
    """
    first = next((one for one in segments if one.opens), segments[0])
    return first.source, first.destination


def match(first: Path, second: Path) -> list[MatchedConnection]:
    """Match the connections of two captures, segment by segment, by their sequence numbers.

    Raises
    ------
    DelaysError
        If either file is not a capture.
    """
    segments, translated = paired(first, second)
    groups: dict[frozenset[str], list[PairedSegment]] = {}
    for one in segments:
        groups.setdefault(one.ends, []).append(one)
    return [_matched(group, translated) for group in groups.values()]


@dataclass(frozen=True)
class CutCapture:
    """A capture that ends in the middle of a record.

    Attributes
    ----------
    records
        The number of complete records before the cut. In pcapng, this includes blocks without a
        packet.
    octets, of
        The number of octets that the last record has, and the number that it should have. If the
        cut is in the record's header, `of` is the length of the header.
    """

    records: int
    octets: int
    of: int


#: The first octets of a pcap file, for each byte order.
_PCAP = {
    b"\xd4\xc3\xb2\xa1": "<",
    b"\x4d\x3c\xb2\xa1": "<",
    b"\xa1\xb2\xc3\xd4": ">",
    b"\xa1\xb2\x3c\x4d": ">",
}
_PCAPNG = b"\x0a\x0d\x0d\x0a"


def cut_off(file: Path) -> CutCapture | None:
    """Return where a capture ends in the middle of a record, or `None` if it ends after a record.

    Files that are neither pcap nor pcapng, such as compressed files, are not examined.
    """
    data = file.read_bytes()
    if data[:4] == _PCAPNG:
        at, head = 0, 12
    elif data[:4] in _PCAP:
        at, head = 24, 16
    else:
        return None
    order = _PCAP.get(data[:4], "<")
    records = 0
    while at < len(data):
        left = len(data) - at
        length = head
        if left >= head and head == 16:
            length = head + int(struct.unpack_from(order + "I", data, at + 8)[0])
        elif left >= head:
            # The header of a pcapng section shows the byte order of the section.
            if data[at : at + 4] == _PCAPNG:
                order = "<" if data[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            length = max(head, int(struct.unpack_from(order + "I", data, at + 4)[0]))
        if length > left:
            return CutCapture(records, left, length)
        at += length
        records += 1
    return None


def _matched(
    group: list[PairedSegment], translated: Mapping[tuple[str, str], tuple[str, str]]
) -> MatchedConnection:
    client, server = client_and_server(group)
    sent = np.array([one.source == client for one in group])
    first = np.array([one.first_ns for one in group], dtype=np.int64)
    second = np.array([one.second_ns for one in group], dtype=np.int64)
    segments = np.array([one.segments for one in group], dtype=np.int64)
    both = (first >= 0) & (second >= 0)
    has_data = np.array([one.octets > 0 for one in group])
    is_missed = bool((has_data & (first < 0)).any() and (has_data & (second < 0)).any())

    def median(which: Any, span: Any) -> float:
        return float(np.median(span[which])) / 1e9 if which.any() else float("nan")

    second_client, second_server = translated.get((client, server), (client, server))
    return MatchedConnection(
        client,
        server,
        int(segments.sum()),
        int(segments[both].sum()),
        int(segments[second < 0].sum()),
        int(segments[first < 0].sum()),
        median(both & sent, second - first),
        median(both & ~sent, first - second),
        is_missed
        and bool(segments[both & has_data].sum() < MATCHED_MIN * segments[has_data].sum()),
        second_client,
        second_server,
        sum(one.first_copies for one in group),
        sum(one.second_copies for one in group),
    )
