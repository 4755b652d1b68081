"""Finds connections whose sender itself limited its outstanding octets.

Such a sender often has nearly the same number of octets outstanding, and never more. This number is
the *ceiling*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from netspurt.analysis.constant_rate import SEGMENT_MAX
from netspurt.analysis.full_link import full_links
from netspurt.analysis.loss_rate import loss_limits
from netspurt.analysis.paced import paced
from netspurt.analysis.receive_window import window_limits
from netspurt.analysis.seen import is_beside, mostly_on_its_way, window_max
from netspurt.analysis.stopped import all_stopped
from netspurt.table import Table
from netspurt.wording import duration, number, rate

#: The minimum share of the connection's time that the round trips in `Ceiling.round_trips` take.
_SHARE_MIN = 0.5
#: The sender does not count as limited if, in any round trip of the connection, more octets were
#: outstanding than the ceiling plus `_SEGMENTS_ABOVE_MAX` segments.
_SEGMENTS_ABOVE_MAX = 4


@dataclass(frozen=True)
class Ceiling:
    """A direction whose outstanding octets often came close to the same maximum, the ceiling.

    Only a limit of the sender explains this ceiling.

    Attributes
    ----------
    connection
        The number of the connection.
    outstanding_bytes
        The maximum number of outstanding octets.
    round_trips, full_round_trips
        The first number counts consecutive round trips in which the outstanding octets exceeded the
        ceiling by at most two segments. The second number counts those of them in which the
        outstanding octets came within two segments of the ceiling.
    lasted_s
        The time of these round trips, in seconds.
    rtt_s
        The mean round trip, in seconds.
    window_unknown
        True if the capture does not show the scale of windows, so that the receive window may be
        the ceiling.
    """

    connection: int
    outstanding_bytes: int
    round_trips: int
    full_round_trips: int
    lasted_s: float
    rtt_s: float
    window_unknown: bool

    @property
    def most_bps(self) -> float:
        """The rate if `outstanding_bytes` are outstanding all the time, in bits per second."""
        return 8 * self.outstanding_bytes / self.rtt_s

    def sentence(self, who: str) -> str:
        """Return sentences on what limited the connection `who`."""
        return (
            f"The sender of {who} never had more than {number(self.outstanding_bytes)} octets "
            f"outstanding, but came close to this number in {number(self.full_round_trips)} of "
            f"{number(self.round_trips)} round trips. Nothing was lost in these "
            f"{duration(self.lasted_s)}, so a congestion window would have grown{self._window()} "
            "the sender has a limit of its own. Look first at its send buffer "
            "(`SO_SNDBUF`), then at limits of its congestion window, its pacing and its "
            f"application. With round trips of {duration(self.rtt_s)} this limit allows at most "
            f"{rate(self.most_bps)}."
        )

    def _window(self) -> str:
        """Return what the capture shows of the receive window, and what follows from it."""
        if not self.window_unknown:
            return ", and the receive window had room. So"
        return (
            ". The capture lacks the options of a SYN, which show the scale of windows. If the "
            "receive window had room,"
        )


def ceilings(tables: Mapping[str, Table]) -> list[Ceiling]:
    """Return the directions with a ceiling that nothing else explains.

    The direction with the largest `lasted_s` comes first. Only captures beside the sender show such
    a ceiling.

    Parameters
    ----------
    tables
        The tables of an explained capture: `ceilings`, `connections`, `delay_changes`, `habits`,
        `retransmissions`, `spent`, `steady`.
    """
    table, connections = tables["ceilings"], tables["connections"]
    if not len(table):
        return []
    table = table.select(is_beside("sender", table, tables))
    times = mostly_on_its_way(tables)
    own = connections.select(np.isin(connections["connection"], table["connection"]))
    rows = {(row["connection"], row["direction"]): row for row in own.each()}
    known = {
        one.connection
        for limits in (window_limits, full_links, loss_limits, paced, all_stopped)
        for one in limits(tables)
    }
    found = []
    for one in table.each():
        key = one["connection"], one["direction"]
        row, lasted_s = rows[key], one["span_ns"] / 1e9
        segment = min(row["segment_bytes_max"], SEGMENT_MAX)
        is_most = (
            row["outstanding_bytes_max"] <= one["outstanding_bytes"] + _SEGMENTS_ABOVE_MAX * segment
        )
        is_long = key[0] in times and lasted_s >= _SHARE_MIN * times[key[0]]
        window = window_max(row, connections)
        has_room = window is None or window >= row["outstanding_bytes_max"] + 2 * segment
        if key[0] in known or not (is_most and is_long and has_room):
            continue
        found.append(
            Ceiling(
                connection=key[0],
                outstanding_bytes=row["outstanding_bytes_max"],
                round_trips=one["round_trips"],
                full_round_trips=one["full_round_trips"],
                lasted_s=lasted_s,
                rtt_s=row["rtt_ns_mean"] / 1e9,
                window_unknown=window is None,
            )
        )
    return sorted(found, key=lambda one: -one.lasted_s)
