"""The time-sequence plot, as readers of tcptrace's know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from netspurt.plots.style import BLACK, GREEN, PURPLE, RED, View, legend, pick, steps
from netspurt.table import Table

if TYPE_CHECKING:
    from netspurt.plots import Tables


def draw_time_sequence(axes: Axes, run: Tables, view: View) -> None:
    """Draw what passed one node: sends, resends, ACKs, SACK blocks, and drops anywhere.

    Each segment is a bar from its first to its last octet, the cumulative ACK a line that
    climbs below them, each duplicate ACK a tick on that line, a SACK block a bar at the instant
    of its ACK. A cross marks a segment that was dropped or lost.
    """
    segments = run.table("segments")
    flow = pick(segments, "flow", view.flow, "flow")
    own = segments.where(flow=flow)
    node = pick(own, "node", view.node, "spied node")
    seen = view.clip(own.where(node=node))
    if len(seen) == 0:
        raise ValueError(f"nothing of flow {flow} was seen at {node} in that time")
    few = len(seen) < 400
    _bars(axes, seen.where(kind="data"), BLACK, "sent", 1.6 if few else 0.9)
    resent = seen.where(kind="resend")
    _bars(axes, resent, RED, "resent", 2.2 if few else 1.2)
    if few:
        middles = resent["seq"] + resent["len_bytes"] // 2
        for at in zip(resent.seconds(), middles, strict=True):
            style: Any = {"color": RED, "fontsize": 8, "weight": "bold", "va": "center"}
            axes.annotate("R", at, xytext=(3, 0), textcoords="offset points", **style)
    _acks(axes, seen)
    blocks = view.clip(run.table("sack_blocks").where(flow=flow, node=node))
    bars = np.column_stack([blocks.seconds(), blocks["left"], blocks["right"]])
    _vertical(axes, bars, color=PURPLE, label="SACK block", linewidth=1.4)
    _drops(axes, run, own, view, flow)
    axes.set_ylabel("sequence number [octets]")
    axes.set_title(f"{flow} at {node}", loc="right", fontsize=9)
    axes.autoscale_view()
    _packet_axis(axes, seen)
    legend(axes, inside=True)


def _packet_axis(axes: Axes, seen: Table) -> None:
    """Put packet numbers on the right where all packets are of one size."""
    sizes = np.unique(seen["len_bytes"])
    sizes = sizes[sizes > 0]
    if len(sizes) != 1:
        return
    size = int(sizes[0])

    def packet(seq: Any) -> Any:
        return (seq - 1) / size + 0.5

    def sequence(number: Any) -> Any:
        return (number - 0.5) * size + 1

    right = axes.secondary_yaxis("right", functions=(packet, sequence))
    right.yaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))
    right.set_ylabel("packet")


def _ends(segments: Table) -> NDArray[np.int64]:
    ends: NDArray[np.int64] = segments["seq"] + segments["len_bytes"]
    return ends


def _bars(axes: Axes, segments: Table, colour: str, label: str, width: float) -> None:
    bars = np.column_stack([segments.seconds(), segments["seq"], _ends(segments)])
    _vertical(axes, bars, color=colour, label=label, linewidth=width)


def _vertical(axes: Axes, bars: NDArray[np.float64], **style: Any) -> None:
    """Draw a bar for each row: where, from, to."""
    if len(bars) == 0:
        return
    ends = np.stack([bars[:, [0, 1]], bars[:, [0, 2]]], axis=1)
    axes.add_collection(LineCollection(list(ends), **style))


def _acks(axes: Axes, seen: Table) -> None:
    new = seen.where(kind="ack")
    if len(new):
        steps(axes, new.seconds(), new["ack"], color=GREEN, linewidth=1.2, label="ACK")
    again = seen.where(kind="dupack")
    if len(again):
        axes.plot(
            again.seconds(),
            again["ack"],
            linestyle="none",
            marker="|",
            markersize=9,
            markeredgewidth=1.4,
            color=GREEN,
            label="duplicate ACK",
        )


def _drops(axes: Axes, run: Tables, own: Table, view: View, flow: str) -> None:
    """Mark data that went no further, at the height of its middle."""
    dropped = view.clip(run.table("drops").where(flow=flow))
    dropped = dropped.select(dropped["kind"] != "ack")
    if len(dropped) == 0:
        return
    middles = dict(
        zip(own["id"].tolist(), (own["seq"] + own["len_bytes"] / 2).tolist(), strict=True)
    )
    known = [(t, middles.get(i)) for t, i in zip(dropped.seconds(), dropped["id"], strict=True)]
    points = [(t, y) for t, y in known if y is not None]
    if points:
        axes.plot(
            *zip(*points, strict=True),
            linestyle="none",
            marker="x",
            markersize=6,
            markeredgewidth=1.5,
            color=RED,
            label="dropped or lost",
        )
