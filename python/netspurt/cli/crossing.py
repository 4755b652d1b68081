"""The instants at which round trips exceed the RTO, as text and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netspurt.analysis.crossings import Crossing

#: The name of the table, which is computed from `rto`, `rtt` and `segments`.
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


def crossing_lines(found: list[Crossing]) -> Iterator[str]:
    """Yield a sentence for each of the first crossings, and a line with the number of the rest."""
    for one in found[:_SHOWN]:
        text = f"{one.t:.6f} s: the round trip exceeds the RTO of {one.rto:.4g} s; "
        if not one.timeout:
            text += "an ACK had restarted the timer"
        elif one.retransmitted is None:
            text += "timeout"
        else:
            kind = "spurious" if one.spurious else "the original was lost"
            text += (
                f"timeout, packet {one.packet} retransmitted at {one.retransmitted:.6f} s ({kind})"
            )
        yield text
    if len(found) > _SHOWN:
        yield f"{len(found) - _SHOWN} more: netspurt table RUN {NAME}"
