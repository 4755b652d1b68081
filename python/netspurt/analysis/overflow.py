"""Finds connections that filled a queue until it overflowed, and so caused their own losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.directions import frequent, loss_events, lost_data
from netspurt.analysis.seen import is_beside, mostly_on_its_way
from netspurt.table import Table
from netspurt.wording import counted, duration, rate

#: The minimum ratio of the longest round trip before a loss to the shortest round trip of all.
_RTT_RATIO_MIN = 1.05
#: The minimum delay of a full queue, as a share of the largest delay before a loss.
_FULL = 0.75
#: The minimum share of the loss events that occur while the queue is full. One event of four or
#: five may have another cause, or may occur at the end of slow start. At the end of slow start, the
#: queue grows within one round trip, and the smoothed round trip does not show this growth yet.
_SHARE_MIN = 0.75
#: The minimum ratio of the mean queue before losses to the mean queue of all round trips. If losses
#: do not depend on the queue, both are about equal.
_GREW = 1.5
#: The minimum number of loss events.
_LOSSES_MIN = 3


@dataclass(frozen=True)
class Overflow:
    """A direction that lost data when round trips were longest.

    Attributes
    ----------
    connection
        The number of the connection.
    losses
        The number of losses. Losses within one round trip count once.
    rtt_s_losses, rtt_s, rtt_s_min
        The mean of the smoothed round trips at the losses, the mean of all round trips, and the
        shortest round trip, in seconds.
    rate_bps, lasted_s
        The rate of the connection, in bits per second, and how long the connection lasted, in
        seconds.
    """

    connection: int
    losses: int
    rtt_s_losses: float
    rtt_s: float
    rtt_s_min: float
    rate_bps: float
    lasted_s: float

    def sentence(self, who: str) -> str:
        """Return sentences on what limited the connection `who`, and what helps."""
        return (
            f"Before {counted(self.losses, 'loss', 'losses')} of {who}, round trips took "
            f"{duration(self.rtt_s_losses)} on average. Over the whole time they took "
            f"{duration(self.rtt_s)} on average; the shortest took {duration(self.rtt_s_min)}. So "
            "most likely the sender sent more until the queue of the slowest link was full, and "
            f"this queue dropped the data. The rate was {rate(self.rate_bps)}. A faster link, or "
            "less other traffic on this link, makes the connection faster. If the queue "
            "is short, a longer queue helps, too."
        )


def overflows(tables: Mapping[str, Table]) -> dict[tuple[int, str], Overflow]:
    """Return the directions, captured beside their senders, that lost data when a queue was full.

    The round trip grows with the queue. So a full queue drops packets when the round trip is
    longest. Other losses occur at any round trip.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `habits`, `retransmissions`, `spent`.
    """
    again = tables["retransmissions"]
    often = frequent(again, _LOSSES_MIN)
    if not often:
        return {}
    numbers = sorted({key[0] for key in often})
    # The dictionary `few` has copies of some rows. Without them, reading a column would copy the
    # column of all connections.
    few = {name: _rows_of(tables[name], numbers) for name in ("connections", "habits", "spent")}
    whole = mostly_on_its_way(few)
    own = few["connections"]
    found = dict[tuple[int, str], Overflow]()
    own = own.select(is_beside("sender", own, few))
    for row in own.each():
        key = (row["connection"], row["direction"])
        if key in often and key[0] in whole:
            lost = again.where(connection=key[0], direction=key[1])
            one = _overflow(row, lost, whole[key[0]])
            found |= {key: one} if one else {}
    return found


def _rows_of(table: Table, connections: Sequence[int]) -> Table:
    """Return the rows of these connections as a table of its own."""
    return table.copied(np.flatnonzero(np.isin(table["connection"], connections)))


def _overflow(row: Mapping[str, Any], again: Table, lasted_s: float) -> Overflow | None:
    """Return the overflow of a direction with these retransmissions.

    The result is `None` if no queue was full before its losses.
    """
    if not row["rtt_ns_mean"] or not row["rtt_ns_min"]:
        return None
    rtt_s, least_s = row["rtt_ns_mean"] / 1e9, row["rtt_ns_min"] / 1e9
    queues_s = _before_losses(again, rtt_s) - least_s
    if len(queues_s) < _LOSSES_MIN:
        return None
    most_s, mean_s = float(queues_s.max()), float(queues_s.mean())
    overflowed = np.mean(queues_s >= _FULL * most_s) >= _SHARE_MIN
    grew = mean_s >= _GREW * (rtt_s - least_s)
    if most_s < (_RTT_RATIO_MIN - 1) * least_s or not (overflowed and grew):
        return None
    return Overflow(
        connection=int(row["connection"]),
        losses=len(queues_s),
        rtt_s_losses=least_s + mean_s,
        rtt_s=rtt_s,
        rtt_s_min=least_s,
        rate_bps=8 * float(row["unique_bytes"]) / lasted_s,
        lasted_s=lasted_s,
    )


def _before_losses(again: Table, rtt_s: float) -> NDArray[np.float64]:
    """Return the smoothed round trips at the loss events [s]."""
    lost = lost_data(again)
    before = lost.seconds("srtt_ns")[loss_events(lost, rtt_s)]
    return before[np.isfinite(before)]
