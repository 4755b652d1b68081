"""The time-sequence plot, in the style of tcptrace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from netspurt.plots.moving import shade_links
from netspurt.plots.style import (
    BLACK,
    BLUE,
    BROWN,
    DIRECTIONS,
    GREEN,
    GREY,
    OLIVE,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    View,
    bytes_axis,
    legend,
    optional,
    pick,
    steps,
)
from netspurt.plots.thinning import MOST, kept, last_of_columns, merged
from netspurt.table import Table

if TYPE_CHECKING:
    from netspurt.plots import Tables

#: With fewer segments than this the bars alone are visible.
_FEW = 400


def draw_time_sequence(axes: Axes, run: Tables, view: View) -> None:
    """Draw the packets at one node: sends, retransmissions, ACKs, SACK blocks, and drops anywhere.

    Each segment is a bar from its first to its last octet, with a dot that is visible at every
    zoom. The cumulative ACK is a line that climbs below the segments, each duplicate ACK a tick of
    one packet's height below that line, a SACK block a bar at the instant of its ACK. A thin line
    is the end of the receive window, where it is not far above the data. A cross marks a segment
    that was dropped or lost. Retransmissions are drawn last, above everything else, in a colour for
    each kind of cause; a ring marks a spurious one.

    Of more marks than a picture has room for, those of one column are drawn as one; the title of
    the time axis says so.
    """
    segments = _of_flows(run)
    flow = pick(segments, "flow", view.flow, "flow")
    other = next(direction for direction in DIRECTIONS if direction != view.sends)
    both = segments.where(flow=flow)
    node = _node(run, both, view, flow)
    own = both.where(direction=view.sends)
    if not np.any(own["len_bytes"]):
        raise ValueError(f"no data of flow {view.titled(flow)} was seen")
    answers = view.clip(both.where(direction=other, node=node))
    seen = view.clip(own.where(node=node))
    if len(seen) + len(answers) == 0:
        raise ValueError(f"nothing of flow {flow} was seen at {node} in that time")
    few = len(seen) + len(answers) < _FEW
    _acks(axes, answers, int(own["len_bytes"].max()))
    blocks = view.clip(run.table("sack_blocks").where(flow=flow, direction=other, node=node))
    bars = np.column_stack([blocks.seconds(), blocks["left"], blocks["right"]])
    _vertical(axes, bars, color=PURPLE, label="SACK block", linewidth=1.4, zorder=2.2)
    _segments(axes, seen.where(kind="data"), "sent", few=few, color=BLACK, zorder=2.4)
    _drops(axes, run, own, view, few=few)
    _retransmissions(axes, seen.where(kind="retransmission"), few=few)
    axes.set_title(f"{view.titled(flow)} at {node}", loc="right", fontsize=9)
    axes.autoscale_view()
    _receive_window(axes, run, both.where(node=node), view)
    if len(seen) > MOST or len(answers) > MOST:
        axes.set_xlabel(f"{axes.get_xlabel()}; marks at one instant of the picture are one", size=9)
    bytes_axis(axes, "sequence number", axes.get_ylim()[1])
    _packet_axis(axes, own)
    shade_links(axes, run)
    legend(axes, corner=_empty_corner(axes, seen))


def _empty_corner(axes: Axes, seen: Table) -> Literal["upper left", "lower right"]:
    """Return the upper left corner, or the lower right one if sending ended early."""
    (start, end), (low, high) = axes.get_xlim(), axes.get_ylim()
    early = seen.seconds() < start + 0.3 * (end - start)
    late = seen["seq"] > low + 0.5 * (high - low)
    return "lower right" if np.any(early & late) else "upper left"


def _of_flows(run: Tables) -> Table:
    """Return the segments of flows, without echo probes, which have no sequence numbers."""
    segments, echo_probes = run.table("segments"), optional(run, "echo_probes")
    if echo_probes is None:
        return segments
    return segments.select(~np.isin(segments["flow"], np.unique(echo_probes["flow"])))


def _node(run: Tables, own: Table, view: View, flow: str) -> str:
    """Return the observing node: the wanted one, or the sender if spied, or the first."""
    spied = set(run.table("segments")["node"].tolist())
    there = list(dict.fromkeys(own["node"].tolist()))
    if view.node in spied and view.node not in there:
        raise ValueError(f"flow {flow} was not seen at {view.node}, but at {', '.join(there)}")
    opened = run.table("flows").where(flow=flow, direction=DIRECTIONS[0])
    if len(opened) == 0:
        return pick(own, "node", view.node, "spied node")
    if view.node is None and view.sends != DIRECTIONS[0] and opened["to"][0] in there:
        return str(opened["to"][0])
    return pick(own, "node", view.node, "spied node")


class _PacketLocator(MaxNLocator):
    """Ticks at whole packets, counted from 1."""

    def __init__(self) -> None:
        super().__init__(nbins=12, integer=True)

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        return sorted({max(float(tick), 1.0) for tick in super().tick_values(vmin, vmax)})


def _packet_axis(axes: Axes, own: Table) -> None:
    """Put packet numbers on the right, if all packets but the last have one size."""
    data = own.select(own["len_bytes"] > 0)
    size = int(data["len_bytes"].max())
    if np.any((data["seq"] - 1) % size):
        return

    def packet(seq: Any) -> Any:
        return (seq - 1) / size + 0.5

    def sequence(number: Any) -> Any:
        return (number - 0.5) * size + 1

    right = axes.secondary_yaxis("right", functions=(packet, sequence))
    right.yaxis.set_major_locator(_PacketLocator())
    right.set_ylabel("packet")


#: The causes of retransmissions by kind, each with its colour.
_CAUSES = {
    "retransmitted: loss seen in ACKs": (RED, ("fast", "sack-recovery", "rack")),
    "retransmitted: timeout": (BLUE, ("rto", "syn", "sfr", "shim")),
    "retransmitted: in order after a timeout": (SKY, ("go-back-n",)),
    "retransmitted: tail loss probe": (BROWN, ("tlp",)),
    "retransmitted: cause unknown": (GREY, ("unknown", "")),
}


def _retransmissions(axes: Axes, segments: Table, *, few: bool) -> None:
    """Draw retransmissions by kind of cause, and rings around spurious ones."""
    for label, (color, causes) in _CAUSES.items():
        own = segments.select(np.isin(segments["cause"], causes))
        if len(own):
            _segments(axes, own, label, few=few, color=color, zorder=2.8)
    spurious = segments.select(segments["spurious"])
    if len(spurious):
        axes.plot(
            spurious.seconds(),
            spurious["seq"] + spurious["len_bytes"] / 2,
            linestyle="none",
            marker="o",
            markersize=10,
            markerfacecolor="none",
            markeredgecolor=BLACK,
            markeredgewidth=0.9,
            label="spurious",
            zorder=2.9,
        )


def _receive_window(axes: Axes, run: Tables, both: Table, view: View) -> None:
    """Draw the end of the window that the receiver offers, if it is near the data."""
    other = next(direction for direction in DIRECTIONS if direction != view.sends)
    answers = view.clip(both.where(direction=other))
    answers = answers.select((answers["flags"] & _ACK_NOT_SYN) == _ACK)
    if len(answers) == 0:
        return
    shift = _window_shift(run, both, other)
    edge = answers["ack"] + (answers["window"].astype(np.int64) << shift)
    low, high = axes.get_ylim()
    near = edge <= high + (high - low) / 2
    if not np.any(near):
        return
    edge = np.maximum.accumulate(edge).astype(np.float64)
    style: Any = {"color": OLIVE, "linewidth": 0.9, "linestyle": (0, (4, 2)), "zorder": 1.9}
    style |= {"label": "receive window"}
    steps(axes, answers.seconds(), edge, **style)
    axes.set_ylim(low, min(max(high, float(edge[near].max())), high + (high - low) / 2))


#: The bits of an ACK, and those of an ACK and a SYN.
_ACK = 16
_ACK_NOT_SYN = 18


def _window_shift(run: Tables, both: Table, direction: str) -> int:
    """Return the shift of the windows in a direction: both SYNs must offer one (RFC 7323 §2.2)."""
    syns = run.table("syns").where(flow=str(both["flow"][0]))
    shifts = {
        str(of): int(shift)
        for of, shift in zip(syns["direction"], syns["window_scale"], strict=True)
        if shift is not np.ma.masked
    }
    return shifts.get(direction, 0) if len(shifts) == len(DIRECTIONS) else 0


def _segments(axes: Axes, segments: Table, label: str, *, few: bool, **style: Any) -> None:
    first, size, t = segments["seq"], segments["len_bytes"], segments.seconds()
    bars = np.column_stack([t, first, first + size])
    retransmitted = label.startswith("retransmitted")
    width = (2.2 if retransmitted else 1.6) if few else 1.0
    _vertical(axes, bars, label=label, linewidth=width, **style)
    if retransmitted or not few:
        dots: Any = {"linestyle": "none", "marker": "o", "markeredgewidth": 0}
        middle = first + size / 2
        some = kept(t, middle)
        large = 4.5 if retransmitted else 1.8
        axes.plot(t[some], middle[some], markersize=large, **dots, **style)


def _vertical(axes: Axes, bars: NDArray[np.float64], **style: Any) -> None:
    """Draw a bar for each row, with its time and both ends."""
    if len(bars) == 0:
        return
    bars = merged(bars)
    ends = np.stack([bars[:, [0, 1]], bars[:, [0, 2]]], axis=1)
    axes.add_collection(LineCollection(list(ends), **style))


def _acks(axes: Axes, seen: Table, packet_bytes: int) -> None:
    new = seen.select(np.isin(seen["kind"], ("ack", "data", "retransmission")))
    if len(new):
        new = new.select(new["ack"] >= np.maximum.accumulate(new["ack"]))
        new = new.take(last_of_columns(new.seconds()))
        steps(axes, new.seconds(), new["ack"], color=GREEN, linewidth=1.4, label="ACK", zorder=2.0)
    again = seen.where(kind="dupack")
    ticks = np.column_stack([again.seconds(), again["ack"] - packet_bytes, again["ack"]])
    _vertical(axes, ticks, color=GREEN, label="duplicate ACK", linewidth=0.8, zorder=2.1)


def _drops(axes: Axes, run: Tables, own: Table, view: View, *, few: bool) -> None:
    """Mark data that was lost, dropped or discarded, at the middle of its height."""
    of = {"flow": str(own["flow"][0]), "direction": view.sends}
    dropped = view.clip(run.table("drops").where(**of))
    # An incomplete datagram is discarded because these fragments were dropped or lost.
    dropped = dropped.select((dropped["kind"] != "ack") & (dropped["reason"] != "reassembly"))
    if len(dropped) == 0:
        return
    middles = dict(
        zip(own["id"].tolist(), (own["seq"] + own["len_bytes"] / 2).tolist(), strict=True)
    )
    known = [(t, middles.get(i)) for t, i in zip(dropped.seconds(), dropped["id"], strict=True)]
    points = [(t, y) for t, y in known if y is not None]
    if points:
        instants, heights = np.array(points, dtype=float).T
        some = kept(instants, heights)
        axes.plot(
            instants[some],
            heights[some],
            linestyle="none",
            marker="x",
            markersize=7 if few else 5,
            markeredgewidth=1.5 if few else 1.0,
            color=ORANGE,
            label="dropped or lost",
            zorder=2.6,
        )
