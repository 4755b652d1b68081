"""Divides the time of captured connections into parts; each part says what they waited for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from netspurt.table import Table

#: The parts of the time in words.
WORDS = {
    "handshake": "the handshake",
    "application": "the applications (neither end had data to send)",
    "delivery": "the last data on its way (all data was sent)",
    "congestion_window": "data on its way (the congestion window or the pacing of the sender)",
    "receive_window": "the receive window",
    "repair": "repair",
    "timeout": "silence before a timer",
}

#: The parts in few words, for tables.
BRIEFLY = {
    "handshake": "handshake",
    "application": "applications",
    "delivery": "last data",
    "congestion_window": "data on its way",
    "receive_window": "receive window",
    "repair": "repair",
    "timeout": "timers",
}


def whole_s(spent: Table) -> NDArray[np.float64]:
    """Return the whole time of each connection [s], shape (n,), for rows of the table `spent`."""
    whole = np.zeros(len(spent))
    for name in WORDS:
        whole += spent.seconds(f"{name}_ns")
    return whole


def largest_parts(spent: Table) -> dict[int, tuple[str, float]]:
    """Return for each connection the largest part of its time, with its share.

    A connection whose whole time is zero is left out.

    Parameters
    ----------
    spent
        Rows of the table `spent` of an explained capture.
    """
    names = list(WORDS)
    each = np.stack([spent.seconds(f"{name}_ns") for name in names])
    whole, largest = whole_s(spent), each.argmax(axis=0)
    return {
        connection: (names[largest[row]], float(each[largest[row], row] / whole[row]))
        for row, connection in enumerate(spent["connection"].tolist())
        if whole[row] > 0
    }


def parts(spent: Table) -> tuple[list[tuple[str, float]], float]:
    """Return each part with its share of the time, the largest first, and the whole time [s].

    There are no parts if the whole time is zero.

    Parameters
    ----------
    spent
        Rows of the table `spent` of an explained capture.
    """
    sums = {name: float(spent.seconds(f"{name}_ns").sum()) for name in WORDS}
    whole = sum(sums.values())
    if whole == 0:
        return [], 0.0
    largest = sorted(sums.items(), key=lambda one: -one[1])
    return [(name, seconds / whole) for name, seconds in largest], whole


def together_s(waits: Table) -> float:
    """Return the time of waits [s]. Time in which waits of a connection overlap counts once.

    If a SYN-ACK is lost, both ends wait at the same time.
    """
    return sum(_waited_ns(waits).values()) / 1e9


def _waited_ns(waits: Table) -> dict[int, int]:
    """Return the time of waits for each connection that has any [ns]."""
    total: dict[int, int] = {}
    ended: dict[int, int] = {}
    names = ("connection", "t_ns", "waited_ns")
    rows = zip(*(waits[name].tolist() for name in names), strict=True)
    for connection, at, waited in sorted(rows, key=lambda row: row[1] - row[2]):
        begin = max(at - waited, ended.get(connection, at - waited))
        total[connection] = total.get(connection, 0) + max(0, at - begin)
        ended[connection] = max(at, begin)
    return total


def unseen_timeouts_s(tables: Mapping[str, Table]) -> float:
    """Return the time of silences before timeouts whose retransmissions look like new data [s].

    A capture away from the sender may miss the lost data before a timeout. Then the segment that
    the timeout sent looks like new data, so the table `waits` has no row for the timeout. The time
    is zero for a connection whose rows of `waits` explain its silence, or nearly all of it. It is
    also zero if only one direction was captured, or if the connection uses IPv6. Only the IP
    identifications of IPv4 show such a timeout (RFC 8200 has none outside of fragments).

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `spent`, `waits`.
    """
    silent, connections = tables["spent"]["timeout_ns"], tables["spent"]["connection"]
    places = np.flatnonzero(silent)
    if not len(places):
        return 0.0
    waited, described = _waited_ns(tables["waits"]), tables["connections"]
    is_ipv6 = np.char.find(described["source"].astype(str), ":") >= 0
    never = set(described["connection"][is_ipv6 | (described["packets"] == 0)].tolist())
    total = 0
    for connection, ns in zip(connections[places].tolist(), silent[places].tolist(), strict=True):
        told = waited.get(connection, 0)
        if connection not in never and ns > _MORE * told and ns - told >= _UNSEEN_NS_MIN:
            total += ns - told
    return total / 1e9


#: A silence is longer than the waits if it is more than `_MORE` times as long.
_MORE = 1.05
#: A pause that is shorter than the minimum RTO of Linux [ns] never counts as the wait for a timer
#: (`TimeSpent::TIMER_MIN`). So a smaller difference is the rounding of overlapping waits.
_UNSEEN_NS_MIN = 200_000_000
