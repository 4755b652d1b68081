"""Connections that filled the slowest link of their path, as far as a capture shows this.

A connection fills a link if its rate does not grow although more data is outstanding: the further
data only waits in the queue before the link, and the round trips grow. So two things must be seen.
The rate was about constant for a long time, and the round trips of this time were longer than the
shortest. A sender that paces itself looks the same if other traffic fills a queue on its path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from netspurt.analysis.seen import heard
from netspurt.analysis.spent import whole_s
from netspurt.table import Table
from netspurt.wording import duration, rate

#: The minimum ratio of the mean round trip, while the rate was constant, to the shortest.
_RTT_RATIO_MIN = 1.25
#: The minimum of outstanding data, in segments: with less, delayed ACKs make round trips longer,
#: and so does the time that the link takes for a segment.
_SEGMENTS_MIN = 5
#: The largest payload of a packet on most links [octets]. A captured segment may hold several.
_SEGMENT_MAX = 1460
#: The minimum time with a constant rate, in round trips.
_TRIPS_MIN = 8
#: The minimum share of the time of a connection in which its data was on its way.
_SHARE_MIN = 0.5


@dataclass(frozen=True)
class FullLink:
    """A direction whose rate was constant while its round trips were long.

    Attributes
    ----------
    connection
        The number of the connection.
    rate_bps
        The rate at which data was acknowledged, in bits per second.
    lasted_s
        How long the rate was constant, in seconds.
    rtt_s, rtt_s_min
        The mean round trip in this time, and the shortest of all, in seconds.
    """

    connection: int
    rate_bps: float
    lasted_s: float
    rtt_s: float
    rtt_s_min: float

    def sentence(self, who: str) -> str:
        """Return sentences on what limited the connection `who`, and what helps."""
        return (
            f"The rate of {who} stayed at {rate(self.rate_bps)} (within a tenth) for "
            f"{duration(self.lasted_s)}, while round trips took {duration(self.rtt_s)} on average; "
            f"the shortest took {duration(self.rtt_s_min)}. So data waited in a queue, and most "
            "likely the slowest link of the path was full. Only a faster link, or less other "
            "traffic on it, makes this faster."
        )


def full_links(tables: Mapping[str, Table]) -> list[FullLink]:
    """Return the directions that filled a link, those with a long constant rate first.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `spent`, `steady`.
    """
    if not len(tables["steady"]):
        return []
    spent = heard(tables)
    long = spent.seconds("congestion_window_ns") >= _SHARE_MIN * whole_s(spent)
    on_its_way = set(spent["connection"][long].tolist())
    connections = tables["connections"]
    own = connections.select(np.isin(connections["connection"], tables["steady"]["connection"]))
    rows = {(row["connection"], row["direction"]): row for row in own.records()}
    found = []
    for steady in tables["steady"].records():
        row = rows[steady["connection"], steady["direction"]]
        rtt_s, least_s = steady["rtt_ns_mean"] / 1e9, (row["rtt_ns_min"] or 0) / 1e9
        lasted_s, segment = steady["span_ns"] / 1e9, row["segment_bytes_max"] or _SEGMENT_MAX
        outstanding = steady["rate_bps"] * rtt_s / 8
        if (
            0 < _RTT_RATIO_MIN * least_s <= rtt_s
            and outstanding >= _SEGMENTS_MIN * min(segment, _SEGMENT_MAX)
            and lasted_s >= _TRIPS_MIN * rtt_s
            and steady["connection"] in on_its_way
        ):
            connection = int(steady["connection"])
            found.append(FullLink(connection, steady["rate_bps"], lasted_s, rtt_s, least_s))
    return sorted(found, key=lambda one: -one.lasted_s)
