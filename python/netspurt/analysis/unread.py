"""Connections that most likely waited because a receiver's application had not read all data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from netspurt.analysis.let_wait import SHARE_MIN, long_pauses
from netspurt.analysis.receive_window import SLOW_MAX, slow_readers, window_limits
from netspurt.table import Table
from netspurt.wording import duration, number


@dataclass(frozen=True)
class Unread:
    """A connection that stayed open for a long time while the receiver had unread data.

    Attributes
    ----------
    connection
        The number of the connection.
    receiver
        The address of the receiver.
    waited_s
        The time in which neither end had data to send [s]. Pauses that ended because an end sent
        data again do not count.
    share
        `waited_s` as a share of the connection's time.
    window_bytes
        The mean over time of the receive window, in octets.
    window_bytes_max
        The maximum of the receive window, in octets.
    """

    connection: int
    receiver: str
    waited_s: float
    share: float
    window_bytes: float
    window_bytes_max: int

    def sentence(self, who: str) -> str:
        """Return sentences on what the connection `who` waited for, and where to look."""
        return (
            f"For {self.share:.0%} of the time of {who} ({duration(self.waited_s)}), all data had "
            f"arrived and no more came. The receive window of {self.receiver} was "
            f"{number(round(self.window_bytes))} octets on average, which is less than its maximum "
            f"of {number(self.window_bytes_max)} octets. So the application at {self.receiver} had "
            "not read all data, and the connection most likely waited for this application. Look "
            "at this application first."
        )


def unread(tables: Mapping[str, Table]) -> list[Unread]:
    """Return the connections that waited for a receiver with unread data, longest waits first.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `delay_changes`, `habits`, `spent`,
        `steady`.
    """
    times = long_pauses(tables)
    if not times:
        return []
    connections = tables["connections"]
    slow = connections.filled("window_open_share", 1.0) < SLOW_MAX
    own = connections.select(slow & np.isin(connections["connection"], list(times)))
    if not len(own):
        return []
    both = connections.select(np.isin(connections["connection"], own["connection"]))
    ended_s: dict[int, float] = {}
    for row in both.each():
        ended_s[row["connection"]] = ended_s.get(row["connection"], 0) + row["application_ns"] / 1e9
    known = {one.connection for one in (*window_limits(tables), *slow_readers(tables))}
    found = []
    for row in own.each():
        paused_s, all_s = times[row["connection"]]
        waited_s = paused_s - ended_s[row["connection"]]
        if row["connection"] in known or waited_s < SHARE_MIN * all_s:
            continue
        found.append(
            Unread(
                connection=int(row["connection"]),
                receiver=row["source"],
                waited_s=waited_s,
                share=waited_s / all_s,
                window_bytes=row["window_bytes_time_mean"],
                window_bytes_max=row["window_bytes_max"],
            )
        )
    return sorted(found, key=lambda one: -one.waited_s)
