"""Finds senders that held back short segments until an ACK came, as Nagle's algorithm does.

`netspurt.analysis.nagle` finds senders that never have more than one segment outstanding. This
module finds other senders. If an application writes each message in two or more parts, its sender
may send several full segments of a message. Then it holds back only the last, short segment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netspurt.analysis.nagle import short_segments
from netspurt.analysis.seen import is_beside
from netspurt.analysis.stopped import long_waits
from netspurt.table import Table
from netspurt.wording import duration

#: The minimum share of a connection's time in which short segments waited.
_SHARE_MIN = 0.25
#: The minimum time that short segments waited, in round trips. A congestion window grows by several
#: segments in this time, so it would have let a short segment go.
_TRIPS_MIN = 10


@dataclass(frozen=True)
class HeldSegments:
    """A direction whose sender held back short segments until an ACK came.

    Attributes
    ----------
    connection
        The number of the connection.
    source
        The address of the sender.
    held_s
        How long short segments waited, in seconds.
    share
        `held_s` as a share of the connection's time.
    """

    connection: int
    source: str
    held_s: float
    share: float

    def sentence(self, who: str) -> str:
        """Return sentences on why the data of the connection `who` waited, and on what helps."""
        return (
            f"For {self.share:.0%} of the time of {who} ({duration(self.held_s)}), a short segment "
            f"waited at {self.source} until an ACK came. Nothing was lost, so a congestion window "
            "would have grown. This is most likely Nagle's algorithm (RFC 896). To mend this, let "
            f"the application at {self.source} write each message with one call, or set "
            "TCP_NODELAY."
        )


def held_segments(tables: Mapping[str, Table]) -> list[HeldSegments]:
    """Return the directions whose short segments waited long.

    Directions that `short_segments` returns are left out. The longest waits come first. Only
    captures beside the sender show such waits.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `habits`, `spent`.
    """
    connections = tables["connections"]
    own = long_waits(connections, ["short"], _SHARE_MIN)
    if not len(own):
        return []
    own = own.select(is_beside("sender", own, tables))
    known = {one.connection for one in short_segments(tables)}
    found = [
        HeldSegments(
            connection=int(row["connection"]),
            source=row["source"],
            held_s=row["short_wait_ns"] / 1e9,
            share=row["short_wait_ns"] / row["duration_ns"],
        )
        for row in own.each()
        if row["connection"] not in known
        and row["retransmissions"] == 0
        and row["short_wait_ns"] >= _TRIPS_MIN * (row["rtt_ns_mean"] or 0)
    ]
    return sorted(found, key=lambda one: -one.held_s)
