"""Finds which packets were in a queue together, from the queue's length and the ACKs' arrivals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class InQueue:
    """The packets that entered a first-in-first-out queue, in order; arrays have shape (n,).

    Attributes
    ----------
    entered, left
        When each packet entered the queue, and when its transmission ended [ns]. For packets that
        were still in the queue at the end of the run, `left` is the largest integer.
    ack
        True for each packet that is an ACK: a packet that entered when an ACK arrived.
    """

    entered: Integers
    left: Integers
    ack: NDArray[np.bool_]

    @classmethod
    def of(cls, t_ns: Integers, packets: Integers, acks_ns: Integers) -> InQueue:
        """Return the packets of a queue.

        Parameters
        ----------
        t_ns, packets
            When the length of the queue changed [ns], and the new length in packets. The packet in
            transmission counts.
        acks_ns
            When ACKs arrived [ns].
        """
        change = np.diff(packets, prepend=0)
        entered = np.repeat(t_ns[change > 0], change[change > 0])
        left = np.repeat(t_ns[change < 0], -change[change < 0])
        unfinished = np.full(len(entered) - len(left), np.iinfo(np.int64).max, dtype=np.int64)
        return cls(entered, np.append(left, unfinished), np.isin(entered, acks_ns))

    def data_met(self) -> Integers:
        """Return, for each ACK, the number of data packets in the queue when the ACK entered."""
        data = ~self.ack
        entered_before = np.searchsorted(self.entered[data], self.entered[self.ack], side="right")
        left_before = np.searchsorted(self.left[data], self.entered[self.ack], side="right")
        in_queue: Integers = (entered_before - left_before).astype(np.int64)
        return in_queue

    def longest(self) -> int:
        """Return the maximum length of the queue [packets]."""
        if not len(self.entered):
            return 0
        left_before = np.searchsorted(self.left, self.entered, side="right")
        return int((np.arange(1, len(self.entered) + 1) - left_before).max())
