"""Connections that the receive window held back, and what would help them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from netspurt.analysis.seen import heard, receiver_of, round_trip, vantages, window_max
from netspurt.table import Table

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


def window_limits(tables: Mapping[str, Table]) -> list[WindowLimit]:
    """Return the directions that the receive window held back, the longest first.

    Only the direction with more data of a connection counts.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `habits`, `spent`.
    """
    spent, connections = heard(tables), tables["connections"]
    whole = np.sum([spent[name] for name in spent if name.endswith("_ns")], axis=0)
    waited = spent["receive_window_ns"]
    long = (waited > 0) & (waited >= _SHARE_MIN * whole)
    if not long.any():
        return []
    where, ways = vantages(tables), defaultdict(list)
    own = connections.select(np.isin(connections["connection"], spent["connection"][long]))
    for row in own.records():
        ways[row["connection"]].append(row)
    found: list[tuple[float, WindowLimit]] = []
    for one, whole_ns in zip(spent.select(long).records(), whole[long].tolist(), strict=True):
        waited_ns = one["receive_window_ns"]
        row = max(ways[one["connection"]], key=lambda row: int(row["unique_bytes"]))
        beside = where.get((row["connection"], row["direction"])) == "receiver"
        found += [
            (waited_ns, limit) for limit in _limit(row, own, waited_ns / whole_ns, beside=beside)
        ]
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
