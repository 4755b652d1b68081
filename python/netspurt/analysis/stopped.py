"""Finds connections whose sender often waited for its application or for its send buffer.

A capture beside the sender shows that the sender stopped: the last segment was short, or more than
half of the outstanding data was acknowledged although no new data was sent. If the sender goes on
just after an ACK, with full segments, it had waited for room in its send buffer. It had not waited
for its application, because an application does not see ACKs. It had not waited for its congestion
window, because a congestion window lets new data leave with each ACK. If the sender goes on at
another instant, it had waited for its application.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.seen import is_beside, may_have_filled_window
from netspurt.table import Table
from netspurt.wording import duration, number

#: A sender waited long for its application if this wait took at least `_WRITE_MIN` of the
#: connection's time. It waited long for its send buffer if this wait took at least `_BUFFER_MIN` of
#: this time. `_BUFFER_MIN` is smaller, because the wait for a full buffer is measured only in part:
#: its measurement begins when more than half of the outstanding data is acknowledged.
_WRITE_MIN, _BUFFER_MIN = 0.25, 0.1


@dataclass(frozen=True)
class Stopped:
    """A direction whose sender stopped for long, although the other end sent no data.

    Attributes
    ----------
    connection
        The number of the connection.
    source
        The address of the sender.
    stopped_s
        How long the sender stopped, in seconds.
    share
        `stopped_s` as a share of the connection's time.
    for_buffer
        True if the send buffer held the sender back; false if its application did.
    outstanding_bytes
        The maximum number of outstanding octets.
    """

    connection: int
    source: str
    stopped_s: float
    share: float
    for_buffer: bool
    outstanding_bytes: int

    def sentence(self, who: str) -> str:
        """Return sentences on what held the connection `who` back, and what helps."""
        took = f"For {self.share:.0%} of the time of {who} ({duration(self.stopped_s)}),"
        if not self.for_buffer:
            return (
                f"{took} {self.source} had sent all the data that its application had written, and "
                "then the application wrote more. So this application limits the rate. Look at it "
                "first."
            )
        return (
            f"{took} {self.source} sent nothing although most of its data was acknowledged. Then "
            "it went on just after an ACK, with full segments; at most "
            f"{number(self.outstanding_bytes)} octets were outstanding. A congestion window lets "
            "new data leave with each ACK, and the receive window had room. So most likely the "
            f"send buffer at {self.source} was full, and its application waited for room. A larger "
            "send buffer (`SO_SNDBUF`) helps."
        )


def stopped_share(row: Mapping[str, Any]) -> float:
    """Return how long the sender of a row of `connections` stopped, as a share of its time."""
    if not row["duration_ns"]:
        return 0.0
    return float((row["write_wait_ns"] + row["buffer_wait_ns"]) / row["duration_ns"])


def all_stopped(tables: Mapping[str, Table]) -> list[Stopped]:
    """Return the directions whose sender stopped for long, the longest time first.

    Only captures beside the sender show such stops.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `habits`.
    """
    connections = tables["connections"]
    own = long_waits(connections, ("write", "buffer"), _BUFFER_MIN)
    own = own.select(is_beside("sender", own, tables)) if len(own) else own
    found = []
    for row in own.each():
        for_buffer = row["buffer_wait_ns"] > row["write_wait_ns"]
        waited_ns = max(row["buffer_wait_ns"], row["write_wait_ns"])
        is_full = may_have_filled_window(row, connections)
        least = _BUFFER_MIN if for_buffer else _WRITE_MIN
        if waited_ns < least * row["duration_ns"] or (for_buffer and is_full):
            continue
        found.append(
            Stopped(
                connection=int(row["connection"]),
                source=row["source"],
                stopped_s=waited_ns / 1e9,
                share=float(waited_ns / row["duration_ns"]),
                for_buffer=bool(for_buffer),
                outstanding_bytes=int(row["outstanding_bytes_max"]),
            )
        )
    return sorted(found, key=lambda one: -one.stopped_s)


def long_waits(connections: Table, kinds: Sequence[str], share: float) -> Table:
    """Return the directions in `connections` whose sender waited long.

    The waits for each of the `kinds` are added. For example, the kind `write` is the wait for the
    application. The sender waited long if the sum is at least `share` of the connection's time.
    """
    names = [f"{kind}_wait_ns" for kind in kinds]

    def is_long(part: Table) -> NDArray[np.bool_]:
        whole = part["duration_ns"]
        waited: NDArray[np.int64] = np.sum([part[name] for name in names], axis=0)
        return (whole > 0) & (waited >= share * whole)

    return connections.copied(connections.numbers_of(["duration_ns", *names], is_long))
