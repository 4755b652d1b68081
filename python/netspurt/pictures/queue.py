"""Queue lengths over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netspurt.pictures.marks import SERIES, Band, Floats, Ink, Line, Mark, Picture, Points, Scale
from netspurt.pictures.view import Tables, View, pick
from netspurt.table import Table

#: A queue without drops is shown if it had more packets than this at some time.
_SHORT_QUEUE_PACKETS = 5

#: A queue with more changes than this is drawn as a band and a mean, over spans of time.
_CHANGES_MAX = 400

#: The mean number of changes in a span, and the maximum number of spans.
_CHANGES_PER_SPAN = 4
_SPANS_MAX = 250

#: With more drops than this, the marks of drops are smaller.
_LARGE_MARKS_MAX = 200


@dataclass(frozen=True)
class _Queue:
    """A direction of a link: its queue lengths over time, and its drops."""

    label: str
    t: Floats
    packets: Floats
    dropped: Floats

    def area(self) -> float:
        """Return the mean length times the duration."""
        return float(np.sum(self.packets[:-1] * np.diff(self.t)))


def queues(run: Tables, view: View) -> Picture:
    """Show the number of packets in each queue, including the one in transmission, and drops.

    If the view names no link, the picture shows the directions that dropped packets or had more
    than a few packets. If there are no such directions, it shows the directions in which a packet
    waited. A queue with many changes is shown as a band from its minimum to its maximum length,
    with a line for its mean.
    """
    everything = run.table("queue")
    link = None if view.link is None else pick(everything, "link", view.link, "link")
    own = everything.where(link=link)
    states = {pair: own.where(link=pair[0], direction=pair[1]) for pair in _directions(own)}
    end = _end(run, list(states.values()))
    shown = [_queue(run, view, table, pair, end) for pair, table in states.items()]
    if link is None:
        shown = _interesting(shown)
    shown = sorted((q for q in shown if len(q.t)), key=lambda q: -q.area())[: len(SERIES)]
    if not shown:
        when = "" if view.start is None and view.end is None else " in that time"
        raise ValueError(f"no queue had more than the packet in transmission{when}")
    marks: list[Mark] = []
    # The fullest queue comes first in the legend. It is drawn last, above the others.
    for ink, queue in reversed(list(zip(SERIES, shown, strict=False))):
        marks += _length(queue, ink, whole=view.whole)
    marks += _drops(shown)
    return Picture(tuple(marks), Scale("queued or in transmission", "packets", low=0.0, whole=True))


def _directions(queue: Table) -> list[tuple[str, str]]:
    links = dict.fromkeys(queue["link"].tolist())
    return [(link, direction) for link in links for direction in ("forward", "reverse")]


def _queue(run: Tables, view: View, states: Table, pair: tuple[str, str], end: float) -> _Queue:
    link, direction = pair
    drops = run.table("drops").where(link=link, link_direction=direction)
    drops = drops.select(drops["reason"] != "loss")
    t, shown = view.during(states, end)
    packets = shown["queue_packets"].astype(np.float64)
    start = view.start or 0.0
    if len(t) and t[0] > start:
        # A queue is empty before its first change.
        t, packets = np.concatenate([[start], t]), np.concatenate([[0], packets])
    return _Queue(f"{link} {direction}", t, packets, view.clip(drops).seconds())


def _end(run: Tables, queues: list[Table]) -> float:
    """Return when the last queue was empty, or else the end of the run, in seconds."""
    queues = [states for states in queues if len(states)]
    if not queues or any(states["queue_packets"][-1] > 0 for states in queues):
        return run.stop_ns / 1e9
    return max(float(states.seconds()[-1]) for states in queues)


def _interesting(queues: list[_Queue]) -> list[_Queue]:
    longest = {id(q): int(q.packets.max(initial=0)) for q in queues}
    chosen = [q for q in queues if len(q.dropped) or longest[id(q)] > _SHORT_QUEUE_PACKETS]
    return chosen or [q for q in queues if longest[id(q)] > 1]


def _length(queue: _Queue, ink: Ink, *, whole: bool) -> list[Mark]:
    if whole or len(queue.t) <= _CHANGES_MAX:
        x, y = queue.t, queue.packets
        return [Line(label=queue.label, ink=ink, x=x, y=y, steps=True)]
    spans = min(_SPANS_MAX, len(queue.t) // _CHANGES_PER_SPAN)
    edges = np.linspace(queue.t[0], queue.t[-1], spans + 1)
    lowest, mean, highest = (np.append(values, values[-1]) for values in _spans(queue, edges))
    label = f"{queue.label}, mean and range"
    band = Band(label="", ink=ink, x=edges, low=lowest, high=highest, alpha=0.3)
    return [band, Line(label=label, ink=ink, x=edges, y=mean, steps=True)]


def _spans(queue: _Queue, edges: Floats) -> tuple[Floats, ...]:
    """Return the minimum, the mean and the maximum length between each edge and the next."""
    # The queue's length at each edge counts as a change at the edge.
    place = np.searchsorted(queue.t, edges, side="right") - 1
    t = np.concatenate([queue.t, edges])
    packets = np.concatenate([queue.packets, queue.packets[place]])
    order = np.argsort(t, kind="stable")
    t, packets = t[order], packets[order]
    first = np.searchsorted(t, edges[:-1], side="left")
    packet_seconds = packets * np.diff(t, append=t[-1])
    mean = np.add.reduceat(packet_seconds, first) / np.diff(edges)
    return np.minimum.reduceat(packets, first), mean, np.maximum.reduceat(packets, first)


def _drops(queues: list[_Queue]) -> list[Mark]:
    """Return a mark for each drop, at the length of the queue at that instant."""
    places = []
    for queue in queues:
        place = np.searchsorted(queue.t, queue.dropped, side="right") - 1
        places.append(np.column_stack([queue.dropped, queue.packets[np.maximum(place, 0)]]))
    x, y = np.concatenate(places).T
    if len(x) == 0:
        return []
    size, width = (4.0, 0.8) if len(x) > _LARGE_MARKS_MAX else (6.0, 1.5)
    return [
        Points(
            label="dropped", ink="red", x=x, y=y, shape="cross", size=size, width=width, rank=2.5
        )
    ]
