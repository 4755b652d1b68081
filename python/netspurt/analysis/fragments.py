"""How IP divides TCP segments into fragments, and which sizes of segments are best.

A net with the limit M carries datagrams of at most M octets. A segment of `mss` octets of user data
is one datagram before that net. The net cuts the datagram into as many fragments as the limit
requires. Each fragment has an IP header; only the first has the TCP header. All fragments except
the last carry a multiple of `unit` octets. `unit` is 8 by RFC 791 §3.2. It is 1 in calculations
that ignore this rule, such as the calculations of Jacobson 1988.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

#: The length of an IPv4 header without options (RFC 791 §3.1) [octets].
IP_HEADER = 20
#: The length of the largest datagram (RFC 791 §3.1) [octets].
LARGEST = 65535
#: The minimum limit of a net: every net carries datagrams of this size (RFC 791 §3.2) [octets].
LIMIT_MIN = 68
#: The lengths of a TCP header: multiples of 4 octets (RFC 9293 §3.1) [octets].
TCP_HEADERS = range(20, 61, 4)


def cut(payload: int, limit: int, unit: int = 8) -> tuple[int, ...]:
    """Return the sizes, without IP headers, of the packets in which a datagram crosses a net.

    Parameters
    ----------
    payload
        The octets after the datagram's IP header.
    limit, unit
        The limit and the unit of the net.

    Examples
    --------
    >>> cut(105, 125), cut(106, 125), cut(209, 125), cut(210, 125)
    ((105,), (104, 2), (104, 105), (104, 104, 2))
    """
    room = limit - IP_HEADER
    carries = room // unit * unit
    full = max(0, -(-(payload - room) // carries))
    return (*[carries] * full, payload - full * carries)


@dataclass(frozen=True)
class SmallNet:
    """A net that fragments datagrams above a limit.

    Attributes
    ----------
    limit
        The largest datagram that the net carries, with its IP header [octets].
    unit
        Each fragment except the last carries a multiple of `unit` octets.
    tcp_header
        The length of the TCP header with its options [octets].

    Raises
    ------
    ValueError
        If no net can have this limit, if no TCP header has this length, or if a first fragment
        would have no room for user data.

    Examples
    --------
    >>> SmallNet(250, unit=1).fragments(512), SmallNet(250).fragments(512)
    ((210, 230, 72), (204, 224, 84))
    >>> SmallNet(250).full_sizes(4)
    [210, 434, 658, 882]
    """

    limit: int
    unit: int = 8
    tcp_header: int = 20

    def __post_init__(self) -> None:
        if not LIMIT_MIN <= self.limit <= LARGEST:
            raise ValueError(f"a net's limit is {LIMIT_MIN} to {LARGEST} B, not {self.limit} B")
        if self.tcp_header not in TCP_HEADERS:
            raise ValueError(f"a TCP header has 20, 24, 28, ... or 60 B, not {self.tcp_header} B")
        if self.carries <= self.tcp_header:
            raise ValueError(
                f"datagrams of {self.limit} B leave no room for user data after headers of "
                f"{IP_HEADER + self.tcp_header} B"
            )

    @property
    def room(self) -> int:
        """The maximum number of octets after the IP header of a datagram or of a last fragment."""
        return self.limit - IP_HEADER

    @property
    def carries(self) -> int:
        """The number of octets after the IP header of each fragment except the last."""
        return self.room // self.unit * self.unit

    @property
    def largest(self) -> int:
        """The largest segment that fits into one IP datagram before fragmentation [user octets]."""
        return LARGEST - IP_HEADER - self.tcp_header

    @property
    def share_of_headers(self) -> float:
        """The share of the IP and TCP headers in a full datagram that is not fragmented."""
        return (IP_HEADER + self.tcp_header) / self.limit

    def fragments(self, mss: int) -> tuple[int, ...]:
        """Return the octets of user data in each packet of a segment.

        Raises
        ------
        ValueError
            If no datagram can hold a segment of this size.
        """
        if not 1 <= mss <= self.largest:
            raise ValueError(f"a segment has 1 to {self.largest} octets of user data, not {mss}")
        first, *rest = cut(self.tcp_header + mss, self.limit, self.unit)
        return (first - self.tcp_header, *rest)

    def packets(self, mss: int) -> int:
        """Return the number of packets in which a segment crosses the net."""
        return len(self.fragments(mss))

    def per_packet(self, mss: int) -> float:
        """Return the mean number of octets of user data in a packet of a segment."""
        return mss / self.packets(mss)

    def full_size(self, packets: int) -> int:
        """Return the largest segment that needs `packets` packets [user octets]."""
        return self.room - self.tcp_header + (packets - 1) * self.carries

    def full_sizes(self, count: int) -> list[int]:
        """Return the largest segments of 1, 2, ... packets: local maxima of `per_packet`."""
        return [self.full_size(n + 1) for n in range(count)]

    def counts(self) -> Iterator[int]:
        """Yield the numbers of packets that a full segment may have."""
        yield from range(1, (self.largest - self.full_size(1)) // self.carries + 2)


@dataclass(frozen=True)
class UnderLoss:
    """Segments over a net that loses packets independently.

    If a fragment is lost, its segment is lost. So a segment of n packets arrives with probability
    (1 - p)^n. The measure is the user data that arrives per packet sent. Congestion control, which
    slows a sender down after each loss, is not included.

    Attributes
    ----------
    net
        The net.
    loss
        The probability that a packet is lost.

    Raises
    ------
    ValueError
        If the loss is not above 0 and below 1.

    References
    ----------
    Jacobson 1988 (§1) leaves the choice of the best size to the reader. The formula and the search
    are not from this paper.

    Examples
    --------
    >>> under = UnderLoss(SmallNet(250, unit=1), 0.01)
    >>> under.best_count(), round(under.closed_form(), 2), round(under.gain(3), 3)
    (3, 2.99, 0.042)
    """

    net: SmallNet
    loss: float

    def __post_init__(self) -> None:
        if not 0 < self.loss < 1:
            raise ValueError(f"a loss is above 0 and below 1, not {self.loss:g}")

    def arriving(self, packets: int) -> float:
        """Return the user octets that arrive per packet sent, for segments of `packets` packets."""
        return self.net.full_size(packets) / packets * (1 - self.loss) ** packets

    def best_count(self) -> int:
        """Return the number of packets per segment with which the most data arrives.

        The function tries all possible numbers.
        """
        return max(self.net.counts(), key=self.arriving)

    def closed_form(self) -> float:
        """Return the best number of packets by a formula. It may not be a whole number.

        A full segment of n packets has F n - c octets of user data. F is the number of octets in a
        middle fragment. Only the first fragment has a TCP header. c is the length of this header,
        minus the octets by which the last fragment may be longer than a middle fragment. For
        small p, (F - c/n) (1 - p)^n is maximal where c / n² = p (F - c/n).
        """
        full = self.net.carries
        extra = full - self.net.full_size(1)
        return (extra + math.sqrt(extra**2 + 4 * extra * full / self.loss)) / (2 * full)

    def gain(self, packets: int) -> float:
        """Return how much more data arrives with `packets` packets per segment than with one.

        The result is a share of the data that arrives with one packet per segment.
        """
        return self.arriving(packets) / self.arriving(1) - 1


def loss_that_pays(net: SmallNet) -> float:
    """Return the loss probability below which two packets per segment are better than one.

    Examples
    --------
    >>> round(loss_that_pays(SmallNet(250, unit=1)), 4)
    0.0455
    """
    return 1 - 2 * net.full_size(1) / net.full_size(2)
