"""Crossings: the instants at which a segment had no ACK within the RTO, as text and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netspurt.analysis.crossings import Crossing

#: The name of the table. It is computed from the run's tables `rto`, `rtt` and `segments`.
NAME = "crossings"
COLUMNS = ("t_ns", "rto_ns", "timeout", "retransmitted_ns", "packet", "spurious")
#: The maximum number of crossings that get their own sentence.
_SHOWN = 5


def row_of(one: Crossing) -> dict[str, Any]:
    """Return the row of the table for a crossing. A value that does not exist is `None`."""

    def nanos(seconds: float | None) -> int | None:
        return None if seconds is None else round(seconds * 1e9)

    values = (
        nanos(one.t),
        nanos(one.rto),
        one.timeout,
        nanos(one.retransmitted),
        one.packet,
        one.spurious,
    )
    return dict(zip(COLUMNS, values, strict=True))


def crossing_lines(found: list[Crossing], more: str) -> Iterator[str]:
    """Yield a sentence for each of the first crossings, and a line with the number of others.

    `more` is the command that prints all of them.
    """
    for one in found[:_SHOWN]:
        yield f"{one.t:.6f} s: {_sentence(one)}"
    if len(found) > _SHOWN:
        yield f"{len(found) - _SHOWN} more: {more}"


def _sentence(one: Crossing) -> str:
    """Return what happened at a crossing.

    A packet that was lost has no round trip, so its sentence says that there was no ACK.

    Examples
    --------
    >>> from netspurt.analysis.crossings import Crossing
    >>> _sentence(Crossing(1.0, 0.25, timeout=True))
    'no ACK within the RTO of 0.25 s; timeout'
    >>> _sentence(Crossing(1.0, 0.25, timeout=False))
    'the round trip exceeds the RTO of 0.25 s; an ACK had restarted the timer'
    """
    rto = f"the RTO of {one.rto:.4g} s"
    if not one.timeout:
        return f"the round trip exceeds {rto}; an ACK had restarted the timer"
    if one.retransmitted is None:
        return f"no ACK within {rto}; timeout"
    told = f"timeout, packet {one.packet} retransmitted at {one.retransmitted:.6f} s"
    if one.spurious:
        return f"the round trip exceeds {rto}; {told} (spurious)"
    return f"no ACK within {rto}; {told} (the original was lost)"
