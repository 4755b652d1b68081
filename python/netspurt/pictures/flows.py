"""The progress of several flows in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netspurt.pictures.marks import SERIES, Mark, Picture, Points, Polyline, Scale
from netspurt.pictures.view import Tables, View, direction_with_more, of_flows, pick
from netspurt.table import Table, optional

#: The maximum number of flows in a picture, because each flow has its own colour.
_FLOWS_MAX = len(SERIES)


def progress(run: Tables, view: View) -> Picture:
    """Show the octets that each flow sent over time.

    Dots mark retransmissions, and rings mark spurious retransmissions. The view (the user's
    selection) names the flows, separated by commas. By default, they are the flows with the most
    data in the view's span of time. If the view has no direction, the picture shows the direction
    in which more octets of all flows were acknowledged.
    """
    segments = of_flows(run)
    if view.direction is None:
        view = replace(view, direction=direction_with_more(optional(run, "flows")))
    chosen = _named(segments, view) if view.flow else _largest(segments, view)
    if not chosen:
        raise ValueError(f"no flow has {view.sends} data{view.in_words}")
    marks: list[Mark] = []
    found = {flow: _data(segments, flow, view) for flow in chosen}
    empty = [flow for flow, own in found.items() if len(own) == 0]
    if len(empty) == len(found):
        node = pick(segments, "node", view.node, "spied node")
        flows = " and ".join(view.titled(flow) for flow in empty)
        raise ValueError(
            f"no data of flow{'s' * (len(empty) > 1)} {flows} was seen at {node}{view.in_words}"
        )
    each = {flow: own for flow, own in found.items() if len(own)}
    for (flow, own), ink in zip(each.items(), SERIES, strict=False):
        end = (np.maximum.accumulate(own["seq"] + own["len_bytes"]) - 1).astype(np.float64)
        label = view.titled(flow)
        marks.append(Polyline(label=label, ink=ink, x=own.seconds(), y=end, steps=True, width=1.3))
    marks += _retransmissions([own.where(kind="retransmission") for own in each.values()])
    if view.flow:
        without = ", ".join(view.titled(flow) for flow in empty)
        aside = f"without data: {without}" if empty else ""
    else:
        aside = _left_out(segments, view, len(chosen))
    return Picture(tuple(marks), Scale("octets sent", "B", low=0.0), aside=aside)


def _retransmissions(each: Sequence[Table]) -> list[Mark]:
    """Return marks of all flows' retransmissions, each at its time and its first octet."""
    x = np.concatenate([own.seconds() for own in each])
    y = np.concatenate([own["seq"].astype(np.float64) for own in each])
    spurious = np.concatenate([own["spurious"] for own in each])
    marks: list[Mark] = []
    if len(x):
        marks.append(Points(label="retransmission", ink="red", x=x, y=y, size=3, rank=2.8))
    if spurious.any():
        x, y = x[spurious], y[spurious]
        ring = Points(label="spurious", ink="black", x=x, y=y, shape="ring", size=9, rank=2.9)
        marks.append(ring)
    return marks


def _named(segments: Table, view: View) -> list[str]:
    """Return the flows that a view names.

    Raises
    ------
    ValueError
        If a flow does not exist, or if the view names too many flows.
    """
    names = [name.strip() for name in (view.flow or "").split(",")]
    if len(names) > _FLOWS_MAX:
        raise ValueError(
            f"{len(names)} flows are too many: a plot shows at most {_FLOWS_MAX}, each in its own "
            "colour"
        )
    return [pick(segments, "flow", name, "flow") for name in names]


def _largest(segments: Table, view: View) -> list[str]:
    """Return the flows with the most data, at most `_FLOWS_MAX`. The largest flow is first."""
    own = _with_data(segments, view)
    names, places = np.unique(own["flow"], return_inverse=True)
    octets = np.bincount(places, weights=own["len_bytes"].astype(np.float64), minlength=len(names))
    order = np.argsort(-octets, kind="stable")[:_FLOWS_MAX]
    return [str(names[place]) for place in order.tolist()]


def _left_out(segments: Table, view: View, shown: int) -> str:
    """Return a text on how many of the flows with data are shown. It is empty if all are shown."""
    count = len(np.unique(_with_data(segments, view)["flow"]))
    return f"the {shown} of {count:,} flows with the most data" if shown < count else ""


def _with_data(segments: Table, view: View) -> Table:
    own = view.clip(segments.where(direction=view.sends))
    return own.select(own["len_bytes"] > 0)


def _data(segments: Table, flow: str, view: View) -> Table:
    both = segments.where(flow=flow, direction=view.sends)
    node = pick(both, "node", view.node, "spied node")
    own = view.clip(both.where(node=node))
    return own.select(own["len_bytes"] > 0)
