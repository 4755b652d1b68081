"""The progress of several flows in one plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from netspurt.plots.moving import shade_links
from netspurt.plots.style import BLACK, RED, SERIES, View, bytes_axis, legend, pick
from netspurt.table import Table

if TYPE_CHECKING:
    from netspurt.plots import Tables

#: More flows than this cannot be told apart.
_MOST = len(SERIES)


def draw_flows(axes: Axes, run: Tables, view: View) -> None:
    """Draw the octets that each flow has sent over time; dots are retransmissions, rings spurious.

    The flows are those that the view names, separated by commas, or those with most data.
    """
    segments = run.table("segments")
    chosen = _named(segments, view) if view.flow else _largest(segments, view)
    if not chosen:
        raise ValueError(f"no flow has {view.sends} data")
    most = 1.0
    for flow, color in zip(chosen, SERIES, strict=False):
        own = _data(segments, flow, view)
        end = np.maximum.accumulate(own["seq"] + own["len_bytes"]) - 1
        most = max(most, float(end.max()))
        line: Any = {"color": color, "linewidth": 1.3, "label": view.titled(flow)}
        axes.step(own.seconds(), end, where="post", **line)
        _marks(axes, own)
    bytes_axis(axes, "octets sent", most)
    axes.set_ylim(bottom=0)
    shade_links(axes, run)
    legend(axes)


def _marks(axes: Axes, own: Table) -> None:
    """Mark retransmissions at the octets that they repeat."""
    again = own.where(kind="retransmission")
    if len(again):
        dots: Any = {"linestyle": "none", "marker": ".", "markersize": 6, "color": RED}
        axes.plot(again.seconds(), again["seq"], **dots, zorder=2.8)
    spurious = again.select(again["spurious"])
    if len(spurious):
        rings: Any = {"linestyle": "none", "marker": "o", "markersize": 9, "color": BLACK}
        axes.plot(spurious.seconds(), spurious["seq"], **rings, markerfacecolor="none", zorder=2.9)


def _named(segments: Table, view: View) -> list[str]:
    """Return the flows that a view names.

    Raises
    ------
    ValueError
        If one is not there, or there are too many.
    """
    names = [name.strip() for name in (view.flow or "").split(",")]
    if len(names) > _MOST:
        raise ValueError(f"{len(names)} flows: more than {_MOST} in one plot cannot be told apart")
    return [pick(segments, "flow", name, "flow") for name in names]


def _largest(segments: Table, view: View) -> list[str]:
    """Return the flows with most data, the most first."""
    own = segments.where(direction=view.sends)
    names, places = np.unique(own["flow"], return_inverse=True)
    octets = np.bincount(places, weights=own["len_bytes"].astype(np.float64), minlength=len(names))
    order = np.argsort(-octets, kind="stable")[:_MOST]
    return [str(names[place]) for place in order.tolist() if octets[place] > 0]


def _data(segments: Table, flow: str, view: View) -> Table:
    both = segments.where(flow=flow, direction=view.sends)
    node = pick(both, "node", view.node, "spied node")
    own = view.clip(both.where(node=node))
    own = own.select(own["len_bytes"] > 0)
    if len(own) == 0:
        raise ValueError(f"no data of flow {view.titled(flow)} was seen at {node} in that time")
    return own
