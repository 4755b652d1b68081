"""The picture of queue lengths over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netspurt.pictures.marks import SERIES, Floats, Mark, Picture, Points, Scale
from netspurt.pictures.steps import steps
from netspurt.pictures.view import Tables, View, pick
from netspurt.table import Table

#: A queue without drops is shown if it held more than this number of packets.
_FEW = 5

#: If there are more than this number of drops, the marks of drops are smaller.
_DROPS = 200


@dataclass(frozen=True)
class _Queue:
    """A direction of a link: its queue lengths over time, and its drops."""

    label: str
    t: Floats
    packets: Floats
    dropped: Floats

    def packet_seconds(self) -> float:
        """Return the mean length times the duration."""
        return float(np.sum(self.packets[:-1] * np.diff(self.t)))


def queues(run: Tables, view: View) -> Picture:
    """Show the packets in each queue, including the packet in transmission, and the drops.

    If `view` names no link, the picture shows the directions of links that dropped packets or held
    more than `_FEW` packets. If there are no such directions, it shows the directions in which a
    packet waited. If there are more directions than colours, the picture shows the directions with
    the longest mean queues. A queue with too many changes is shown as a band from its least to its
    greatest length, with a line for its mean.
    """
    everything = run.table("queue")
    link = None if view.link is None else pick(everything, "link", view.link, "link")
    own = everything.where(link=link)
    ways = {way: own.where(link=way[0], direction=way[1]) for way in _directions(own)}
    end = _end(run, list(ways.values()))
    found = [_queue(run, view, states, way, end) for way, states in ways.items()]
    if link is None:
        found = _interesting(found)
    found = sorted((q for q in found if len(q.t)), key=lambda q: -q.packet_seconds())[: len(SERIES)]
    if not found:
        raise ValueError(f"no packet waited in a queue{view.in_words}")
    marks: list[Mark] = []
    # The fullest queue has the first colour. It is drawn last, above the other lines.
    for ink, queue in reversed(list(zip(SERIES, found, strict=False))):
        marks += steps(queue.label, ink, (queue.t, queue.packets), whole=view.whole)
    marks += _drops(found)
    return Picture(tuple(marks), Scale("queued or in transmission", "packets", low=0.0, whole=True))


def _directions(queue: Table) -> list[tuple[str, str]]:
    names = dict.fromkeys(queue["link"].tolist())
    return [(name, way) for name in names for way in ("forward", "reverse")]


def _queue(
    run: Tables, view: View, states: Table, direction: tuple[str, str], end: float
) -> _Queue:
    name, way = direction
    drops = run.table("drops").where(link=name, link_direction=way)
    drops = drops.select(drops["reason"] != "loss")
    t, shown = view.during(states, end)
    packets = shown["queue_packets"].astype(np.float64)
    start = view.start or 0.0
    if len(t) and t[0] > start:
        # A queue is empty before its first change.
        t, packets = np.concatenate([[start], t]), np.concatenate([[0], packets])
    return _Queue(f"{name} {way}", t, packets, view.clip(drops).seconds())


def _end(run: Tables, ways: list[Table]) -> float:
    """Return when the last queue had emptied [s], or the end of the run if one did not empty."""
    ways = [states for states in ways if len(states)]
    if not ways or any(states["queue_packets"][-1] > 0 for states in ways):
        return run.stop_ns / 1e9
    return max(float(states.seconds()[-1]) for states in ways)


def _interesting(queues: list[_Queue]) -> list[_Queue]:
    longest = {id(q): int(q.packets.max(initial=0)) for q in queues}
    chosen = [q for q in queues if len(q.dropped) or longest[id(q)] > _FEW]
    return chosen or [q for q in queues if longest[id(q)] > 1]


def _drops(found: list[_Queue]) -> list[Mark]:
    """Return a mark for each drop, at the length of the queue at that instant."""
    places = []
    for queue in found:
        place = np.searchsorted(queue.t, queue.dropped, side="right") - 1
        places.append(np.column_stack([queue.dropped, queue.packets[np.maximum(place, 0)]]))
    x, y = np.concatenate(places).T
    if len(x) == 0:
        return []
    size, width = (4.0, 0.8) if len(x) > _DROPS else (6.0, 1.5)
    return [
        Points(
            label="dropped", ink="red", x=x, y=y, shape="cross", size=size, width=width, rank=2.5
        )
    ]
