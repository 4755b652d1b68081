"""Gives each direction of a connection a number, and finds the loss events of a direction.

The numbers help to find the rows of one direction in two tables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netspurt.table import Table

Keys = NDArray[np.int64]


def keys(rows: Table) -> Keys:
    """Return a number for the direction of each row, shape (n,).

    Parameters
    ----------
    rows
        A table with the columns `connection` and `direction`.
    """
    numbers: Keys = 2 * rows["connection"].astype(np.int64) + rows.equals("direction", "reverse")
    return numbers


def frequent(rows: Table, least: int) -> set[tuple[int, str]]:
    """Return the directions with enough rows, as pairs of connection and direction.

    Parameters
    ----------
    rows
        A table with the columns `connection` and `direction`.
    least
        The smallest number of rows.
    """
    numbers, counts = np.unique(keys(rows), return_counts=True)
    often = numbers[counts >= least].tolist()
    return {(number // 2, "reverse" if number % 2 else "forward") for number in often}


def lost_data(retransmissions: Table, *, or_syns: bool = False) -> Table:
    """Return the retransmissions of data that the path seems to have lost.

    Spurious retransmissions are left out. Retransmissions of packets that were too big for the path
    are also left out. Their loss is no sign of congestion, and the sender does not make cwnd
    smaller for it (RFC 1191 §6.4).

    Parameters
    ----------
    retransmissions
        Rows of the table `retransmissions` of an explained capture.
    or_syns
        True to return the retransmissions of SYNs, too.
    """
    others = ("too-big",) if or_syns else ("too-big", "syn")
    wrong = retransmissions.equals("verdict", "spurious") | retransmissions.equals("cause", *others)
    return retransmissions.select(~wrong)


def loss_events(lost: Table, rtt_s: float) -> list[int]:
    """Return the numbers of the rows that begin a loss event, in the order of time.

    An event begins with a loss. Losses of packets that were sent before the sender noticed this
    first loss belong to the same event. The sender makes cwnd smaller only once for these losses
    (RFC 6582 §3.2, RFC 6675 §5). The sender noticed the first loss when it retransmitted the lost
    packet. If the capture does not show when a packet was sent before its retransmission, losses
    within one round trip belong to one event. A timeout and its go-back-N are also one event. If a
    timeout repeats the octets of the timeout before it, both timeouts belong to one event. This
    also holds for timeouts of SYNs.

    Parameters
    ----------
    lost
        Rows of the table `retransmissions` of one direction, such as those of `lost_data`.
    rtt_s
        The mean round trip [s].
    """
    # Without this copy, reading a column of `lost` would copy the column of all connections.
    lost = lost.copied(np.arange(len(lost)))
    t_ns, octets = lost["t_ns"], lost["seq"]
    unseen = np.isnan(lost.seconds("gap_ns"))
    sent_ns = t_ns - lost.filled("gap_ns", 0)
    later = np.argsort(t_ns, kind="stable")
    timers = later[lost.equals("cause", "rto", "syn")[later]]
    repeats = timers[1:][octets[timers[1:]] == octets[timers[:-1]]]
    back = lost.equals("cause", "go-back-n")
    after_timeout = back | lost.equals("cause", "rto")
    goes_on = later[1:][(back & unseen)[later[1:]] & after_timeout[later[:-1]]]
    same = {*repeats.tolist(), *goes_on.tolist()}
    begun, until = list[int](), None
    for n in np.argsort(sent_ns, kind="stable").tolist():
        if n not in same and (until is None or sent_ns[n] >= until):
            begun.append(n)
            until = max(t_ns[n], sent_ns[n] + round(1e9 * rtt_s))
    return begun


def opposite(of: Keys) -> Keys:
    """Return, for each number of a direction, the number of the opposite direction, shape (n,)."""
    return of ^ 1


def rows_of(of: Keys, known: Keys) -> NDArray[np.intp]:
    """Return, for each number in the array `of`, its index in the array `known`, or -1.

    Examples
    --------
    >>> rows_of(np.array([4, 7]), np.array([9, 4])).tolist()
    [1, -1]
    """
    if not len(known):
        return np.full(len(of), -1)
    order = np.argsort(known, kind="stable")
    found = order[np.searchsorted(known, of, side="right", sorter=order) - 1]
    return np.where(known[found] == of, found, -1)
