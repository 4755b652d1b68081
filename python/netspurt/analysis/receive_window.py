"""Connections that the receive window held back, and what would help them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from netspurt.analysis.seen import heard, receiver_of, round_trip, vantages, window_max
from netspurt.analysis.spent import whole_s
from netspurt.table import Table
from netspurt.wording import duration, number, rate

#: The minimum share of a connection's time.
_SHARE_MIN = 0.25
#: If less than this part of the largest window so far was open, mean over the time, the receiver
#: had much data that its application had not read.
_OPEN_MIN = 0.75


@dataclass(frozen=True)
class WindowLimit:
    """A direction that its receiver's window held back.

    Attributes
    ----------
    connection
        The number of the connection.
    receiver
        The address of the receiver.
    share
        The share of the connection's time.
    window_bytes
        The largest window.
    rtt_s
        The mean round trip, in seconds; beside the receiver, that of the handshake.
    rtt_seen
        True if the capture shows the round trips of data.
    is_open
        True if most of the largest window so far was open. Then the size of the receive buffer
        limits it; else an application that reads slowly.
    mean_bytes
        The mean window over the time.
    closed
        How often the window was closed.
    had_bps
        The rate of the connection without the time of its applications, in bits per second.
    """

    connection: int
    receiver: str
    share: float
    window_bytes: int
    rtt_s: float
    rtt_seen: bool
    is_open: bool
    mean_bytes: float
    closed: int
    had_bps: float

    @property
    def allowed_bps(self) -> float:
        """The rate that the largest window allows in these round trips, in bits per second."""
        return 8 * self.window_bytes / self.rtt_s

    def sentence(self, who: str) -> str:
        """Return sentences on what held the connection `who` back, and what helps."""
        about, trips = ("", "") if self.rtt_seen else ("about ", " at the handshake")
        held = f"The receive window held {who} back for {about}{self.share:.0%} of its time"
        most = f"{number(self.window_bytes)} octets"
        if self.is_open:
            return (
                f"{held}. {self.receiver} announced at most {most}. With round trips of "
                f"{duration(self.rtt_s)}{trips} this allows {rate(self.allowed_bps)}. A larger "
                f"receive buffer at {self.receiver} helps."
            )
        times = "once" if self.closed == 1 else f"{number(self.closed)} times"
        closed = f", and {self.receiver} closed it {times}" if self.closed else ""
        return (
            f"{held}, because the application at {self.receiver} read more slowly than data could "
            f"come: about {rate(self.had_bps)}. The window was {number(round(self.mean_bytes))} "
            f"octets on average, {most} at most{closed}. An application that reads faster helps. A "
            "larger receive buffer does not help for long."
        )


def window_limits(tables: Mapping[str, Table]) -> list[WindowLimit]:
    """Return the directions that the receive window held back, the longest first.

    Only the direction with more data of a connection counts.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `habits`, `spent`.
    """
    spent, connections = heard(tables), tables["connections"]
    whole, waited = whole_s(spent), spent.seconds("receive_window_ns")
    long = (waited > 0) & (waited >= _SHARE_MIN * whole)
    if not long.any():
        return []
    where, ways = vantages(tables), defaultdict(list)
    own = connections.select(np.isin(connections["connection"], spent["connection"][long]))
    for row in own.records():
        ways[row["connection"]].append(row)
    found: list[tuple[float, WindowLimit]] = []
    busy = whole - spent.seconds("application_ns") - spent.seconds("handshake_ns")
    columns = (spent["connection"], waited, whole, busy)
    for connection, held_s, all_s, busy_s in zip(
        *(one[long].tolist() for one in columns), strict=True
    ):
        row = max(ways[connection], key=lambda row: int(row["unique_bytes"]))
        beside = where.get((connection, row["direction"])) == "receiver"
        limits = _limit(row, own, held_s / all_s, busy_s, beside=beside)
        found += [(held_s, limit) for limit in limits]
    return [limit for _, limit in sorted(found, key=lambda one: -one[0])]


def _limit(
    row: dict[str, Any], connections: Table, share: float, busy_s: float, *, beside: bool
) -> Iterator[WindowLimit]:
    back, window = receiver_of(row, connections), window_max(row, connections)
    trip = round_trip(row, connections, beside=beside)
    if back is None or not window or trip is None:
        return
    octets, mean = float(row["unique_bytes"]), back["window_bytes_time_mean"]
    opened = back["window_open_share"]
    yield WindowLimit(
        connection=int(row["connection"]),
        receiver=str(row["destination"]),
        share=share,
        window_bytes=window,
        rtt_s=trip.mean_s,
        rtt_seen=trip.of_data,
        is_open=opened is None or opened >= _OPEN_MIN,
        mean_bytes=window if mean is None else mean,
        closed=int(back["window_closings"]),
        had_bps=8 * octets / busy_s,
    )
