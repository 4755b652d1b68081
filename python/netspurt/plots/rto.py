"""The retransmission timer over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from netspurt.plots.style import BLUE, GREY, RED, View, legend, pick, steps

if TYPE_CHECKING:
    from netspurt.plots import Tables


def draw_rto(axes: Axes, run: Tables, view: View) -> None:
    """Draw round-trip samples, their smoothed mean, the timer, and when it fired."""
    states = run.table("rto")
    flow = pick(states, "flow", view.flow, "flow")
    states = view.clip(states.where(flow=flow))
    if len(states) == 0:
        raise ValueError(f"the timer of flow {flow} did not change in that time")
    t = states.seconds()
    samples = view.clip(run.table("rtt").where(flow=flow))
    axes.plot(
        samples.seconds(),
        samples.seconds("rtt_ns"),
        linestyle="none",
        marker="o",
        markersize=3,
        color=GREY,
        label="round-trip sample",
    )
    steps(axes, t, states.seconds("srtt_ns"), color=BLUE, linewidth=1.4, label="srtt")
    steps(axes, t, states.seconds("rto_ns"), color=RED, linewidth=1.4, label="rto")
    fired = states.where(fired=True)
    if len(fired):
        axes.plot(
            fired.seconds(),
            fired.seconds("rto_ns"),
            linestyle="none",
            marker="v",
            markersize=7,
            color=RED,
            label="timeout",
        )
    axes.set_ylim(bottom=0)
    axes.set_ylabel("[s]")
    axes.set_title(flow, loc="right", fontsize=9)
    legend(axes)
