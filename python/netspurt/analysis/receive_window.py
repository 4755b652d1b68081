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
#: If the mean window is at least this share of the largest, the window was about constant.
_CONSTANT = 0.75


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
    is_constant
        True if the window was about constant, so the size of the receive buffer limits it.
    closed
        How many packets announced a window of 0; 0 if the window was about constant.
    """

    connection: int
    receiver: str
    share: float
    window_bytes: int
    rtt_s: float
    rtt_seen: bool
    is_constant: bool
    closed: int

    @property
    def allowed_bps(self) -> float:
        """The rate that the largest window allows in these round trips, in bits per second."""
        return 8 * self.window_bytes / self.rtt_s

    def sentence(self, who: str) -> str:
        """Return sentences on what held the connection `who` back, and what helps."""
        about, trips = ("", "") if self.rtt_seen else ("about ", " at the handshake")
        held = f"The receive window held {who} back for {about}{self.share:.0%} of its time."
        if self.closed:
            times = "once" if self.closed == 1 else f"{number(self.closed)} times"
            return (
                f"{held} {self.receiver} closed it {times}, because its application read more "
                "slowly than data came. An application that reads faster helps."
            )
        reads = "" if self.is_constant else ", or an application that reads faster,"
        return (
            f"{held} {self.receiver} announced at most {number(self.window_bytes)} octets. With "
            f"round trips of {duration(self.rtt_s)}{trips} this allows {rate(self.allowed_bps)}. A "
            f"larger receive buffer at {self.receiver}{reads} helps."
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
    columns = (spent["connection"], waited, whole)
    for connection, held_s, all_s in zip(*(one[long].tolist() for one in columns), strict=True):
        row = max(ways[connection], key=lambda row: int(row["unique_bytes"]))
        beside = where.get((connection, row["direction"])) == "receiver"
        found += [(held_s, limit) for limit in _limit(row, own, held_s / all_s, beside=beside)]
    return [limit for _, limit in sorted(found, key=lambda one: -one[0])]


def _limit(
    row: dict[str, Any], connections: Table, share: float, *, beside: bool
) -> Iterator[WindowLimit]:
    back, window = receiver_of(row, connections), window_max(row, connections)
    trip = round_trip(row, connections, beside=beside)
    if back is None or not window or trip is None:
        return
    constant = back["window_bytes_mean"] >= _CONSTANT * window
    yield WindowLimit(
        connection=int(row["connection"]),
        receiver=str(row["destination"]),
        share=share,
        window_bytes=window,
        rtt_s=trip.mean_s,
        rtt_seen=trip.of_data,
        is_constant=constant,
        closed=0 if constant else int(back["zero_windows"]),
    )
