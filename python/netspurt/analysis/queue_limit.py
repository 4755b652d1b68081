"""The limit of a drop-tail queue on a path, from a capture beside the sender.

A packet that is dropped met a full queue. The packet before it was the last to get in, so its round
trip exceeds the least one by the time that the packets before it took to leave. Divided by the time
of a packet, and counting the packet itself, that is the limit; the packet in transmission counts.
The method follows from a remark of Jacobson 1988; the treatment of delayed ACKs is ours.
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
    """What a capture says about the queue that dropped packets.

    Attributes
    ----------
    packet_s
        The time that the slowest line takes for a packet [s].
    rtt_s
        The least round trip [s].
    backlogs
        The packets in the queue at each drop, shape (n,), before they are rounded up.
    """

    packet_s: float
    rtt_s: float
    backlogs: Floats

    @property
    def packets(self) -> int | None:
        """The limit: the greatest backlog of two drops, rounded up; `None` without a usable drop.

        A packet that is partly transmitted still takes its place, so a backlog is rounded up.
        Where packets left between the packet before a drop and the dropped one, that backlog is
        smaller than the limit. None is greater, unless a receiver held an ACK longer than it seems;
        so of three drops or more, two must reach the limit.
        """
        count = len(self.backlogs)
        if not count:
            return None
        reached = np.sort(np.ceil(self.backlogs - _SLACK))
        return int(reached[-1 if count < 3 else -2])


#: A backlog that exceeds a whole number by less than this share of a packet is that number.
_SLACK = 0.01


def queue_limit(
    trace: Trace, packets_per_segment: int = 1, packet_s: float | None = None
) -> QueueLimit:
    """Infer the limit of the queue that dropped packets of a transfer.

    Parameters
    ----------
    trace
        The capture beside the sender.
    packets_per_segment
        In how many packets a full segment crosses the queue, if a net fragments it.
    packet_s
        The time of a packet at the slowest line [s]; by default the commonest distance between ACKs
        that follow each other, divided by what they acknowledge. Where ACKs wait in a queue of
        their own that distance is not the line's, so it must be given.

    Raises
    ------
    ValueError
        If no round trip can be measured, since nothing was acknowledged.

    Notes
    -----
    A round trip counts if its ACK covers no retransmission (Karn). If the receiver delays its ACKs,
    the ACK of a single segment was held until the next arrival; a drop leaves a gap of a packet
    before that one, so one packet is subtracted.
    """
    new = _NewAcks.of(trace)
    paired = new.clean & (new.segments > 1.5)
    delays = paired.any()
    usable = paired if delays else new.clean
    known = usable & np.isfinite(new.rtt)
    if not known.any():
        raise ValueError("no round trip can be measured: no ACK covers new data alone")
    least = float(new.rtt[known].min())
    if packet_s is None:
        packet_s = _segment_time(new, usable) / packets_per_segment
    ends = np.unique(trace.seq[trace.again])
    before = np.isin(new.ack, ends) & np.isfinite(new.rtt)
    held = before & ~usable
    backlogs = (new.rtt - least) / packet_s + 1 - np.where(held, packets_per_segment, 0)
    return QueueLimit(packet_s, least, backlogs[before])


@dataclass(frozen=True)
class _NewAcks:
    """The ACKs of new data: times [s], numbers, segments covered, and round trips [s] or NaN."""

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
        # An ACK that covers the start of a retransmission waited for it.
        again = np.unique(trace.seq[trace.again])
        clean = np.searchsorted(again, ack) == np.searchsorted(again, low)
        place = np.minimum(np.searchsorted(ends, ack), max(0, len(ends) - 1))
        timed = clean & (ends[place] == ack) if len(ends) else np.zeros(len(ack), dtype=np.bool_)
        sent = trace.t_ns[fresh][place] / 1e9 if len(ends) else np.zeros(len(ack))
        rtt = np.where(timed, t - sent, np.nan)
        return cls(t, ack, (ack - low) / full, rtt, clean)


def _segment_time(new: _NewAcks, usable: NDArray[np.bool_]) -> float:
    """Return the commonest distance of ACKs per segment that the second one covers [s]."""
    apart = np.diff(new.t) / new.segments[1:]
    fit = usable[1:] & new.clean[1:] & new.clean[:-1] & (apart > 0)
    if not fit.any():
        raise ValueError("the rate of the line does not show: give the time of a packet")
    return half_sample_mode(apart[fit])


def half_sample_mode(values: Floats) -> float:
    """Return the place at which values lie closest together.

    The densest half of the values is taken again and again (Bickel and Fruehwirth 2006).

    Examples
    --------
    >>> half_sample_mode(np.array([1.0, 2.0, 2.01, 2.02, 5.0, 9.0])) < 2.02
    True
    """
    left = np.sort(values)
    while len(left) > 2:
        half = (len(left) + 1) // 2
        spans = left[half - 1 :] - left[: len(left) - half + 1]
        first = int(np.argmin(spans))
        left = left[first : first + half]
    return float(left.mean())
