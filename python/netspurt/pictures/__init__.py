"""Pictures as data: marks that are computed from tables, without a drawing library.

A mark is a visible part of a picture, such as a line, points or bars. Each kind of picture is a
function from tables to a `Picture`; `picture` selects one by name. Two other packages draw these
pictures: `plots` uses matplotlib, and `report` writes a page of HTML.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from netspurt.pictures.cwnd import congestion_window
from netspurt.pictures.flows import progress
from netspurt.pictures.kinds import check_kind
from netspurt.pictures.marks import Picture
from netspurt.pictures.moving import shades
from netspurt.pictures.queue import queues
from netspurt.pictures.rto import timer
from netspurt.pictures.time_sequence import time_sequence
from netspurt.pictures.traffic import density, outstanding_data, throughput
from netspurt.pictures.view import Tables, View, direction_with_more, first_flow
from netspurt.table import optional

__all__ = ["KINDS", "NEEDS", "OPTIONS", "Picture", "Tables", "View", "busier", "picture"]

#: Kinds of pictures by name.
KINDS: dict[str, Callable[[Tables, View], Picture]] = {
    "time-sequence": time_sequence,
    "cwnd": congestion_window,
    "rto": timer,
    "queue": queues,
    "outstanding": outstanding_data,
    "throughput": throughput,
    "density": density,
    "flows": progress,
}

#: The recorded tables that each kind needs.
NEEDS = {
    "time-sequence": ("segments",),
    "cwnd": ("cwnd", "rto"),
    "rto": ("rto", "rtt"),
    "queue": ("queue", "drops"),
    "outstanding": ("segments",),
    "throughput": ("segments",),
    "density": ("segments",),
    "flows": ("segments",),
}

#: For each kind, the options of a view that apply to it. The options of time apply to all kinds.
OPTIONS = {
    "time-sequence": ("flow", "direction", "node"),
    "cwnd": ("flow", "direction"),
    "rto": ("flow", "direction"),
    "queue": ("link",),
    "outstanding": ("flow", "direction", "node"),
    "throughput": ("flow", "direction", "node"),
    "density": ("flow", "direction", "node"),
    "flows": ("flow", "direction", "node"),
}


#: The kinds that show one direction of a flow.
_OF_ONE_DIRECTION = ("time-sequence", "cwnd", "rto", "outstanding", "throughput", "density")


def busier(tables: Tables, flow: str | None = None) -> str | None:
    """Return the direction of a flow in which more octets were acknowledged.

    If both directions are equal, the result is forward. If the flow is not known, the result is
    `None`. By default, the flow is the first flow.
    """
    flows = optional(tables, "flows")
    if flows is not None and len(flows):
        flows = flows.where(flow=str(flows["flow"][0]) if flow is None else flow)
    return direction_with_more(flows)


def settled(tables: Tables, kind: str, view: View) -> View:
    """Return a view with the flow and the direction that a kind shows by default."""
    if kind not in _OF_ONE_DIRECTION:
        return view
    flow = view.flow or first_flow(tables, NEEDS[kind][0])
    return replace(view, flow=flow, direction=view.direction or busier(tables, flow))


def picture(tables: Tables, kind: str, view: View | None = None) -> Picture:
    """Return a picture of one kind.

    Parameters
    ----------
    tables
        A run, or anything with the same tables.
    kind
        One of `KINDS`.
    view
        The part of the tables to show.

    Raises
    ------
    ValueError
        If there is no such kind or nothing to show, or if an option of the view does not apply to
        the kind.
    """
    check_kind(kind, KINDS)
    view = view or View()
    for option in ("flow", "direction", "node", "link"):
        if getattr(view, option) is not None and option not in OPTIONS[kind]:
            fitting = " and ".join(kind for kind, options in OPTIONS.items() if option in options)
            raise ValueError(f"--{option} does not apply to {kind} plots, but to {fitting}")
    view = settled(tables, kind, view)
    shown = KINDS[kind](tables, view)
    return replace(shown, marks=(*shades(tables, view.link), *shown.marks))
