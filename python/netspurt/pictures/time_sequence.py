"""The time-sequence picture, in the style of tcptrace."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from netspurt.analysis.receive_window import window_shift
from netspurt.causes import SEEN, SEEN_IN_ACKS
from netspurt.pictures.marks import (
    MARGIN,
    Bars,
    Floats,
    Ink,
    Mark,
    Picture,
    Points,
    Polyline,
    Scale,
    reach,
)
from netspurt.pictures.view import DIRECTIONS, Tables, View, acknowledgments, of_flows, pick
from netspurt.table import Table, optional

#: Bars of data have dots if at least this many segments are shown, because thin bars are hard to
#: see. Bars of retransmissions always have dots.
_DOTS_FROM = 400

#: The causes of retransmissions by kind, each with its colour.
CAUSES: dict[str, tuple[Ink, tuple[str, ...]]] = {
    f"retransmitted: {SEEN}": ("red", SEEN_IN_ACKS),
    "retransmitted: timeout": ("blue", ("rto", "syn", "sfr", "shim")),
    "retransmitted: go-back-N": ("sky", ("go-back-n",)),
    "retransmitted: tail loss probe": ("brown", ("tlp",)),
    "retransmitted: packet too big": ("orange", ("too-big",)),
    "retransmitted: cause unknown": ("grey", ("unknown", "")),
}


def time_sequence(run: Tables, view: View) -> Picture:
    """Show data, retransmissions, ACKs and SACK blocks at one node, and all dropped or lost data.

    Each segment is a bar from its first to its last octet. The bar of a retransmission has a dot,
    which is visible at every zoom. If there are many segments, the bars of all segments have dots.
    The cumulative ACK is a line that climbs below the segments. Each duplicate ACK is a tick of one
    packet's height below that line. A SACK block is a bar at the instant of its ACK. A thin line
    shows the end of the receive window, if this end is not far above the data. A cross marks a
    segment that was dropped or lost. Retransmissions are drawn above other segments, and each kind
    of cause has its own colour. A ring marks a spurious retransmission.
    """
    segments = of_flows(run)
    flow = pick(segments, "flow", view.flow, "flow")
    both = segments.where(flow=flow)
    node = _node(run, both, view, flow)
    own = both.where(direction=view.sends)
    if not np.any(own["len_bytes"]):
        raise ValueError(f"no data of flow {view.titled(flow)} was seen")
    answers = view.clip(both.where(direction=view.answers, node=node))
    seen = view.clip(own.where(node=node))
    if len(seen) + len(answers) == 0:
        raise ValueError(f"nothing of flow {flow} was seen at {node}{view.in_words}")
    are_few = len(seen) + len(answers) < _DOTS_FROM
    marks = _acks(answers, int(own["len_bytes"].max()))
    blocks = view.clip(run.table("sack_blocks").where(flow=flow, direction=view.answers, node=node))
    marks.append(_sack_blocks(blocks))
    data = seen.where(kind="data")
    size = (1.6, 0.0) if are_few else (1.0, 1.8)
    marks.append(_segments(data, "sent", "black", size, 2.4))
    marks += _drops(run, own, view, few=are_few)
    marks += _retransmissions(seen.where(kind="retransmission"), few=are_few)
    if _packet_bytes(own) is not None:
        marks = [_without_packets(mark) for mark in marks]
    marks = [mark for mark in marks if _count(mark)]
    scale = Scale("sequence number", "B")
    window = _receive_window(run, both.where(node=node), view, marks)
    if window is not None:
        line, low_end, high_end = window
        marks.insert(0, line)
        scale = Scale("sequence number", "B", low=low_end, high=high_end)
    corner = _empty_corner(Picture(tuple(marks), scale), seen, None if window is None else line)
    return Picture(
        tuple(marks),
        scale,
        aside=f"{view.titled(flow)} at {node}",
        packet_bytes=_packet_bytes(own),
        corner=corner,
    )


def _count(mark: Mark) -> int:
    return len(getattr(mark, "x", ()))


def _empty_corner(
    picture: Picture, seen: Table, window: Polyline | None
) -> Literal["upper left", "lower right"]:
    """Return the upper left corner, or the lower right corner if only this corner is empty."""
    (start, end), (low, high) = picture.ends
    t, first, last = seen.seconds(), seen["seq"], seen["seq"] + seen["len_bytes"]
    middle = low + 0.5 * (high - low)
    early = start + 0.3 * (end - start)
    upper_left = (t < early) & (last > middle)
    if window is not None:
        shown = (window.y > middle) & (window.y <= high)
        upper_left = np.append(upper_left, (window.x < early) & shown)
    lower_right = (t > end - 0.3 * (end - start)) & (first < middle)
    return "lower right" if upper_left.any() and not lower_right.any() else "upper left"


def _node(run: Tables, own: Table, view: View, flow: str) -> str:
    """Return the wanted node.

    By default, it is the sender's node if this node was recorded, and otherwise the first recorded
    node.
    """
    spied = set(run.table("segments")["node"].tolist())
    nodes = list(dict.fromkeys(own["node"].tolist()))
    if view.node in spied and view.node not in nodes:
        raise ValueError(f"flow {flow} was not seen at {view.node}, but at {', '.join(nodes)}")
    opened = run.table("flows").where(flow=flow, direction=DIRECTIONS[0])
    if len(opened) == 0:
        return pick(own, "node", view.node, "spied node")
    if view.node is None and view.sends != DIRECTIONS[0] and opened["to"][0] in nodes:
        return str(opened["to"][0])
    return pick(own, "node", view.node, "spied node")


def _packet_bytes(own: Table) -> int | None:
    """Return the size of packets, if all packets except the last have the same size."""
    data = own.select(own["len_bytes"] > 0)
    size = int(data["len_bytes"].max())
    return None if np.any((data["seq"] - 1) % size) else size


def _segments(
    segments: Table, label: str, ink: Ink, size: tuple[float, float], rank: float
) -> Bars:
    """Return a bar for each segment. `size` has the width of the bars and the size of the dots."""
    low = segments["seq"].astype(np.float64)
    high = low + segments["len_bytes"]
    width, dot = size
    x = segments.seconds()
    return Bars(
        label=label,
        ink=ink,
        x=x,
        low=low,
        high=high,
        width=width,
        dot=dot,
        rank=rank,
        packet=segments["packet"].astype(np.float64),
    )


def _without_packets(mark: Mark) -> Mark:
    """Return a mark without the numbers of packets.

    They are not needed, because they can be computed from the sequence numbers.
    """
    return replace(mark, packet=None) if isinstance(mark, (Bars, Points)) else mark


def _retransmissions(segments: Table, *, few: bool) -> list[Mark]:
    """Return retransmissions by kind of cause, and rings around spurious ones."""
    marks: list[Mark] = []
    size = (2.2 if few else 1.0, 4.5)
    for label, (ink, causes) in CAUSES.items():
        own = segments.select(np.isin(segments["cause"], causes))
        marks.append(_segments(own, label, ink, size, 2.8))
    spurious = segments.select(segments["spurious"])
    x, y = spurious.seconds(), spurious["seq"] + spurious["len_bytes"] / 2
    ring = Points(
        label="spurious", ink="black", x=x, y=y, shape="ring", size=10, width=0.9, rank=2.9
    )
    return [*marks, ring]


def _receive_window(
    run: Tables, both: Table, view: View, marks: list[Mark]
) -> tuple[Polyline, float, float] | None:
    """Return the end of the window that the receiver offers, if it is near the data.

    The other two values are the ends of a y axis that suits this line and the marks.
    """
    answers = acknowledgments(view.clip(both.where(direction=view.answers)))
    if len(answers) == 0:
        return None
    shift = window_shift(run.table("syns").where(flow=str(both["flow"][0])), view.answers)
    edge = answers["ack"] + (answers["window"].astype(np.int64) << shift)
    lowest, highest = reach(marks, 1) or (0.0, 1.0)
    margin = MARGIN * (highest - lowest)
    low, high = lowest - margin, highest + margin
    bound = high + (high - low) / 2
    near = edge <= bound
    if not np.any(near):
        return None
    end: Floats = np.maximum.accumulate(edge).astype(np.float64)
    top = min(max(high, float(end[near].max())), bound)
    x = answers.seconds()
    window = Polyline(
        label="receive window",
        ink="olive",
        x=x,
        y=end,
        steps=True,
        dashed=True,
        width=0.9,
        rank=1.9,
    )
    return window, low, top


def _acks(seen: Table, packet_bytes: int) -> list[Mark]:
    """Return the line of cumulative ACKs, and a tick for each duplicate ACK."""
    new = seen.select(np.isin(seen["kind"], ("ack", "data", "retransmission", "fin")))
    if len(new):
        new = new.select(new["ack"] >= np.maximum.accumulate(new["ack"]))
    x, y = new.seconds(), new["ack"].astype(np.float64)
    line = Polyline(label="ACK", ink="green", x=x, y=y, steps=True, width=1.4, rank=2.0)
    duplicates = seen.where(kind="dupack")
    high = duplicates["ack"].astype(np.float64)
    x, low = duplicates.seconds(), high - packet_bytes
    ticks = Bars(label="duplicate ACK", ink="green", x=x, low=low, high=high, width=0.8, rank=2.1)
    return [line, ticks]


def _sack_blocks(blocks: Table) -> Bars:
    x = blocks.seconds()
    low, high = blocks["left"].astype(np.float64), blocks["right"].astype(np.float64)
    return Bars(label="SACK block", ink="purple", x=x, low=low, high=high, width=1.4, rank=2.2)


def _drops(run: Tables, own: Table, view: View, *, few: bool) -> list[Mark]:
    """Return marks of data that was lost, dropped or discarded, at the middle of its octets."""
    recorded = optional(run, "drops")
    if recorded is None:
        return []
    dropped = view.clip(recorded.where(flow=str(own["flow"][0]), direction=view.sends))
    # A datagram is discarded as incomplete if fragments of it were dropped or lost. The marks of
    # these fragments suffice.
    dropped = dropped.select((dropped["kind"] != "ack") & (dropped["reason"] != "reassembly"))
    rows = {segment_id: n for n, segment_id in enumerate(own["id"].tolist())}
    places = [rows.get(segment_id, -1) for segment_id in dropped["id"].tolist()]
    known = np.flatnonzero(np.array(places, dtype=np.int64) >= 0)
    lost = own.take(np.array(places, dtype=np.int64)[known])
    low = lost["seq"].astype(np.float64)
    high = low + lost["len_bytes"]
    size, width = (7.0, 1.5) if few else (5.0, 1.0)
    cross = Points(
        label="dropped or lost",
        ink="orange",
        x=dropped.seconds()[known],
        y=(low + high) / 2,
        low=low,
        high=high,
        packet=lost["packet"].astype(np.float64),
        shape="cross",
        size=size,
        width=width,
        rank=2.6,
    )
    return [cross]
