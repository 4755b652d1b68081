"""The RTO over time."""

from __future__ import annotations

import numpy as np

from netspurt.pictures.marks import Line, Mark, Picture, Points
from netspurt.pictures.scales import of_times
from netspurt.pictures.view import Tables, View, flow_end, pick


def timer(run: Tables, view: View) -> Picture:
    """Show round-trip samples, srtt, rttvar, the RTO, and timeouts.

    A timeout is marked at the RTO of the timer that fired, before the timeout increased the RTO.
    """
    everything = run.table("rto")
    flow = pick(everything, "flow", view.flow, "flow")
    own = everything.where(flow=flow, direction=view.sends)
    end = flow_end(run, flow, view.sends)
    t, states = view.during(own, end)
    if len(states) == 0:
        raise ValueError(f"flow {view.titled(flow)} has no RTO in that time")
    samples = view.clip(run.table("rtt").where(flow=flow, direction=view.sends))
    rtt, srtt, rto = samples.seconds("rtt_ns"), states.seconds("srtt_ns"), states.seconds("rto_ns")
    rttvar = states.seconds("rttvar_ns")
    marks: list[Mark] = [
        Points(label="round-trip sample", ink="grey", x=samples.seconds(), y=rtt),
        Line(label="srtt", ink="blue", x=t, y=srtt, steps=True, width=1.4),
        Line(label="rttvar", ink="purple", x=t, y=rttvar, steps=True, width=1.1),
        Line(label="rto", ink="red", x=t, y=rto, steps=True, width=1.4),
    ]
    fired = view.clip(own.where(fired=True)).seconds()
    fired = fired[fired <= end]
    if len(fired):
        before = np.maximum(np.searchsorted(own.seconds(), fired) - 1, 0)
        at = own.seconds("rto_ns")[before]
        marks.append(Points(label="timeout", ink="red", x=fired, y=at, shape="down", size=7))
    scale = of_times("timer, round trip", [rtt, srtt, rto])
    return Picture(tuple(marks), scale, aside=view.titled(flow))
