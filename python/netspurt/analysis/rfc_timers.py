"""Compares the waits for retransmission timers in a capture with the timers of RFC 6298.

A wait is the time without progress before a timer fired. The table `waits` of an explained capture
has a row for each wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.directions import keys
from netspurt.table import Table

Floats = NDArray[np.float64]

#: The largest of the minimum RTOs that senders use [s] (RFC 6298 §2.4).
FLOOR_MAX_S = 1.0
#: A timer follows another rule than RFC 6298 if it is more than `_FAR_FACTOR` times as long as RFC
#: 6298's timer.
_FAR_FACTOR = 2.0


@dataclass(frozen=True)
class FarAbove:
    """Waits for timers that were far above the value that RFC 6298 computes.

    Attributes
    ----------
    waited_s, computed_s
        The waits, and the timers that RFC 6298 computes at the same instants with a minimum of 1 s,
        in seconds, shape (n,) each.
    srtt_s
        The smoothed round trips at these instants, in seconds, shape (n,).
    beside_senders
        Whether all these waits were captured beside their senders. If not, earlier retransmissions
        may have been lost before the capture point.
    """

    waited_s: Floats
    computed_s: Floats
    srtt_s: Floats
    beside_senders: bool


def far_above(tables: Mapping[str, Table]) -> FarAbove:
    """Return the waits for timers that were far above the value that RFC 6298 computes."""
    waits = judged(tables)
    far = waits.select(is_far(waits))
    beside_senders = tables["habits"].where(vantage="sender")
    return FarAbove(
        waited_s=far.seconds("waited_ns"),
        computed_s=_computed(far),
        srtt_s=far.seconds("srtt_ns"),
        beside_senders=bool(np.isin(keys(far), keys(beside_senders)).all()),
    )


def judged(tables: Mapping[str, Table]) -> Table:
    """Return the waits for retransmission timers, without those captured beside the receiver."""
    waits = tables["waits"].where(timer="retransmission")
    beside_receiver = tables["habits"].where(vantage="receiver")
    return waits.select(~np.isin(keys(waits), keys(beside_receiver)))


def timer(waits: Table, min_rto_s: float) -> Floats:
    """Return the timers of RFC 6298 at some waits, without backoff [s], or NaN if unknown."""
    timer = waits.seconds("srtt_ns") + 4 * waits.seconds("rttvar_ns")
    bounded_below: Floats = np.maximum(timer, min_rto_s)
    return bounded_below


def _computed(waits: Table) -> Floats:
    """Return the timers that RFC 6298 computes at some waits, with its backoff [s]."""
    backed_off: Floats = timer(waits, FLOOR_MAX_S) * 2.0 ** np.minimum(waits["backoffs"], 30)
    return backed_off


def is_far(waits: Table) -> NDArray[np.bool_]:
    """Return, for each wait, whether it was far longer than the timer of RFC 6298."""
    far: NDArray[np.bool_] = waits.seconds("waited_ns") > _FAR_FACTOR * _computed(waits)
    return far
