"""Pictures as data: what is drawn of tables, without a word on who draws it.

Each kind is a function from tables to a `Picture`; `picture` selects one by name. Rooms above draw
them: `plots` by matplotlib, `report` on a page of HTML.
"""

from __future__ import annotations

from collections.abc import Callable

from netspurt.pictures.cwnd import congestion_window
from netspurt.pictures.flows import progress
from netspurt.pictures.marks import Picture
from netspurt.pictures.queue import queues
from netspurt.pictures.rto import timer
from netspurt.pictures.time_sequence import time_sequence
from netspurt.pictures.traffic import density, outstanding_data, throughput
from netspurt.pictures.view import Tables, View

__all__ = ["KINDS", "OPTIONS", "Picture", "Tables", "View", "picture"]

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

#: The options of a view, other than time, that apply to each kind.
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


def picture(tables: Tables, kind: str, view: View | None = None) -> Picture:
    """Return a picture of one kind.

    Parameters
    ----------
    tables
        A run, or anything with the same tables.
    kind
        One of `KINDS`.
    view
        What to show of it.

    Raises
    ------
    ValueError
        If there is no such kind, or nothing to show.
    """
    if kind not in KINDS:
        raise ValueError(f"no plot of kind {kind!r}: there are {', '.join(KINDS)}")
    view = view or View()
    for given in ("flow", "direction", "node", "link"):
        if getattr(view, given) is not None and given not in OPTIONS[kind]:
            fitting = " and ".join(kind for kind, takes in OPTIONS.items() if given in takes)
            raise ValueError(f"--{given} does not apply to {kind} plots, but to {fitting}")
    return KINDS[kind](tables, view)
