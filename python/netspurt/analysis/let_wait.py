"""Connections whose time went to an application that let the other end wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from netspurt.analysis.seen import heard
from netspurt.analysis.spent import whole_s
from netspurt.table import Table
from netspurt.wording import duration

#: The minimum share of a connection's time in which neither end had data to send.
_SHARE_MIN = 0.5
#: The minimum part of this time that ended with data of one end.
_PART_MIN = 0.5


@dataclass(frozen=True)
class LetWait:
    """An end of a connection whose application let the other end wait.

    Attributes
    ----------
    connection
        The number of the connection.
    end
        The end: its address and port.
    waited_s
        The time in which neither end had data to send, and after which this end sent data [s].
    share
        The share of the connection's time in which neither end had data to send.
    """

    connection: int
    end: str
    waited_s: float
    share: float

    def sentence(self, who: str) -> str:
        """Return sentences on what the connection `who` waited for, and where to look."""
        return (
            f"For {self.share:.0%} of the time of {who} neither end had data to send. "
            f"{self.end} ended {duration(self.waited_s)} of it by sending data, so its application "
            "made the other end wait. Look there first."
        )


def let_wait(tables: Mapping[str, Table]) -> list[LetWait]:
    """Return the ends whose applications let the other end wait for most of the time.

    The longest waits come first.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `spent`.
    """
    spent = heard(tables)
    whole, paused = whole_s(spent), spent.seconds("application_ns")
    long = (paused > 0) & (paused >= _SHARE_MIN * whole)
    if not long.any():
        return []
    columns = (spent["connection"], paused, whole)
    known = {
        connection: (paused_s, paused_s / all_s)
        for connection, paused_s, all_s in zip(
            *(one[long].tolist() for one in columns), strict=True
        )
    }
    connections = tables["connections"]
    own = connections.select(np.isin(connections["connection"], list(known)))
    found = []
    for row in own.records():
        paused_s, share = known[row["connection"]]
        waited_s = row["application_ns"] / 1e9
        if waited_s >= _PART_MIN * paused_s:
            end = f"{row['source']} (port {row['source_port']})"
            found.append(LetWait(int(row["connection"]), end, waited_s, share))
    return sorted(found, key=lambda one: -one.waited_s)
