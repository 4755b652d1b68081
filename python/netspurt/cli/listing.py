"""The tables `send-ack` and `packetdat` of a run: a flow's packets as in Jacobson's listings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from netspurt.cli.opening import busiest, is_explained
from netspurt.cli.output import named, paint
from netspurt.wording import number

if TYPE_CHECKING:
    from netspurt.captures import Explained
    from netspurt.pictures.view import View
    from netspurt.run import Run

#: The names of the tables, which are computed from `segments` at the node that sends.
NAMES = ("send-ack", "packetdat")


def listed(
    run: Run | Explained, name: str, asked: View
) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Return the columns and the rows of a listing.

    The rows are of the flow, the direction and the span of time in `asked`. The defaults are the
    same as for plots. A note says which of several flows is listed.

    Raises
    ------
    ValueError
        If `asked` names an unknown flow, or if nothing was recorded at the node that sends its
        data.
    """
    from netspurt.analysis.listings import PACKETDAT, SEND_ACK, Trace, packetdat, send_ack

    shown = _chosen(run, asked)
    rows = run.segments.where(node=_sender(run, shown), flow=shown.flow)
    trace = Trace.of(rows, shown.sends)
    columns = PACKETDAT if name == "packetdat" else SEND_ACK
    found = packetdat(trace) if name == "packetdat" else send_ack(trace).rows()
    # A row depends on packets before and after it, so the span of time is cut afterwards.
    instants = trace.t_ns if name == "packetdat" else trace.t_ns[trace.data]
    held = shown.holds(instants / 1e9).tolist()
    _note_choice(run, asked, shown)
    return columns, [row for row, is_held in zip(found, held, strict=True) if is_held]


def _chosen(run: Run | Explained, asked: View) -> View:
    """Return what is listed: a view with the flow and the direction."""
    from netspurt.pictures import settled
    from netspurt.pictures.view import pick

    if is_explained(run):
        flow, direction = busiest(run, asked.flow) or (None, None)
        asked = replace(asked, flow=asked.flow or flow, direction=asked.direction or direction)
    else:
        asked = settled(run, "time-sequence", asked)
    return replace(asked, flow=pick(run.segments, "flow", asked.flow, "flow"))


def _sender(run: Run | Explained, shown: View) -> str:
    """Return the node at which the packets are listed: the node that sends the flow's data.

    Raises
    ------
    ValueError
        If nothing was recorded at this node.
    """
    nodes = run.segments.where(flow=shown.flow)["node"].tolist()
    if is_explained(run):
        return str(nodes[0])
    sender = run.flows.where(flow=shown.flow, direction=shown.sends)["from"].tolist()
    if not sender or sender[0] not in nodes:
        raise ValueError(
            f"nothing was recorded at the node that sends the {shown.sends} data of {shown.flow}: "
            "add it to `spy` under [record] and run again"
        )
    return str(sender[0])


def _note_choice(run: Run | Explained, asked: View, shown: View) -> None:
    """Print to the standard error which flow and direction is listed, if the user chose neither."""
    count = len(set(run.segments["flow"].tolist()))
    several = asked.flow is None and count > 1
    if several or (asked.direction is None and shown.direction == "reverse"):
        among = f", one of {number(count)} flows" if several else ""
        choice = "--flow and --direction choose" if several else "--direction forward chooses"
        what = f"{named(shown.titled(str(shown.flow)))} is listed{among}; {choice} another"
        print(f"{paint('note:', 'yellow', sys.stderr)} {what}", file=sys.stderr)
