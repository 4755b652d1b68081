"""The instants at which round trips exceed the RTO, as text and as a table of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netspurt.analysis.crossings import Crossing
    from netspurt.run import Run

#: The name of the table, which is computed from `rto`, `rtt` and `segments`.
NAME = "crossings"
COLUMNS = ("t_ns", "rto_ns", "timeout", "retransmitted_ns", "packet", "spurious")
#: The number of crossings that a text tells one by one.
_SHOWN = 5


def crossings_of(
    run: Run, flow: str | None, direction: str | None, start: float | None, end: float | None
) -> list[Crossing]:
    """Return the crossings of a flow; by default of the first, and of its forward direction.

    Raises
    ------
    ValueError
        If the run has neither `rto` nor `rtt`, or no such flow.
    """
    from netspurt.analysis.crossings import crossings
    from netspurt.plots.style import View, optional, pick

    rto, rtt = run.table("rto"), run.table("rtt")
    own = {"flow": pick(rto, "flow", flow, "flow"), "direction": direction or "forward"}
    sender = run.flows.where(**own)["from"].tolist()
    segments = optional(run, "segments")
    sent = None
    if segments is not None and sender and sender[0] in segments["node"]:
        sent = segments.where(node=sender[0], way="out", kind="retransmission", **own)
    found = crossings(rto.where(**own), rtt.where(**own), sent)
    view = View(start=start, end=end)
    low, high = view.start or -math.inf, math.inf if view.end is None else view.end
    return [one for one in found if low <= one.t <= high]


def rows_of(found: list[Crossing]) -> list[tuple[str, ...]]:
    """Return the rows of the table as texts; empty if a value does not exist."""

    def nanos(seconds: float | None) -> str:
        return "" if seconds is None else str(round(seconds * 1e9))

    return [
        (
            nanos(one.t),
            nanos(one.rto),
            str(one.timeout).lower(),
            nanos(one.retransmitted),
            "" if one.packet is None else str(one.packet),
            "" if one.spurious is None else str(one.spurious).lower(),
        )
        for one in found
    ]


def crossing_lines(found: list[Crossing]) -> Iterator[str]:
    """Yield a sentence for each crossing."""
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
