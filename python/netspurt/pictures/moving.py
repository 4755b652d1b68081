"""The times in which links of a run are dead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from netspurt.pictures.marks import Ink, Mark, Rules, Shades
from netspurt.timelines import Timeline

#: The beginning and the end [s], and the direction. It is empty for both directions.
Span = tuple[float, float, str]

#: The colours of times in which a link is dead, by the direction, empty for both.
_DEAD: dict[str, Ink] = {"": "grey", "forward": "blue", "reverse": "orange"}


@runtime_checkable
class Moving(Protocol):
    """A run that has the timelines of its links."""

    def timelines(self) -> dict[str, Timeline]:
        """Return the timelines of the links that change, by the links' names."""


def dead_times(timeline: Timeline) -> list[Span]:
    """Return the times in which a link is dead, each with its direction; empty for both."""
    told = [
        (one.at_ns / 1e9, (one.at_ns + one.dead_ns) / 1e9, way) for one, way in timeline.outages()
    ]
    at_once = [(a, b, way) for a, b, way in told if a == b]
    edges = sorted({edge for a, b, _ in told if b > a for edge in (a, b)})
    ahead, back = (
        _silent(edges, [(a, b) for a, b, way in told if way in ("", one) and b > a])
        for one in ("forward", "reverse")
    )
    found: list[Span] = []
    for low, high, first, second in zip(edges, edges[1:], ahead, back, strict=False):
        if not (first or second):
            continue
        way = "" if first and second else "forward" if first else "reverse"
        if found and found[-1][1:] == (low, way):
            found[-1] = (found[-1][0], high, way)
        else:
            found.append((low, high, way))
    return sorted([*found, *at_once])


def _silent(edges: Sequence[float], spans: Sequence[tuple[float, float]]) -> list[bool]:
    """Return whether each time from an edge to the next lies in one of the spans."""
    change = dict.fromkeys(edges, 0)
    for low, high in spans:
        change[low] += 1
        change[high] -= 1
    counts = np.cumsum([change[edge] for edge in edges])
    return [bool(count > 0) for count in counts]


def shades(run: object, link: str | None = None) -> Iterator[Mark]:
    """Yield the times in which links of a run are dead, and lines at changes without such a time.

    Captures do not show links.
    """
    if not isinstance(run, Moving):
        return
    for name, timeline in run.timelines().items():
        if link in (None, name):
            yield from _of_link(name, dead_times(timeline))


def _of_link(name: str, dead: Sequence[Span]) -> Iterator[Mark]:
    for way, ink in _DEAD.items():
        told = f"link {name} %s, {way}" if way else f"link {name} %s"
        spans = np.array([(a, b) for a, b, of in dead if of == way and b > a])
        if len(spans):
            left, right = spans.T
            yield Shades(label=told % "dead", ink=ink, left=left, right=right, rank=0.5)
        at = np.array([a for a, b, of in dead if of == way and b == a])
        if len(at):
            yield Rules(label=told % "changes", ink=ink, x=at, dashed=True, rank=0.6)
