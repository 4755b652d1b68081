"""Finds connections with long round trips that nothing else explains.

Data waited in a queue of the path, or the delay of the path varied. The rate need not be constant,
for example because the rate of a radio link changes, or because several connections share a link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.ceiling import ceilings
from netspurt.analysis.constant_rate import constant_rates
from netspurt.analysis.full_link import full_links
from netspurt.analysis.held import held_segments
from netspurt.analysis.loss_rate import loss_limits
from netspurt.analysis.nagle import short_segments
from netspurt.analysis.paced import paced
from netspurt.analysis.receive_window import window_limits
from netspurt.analysis.seen import busiest_rows, mostly_on_its_way, round_trip, vantages_of
from netspurt.analysis.stopped import all_stopped
from netspurt.table import Table
from netspurt.wording import duration

#: The minimum ratio of the mean round trip to the shortest round trip.
_LONGER_MIN = 2.0
#: The minimum data of a direction [octets]. Directions with less data are left out.
_BYTES_MIN = 131_072


@dataclass(frozen=True)
class LongTrips:
    """A direction whose round trips were much longer than its shortest round trip.

    Attributes
    ----------
    connection
        The number of the connection.
    rtt_s, rtt_s_min
        The mean and the shortest round trip, in seconds.
    time_s
        The time of the connection, in seconds.
    """

    connection: int
    rtt_s: float
    rtt_s_min: float
    time_s: float

    def sentence(self, who: str) -> str:
        """Return sentences on the round trips of the connection `who`, and on what helps."""
        return (
            f"Round trips of {who} took {duration(self.rtt_s)} on average; the shortest took "
            f"{duration(self.rtt_s_min)}. So data or ACKs waited in a queue for most of a round "
            "trip, or the delay of the path varied. If it was a queue that was seldom empty, the "
            "link of this queue was full. Then only a faster link, or less other traffic on it, "
            "helps."
        )


#: The functions that find other limits.
_OTHERS = (
    window_limits,
    full_links,
    loss_limits,
    paced,
    ceilings,
    all_stopped,
    short_segments,
    held_segments,
)


def long_trips(tables: Mapping[str, Table]) -> list[LongTrips]:
    """Return the directions with long round trips that have no other limit.

    The longest connections come first.

    Parameters
    ----------
    tables
        The tables of an explained capture: `ceilings`, `connections`, `delay_changes`, `habits`,
        `retransmissions`, `spent`, `steady`.
    """
    connections = tables["connections"]
    names = ("unique_bytes", "rtt_ns_min", "rtt_ns_mean")
    longer = connections.numbers_of(names, _with_longer_trips)
    may_be_long = connections.copied(longer, ["connection"])["connection"]
    if not len(may_be_long):
        return []
    times = mostly_on_its_way(tables)
    named = {one.connection for limits in _OTHERS for one in limits(tables)}
    named |= {one.key[0] for one in constant_rates(tables) if one.was_idle}
    kept = sorted({*may_be_long.tolist()} & times.keys() - named)
    own = connections.select(np.isin(connections["connection"], kept))
    most = busiest_rows(own)
    found = []
    for row, vantage in zip(most.each(), vantages_of(most, tables).tolist(), strict=True):
        trip = round_trip(row, own, beside=vantage == "receiver")
        if vantage == "unknown" or trip is None or not trip.of_data:
            continue
        if row["unique_bytes"] >= _BYTES_MIN and trip.mean_s >= _LONGER_MIN * trip.min_s > 0:
            connection = int(row["connection"])
            found.append(LongTrips(connection, trip.mean_s, trip.min_s, times[connection]))
    return sorted(found, key=lambda one: -one.time_s)


def _with_longer_trips(part: Table) -> NDArray[np.bool_]:
    """Return which directions have enough data, and round trips that became longer."""
    least, mean = part.filled("rtt_ns_min", 0), part.filled("rtt_ns_mean", 0.0)
    is_enough: NDArray[np.bool_] = part["unique_bytes"] >= _BYTES_MIN
    return is_enough & (least > 0) & (mean >= _LONGER_MIN * least)
