"""Finds connections in which an application made the other end wait for much of the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from netspurt.analysis.seen import vantages_of, with_both_directions
from netspurt.analysis.spent import whole_s
from netspurt.table import Table
from netspurt.wording import duration

#: The minimum share of a connection's time in which neither end had data to send.
SHARE_MIN = 0.5
#: A pause is a time in which neither end has data to send. It lasts until one of the ends sends
#: data. An end made the other end wait if the pauses before its data take at least `_PART_MIN` of
#: the time of all pauses.
_PART_MIN = 0.5


@dataclass(frozen=True)
class LetWait:
    """An end of a connection whose application made the other end wait.

    Attributes
    ----------
    connection
        The number of the connection.
    end
        The end: its address and port.
    waited_s
        The sum of the pauses that ended when this end sent data [s]. A pause is a time in which
        neither end has data to send.
    share
        The share of the connection's time in which neither end had data to send.
    is_seen
        True if the capture was taken beside this end. In other captures, data that was lost or late
        before the capture point looks like a wait for the application.
    """

    connection: int
    end: str
    waited_s: float
    share: float
    is_seen: bool

    def sentence(self, who: str) -> str:
        """Return sentences on what the connection `who` waited for, and where to look."""
        waited = f"For {duration(self.waited_s)} of this time the connection waited for data from "
        waited += self.end
        if self.is_seen:
            return (
                f"For {self.share:.0%} of the time of {who} neither end had data to send. "
                f"{waited}, so the application of this end made the other end wait. Look at this "
                "application first."
            )
        return (
            f"For {self.share:.0%} of the time of {who} neither end had data to send, as far as "
            f"the capture shows. {waited}. So the application of this end made the other end wait, "
            "or the data of this end was lost or late before the capture point. Only a capture "
            "beside this end shows which of these two causes is true."
        )


def let_wait(tables: Mapping[str, Table]) -> list[LetWait]:
    """Return the ends whose applications made the other end wait for a large part of the time.

    The longest waits come first.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `habits`, `spent`.
    """
    known = long_pauses(tables)
    if not known:
        return []
    connections = tables["connections"]
    own = connections.select(np.isin(connections["connection"], list(known)))
    found = []
    for row, vantage in zip(own.each(), vantages_of(own, tables).tolist(), strict=True):
        paused_s, whole = known[row["connection"]]
        waited_s = row["application_ns"] / 1e9
        if waited_s >= _PART_MIN * paused_s:
            end = f"{row['source']} (port {row['source_port']})"
            seen = vantage == "sender"
            share = paused_s / whole
            found.append(LetWait(int(row["connection"]), end, waited_s, share, is_seen=seen))
    return sorted(found, key=lambda one: -one.waited_s)


def long_pauses(tables: Mapping[str, Table]) -> dict[int, tuple[float, float]]:
    """Return the connections in which neither end had data to send for at least half of the time.

    For each connection, the result has the time in which neither end had data to send, and the
    whole time of the connection, in seconds.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `spent`.
    """
    spent = with_both_directions(tables)
    whole, paused = whole_s(spent), spent.seconds("application_ns")
    long = (paused > 0) & (paused >= SHARE_MIN * whole)
    columns = (one[long].tolist() for one in (spent["connection"], paused, whole))
    return {connection: (some, all_s) for connection, some, all_s in zip(*columns, strict=True)}
