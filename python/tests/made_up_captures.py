"""Makes captures of invented TCP packets."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

#: A packet. The first fields are the time in seconds, and the end that sends the packet. Then come
#: the sequence number, the acknowledgment, the flags, the window and the number of octets of data.
#: End 0 opens the connection.
MadeUp = tuple[float, int, int, int, int, int, int]

#: The link type in a pcap file whose packets begin with the IP header.
_RAW_IP = 101
#: Flags of TCP.
FIN, SYN, SYN_ACK, ACK = 0x01, 0x02, 0x12, 0x10


def made_up(packets: Sequence[MadeUp]) -> bytes:
    """Return the octets of a pcap file with these TCP packets."""
    capture = bytearray(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, _RAW_IP))
    for at, end, seq, ack, flags, window, length in packets:
        ports = (4000, 80) if end == 0 else (80, 4000)
        tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, window, 0, 0)
        addresses = [bytes((10, 0, 0, 1 + end)), bytes((10, 0, 0, 2 - end))]
        total = 20 + len(tcp) + length
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, total, 0, 0x4000, 64, 6, 0, *addresses)
        seconds, micros = divmod(round(1e6 * at), 1_000_000)
        packet = ip + tcp + bytes(length)
        capture += struct.pack("<IIII", seconds, micros, len(packet), len(packet)) + packet
    return bytes(capture)


#: The octets of data in a segment.
SEGMENT = 500

#: Half of the round trip [s].
HALF_S = 0.02


@dataclass
class Transfer:
    """Simulates a transfer without losses from end 0 to end 1, over a path without a queue.

    Attributes
    ----------
    pace_s
        The time between two segments of the sender [s].
    cwnd
        The maximum number of octets that the sender has outstanding.
    reads_s
        The time between two reads of the receiver's application [s]. The receiver acknowledges all
        data after each read. If the time is 0, the application reads at once. In this case the
        receiver acknowledges each second segment, and also a segment after which no segment is on
        its way.
    read
        The maximum number of octets that the application takes in one read.
    beside
        The end beside which the capture was taken.
    buffer
        The octets of the receiver's buffer. The window is the free part of the buffer.
    """

    pace_s: float
    cwnd: int = 60_000
    reads_s: float = 0.0
    read: int = 0
    beside: int = 0
    buffer: int = 60_000
    packets: list[MadeUp] = field(default_factory=list)
    #: The sender's next octet, its last received acknowledgment, and the end of its window.
    _sent: int = 1
    _acked: int = 1
    _edge: int = 60_001
    #: The octets that arrived, that the application took, and that the receiver acknowledged.
    _arrived: int = 1
    _taken: int = 1
    _told: int = 1
    _events: list[tuple[float, str, int, int]] = field(default_factory=list)

    def capture(self, segments: int) -> bytes:
        """Return the capture of a transfer with this number of segments."""
        self.handshake()
        self._at(2 * HALF_S, "send")
        if self.reads_s:
            self._at(3 * HALF_S, "read")
        while self._told < 1 + segments * SEGMENT:
            now, what, ack, edge = heapq.heappop(self._events)
            if what == "send":
                self._send(now, 1 + segments * SEGMENT)
            elif what == "arrive":
                self._arrive(now, ack)
            elif what == "read":
                self._taken = min(self._arrived, self._taken + self.read)
                self._acknowledge(now)
                self._at(now + self.reads_s, "read")
            else:
                self._acked, self._edge = ack, edge
        return made_up(sorted(self.packets))

    def handshake(self) -> None:
        """Record the three packets that open the connection."""
        far, near = (0.0, HALF_S) if self.beside == 0 else (HALF_S, 0.0)
        first = 0.0 if self.beside == 0 else HALF_S
        self._record(first, 0, (0, 0, SYN, 60_000, 0))
        self._record(first + 2 * near, 1, (0, 1, SYN_ACK, 60_000, 0))
        self._record(first + 2 * near + 2 * far, 0, (1, 1, ACK, 60_000, 0))

    def _record(self, at: float, end: int, fields: tuple[int, int, int, int, int]) -> None:
        """Add a packet to the capture."""
        self.packets.append((at, end, *fields))

    def _at(self, at: float, what: str, ack: int = 0, edge: int = 0) -> None:
        """Schedule an event."""
        heapq.heappush(self._events, (at, what, ack, edge))

    def _send(self, now: float, end: int) -> None:
        """Send the next segment if the windows allow it. The octet `end` follows the data."""
        limit = min(self._edge, self._acked + self.cwnd, end)
        if self._sent + SEGMENT <= limit:
            at = now if self.beside == 0 else now + HALF_S
            self._record(at, 0, (self._sent, 1, ACK, 60_000, SEGMENT))
            self._sent += SEGMENT
            self._at(now + HALF_S, "arrive", self._sent)
        self._at(now + self.pace_s, "send")

    def _arrive(self, now: float, octet: int) -> None:
        """Let all data before this octet arrive at the receiver."""
        self._arrived = octet
        if not self.reads_s and (octet - self._told >= 2 * SEGMENT or octet == self._sent):
            self._taken = octet
            self._acknowledge(now)

    def _acknowledge(self, now: float) -> None:
        """Send an ACK of all data that has arrived."""
        self._told = self._arrived
        window = self.buffer - (self._arrived - self._taken)
        at = now + HALF_S if self.beside == 0 else now
        self._record(at, 1, (1, self._arrived, ACK, window, 0))
        self._at(now + HALF_S, "told", self._arrived, self._arrived + window)
