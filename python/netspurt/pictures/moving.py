"""Marks the times in which links of a run are dead. A dead link transmits nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from netspurt.pictures.marks import Ink, Mark, Rules, Shades
from netspurt.timelines import Timeline

#: The beginning and the end of a span of time [s], and its direction, or `""` for both directions.
Span = tuple[float, float, str]

#: The colours of times in which a link is dead, by direction. An empty text stands for both
#: directions.
_DEAD: dict[str, Ink] = {"": "grey", "forward": "blue", "reverse": "orange"}


@runtime_checkable
class Moving(Protocol):
    """A run that has the timelines of its links: how each link changes over time."""

    @property
    def stop_ns(self) -> int:
        """When the run ended."""

    def timelines(self) -> dict[str, Timeline]:
        """Return the timelines of the links that change, by the links' names."""


def dead_times(timeline: Timeline) -> list[Span]:
    """Return the times in which a link is dead, each with its direction, or `""` for both.

    A change to another path without an outage is also returned, with a start that equals its end.
    """
    outages = [
        (outage.at_ns / 1e9, (outage.at_ns + outage.dead_ns) / 1e9, direction)
        for outage, direction in timeline.outages()
    ]
    changes = [(start, end, direction) for start, end, direction in outages if start == end]
    edges = sorted({edge for start, end, _ in outages if end > start for edge in (start, end)})
    forward, reverse = (
        _is_in_spans(edges, [(a, b) for a, b, whose in outages if whose in ("", way) and b > a])
        for way in ("forward", "reverse")
    )
    spans: list[Span] = []
    for low, high, dead_forward, dead_reverse in zip(
        edges, edges[1:], forward, reverse, strict=False
    ):
        if not (dead_forward or dead_reverse):
            continue
        one_direction = "forward" if dead_forward else "reverse"
        direction = "" if dead_forward and dead_reverse else one_direction
        if spans and spans[-1][1:] == (low, direction):
            spans[-1] = (spans[-1][0], high, direction)
        else:
            spans.append((low, high, direction))
    return sorted([*spans, *changes])


def _is_in_spans(edges: Sequence[float], spans: Sequence[tuple[float, float]]) -> list[bool]:
    """Return, for each edge, whether the time from it to the next edge is in one of the spans."""
    change = dict.fromkeys(edges, 0)
    for low, high in spans:
        change[low] += 1
        change[high] -= 1
    counts = np.cumsum([change[edge] for edge in edges])
    return [bool(count > 0) for count in counts]


def shades(run: object, link: str | None = None) -> Iterator[Mark]:
    """Yield marks of the times in which links are dead, and of changes of path without an outage.

    Times that begin after the end of the run are left out. A capture gives no marks, because it has
    no links.
    """
    if not isinstance(run, Moving):
        return
    end = run.stop_ns / 1e9
    for name, timeline in run.timelines().items():
        if link in (None, name):
            yield from _of_link(name, [one for one in dead_times(timeline) if one[0] < end])


def _of_link(name: str, dead: Sequence[Span]) -> Iterator[Mark]:
    for direction, ink in _DEAD.items():
        label = f"link {name} %s, {direction}" if direction else f"link {name} %s"
        spans = np.array([(a, b) for a, b, whose in dead if whose == direction and b > a])
        if len(spans):
            left, right = spans.T
            yield Shades(label=label % "dead", ink=ink, left=left, right=right, rank=0.5)
        at = np.array([a for a, b, whose in dead if whose == direction and b == a])
        if len(at):
            yield Rules(label=label % "changes its path", ink=ink, x=at, dashed=True, rank=0.6)
