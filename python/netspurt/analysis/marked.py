"""Finds connections whose data a queue marked as congested (ECN), because their link was full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netspurt.analysis.seen import mostly_on_its_way, receiver_of, vantages_of
from netspurt.table import Table
from netspurt.wording import counted, duration, rate

#: A direction counts only if its sender made cwnd smaller at least `_TIMES_MIN` times, and if its
#: receiver echoed marks in at least `_TIMES_MIN` packets.
_TIMES_MIN = 4
#: The minimum ratio of packets with the flag ECE to packets with the flag CWR. A receiver echoes
#: marks with ECE, and a sender reports with CWR that it made cwnd smaller. If marks caused all
#: reductions of cwnd, the ratio is at least 1. It may be lower, because losses also make cwnd
#: smaller, and have no echo.
_ECHOES_MIN = 0.5
#: What helps a connection that fills a link.
ADVICE = "Only a faster link, or less other traffic on this link, makes the connection faster."


@dataclass(frozen=True)
class MarkedLink:
    """A direction whose data was marked again and again.

    Attributes
    ----------
    connection
        The number of the connection.
    reductions
        How often the sender made cwnd smaller.
    rate_bps, lasted_s
        `rate_bps` is the direction's data divided by the connection's time, in bits per second.
        `lasted_s` is how long the connection lasted, in seconds.
    rtt_s, rtt_s_min
        The mean round trip and the shortest round trip, in seconds. They are known only beside the
        sender, because other captures do not show round trips of the whole path. For other
        captures, they are `None`.
    """

    connection: int
    reductions: int
    rate_bps: float
    lasted_s: float
    rtt_s: float | None
    rtt_s_min: float | None

    def sentence(self, who: str) -> str:
        """Return sentences on what limited the connection `who`, and what helps."""
        trips = ""
        if self.rtt_s is not None and self.rtt_s_min is not None:
            trips = (
                f". Round trips took {duration(self.rtt_s)} on average; the shortest took "
                f"{duration(self.rtt_s_min)}"
            )
        return (
            f"A queue on the path marked data of {who} as congested (ECN), and the sender made its "
            f"congestion window smaller {counted(self.reductions, 'time')}. A queue marks data "
            "before it has to drop data. So most likely the slowest link of the path was full. The "
            f"rate was {rate(self.rate_bps)}{trips}. {ADVICE}"
        )


def marked_links(tables: Mapping[str, Table]) -> dict[tuple[int, str], MarkedLink]:
    """Return the directions with marked data, if data was on its way for most of the time.

    A direction counts only if both SYNs negotiated ECN. In Accurate ECN, the flags ECE and CWR are
    parts of a counter, so `ecn_permitted` does not include Accurate ECN.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `habits`, `spent`.

    References
    ----------
    RFC 3168 §6.1: the receiver echoes a mark with ECE. The sender answers with CWR when it has
    reduced cwnd.
    """
    connections = tables["connections"]
    often = connections.select(
        connections["ecn_permitted"] & (connections["cwr_packets"] >= _TIMES_MIN)
    )
    if not len(often):
        return {}
    whole = mostly_on_its_way(tables)
    found = dict[tuple[int, str], MarkedLink]()
    for row, vantage in zip(often.each(), vantages_of(often, tables).tolist(), strict=True):
        back = receiver_of(row, connections)
        marked = back is not None and back["ecn_permitted"] and _echoes(row, back)
        if marked and row["connection"] in whole:
            key = (row["connection"], row["direction"])
            beside = vantage == "sender"
            found[key] = _marked_link(row, whole[row["connection"]], beside_sender=beside)
    return found


def _echoes(row: Mapping[str, Any], back: Mapping[str, Any]) -> bool:
    """Return whether marks made cwnd smaller: the other direction echoed them often enough."""
    return bool(back["ece_packets"] >= max(_TIMES_MIN, _ECHOES_MIN * row["cwr_packets"]))


def _marked_link(row: Mapping[str, Any], lasted_s: float, *, beside_sender: bool) -> MarkedLink:
    trips = [row["rtt_ns_mean"], row["rtt_ns_min"]] if beside_sender else [None, None]
    rtt_s, least_s = (None if one is None else one / 1e9 for one in trips)
    return MarkedLink(
        connection=int(row["connection"]),
        reductions=int(row["cwr_packets"]),
        rate_bps=8 * float(row["unique_bytes"]) / lasted_s,
        lasted_s=lasted_s,
        rtt_s=rtt_s,
        rtt_s_min=least_s,
    )
