"""The picture of the congestion window over time."""

from __future__ import annotations

import numpy as np

from netspurt.pictures.marks import Band, Mark, Picture, Points, Polyline, Rules, Scale
from netspurt.pictures.view import Tables, View, flow_end, pick
from netspurt.table import optional


def congestion_window(run: Tables, view: View) -> Picture:
    """Show cwnd, ssthresh and the flight size, which includes octets that SACK reported.

    Marks show timeouts, fast retransmits (if packets were recorded at the sender) and the
    beginnings of recoveries.
    """
    states = run.table("cwnd")
    flow = pick(states, "flow", view.flow, "flow")
    end = flow_end(run, flow, view.sends)
    t, states = view.during(states.where(flow=flow, direction=view.sends), end)
    if len(states) == 0:
        raise ValueError(f"flow {view.titled(flow)} has no cwnd{view.in_words}")
    names = ("flight", "cwnd", "ssthresh")
    flight, cwnd, ssthresh = (states[f"{name}_bytes"].astype(np.float64) for name in names)
    top = 1.15 * max(float(cwnd.max()), float(flight.max()))
    # ssthresh may start at the receive window or at infinity. So its line may start above the top.
    visible = ssthresh[ssthresh <= 1.6 * top]
    shown = np.minimum(ssthresh, 10 * top)
    marks: list[Mark] = [
        Band(label="flight size", ink="sky", x=t, low=np.zeros(len(t)), high=flight)
    ]
    if len(visible):
        marks.append(
            Polyline(label="ssthresh", ink="orange", x=t, y=shown, steps=True, dashed=True)
        )
    marks.append(Polyline(label="cwnd", ink="blue", x=t, y=cwnd, steps=True, width=1.6))
    starts = np.flatnonzero(np.diff(states["in_recovery"].astype(np.int8), prepend=0) == 1)
    if len(starts):
        x, y = t[starts], cwnd[starts]
        marks.append(Points(label="recovery begins", ink="grey", x=x, y=y, shape="down", size=6))
    marks += _fast_retransmits(run, view, flow)
    timer_rows = run.table("rto").where(flow=flow, direction=view.sends, fired=True)
    fired = view.clip(timer_rows).seconds()
    fired = fired[fired <= end]
    if len(fired):
        marks.append(Rules(label="timeout", ink="red", x=fired))
    high = max(top, 1.1 * float(visible.max(initial=0)))
    label = "cwnd, ssthresh, flight size" if len(visible) else "cwnd, flight size"
    scale = Scale(label, "B", low=0.0, high=high)
    return Picture(tuple(marks), scale, aside=view.titled(flow))


def _fast_retransmits(run: Tables, view: View, flow: str) -> list[Mark]:
    """Return marks on the time axis at the fast retransmits."""
    segments = optional(run, "segments")
    if segments is None:
        return []
    own = segments.where(flow=flow, direction=view.sends, way="out")
    fast = view.clip(own.where(kind="retransmission", cause="fast"))
    if len(fast) == 0:
        return []
    x, y = fast.seconds(), np.zeros(len(fast))
    label = "fast retransmit"
    return [Points(label=label, ink="purple", x=x, y=y, shape="up", size=6, rank=3)]
