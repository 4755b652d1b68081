"""What a capture shows of its connections: where it was taken, and which directions it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from netspurt.analysis.spent import whole_s
from netspurt.table import Table

#: If the handshake's round trip to one host is this many times shorter than the round trip to the
#: other host, the capture was taken beside the nearer host.
_SHORTER = 8
#: The capture was also taken beside the nearer host if the round trip to this host is shorter than
#: the first number [ns], and at most the second number times the round trip to the other host. A
#: round trip between two machines takes longer than the first number.
_ONE_MACHINE_NS, _ONE_MACHINE_SHARE = 10_000, 0.75
#: Data is mostly on its way if it is on its way for at least this share of a connection's time.
_ON_ITS_WAY_MIN = 0.5
#: If the mean round trip is this many times the shortest, data waited in a queue.
QUEUE_RATIO = 1.25


@dataclass(frozen=True)
class RoundTrip:
    """The round trip of a direction.

    Attributes
    ----------
    mean_s, min_s
        The mean and the shortest round trip, in seconds.
    of_data
        True if it was measured with data; false if only the handshake shows it.
    """

    mean_s: float
    min_s: float
    of_data: bool

    @property
    def has_queue(self) -> bool:
        """Whether data waited in a queue."""
        return self.mean_s >= QUEUE_RATIO * self.min_s


def vantages(tables: Mapping[str, Table]) -> dict[tuple[int, str], str]:
    """Return where each direction of each connection was captured, as far as it is known.

    The values are `sender`, `receiver` and `middle`. `tables` has `connections` and `habits`.
    """
    habits = tables["habits"]
    keys = zip(habits["connection"].tolist(), habits["direction"].tolist(), strict=True)
    told = zip(keys, habits["vantage"].tolist(), strict=True)
    by_packets = {key: vantage for key, vantage in told if vantage != "unknown"}
    connections = tables["connections"]
    return _by_handshakes(connections) | _on_one_host(connections) | by_packets


def within_one_host(source: str, destination: str) -> bool:
    """Return whether two addresses belong to one host.

    They do if they are equal, or if both are loopback addresses (RFC 1122 §3.2.1.3).
    """
    return source == destination or (source.startswith("127.") and destination.startswith("127."))


def _on_one_host(connections: Table) -> dict[tuple[int, str], str]:
    """Return the directions whose two ends are on one host, which is the host that captured.

    A packet is captured before it is received, so the capture was taken at each sender.
    """
    names = ("connection", "direction", "source", "destination")
    rows = zip(*(connections[name].tolist() for name in names), strict=True)
    return {
        (connection, direction): "sender"
        for connection, direction, source, destination in rows
        if within_one_host(source, destination)
    }


def busiest(tables: Mapping[str, Table]) -> dict[int, str]:
    """Return for each connection the direction with most of its data."""
    most = dict[int, tuple[int, str]]()
    names = ("connection", "direction", "unique_bytes")
    columns = (tables["connections"][name].tolist() for name in names)
    for connection, direction, octets in zip(*columns, strict=True):
        most[connection] = max(most.get(connection, (0, "")), (octets, direction))
    return {connection: direction for connection, (_, direction) in most.items()}


def octets_by_vantage(tables: Mapping[str, Table]) -> Counter[str]:
    """Return how many octets of data were captured at each vantage, which may be `unknown`."""
    where, octets = vantages(tables), Counter[str]()
    names = ("connection", "direction", "unique_bytes")
    columns = (tables["connections"][name].tolist() for name in names)
    for connection, direction, own in zip(*columns, strict=True):
        octets[where.get((connection, direction), "unknown")] += own
    return octets


def _by_handshakes(connections: Table) -> dict[tuple[int, str], str]:
    """Decide where each direction was captured, by the two halves of the handshake's round trip."""
    keys = zip(connections["connection"].tolist(), connections["direction"].tolist(), strict=True)
    halves = dict(zip(keys, connections["handshake_rtt_ns"].tolist(), strict=True))
    where: dict[tuple[int, str], str] = {}
    for (connection, direction), far in halves.items():
        other = "reverse" if direction == "forward" else "forward"
        near = halves.get((connection, other))
        if far is None or near is None or near == far:
            continue
        short, long = sorted((near, far))
        on_one_machine = short < _ONE_MACHINE_NS and short <= _ONE_MACHINE_SHARE * long
        if long >= _SHORTER * short or on_one_machine:
            where[connection, direction] = "sender" if near < far else "receiver"
        else:
            where[connection, direction] = "middle"
    return where


def round_trip(row: Mapping[str, Any], connections: Table, *, beside: bool) -> RoundTrip | None:
    """Return the round trip of a direction; `None` if it is not known.

    The round trip is the sum of two halves: from the capture to the receiver and back, and from the
    capture to the sender and back. Data shows the first half.

    Parameters
    ----------
    row
        The direction: a row of the table `connections`.
    connections
        The whole table `connections`.
    beside
        True if the direction was captured beside its receiver. There a capture does not show the
        round trips of data, but it shows both halves of the handshake's round trip.
    """
    mean = row["rtt_ns_mean"]
    if mean and row["rtt_ns_max"] and not beside:
        near_s = _near_s(row, connections)
        return RoundTrip(mean / 1e9 + near_s, row["rtt_ns_min"] / 1e9 + near_s, of_data=True)
    halves = connections.where(connection=row["connection"])["handshake_rtt_ns"].tolist()
    known = [half for half in halves if half is not None]
    if len(known) < 2 or not any(known):
        return None
    return RoundTrip(sum(known) / 1e9, sum(known) / 1e9, of_data=False)


def _near_s(row: Mapping[str, Any], connections: Table) -> float:
    """Return the round trip from the capture to the sender of a direction, in seconds.

    The handshake shows this time. The result is 0 if the packets of the handshake were not
    captured.
    """
    back = receiver_of(row, connections)
    return ((back and back["handshake_rtt_ns"]) or 0) / 1e9


def window_max(row: Mapping[str, Any], connections: Table) -> int | None:
    """Return the largest receive window for a direction [octets].

    The result is `None` if a SYN is missing, because then the scale of windows is not known.
    """
    back = receiver_of(row, connections)
    if back is None or not (row["syns"] and back["syns"]):
        return None
    most = back["window_bytes_max"]
    return None if most is None else int(most)


def receiver_of(row: Mapping[str, Any], connections: Table) -> dict[str, Any] | None:
    """Return the row of the other direction, whose sender is the receiver of this direction."""
    own = connections.where(connection=row["connection"]).records()
    return next((other for other in own if other["direction"] != row["direction"]), None)


def with_both_directions(tables: Mapping[str, Table]) -> Table:
    """Return the rows of `spent` for connections whose two directions were captured.

    `tables` has `connections` and `spent`.
    """
    connections, spent = tables["connections"], tables["spent"]
    silent = connections["connection"][connections["packets"] == 0]
    return spent.select(~np.isin(spent["connection"], silent))


def mostly_on_its_way(tables: Mapping[str, Table]) -> dict[int, float]:
    """Return the connections whose data was on its way for half of their time or more.

    The values are the times of the connections [s]. Both directions of each connection were
    captured. `tables` has `connections` and `spent`.
    """
    spent = with_both_directions(tables)
    times = whole_s(spent)
    long = spent.seconds("congestion_window_ns") >= _ON_ITS_WAY_MIN * times
    return dict(zip(spent["connection"][long].tolist(), times[long].tolist(), strict=True))
