"""Finds the instants at which a segment had no ACK within the RTO, and the sender's reactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class TableLike(Protocol):
    """A table of a run."""

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def seconds(self, name: str = "t_ns") -> Floats:
        """Return a column of nanoseconds in seconds."""


@dataclass(frozen=True)
class Crossing:
    """An instant at which a segment had no ACK within the RTO. Times are in seconds.

    The round trip was longer than the RTO, or the segment or its ACK was lost.

    Attributes
    ----------
    t
        The instant.
    rto
        The RTO that was exceeded.
    timeout
        True if the timer fired. If it did not fire, an ACK had restarted it before.
    retransmitted
        The instant of the retransmission that the crossing caused. It is `None` if there was no
        retransmission, or if the retransmissions were not recorded.
    packet
        The number of the packet that was retransmitted, as in the table `segments`.
    spurious
        True if the retransmission was spurious. Like `packet`, it is `None` if no retransmission is
        known.
    """

    t: float
    rto: float
    timeout: bool
    retransmitted: float | None = None
    packet: int | None = None
    spurious: bool | None = None


def crossings(
    rto: TableLike, rtt: TableLike, retransmissions: TableLike | None = None
) -> list[Crossing]:
    """Return the instants at which segments had no ACK within the RTO, in the order of time.

    Parameters
    ----------
    rto, rtt
        The tables `rto` and `rtt` of one direction of a flow. A packet that a timeout retransmitted
        may give no sample of the round trip. The crossing of this packet is at the instant of the
        timeout.
    retransmissions
        The rows of the table `segments` for retransmissions that left the sender. `None` if they
        were not recorded.

    Examples
    --------
    >>> class Table(dict):
    ...     def seconds(self, name="t_ns"):
    ...         return self[name] / 1e9
    >>> fired = Table(t_ns=np.array([0, 3e9]), rto_ns=np.array([2e9, 4e9]), fired=np.array([0, 1]))
    >>> crossings(fired, Table(t_ns=np.array([]), sent_ns=np.array([]), rtt_ns=np.array([])))
    [Crossing(t=3.0, rto=2.0, timeout=True, retransmitted=None, packet=None, spurious=None)]
    """
    times, values = rto.seconds(), rto.seconds("rto_ns")
    fired = np.flatnonzero(np.asarray(rto["fired"], dtype=bool)).tolist()
    exceeded = [
        _with_retransmission(float(times[row]), float(values[max(row - 1, 0)]), retransmissions)
        for row in fired
    ]
    known_instants = {crossing.t for crossing in exceeded}
    ends = np.append(times[1:], np.inf)
    for sent, acked_at in zip(rtt.seconds("sent_ns"), rtt.seconds(), strict=True):
        # For each RTO, the later of two instants: when the packet became older than the RTO, and
        # when the RTO was set.
        exceeds_at = np.maximum(times, sent + values)
        during = np.flatnonzero((exceeds_at < np.minimum(ends, acked_at)) & (ends > sent))
        if len(during):
            at = float(exceeds_at[during[0]])
            if not any(sent <= t <= acked_at for t in known_instants):
                exceeded.append(Crossing(at, float(values[during[0]]), timeout=False))
    return sorted(exceeded, key=lambda crossing: crossing.t)


def _with_retransmission(t: float, rto: float, retransmissions: TableLike | None) -> Crossing:
    """Return the crossing of a timeout at `t`, with the first retransmission at `t` or later."""
    if retransmissions is None:
        return Crossing(t, rto, timeout=True)
    after = np.flatnonzero(retransmissions.seconds() >= t)
    if not len(after):
        return Crossing(t, rto, timeout=True)
    row = after[0]
    return Crossing(
        t,
        rto,
        timeout=True,
        retransmitted=float(retransmissions.seconds()[row]),
        packet=int(retransmissions["packet"][row]),
        spurious=bool(retransmissions["spurious"][row]),
    )
