"""Decides whether long round trips come from a delay that varied, and not from a full queue.

If the delay of a path varies, the mean round trip is much longer than the shortest round trip,
although no queue is full. Two facts show that a full link did not drop the data:

* Between losses, the connection had very different rates. A full link delivers at its own rate.
* Losses came at ordinary round trips. A full queue drops data when round trips are longest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.directions import loss_events, lost_data
from netspurt.table import Table

#: The minimum number of losses that are at least a round trip apart.
_LOSSES_MIN = 8
#: The minimum standard deviation of the rates between losses, as a share of their mean.
_VARIATION_MIN = 0.25
#: The excess of a round trip is the round trip minus the shortest round trip. The excess at a loss
#: is the smoothed round trip at this loss (srtt) minus the shortest round trip. If the mean excess
#: at losses is more than `_LONGER_MAX` times the mean excess of all round trips, a full queue may
#: have dropped the data.
_LONGER_MAX = 1.3
#: Another connection between the same hosts may share a full queue if it has at least
#: `_SHARING_MIN` retransmissions.
_SHARING_MIN = 5
#: The queue was nearly full at a loss if the excess at this loss is at least `_FULL` times the
#: largest excess at any loss. If this holds for more than `_SHARE_MAX` of the losses, a full queue
#: may have dropped the data.
_SHARE_MAX, _FULL = 0.5, 0.75


def has_varied_delay(row: Mapping[str, Any], connections: Table, retransmissions: Table) -> bool:
    """Return whether the delay of a direction varied, and no full queue dropped its data.

    The direction must have been captured beside its sender. The result is false if another
    connection between the same hosts overlaps in time and has many retransmissions in the same
    direction. Both connections may share a full queue.

    Parameters
    ----------
    row
        The direction: a row of the table `connections`.
    connections, retransmissions
        These tables of the explained capture.
    """
    if _shares_losses(row, connections):
        return False
    own = retransmissions.where(connection=row["connection"], direction=row["direction"])
    own = lost_data(own)
    rtt_s, least_s = row["rtt_ns_mean"] / 1e9, row["rtt_ns_min"] / 1e9
    times_s, octets, srtt_s = _losses(own, rtt_s)
    excess_s, mean_s = srtt_s - least_s, rtt_s - least_s
    if len(excess_s) < _LOSSES_MIN or mean_s <= 0:
        return False
    are_full = np.mean(excess_s >= _FULL * excess_s.max()) > _SHARE_MAX
    are_longer = excess_s.mean() > _LONGER_MAX * mean_s
    return not (are_full or are_longer) and _variation(times_s, octets) >= _VARIATION_MIN


def _shares_losses(row: Mapping[str, Any], connections: Table) -> bool:
    """Return whether another connection at the same time may fill the same queue.

    The other connection has the same hosts and the same direction, and at least `_SHARING_MIN`
    retransmissions.
    """
    others = connections.select(
        (connections["connection"] != row["connection"])
        & (connections["source"] == row["source"])
        & (connections["destination"] == row["destination"])
        & (connections["retransmissions"] >= _SHARING_MIN)
    )
    overlaps = (others["first_ns"] < row["last_ns"]) & (others["last_ns"] > row["first_ns"])
    return bool(np.any(overlaps))


def _losses(
    lost: Table, rtt_s: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the loss events that have a smoothed round trip.

    A retransmission begins each event. The three arrays have its time [s], its sequence number [B]
    and the smoothed round trip at this time [s]. Each array has shape (losses,). `rtt_s` is the
    mean round trip.
    """
    srtt_s, times_s = lost.seconds("srtt_ns"), lost.seconds("t_ns")
    kept = [n for n in loss_events(lost, rtt_s) if np.isfinite(srtt_s[n])]
    octets = np.asarray(lost["seq"], dtype=float)
    return times_s[kept], octets[kept], srtt_s[kept]


def _variation(times_s: NDArray[np.float64], octets: NDArray[np.float64]) -> float:
    """Return how the rates between losses varied: their deviation as a share of their mean.

    `octets` says how far the stream had come at each of the times `times_s`. The rates are weighted
    by the time between the losses. The result is 0 if the last loss is not further on in the stream
    than the first loss.
    """
    lasted, sent = np.diff(times_s), np.diff(octets)
    mean = float(sent.sum() / lasted.sum())
    if mean <= 0:
        return 0.0
    squares = np.average((sent / lasted - mean) ** 2, weights=lasted)
    return float(np.sqrt(squares)) / mean
