"""Finds whether longer round trips come from a queue that the sender filled, or from the path.

If the sender sends faster than a full link, the queue of the link grows. The link still delivers
data at its rate. If the delay of the path grows by itself, the sender does not send faster. Then
less data arrives while the delay grows: if the delay grows by 10 ms, the octets of 10 ms are
missing. While the delay becomes shorter, more data arrives.

If the round trip changes slowly, the missing octets may be too few to be seen. So for slow changes,
another sign decides: a queue that the sender fills grows at least as fast as cwnd, and cwnd grows
by about a segment in a round trip (RFC 5681 §3.1, RFC 9438 §4.3).
"""

from __future__ import annotations

from dataclasses import dataclass

from netspurt.table import Table

#: The minimum growth of the outstanding data, in segments per round trip, if cwnd grows. The growth
#: is half a segment if ACKs are delayed and the sender counts ACKs and not octets.
_GROWTH_MIN = 0.4
#: The sender filled a queue if at least `_SHARE_MIN` of the changes of the round trip comes from
#: the sender's own data in the queue.
_SHARE_MIN = 0.5
#: The rate during slow changes of the round trip may be lower than the rate of the whole time. If
#: it is lower by at most the share `_RATE_OFF_MAX`, no data counts as missing. If it is lower by a
#: larger share, only the excess over `_RATE_OFF_MAX` counts.
_RATE_OFF_MAX = 0.01
#: If the link was full, the rate during slow changes of the round trip is higher than the rate of
#: the whole time by at most the share `_RATE_OFF_BEFORE`.
_RATE_OFF_BEFORE = 0.1


@dataclass(frozen=True)
class _Changes:
    """Changes of the round trip: how much data was missing, and how long the changes lasted.

    Attributes
    ----------
    longer_s, all_s
        By how much the round trip changed [s]: summed over the changes to longer round trips, and
        over all changes.
    longer_lasted_s, lasted_s
        How long the changes to longer round trips took, and how long all changes took [s].
    missing_s
        The octets that were missing while the round trip grew, plus the additional octets while it
        became shorter. The number is given as the time that these octets take at the rate [s].
    """

    longer_s: float
    all_s: float
    longer_lasted_s: float
    lasted_s: float
    missing_s: float

    @classmethod
    def of(cls, own: Table, prefix: str, rate_bps: float) -> _Changes:
        """Return the fast changes in the rows `own`, or the slow ones if `prefix` is `slowly `."""
        longer, shorter = (own.where(kind=prefix + kind) for kind in ("longer", "shorter"))
        (more_s, more_took_s), (less_s, less_took_s) = (
            (float(one.seconds("change_ns").sum()), float(one.seconds("lasted_ns").sum()))
            for one in (longer, shorter)
        )
        delivered = float(longer["bytes"].sum()) - float(shorter["bytes"].sum())
        return cls(
            longer_s=more_s,
            all_s=more_s + less_s,
            longer_lasted_s=more_took_s,
            lasted_s=more_took_s + less_took_s,
            missing_s=more_took_s - less_took_s - 8 * delivered / rate_bps,
        )


def fills_queue(
    changes: Table,
    key: tuple[int, str],
    *,
    rate_bps: float,
    outstanding: float,
    is_steady: bool = True,
) -> bool:
    """Return whether the changes of the round trip come from a queue that the sender filled.

    The result is also true if `changes` has no row of this direction.

    Parameters
    ----------
    changes
        The table `delay_changes` of an explained capture.
    key
        The number of the connection, and the direction.
    rate_bps
        The rate of the direction, in bits per second.
    outstanding
        How many segments are outstanding on average.
    is_steady
        True if the rate was constant. If the rate was not constant, slow changes do not come from a
        full link.
    """
    own = changes.where(connection=key[0], direction=key[1])
    if not len(own):
        return True
    fast, slow = (_Changes.of(own, prefix, rate_bps) for prefix in ("", "slowly "))
    by_sender_s = fast.all_s - fast.missing_s
    if is_steady and _grows_as_cwnd(slow, outstanding):
        by_sender_s += slow.longer_s
    return by_sender_s >= _SHARE_MIN * (fast.all_s + slow.longer_s)


def _grows_as_cwnd(slow: _Changes, outstanding: float) -> bool:
    """Return whether a growing cwnd may have caused slow changes to longer round trips.

    `outstanding` is the mean number of outstanding segments.
    """
    growth = outstanding * slow.longer_s >= _GROWTH_MIN * slow.longer_lasted_s
    missing_s = slow.missing_s - _RATE_OFF_MAX * slow.lasted_s
    # Data may have arrived much faster during these changes than over the whole time. Then the rate
    # of the whole time is not the rate of a full link.
    is_same_rate = -slow.missing_s <= _RATE_OFF_BEFORE * slow.lasted_s
    return growth and is_same_rate and missing_s < _SHARE_MIN * slow.all_s
