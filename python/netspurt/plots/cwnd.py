"""The congestion window over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from netspurt.plots.moving import shade_links
from netspurt.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    View,
    bytes_axis,
    flow_end,
    legend,
    optional,
    pick,
    steps,
)

if TYPE_CHECKING:
    from netspurt.plots import Tables


def draw_cwnd(axes: Axes, run: Tables, view: View) -> None:
    """Draw cwnd, ssthresh and the flight size, which counts what SACK reported, up to the end.

    Timeouts, fast retransmits (if the sender was spied) and the beginnings of recoveries are
    marked.
    """
    states = run.table("cwnd")
    flow = pick(states, "flow", view.flow, "flow")
    end = flow_end(run, flow, view.sends)
    t, states = view.during(states.where(flow=flow, direction=view.sends), end)
    if len(states) == 0:
        raise ValueError(f"flow {view.titled(flow)} has no window in that time")
    flight, cwnd, ssthresh = (states[f"{c}_bytes"] for c in ("flight", "cwnd", "ssthresh"))
    axes.fill_between(t, flight, step="post", color=SKY, alpha=0.25, label="flight size")
    top = 1.15 * max(float(cwnd.max()), float(flight.max()))
    # ssthresh may begin at the receiver's window or without bound: it comes down from above then.
    near = ssthresh[ssthresh <= 1.6 * top]
    if len(near):
        dashed: Any = {"color": ORANGE, "linewidth": 1.2, "linestyle": "--", "label": "ssthresh"}
        steps(axes, t, np.minimum(ssthresh, 10 * top), **dashed)
    steps(axes, t, cwnd, color=BLUE, linewidth=1.6, label="cwnd")
    starts = np.flatnonzero(np.diff(states["in_recovery"].astype(np.int8), prepend=0) == 1)
    if len(starts):
        style: Any = {"linestyle": "none", "marker": "v", "color": GREY, "markersize": 6}
        axes.plot(t[starts], cwnd[starts], label="recovery begins", **style)
    _fast_retransmits(axes, run, view, flow)
    timers = run.table("rto").where(flow=flow, direction=view.sends, fired=True)
    fired = view.clip(timers).seconds()
    for n, at in enumerate(fired[fired <= end]):
        axes.axvline(at, color=RED, linewidth=0.9, label="timeout" if n == 0 else None)
    axes.set_ylim(0, max(top, 1.1 * float(near.max(initial=0))))
    shown = "cwnd, ssthresh, flight size" if len(near) else "cwnd, flight size"
    bytes_axis(axes, shown, axes.get_ylim()[1])
    axes.set_title(view.titled(flow), loc="right", fontsize=9)
    shade_links(axes, run)
    legend(axes)


def _fast_retransmits(axes: Axes, run: Tables, view: View, flow: str) -> None:
    """Mark on the time axis the retransmissions that duplicate ACKs caused."""
    segments = optional(run, "segments")
    if segments is None:
        return
    own = segments.where(flow=flow, direction=view.sends, way="out")
    fast = view.clip(own.where(kind="retransmission", cause="fast"))
    if len(fast):
        style: Any = {"linestyle": "none", "marker": "^", "color": PURPLE, "markersize": 6}
        style |= {"clip_on": False, "zorder": 3}
        axes.plot(fast.seconds(), np.zeros(len(fast)), label="fast retransmit", **style)
