"""The retransmission timer over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from netspurt.plots.moving import shade_links
from netspurt.plots.style import (
    BLUE,
    GREY,
    PURPLE,
    RED,
    View,
    flow_end,
    legend,
    pick,
    seconds_axis,
    steps,
)

if TYPE_CHECKING:
    from netspurt.plots import Tables


def draw_rto(axes: Axes, run: Tables, view: View) -> None:
    """Draw round-trip samples, their smoothed mean, its deviation, the timer, and its timeouts.

    A timeout is marked at the value of the timer that fired; after it the timer is backed off.
    """
    everything = run.table("rto")
    flow = pick(everything, "flow", view.flow, "flow")
    own = everything.where(flow=flow, direction=view.sends)
    end = flow_end(run, flow, view.sends)
    t, states = view.during(own, end)
    if len(states) == 0:
        raise ValueError(f"flow {view.titled(flow)} has no timer in that time")
    samples = view.clip(run.table("rtt").where(flow=flow, direction=view.sends))
    dots: Any = {"linestyle": "none", "marker": "o", "markersize": 3, "color": GREY}
    axes.plot(samples.seconds(), samples.seconds("rtt_ns"), label="round-trip sample", **dots)
    steps(axes, t, states.seconds("srtt_ns"), color=BLUE, linewidth=1.4, label="srtt")
    steps(axes, t, states.seconds("rttvar_ns"), color=PURPLE, linewidth=1.1, label="rttvar")
    steps(axes, t, states.seconds("rto_ns"), color=RED, linewidth=1.4, label="rto")
    fired = view.clip(own.where(fired=True)).seconds()
    fired = fired[fired <= end]
    if len(fired):
        before = np.maximum(np.searchsorted(own.seconds(), fired) - 1, 0)
        marks: Any = {"linestyle": "none", "marker": "v", "markersize": 7, "color": RED}
        axes.plot(fired, own.seconds("rto_ns")[before], label="timeout", **marks)
    drawn = [samples.seconds("rtt_ns"), states.seconds("srtt_ns"), states.seconds("rto_ns")]
    seconds_axis(axes, "timer, round trip", drawn)
    axes.set_title(view.titled(flow), loc="right", fontsize=9)
    shade_links(axes, run)
    legend(axes)
