"""Says what a capture shows of its connections: where it was taken, and which directions it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.directions import keys, opposite, rows_of
from netspurt.analysis.spent import whole_s
from netspurt.table import Table

#: A handshake shows two round trips: from the capture to each of the two hosts and back. If the
#: longer round trip is at least `_SHORTER` times the shorter one, the capture was taken beside the
#: nearer host.
_SHORTER = 8
#: A second rule: the capture was taken beside the nearer host if the round trip to this host is
#: shorter than `_ONE_MACHINE_NS` [ns], and at most `_ONE_MACHINE_SHARE` times the round trip to the
#: other host. A round trip between two machines takes longer than `_ONE_MACHINE_NS`.
_ONE_MACHINE_NS, _ONE_MACHINE_SHARE = 10_000, 0.75
#: Data is mostly on its way if it is on its way for at least `_ON_ITS_WAY_MIN` of a connection's
#: time.
_ON_ITS_WAY_MIN = 0.5
#: The places where a direction may have been captured.
_VANTAGES = ("sender", "receiver", "middle", "unknown")
_SENDER, _RECEIVER, _MIDDLE, _UNKNOWN = range(len(_VANTAGES))
#: If the mean round trip is at least `QUEUE_RATIO` times the shortest round trip, data waited in a
#: queue.
QUEUE_RATIO = 1.25
#: The octets of TCP's timestamps in a segment, with padding (RFC 7323 §3.2, appendix A).
STAMP_BYTES = 12


@dataclass(frozen=True)
class RoundTrip:
    """The round trip of a direction.

    Attributes
    ----------
    mean_s, min_s
        The mean and the shortest round trip, in seconds.
    of_data
        True if the round trip was measured with data; false if only the handshake shows it.
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

    The values are `sender`, `receiver` and `middle`. `tables` has the tables `connections` and
    `habits` of an explained capture. For many directions, `vantages_of` takes less time and memory.
    """
    connections = tables["connections"]
    where = _vantages(connections, tables["habits"])
    rows = connections.select(where != _UNKNOWN)
    directions = zip(rows["connection"].tolist(), rows["direction"].tolist(), strict=True)
    names = (_VANTAGES[place] for place in where[where != _UNKNOWN].tolist())
    return dict(zip(directions, names, strict=True))


def vantages_of(rows: Table, tables: Mapping[str, Table]) -> NDArray[np.str_]:
    """Return where the direction of each row was captured, shape (n,).

    The values are `sender`, `receiver`, `middle` and `unknown`.

    Parameters
    ----------
    rows
        A table with the columns `connection` and `direction`.
    tables
        The tables of the capture: `connections` and `habits`.
    """
    names: NDArray[np.str_] = np.array(_VANTAGES)[_places_of(rows, tables)]
    return names


def is_beside(host: str, rows: Table, tables: Mapping[str, Table]) -> NDArray[np.bool_]:
    """Return, for each row, whether its direction was captured beside its sender or receiver.

    `host` says which of the two is meant. The shape of the result is (n,).

    For many rows, this takes less memory than the names that `vantages_of` returns.

    Parameters
    ----------
    host
        `sender` or `receiver`.
    rows, tables
        As for `vantages_of`.
    """
    beside: NDArray[np.bool_] = _places_of(rows, tables) == _VANTAGES.index(host)
    return beside


def _places_of(rows: Table, tables: Mapping[str, Table]) -> NDArray[np.int8]:
    """Return where the direction of each row was captured: indices of `_VANTAGES`, shape (n,)."""
    connections = tables["connections"]
    if len(rows) < len(connections):
        connections = connections.select(np.isin(connections["connection"], rows["connection"]))
    where = _vantages(connections, tables["habits"])
    # For a direction that is not in `connections`, the function `rows_of` returns -1. The value at
    # the end of the array, which says that the vantage is unknown, is for these directions.
    places: NDArray[np.int8] = np.append(where, np.int8(_UNKNOWN))[
        rows_of(keys(rows), keys(connections))
    ]
    return places


def _vantages(connections: Table, habits: Table) -> NDArray[np.int8]:
    """Return where the direction of each row of `connections` was captured, shape (n,).

    The values are indices of `_VANTAGES`.
    """
    where = _by_handshakes(connections)
    # If both ends are on one host, this host captures each packet when the packet is sent, and not
    # when it is received. So each direction is captured beside its sender.
    where[within_one_host(connections)] = _SENDER
    for place, name in enumerate(_VANTAGES[:_UNKNOWN]):
        own = rows_of(keys(habits.where(vantage=name)), keys(connections))
        where[own[own >= 0]] = place
    return where


def within_one_host(connections: Table) -> NDArray[np.bool_]:
    """Return, for each row of `connections`, whether its two ends are on one host, shape (n,).

    The ends are on one host if their addresses are equal, or if both addresses are loopback
    addresses (RFC 1122 §3.2.1.3).
    """
    source, sources = connections.coded("source")
    destination, destinations = connections.coded("destination")
    loopback = _are_loopback(sources)[source] & _are_loopback(destinations)[destination]
    if sources is not destinations:
        place = {text: n for n, text in enumerate(sources)}
        destination = np.array([place.get(text, -1) for text in destinations])[destination]
    within: NDArray[np.bool_] = (source == destination) | loopback
    return within


def _are_loopback(addresses: Sequence[str]) -> NDArray[np.bool_]:
    return np.array([address.startswith("127.") for address in addresses], dtype=np.bool_)


def busiest(tables: Mapping[str, Table]) -> dict[int, str]:
    """Return for each connection the direction with most of its data."""
    most = busiest_rows(tables["connections"])
    return dict(zip(most["connection"].tolist(), most["direction"].tolist(), strict=True))


def busiest_rows(connections: Table) -> Table:
    """Return for each connection the row of the direction with most of its data.

    If both directions have the same amount of data, the row of the reverse direction is returned.
    """
    numbers = connections["connection"]
    order = np.lexsort((keys(connections), connections["unique_bytes"], numbers))
    is_last = np.append(numbers[order][1:] != numbers[order][:-1], True)[: len(order)]
    return connections.take(order[is_last])


def octets_by_vantage(tables: Mapping[str, Table]) -> Counter[str]:
    """Return how many octets of data were captured at each vantage, which may be `unknown`."""
    connections = tables["connections"]
    where, octets = _vantages(connections, tables["habits"]), connections["unique_bytes"]
    return Counter(
        {_VANTAGES[place]: int(octets[where == place].sum()) for place in np.unique(where).tolist()}
    )


def _by_handshakes(connections: Table) -> NDArray[np.int8]:
    """Decide where each direction was captured, by the two halves of the handshake's round trip.

    Each half is the time from the capture to one of the two hosts and back. The result has shape
    (n,), and its values are indices of `_VANTAGES`.
    """
    far, known = connections.filled("handshake_rtt_ns", 0), connections.exists("handshake_rtt_ns")
    own = keys(connections)
    other = rows_of(opposite(own), own)
    near = far[other]
    told = known & known[other] & (other >= 0) & (near != far)
    short, long = np.minimum(near, far), np.maximum(near, far)
    on_one_machine = (short < _ONE_MACHINE_NS) & (short <= _ONE_MACHINE_SHARE * long)
    is_beside = (long >= _SHORTER * short) | on_one_machine
    where = np.full(len(told), _UNKNOWN, np.int8)
    where[told & ~is_beside] = _MIDDLE
    where[told & is_beside & (near < far)] = _SENDER
    where[told & is_beside & (near > far)] = _RECEIVER
    return where


def is_clearly_longer(trip_s: float, than_s: float, by: tuple[float, float]) -> bool:
    """Return whether a round trip is clearly longer than another round trip.

    The result is false if one of the round trips is NaN.

    Parameters
    ----------
    trip_s, than_s
        The two round trips, in seconds.
    by
        A factor and a time [s]. `trip_s` must be at least the factor times `than_s`, and must
        exceed `than_s` by at least the time.
    """
    factor, longer_s = by
    return trip_s - than_s >= max((factor - 1) * than_s, longer_s)


def round_trip(row: Mapping[str, Any], connections: Table, *, beside: bool) -> RoundTrip | None:
    """Return the round trip of a direction, or `None` if it is not known.

    The round trip is the sum of two halves: from the capture to the receiver and back, and from the
    capture to the sender and back. Data shows the first half.

    Parameters
    ----------
    row
        The direction: a row of the table `connections`.
    connections
        The whole table `connections`.
    beside
        True if the direction was captured beside its receiver. A capture beside the receiver does
        not show the round trips of data. It shows both halves of the handshake's round trip.
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


def may_have_filled_window(row: Mapping[str, Any], connections: Table) -> bool:
    """Return whether a direction may have filled the receive window, as far as a capture shows.

    The result is also true if the scale of windows is not known.
    """
    full = window_max(row, connections) == row["outstanding_bytes_max"]
    return bool(full) or is_window_unknown(row, connections)


def is_window_unknown(row: Mapping[str, Any], connections: Table) -> bool:
    """Return whether the scale of windows is unknown for a direction.

    Then a SYN is missing, or its options were cut. If the options were cut, more octets may be
    outstanding than the window seems to allow.
    """
    window = window_max(row, connections)
    return window is None or window < row["outstanding_bytes_max"]


def receiver_of(row: Mapping[str, Any], connections: Table) -> Mapping[str, Any] | None:
    """Return the row of the other direction, whose sender is the receiver of this direction."""
    own = connections.where(connection=row["connection"])
    return next((other for other in own.each() if other["direction"] != row["direction"]), None)


def with_both_directions(tables: Mapping[str, Table]) -> Table:
    """Return the rows of `spent` for connections whose two directions were captured.

    `tables` has the tables `connections` and `spent` of an explained capture.
    """
    connections, spent = tables["connections"], tables["spent"]
    silent = connections["connection"][connections["packets"] == 0]
    return spent.select(~np.isin(spent["connection"], silent))


def mostly_on_its_way(tables: Mapping[str, Table]) -> dict[int, float]:
    """Return the connections whose data was on its way for half of their time or more.

    The values are the times of the connections [s]. Connections of which only one direction was
    captured are left out. `tables` has the tables `connections` and `spent` of an explained
    capture.
    """
    spent = with_both_directions(tables)
    times = whole_s(spent)
    long = spent.seconds("congestion_window_ns") >= _ON_ITS_WAY_MIN * times
    return dict(zip(spent["connection"][long].tolist(), times[long].tolist(), strict=True))
