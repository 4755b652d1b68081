"""The section of two runs side by side: a run and a capture, or two of the same kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from netspurt.analysis.compare import Comparison, Seen, compare, events, why
from netspurt.captures import Explained
from netspurt.report.captures import capture_part
from netspurt.report.drawn import BUDGET
from netspurt.report.flows import Found, Way, ways
from netspurt.report.parts import Flow, Group, Part, Parting, Section, Side
from netspurt.report.runs import run_part
from netspurt.run import Run
from netspurt.table import optional
from netspurt.wording import counted


@dataclass(frozen=True)
class Subject:
    """A run or a capture of a comparison.

    Attributes
    ----------
    run
        The run or the capture.
    name
        Its name on the page.
    lines
        Lines that are printed after its summary.
    """

    run: Run | Explained
    name: str
    lines: Sequence[str] = ()


def compared_section(subjects: Sequence[Subject], room: int = BUDGET) -> Section:
    """Return the section of two runs or captures, drawn on the same axes.

    Times count from the first data of each. The flow with the most data in one is compared with
    that in the other, segment by segment.
    """
    told = [_part(one, side, room // 2) for side, one in enumerate(subjects)]
    sides = [
        Side(one.name, [_from_first_data(one.run, flow) for flow in found.flows])
        for one, (_part_of, found) in zip(subjects, told, strict=True)
    ]
    words, parting = _divergence(subjects)
    titles = [one.name for one in subjects]
    groups = (Group(sides, parting=parting),) if all(side.flows for side in sides) else ()
    return Section(" and ".join(titles), [part for part, _ in told], words, groups)


def _part(one: Subject, side: int, room: int) -> tuple[Part, Found]:
    if isinstance(one.run, Explained):
        return capture_part(one.run, one.name, one.lines, room, side)
    return run_part(one.run, one.name, one.lines, room, side)


def _from_first_data(run: Run | Explained, flow: Flow) -> Flow:
    """Return a flow with times that count from its first data."""
    segments = optional(run, "segments")
    way = next((way for way in ways(run) if way.name == flow.name), None)
    if segments is None or way is None:
        return flow
    own = segments.where(flow=way.flow, direction=way.direction)
    data = own.select(own["len_bytes"] > 0)
    return replace(flow, zero_s=float(data.seconds().min())) if len(data) else flow


def _divergence(subjects: Sequence[Subject]) -> tuple[list[str], Parting | None]:
    """Compare the flows with the most data; return sentences, and where the flows first differ."""
    try:
        seen = [_seen(one.run) for one in subjects]
    except ValueError as error:
        return [f"The two are not compared segment by segment: {error}."], None
    first, second = seen
    told = compare(first, second)
    words = list(_alike(told, first))
    parted = [event.t_s for event in told.parted if event is not None]
    if not parted:
        return [*words, "The two never differ."], None
    named = why(told, first, second)
    both = zip(subjects, told.parted, strict=True)
    doing = "; ".join(f"{one.name} {event or 'has ended'}" for one, event in both)
    parting = f"First divergence at {min(parted):.4f} s{': ' if named else ''}{named}. {doing}."
    return [*words, parting], Parting(min(parted), parting)


def _alike(told: Comparison, first: list[Seen]) -> Iterator[str]:
    alike = first[: told.same]
    if not alike:
        return
    data = sum(event.key[1] == "data" for event in alike)
    most = 1e3 * float(np.abs(told.differences_s).max())
    yield (
        f"Same for {alike[-1].t_s:.3f} s: {counted(data, 'segment')}, "
        f"{counted(len(alike) - data, 'ACK')}; times differ by {most:.3f} ms at most."
    )


def _seen(run: Run | Explained) -> list[Seen]:
    """Return the events of the direction with the most data, as seen at its sender.

    Raises
    ------
    ValueError
        If no direction has data.
    """
    every = ways(run)
    if not every:
        raise ValueError(f"{run.title} has no flow with data")
    way = every[0]
    segments = run.table("segments")
    seen = events(segments, way.flow, _node(run, way))
    if not isinstance(run, Explained) or way.direction == "forward":
        return seen
    # A capture has the initiator's view of both directions.
    other = {"out": "in", "in": "out"}
    return [replace(one, key=(other[one.key[0]], *one.key[1:])) for one in seen]


def _node(run: Run | Explained, way: Way) -> str:
    """Return the node that sends in a direction."""
    sums = run.table("flows").where(flow=way.flow, direction=way.direction)
    return str(sums["from"][0])
