"""Makes Jacobson's two listings of a transfer, `send-ack` and `packetdat`, from a capture.

Jacobson's mail of 1988 names both listings. It says that the listings are made from the raw trace,
but it does not describe their form. Here `send-ack` has a row for each transmission of data, with
the instants at which the data left and was acknowledged. `packetdat` has a row for each packet.
Both listings use only columns that any capture has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

#: Flags of TCP headers (RFC 9293 §3.1).
_FIN, _SYN, _RST = 1, 2, 4


class SegmentTable(Protocol):
    """A table of segments of a run or of a capture."""

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column."""


@dataclass(frozen=True)
class Trace:
    """The packets of a transfer in one capture, in the order of time; all arrays have shape (n,).

    Attributes
    ----------
    t_ns
        Timestamps [ns].
    in_data_direction
        True for each packet in the direction of the data.
    seq, length, ack, window
        Values of the TCP header. Sequence numbers count from the initial sequence number. `length`
        is the length of the user data [octets].
    size
        The length of the datagram [octets].
    flags
        The flags of the TCP header, as one number: the sum of the values of the flags.
    """

    t_ns: Integers
    in_data_direction: Booleans
    seq: Integers
    length: Integers
    ack: Integers
    window: Integers
    size: Integers
    flags: Integers

    @classmethod
    def of(cls, rows: SegmentTable, direction: str = "forward") -> Trace:
        """Return the trace of a flow at one node; `direction` is the direction of the data.

        Only the first fragment of a fragmented datagram is used, because it has the TCP header.
        """
        offset = np.ma.filled(np.ma.asarray(rows["offset_bytes"]), 0)
        first_fragments = np.flatnonzero(offset == 0)

        def column(name: str) -> Integers:
            return np.asarray(rows[name])[first_fragments].astype(np.int64)

        way: Booleans = np.asarray(rows["direction"])[first_fragments] == direction
        columns = ("seq", "len_bytes", "ack", "window", "size_bytes", "flags")
        return cls(column("t_ns"), way, *(column(name) for name in columns))

    @property
    def data(self) -> Booleans:
        """True for each packet that carries data in the direction of the trace's data."""
        found: Booleans = self.in_data_direction & (self.length > 0)
        return found

    @property
    def again(self) -> Booleans:
        """True for each data packet that begins before the end of an earlier data packet."""
        return self._repeated(self.data)

    @property
    def pure_acks(self) -> Booleans:
        """True for each packet in the opposite direction that has no data, SYN, FIN or RST."""
        found: Booleans = ~self.in_data_direction & self._bare
        return found

    def kinds(self) -> NDArray[np.str_]:
        """Return the kind of each packet, in the words of a run's table `segments`.

        The kinds follow from the capture alone.
        """
        found = np.full(len(self.t_ns), "other", dtype="<U14")
        found[(self.flags & _FIN) != 0] = "fin"
        for way in (self.in_data_direction, ~self.in_data_direction):
            data = way & (self.length > 0)
            found[data] = "data"
            found[self._repeated(data)] = "retransmission"
            found[way & self._bare] = self._kinds_of_acks(way)
        found[(self.flags & _SYN) != 0] = "syn"
        found[(self.flags & _RST) != 0] = "rst"
        return found

    @property
    def _bare(self) -> Booleans:
        """True for each packet that has no data, SYN, FIN or RST."""
        found: Booleans = (self.length == 0) & ((self.flags & (_FIN | _SYN | _RST)) == 0)
        return found

    def _repeated(self, data: Booleans) -> Booleans:
        """Return whether each packet is data that begins before the end of earlier data."""
        seen: Booleans = np.zeros(len(data), dtype=np.bool_)
        ends = np.maximum.accumulate(np.append(0, (self.seq + self.length)[data]))[:-1]
        seen[data] = self.seq[data] < ends
        return seen

    def _kinds_of_acks(self, way: Booleans) -> NDArray[np.str_]:
        """Return the kind of each pure ACK of a direction: duplicate, old, or any other ACK.

        A duplicate is defined in RFC 5681 §2. The function does not check that data is outstanding,
        which RFC 5681 requires of a duplicate.
        """
        pure = self._bare[way]
        ack, window = self.ack[way], self.window[way]
        highest = np.maximum.accumulate(np.append(-1, ack))[:-1]
        before = np.append(-1, window)[:-1]
        kind = np.full(len(ack), "ack", dtype="<U14")
        kind[(ack == highest) & (window == before)] = "dupack"
        kind[ack < highest] = "old-ack"
        return kind[pure]


@dataclass(frozen=True)
class SendAck:
    """Transmissions of data in order; all arrays have shape (n,).

    Attributes
    ----------
    sent_ns
        The instant at which each transmission left [ns].
    seq, end
        The first octet of each transmission, and the first octet after it.
    again
        True if the transmission begins before the end of an earlier transmission.
    acked_ns
        The instant at which all octets of the transmission were acknowledged [ns], or -1 if they
        never were. If a retransmission left after its data was acknowledged, this instant is before
        `sent_ns`.
    """

    sent_ns: Integers
    seq: Integers
    end: Integers
    again: Booleans
    acked_ns: Integers

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the listing as texts. A cell is empty if there was no ACK."""
        spans = np.where(self.acked_ns < 0, -1, self.acked_ns - self.sent_ns)
        return [
            (
                str(sent),
                str(seq),
                str(end),
                "again" if again else "new",
                str(acked) if acked >= 0 else "",
                str(span) if acked >= 0 else "",
            )
            for sent, seq, end, again, acked, span in zip(
                *(column.tolist() for column in (self.sent_ns, self.seq, self.end, self.again)),
                self.acked_ns.tolist(),
                spans.tolist(),
                strict=True,
            )
        ]


#: The columns of the two listings.
SEND_ACK = ("sent_ns", "seq", "end", "kind", "acked_ns", "took_ns")
PACKETDAT = ("t_ns", "way", "kind", "seq", "len_bytes", "ack", "window", "size_bytes")


def send_ack(trace: Trace) -> SendAck:
    """Return when each transmission of data left, and when its data was first acknowledged."""
    data = trace.data
    ends = (trace.seq + trace.length)[data]
    answers = ~trace.in_data_direction & ((trace.flags & _RST) == 0)
    highest = np.maximum.accumulate(np.append(0, trace.ack[answers]))[1:]
    place = np.searchsorted(highest, ends)
    times = np.append(trace.t_ns[answers], -1)
    return SendAck(trace.t_ns[data], trace.seq[data], ends, trace.again[data], times[place])


def packetdat(trace: Trace) -> list[tuple[str, ...]]:
    """Return a row for each packet, as texts."""
    ways = np.where(trace.in_data_direction, "data", "acks")
    columns = (trace.seq, trace.length, trace.ack, trace.window, trace.size)
    cells = (trace.t_ns, ways, trace.kinds(), *columns)
    return [tuple(map(str, row)) for row in zip(*(cell.tolist() for cell in cells), strict=True)]
