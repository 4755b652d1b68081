"""The picture of the retransmission timer over time."""

from __future__ import annotations

import numpy as np

from netspurt.pictures.deviation import deviation
from netspurt.pictures.marks import Mark, Picture, Points, Polyline
from netspurt.pictures.scales import of_times, placed
from netspurt.pictures.vantage import BESIDE, BesideReceiverError, vantage
from netspurt.pictures.view import Tables, View, captured, flow_end, pick


def timer(run: Tables, view: View) -> Picture:
    """Show round-trip samples, srtt, rttvar, the retransmission timer, and the timeouts.

    A timeout is marked at the value of the timer that fired. After the timeout, the timer is backed
    off. A capture does not show the sender's timer. So the picture shows the timer that Linux would
    have computed from the samples, and the legend says so.

    Raises
    ------
    ValueError
        If there is no timer in the time that `view` selects, or if the capture does not show the
        round trips of the sender.
    """
    everything = run.table("rto")
    if len(everything) == 0:
        raise ValueError("no round trip was measured, so there is no RTO to draw")
    flow = pick(everything, "flow", view.flow, "flow")
    own = everything.where(flow=flow, direction=view.sends)
    name, aside = _told(run, flow, view)
    end = flow_end(run, flow, view.sends)
    t, states = view.during(own, end)
    if len(states) == 0:
        raise ValueError(f"flow {view.titled(flow)} has no RTO{view.in_words}")
    samples = view.clip(run.table("rtt").where(flow=flow, direction=view.sends))
    rtt, srtt, rto = samples.seconds("rtt_ns"), states.seconds("srtt_ns"), states.seconds("rto_ns")
    rttvar, of_rttvar = states.seconds("rttvar_ns"), deviation(run, flow, view.sends)
    scale = of_times("timer, round trip", [rtt, srtt, rto])
    rtt = placed(rtt, scale)
    # rttvar does not stretch a logarithmic axis, because it may shrink to a nanosecond.
    known = rttvar[np.isfinite(rttvar)]
    of_rttvar += " (below this axis)" * bool(len(known) and known.max() < (scale.low or 0.0))
    marks: list[Mark] = [
        Points(label="round-trip sample", ink="grey", x=samples.seconds(), y=rtt),
        Polyline(label="srtt", ink="blue", x=t, y=srtt, steps=True, width=1.4),
        Polyline(label=of_rttvar, ink="purple", x=t, y=rttvar, steps=True, width=1.1),
        Polyline(label=name, ink="red", x=t, y=rto, steps=True, width=1.4),
    ]
    fired = view.clip(own.where(fired=True)).seconds()
    fired = fired[fired <= end]
    if len(fired):
        before = np.maximum(np.searchsorted(own.seconds(), fired) - 1, 0)
        at = own.seconds("rto_ns")[before]
        what = "timeout" if captured(run) is None else "timeout (inferred)"
        marks.append(Points(label=what, ink="red", x=fired, y=at, shape="down", size=7))
    return Picture(tuple(marks), scale, aside=aside)


def _told(run: Tables, flow: str, view: View) -> tuple[str, str]:
    """Return the name of the timer in the legend, and the text beside the heading.

    Raises
    ------
    BesideReceiverError
        If the capture was taken beside the receiver.
    """
    titled = view.titled(flow)
    where = vantage(run, flow, view)
    if where is None:
        return "rto", titled
    if where == "receiver":
        raise BesideReceiverError(
            f"{BESIDE} of {titled}, where the sender's round trips are not seen, so the sender's "
            "RTO cannot be computed"
        )
    part = "; captured on the path: samples lack the part of the path before the capture" * (
        where == "middle"
    )
    return "RTO that Linux would compute from these samples, not observed", titled + part
