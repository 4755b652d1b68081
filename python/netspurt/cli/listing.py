"""Jacobson's listings of a flow, `send-ack` and `packetdat`, as tables of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netspurt.captures import Explained
    from netspurt.run import Run

#: The names of the tables, which are computed from `segments` at the node that sends.
NAMES = ("send-ack", "packetdat")


def listed(
    run: Run | Explained,
    name: str,
    flow: str | None,
    direction: str | None,
    start: float | None,
    end: float | None,
) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Return the columns and the rows of a listing, from `start` to `end` [s].

    The defaults are the first flow, its forward direction, and the whole run.

    Raises
    ------
    ValueError
        If there is no such flow, or nothing was recorded at the node that sends its data.
    """
    from netspurt.analysis.listings import PACKETDAT, SEND_ACK, Trace, packetdat, send_ack
    from netspurt.pictures.view import View, pick

    segments = run.segments
    own = pick(run.flows, "flow", flow, "flow")
    way = direction or "forward"
    sender = run.flows.where(flow=own, direction=way)["from"].tolist()
    if not sender or sender[0] not in segments["node"]:
        raise ValueError(
            f"nothing was recorded at the node that sends the {way} data of {own}: add it to `spy` "
            "under [record] and run again"
        )
    rows = View(start=start, end=end).clip(segments.where(node=sender[0], flow=own))
    trace = Trace.of(rows, way)
    if name == "packetdat":
        return PACKETDAT, packetdat(trace)
    return SEND_ACK, send_ack(trace).rows()
