"""The congestion window over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from netspurt.plots.style import BLUE, GREY, ORANGE, RED, SKY, View, legend, pick, steps

if TYPE_CHECKING:
    from netspurt.plots import Tables


def draw_cwnd(axes: Axes, run: Tables, view: View) -> None:
    """Draw cwnd, ssthresh and the octets in flight; timeouts and recoveries are marked."""
    states = run.table("cwnd")
    flow = pick(states, "flow", view.flow, "flow")
    states = view.clip(states.where(flow=flow))
    if len(states) == 0:
        raise ValueError(f"the window of flow {flow} did not change in that time")
    t = states.seconds()
    axes.fill_between(
        t, states["flight_bytes"] / 1e3, step="post", color=SKY, alpha=0.25, label="in flight"
    )
    cwnd = states["cwnd_bytes"] / 1e3
    ssthresh = states["ssthresh_bytes"] / 1e3
    top = 1.15 * max(float(cwnd.max()), float((states["flight_bytes"] / 1e3).max()))
    steps(axes, t, ssthresh, color=ORANGE, linewidth=1.2, linestyle="--", label="ssthresh")
    steps(axes, t, cwnd, color=BLUE, linewidth=1.6, label="cwnd")
    starts = np.flatnonzero(np.diff(states["in_recovery"].astype(np.int8), prepend=0) == 1)
    if len(starts):
        style: Any = {"linestyle": "none", "marker": "v", "color": GREY, "markersize": 6}
        axes.plot(t[starts], cwnd[starts], label="recovery begins", **style)
    fired = view.clip(run.table("rto").where(flow=flow, fired=True)).seconds()
    for n, at in enumerate(fired):
        axes.axvline(at, color=RED, linewidth=0.9, label="timeout" if n == 0 else None)
    # ssthresh may start at the receiver's window, far above what ever happens.
    axes.set_ylim(0, min(top * 1.6, max(top, 1.1 * float(ssthresh.max()))))
    axes.set_ylabel("[kB]")
    axes.set_title(flow, loc="right", fontsize=9)
    legend(axes)
