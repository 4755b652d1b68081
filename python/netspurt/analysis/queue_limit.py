"""Infers the limit of a drop-tail queue on a path from a capture beside the sender.

A packet is dropped if the queue is full when it arrives. The packet before the dropped packet was
the last packet that entered the queue. It waited until all packets before it in the queue had left,
so its round trip exceeds the minimum round trip by this wait. The wait, divided by the transmission
time of one packet, is the number of packets before the last packet. The limit is this number plus
one, because the last packet also counts. The packet in transmission counts, too. The method follows
from a remark of Jacobson 1988. The treatment of delayed ACKs is not from this paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.listings import Trace

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class QueueLimit:
    """What a capture shows of the queue that dropped packets.

    Attributes
    ----------
    packet_s
        The time that the slowest line needs to transmit a packet [s].
    rtt_s
        The minimum round trip [s].
    backlogs
        The number of packets in the queue at each drop, shape (n,), before rounding up.
    """

    packet_s: float
    rtt_s: float
    backlogs: Floats

    @property
    def packets(self) -> int | None:
        """The limit: the largest backlog or the second largest, rounded up; `None` without a drop.

        A packet that is partly transmitted still takes its place, so a backlog is rounded up. If
        packets left between the packet before a drop and the dropped packet, the backlog of this
        drop is smaller than the limit. A backlog is larger than the limit only if the receiver
        held an ACK for longer than assumed. So with three drops or more, the largest backlog is
        not trusted, and the second largest is the limit.
        """
        count = len(self.backlogs)
        if not count:
            return None
        reached = np.sort(np.ceil(self.backlogs - _TOLERANCE))
        return int(reached[-1 if count < 3 else -2])


#: A backlog that exceeds a whole number by less than `_TOLERANCE` packets is rounded down.
_TOLERANCE = 0.01


def queue_limit(
    trace: Trace, packets_per_segment: int = 1, packet_s: float | None = None
) -> QueueLimit:
    """Infer the limit of the queue that dropped packets of a transfer.

    Parameters
    ----------
    trace
        The capture beside the sender.
    packets_per_segment
        The number of packets in which a full segment crosses the queue, if a net fragments it.
    packet_s
        The time that the slowest line needs for a packet [s]. By default, each interval between two
        successive ACKs is divided by the number of packets that the second ACK covers. The most
        common quotient is taken. `packet_s` must be given if ACKs also wait in a queue, because
        this wait changes the intervals between ACKs.

    Raises
    ------
    ValueError
        If no ACK covers only new data, because then no round trip is known. Also if `packet_s` is
        not given and the ACKs do not show the time of a packet.

    Notes
    -----
    A round trip is used if its ACK covers no retransmission (Karn). A receiver that delays its ACKs
    holds the ACK of a single segment until the next segment arrives. If the single segment is the
    last segment before a drop, the next segment is assumed to arrive after the transmission time of
    one segment. So the packets of one segment are subtracted from the backlog.
    """
    new = _NewAcks.of(trace)
    paired = new.clean & (new.segments > 1.5)
    delays = paired.any()
    usable = paired if delays else new.clean
    # A held ACK only makes a round trip longer, so the ACKs of single segments count here, too. A
    # segment that is not full needs less time on the line.
    known = new.clean & np.isfinite(new.rtt) & (new.segments >= 1)
    if not known.any():
        raise ValueError("no round trip can be measured: no ACK covers only new data")
    min_rtt = float(new.rtt[known].min())
    if packet_s is None:
        packet_s = _segment_time(new, usable) / packets_per_segment
    ends = np.unique(trace.seq[trace.again])
    before = np.isin(new.ack, ends) & np.isfinite(new.rtt)
    delayed = before & ~usable
    backlogs = (new.rtt - min_rtt) / packet_s + 1 - np.where(delayed, packets_per_segment, 0)
    return QueueLimit(packet_s, min_rtt, backlogs[before])


@dataclass(frozen=True)
class _NewAcks:
    """The ACKs of new data: instants [s], acknowledgment numbers, and round trips [s] or NaN.

    `segments` says how many full segments each ACK covers. `clean` is true for each ACK that covers
    no retransmission.
    """

    t: Floats
    ack: Integers
    segments: Floats
    rtt: Floats
    clean: NDArray[np.bool_]

    @classmethod
    def of(cls, trace: Trace) -> _NewAcks:
        acks = trace.pure_acks
        numbers = trace.ack[acks]
        floor = np.maximum.accumulate(np.append(1, numbers))[:-1]
        new = numbers > floor
        t, ack, low = trace.t_ns[acks][new] / 1e9, numbers[new], floor[new]
        fresh = trace.data & ~trace.again
        ends = (trace.seq + trace.length)[fresh]
        full = float(np.median(trace.length[fresh])) if fresh.any() else 1.0
        # An ACK that covers the start of a retransmission waited for this retransmission.
        retransmitted = np.unique(trace.seq[trace.again])
        clean = np.searchsorted(retransmitted, ack) == np.searchsorted(retransmitted, low)
        place = np.minimum(np.searchsorted(ends, ack), max(0, len(ends) - 1))
        timed = clean & (ends[place] == ack) if len(ends) else np.zeros(len(ack), dtype=np.bool_)
        sent = trace.t_ns[fresh][place] / 1e9 if len(ends) else np.zeros(len(ack))
        rtt = np.where(timed, t - sent, np.nan)
        return cls(t, ack, (ack - low) / full, rtt, clean)


def _segment_time(new: _NewAcks, usable: NDArray[np.bool_]) -> float:
    """Return the most common time between two ACKs, per segment that the second ACK covers [s]."""
    intervals = np.diff(new.t) / new.segments[1:]
    suitable = usable[1:] & new.clean[1:] & new.clean[:-1] & (intervals > 0)
    if not suitable.any():
        raise ValueError("the ACKs do not show the rate of the line: set packet_s")
    return half_sample_mode(intervals[suitable])


def half_sample_mode(values: Floats) -> float:
    """Return the value around which the given values are closest together.

    The function takes the densest half of the values, then the densest half of this half, and so on
    (Bickel and Fruehwirth 2006).

    Examples
    --------
    >>> half_sample_mode(np.array([1.0, 2.0, 2.01, 2.02, 5.0, 9.0])) < 2.02
    True
    """
    densest = np.sort(values)
    while len(densest) > 2:
        half = (len(densest) + 1) // 2
        spans = densest[half - 1 :] - densest[: len(densest) - half + 1]
        first = int(np.argmin(spans))
        densest = densest[first : first + half]
    return float(densest.mean())
