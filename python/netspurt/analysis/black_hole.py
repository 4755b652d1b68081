"""Paths that drop large packets without a report: black holes of the path MTU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.directions import keys, opposite, rows_of
from netspurt.causes import SEEN_IN_ACKS
from netspurt.table import Table
from netspurt.wording import counted, number

#: With fewer lost retransmissions of large segments than this, nothing is said.
_FEWEST = 3
#: If all lost segments have less payload than this, nothing is said: few links have such an MTU.
_SIZE_MIN = 1000
#: The largest segment, if the capture does not show the peer's MSS: that of Ethernet and IPv4.
_SEGMENT_MAX = 1460
#: The header of TCP, and of its timestamps, has this many octets more than that of a ping.
_ABOVE_PING, _STAMPS = 12, 12


@dataclass(frozen=True)
class BlackHole:
    """Large segments from one host to another that were all lost, although smaller packets arrived.

    Attributes
    ----------
    source, destination
        The addresses of the two hosts.
    directions
        The numbers of the directions with such segments, as `keys` returns them.
    lost
        The number of lost retransmissions of these segments.
    lost_bytes_min
        The payload of the smallest of these retransmissions, in octets.
    acked_bytes_max
        The payload of the largest segment that arrived from this host at the other, in octets.
    ping_bytes
        The payload of a ping whose packets are as long as the smallest lost segment, in octets.
    is_shown
        Whether smaller packets arrived after a large one was lost. If not, the path or the host may
        also have failed.
    until_ns
        When the last of these retransmissions was captured [ns since 1970].
    """

    source: str
    destination: str
    directions: tuple[int, ...]
    lost: int
    lost_bytes_min: int
    acked_bytes_max: int
    ping_bytes: int
    is_shown: bool
    until_ns: int

    def concerns(self, connection: int) -> bool:
        """Return whether a connection sent such segments."""
        return connection in {one // 2 for one in self.directions}

    def sentence(self) -> str:
        """Return sentences on the lost packets, their likely cause, and what helps."""
        least = f"at least {counted(self.lost_bytes_min, 'octet')} of data"
        many = len(self.directions)
        where = "" if many == 1 else f" of {number(many)} connections"
        lost = f"{number(self.lost)} retransmissions{where}, each with {least}"
        most = counted(self.acked_bytes_max, "octet")
        small = f"segments with up to {most} of data" if self.acked_bytes_max else "smaller packets"
        hole = "without a report by ICMP (a black hole of the path MTU, RFC 2923 §2.1)"
        if self.is_shown:
            return (
                f"The path from {self.source} to {self.destination} seems to drop large packets "
                f"{hole}: all {lost}, were lost, and {small} arrived meanwhile. No other timer "
                f"helps. {self._helps()}"
            )
        return (
            f"{self.destination} acknowledged none of {lost}, that {self.source} sent; before, "
            f"{small} had arrived. So the path or the host failed, or the path drops large packets "
            f"{hole}. In the second case `ping -M do -s {self.ping_bytes} {self.destination}` on "
            f"{self.source} gets no answer, but a shorter ping does. {self._helps('Then')}"
        )

    def _helps(self, when: str = "") -> str:
        allow = f"{when}, let" if when else "Let"
        return (
            f"{allow} routers report packets that are too big, or make the MTU of the route "
            "smaller at the sender; a Linux sender also finds the limit with "
            "net.ipv4.tcp_mtu_probing=1."
        )


def black_holes(tables: Mapping[str, Table]) -> list[BlackHole]:
    """Return the pairs of hosts between which large segments were all lost, most losses first.

    A segment is large if it has more payload than any segment that arrived between the two hosts.
    Segments that are larger than the peer's MSS do not count, because the network card divides
    them. `tables` has `connections` and `retransmissions`.

    References
    ----------
    RFC 2923 §2.1 (black holes), RFC 4821 §7.7 (how a sender finds them)
    """
    connections, again = tables["connections"], tables["retransmissions"]
    again = again.select(~again.equals("cause", "syn", "too-big"))
    again = again.select(~again.equals("verdict", "spurious"))
    if len(again) < _FEWEST:
        return []
    own = keys(connections)
    pairs = _pairs(connections)
    acked = connections.filled("acked_segment_bytes_max", 0).astype(np.int64)
    arrived = np.zeros(pairs.max() + 1, np.int64)
    np.maximum.at(arrived, pairs, acked)
    offered = connections.filled("mss_bytes", 0).astype(np.int64)[rows_of(opposite(own), own)]
    most = np.where(offered > 0, offered, _SEGMENT_MAX)
    places = rows_of(keys(again), own)
    size = again["len_bytes"].astype(np.int64)
    # A FIN has a sequence number as well.
    large = (size > arrived[pairs[places]] + 1) & (size <= most[places] + 1)
    found = []
    for pair in np.unique(pairs[places[large]]).tolist():
        here = pairs[places] == pair
        lost = again.select(large & here)
        if len(lost) < _FEWEST or lost["len_bytes"].max() < _SIZE_MIN:
            continue
        others = again.select(~large & here)
        rows = np.flatnonzero(pairs == pair)
        found.append(_hole(connections, rows, lost, others, int(arrived[pair])))
    return sorted(found, key=lambda one: (not one.is_shown, -one.lost))


def _hole(
    connections: Table, rows: NDArray[np.intp], lost: Table, others: Table, arrived: int
) -> BlackHole:
    """Return what is known of a pair of hosts. `rows` are its rows of `connections`.

    `lost` are its lost large retransmissions, `others` its other ones, and `arrived` is the payload
    of its largest segment that arrived.
    """
    with_lost = np.unique(keys(lost))
    first = int(rows[keys(connections)[rows] == with_lost[0]][0])
    since = int(lost["t_ns"].min())
    later_small = others.select((others["t_ns"] > since) & others.equals("verdict", "needed"))
    # ACKs that showed the loss report later segments, which arrived.
    is_shown = bool(lost.equals("cause", *SEEN_IN_ACKS).any() or len(later_small))
    # A later connection shows that packets without data arrive.
    began = connections.take(rows)
    is_shown |= bool((began.exists("handshake_rtt_ns") & (began["first_ns"] > since)).any())
    least = int(lost["len_bytes"].min())
    stamps = _STAMPS if connections["timestamps"][first] else 0
    return BlackHole(
        source=str(connections.value("source", first)),
        destination=str(connections.value("destination", first)),
        directions=tuple(with_lost.tolist()),
        lost=len(lost),
        lost_bytes_min=least,
        acked_bytes_max=arrived,
        ping_bytes=least + _ABOVE_PING + stamps,
        is_shown=is_shown,
        until_ns=int(lost["t_ns"].max()),
    )


def without_holes(waits: Table, holes: Sequence[BlackHole]) -> Table:
    """Return the waits without those for retransmissions that a black hole surely dropped.

    The wait that began with the last of these retransmissions is left out as well.
    """
    inside = np.zeros(len(waits), dtype=np.bool_)
    began_ns = waits["t_ns"] - waits["waited_ns"]
    for hole in holes:
        if hole.is_shown:
            inside |= np.isin(keys(waits), hole.directions) & (began_ns <= hole.until_ns)
    return waits.select(~inside)


def _pairs(connections: Table) -> NDArray[np.intp]:
    """Return a number for the source and the destination of each direction, shape (n,)."""
    source, _ = connections.coded("source")
    destination, _ = connections.coded("destination")
    both = source * (int(destination.max(initial=0)) + 1) + destination
    numbers: NDArray[np.intp] = np.unique(both, return_inverse=True)[1].reshape(len(connections))
    return numbers
