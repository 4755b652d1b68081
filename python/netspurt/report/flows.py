"""The pictures of the flows of a run or a capture. A flow has a forward and a reverse direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netspurt.pictures import OPTIONS, Picture, Tables, View, picture
from netspurt.pictures.vantage import BESIDE, BesideReceiverError
from netspurt.report.drawn import BUDGET, numbers
from netspurt.report.parts import Flow, Panel
from netspurt.run import UnrecordedTableError
from netspurt.wording import few, number

#: The kinds of pictures, in order, each with its heading.
TITLES = {
    "time-sequence": "Time and sequence",
    "rto": "Round trip and RTO",
    "cwnd": "Congestion window",
    "queue": "Queues",
    "outstanding": "Outstanding data",
    "throughput": "Throughput",
}

#: The maximum number of directions of a run or a capture that have pictures. A reader cannot choose
#: well from a longer list.
MOST_FLOWS = 40


@dataclass(frozen=True)
class FlowDirection:
    """One direction of a flow, and the numbers of timeouts and retransmissions in it."""

    flow: str
    direction: str
    timeouts: int = 0
    again: int = 0

    @property
    def name(self) -> str:
        """The name of the direction on the page."""
        return self.flow if self.direction == "forward" else f"{self.flow} ({self.direction})"


@dataclass(frozen=True)
class Found:
    """The flows of a run or a capture that have pictures, and sentences on what is left out."""

    flows: Sequence[Flow]
    notes: Sequence[str]


def directions_with_data(run: Tables) -> list[FlowDirection]:
    """Return the directions that carried data. The direction with the most data is first.

    If directions have equal data, the direction with more retransmissions comes first.
    """
    flows = run.table("flows")
    octets, again = (flows[name].astype(np.int64) for name in ("acked_bytes", "retransmissions"))
    columns = (flows[name].tolist() for name in ("flow", "direction", "timeouts"))
    every = [FlowDirection(*row) for row in zip(*columns, again.tolist(), strict=True)]
    order = np.lexsort((-again, -octets)).tolist()
    return [every[n] for n in order if int(flows["sent"][n]) > 0]


@dataclass(frozen=True)
class Room:
    """The limits of pictures: the maximum numbers of points and bars (marks) and of directions."""

    marks: int = BUDGET
    directions: int = MOST_FLOWS


#: The room of a page with one subject.
ROOM = Room()


#: Why kinds of pictures are missing: for each kind the directions without it, with the reasons.
_Missing = dict[str, dict[str, ValueError]]


def flows_of(
    run: Tables,
    kinds: Sequence[str],
    room: Room,
    titles: Mapping[str, str] = TITLES,
    lost_s: Mapping[str, float] | None = None,
) -> Found:
    """Return the pictures of as many flows as there is room for.

    Without `lost_s`, directions are chosen in this order: the direction with the most data,
    directions with the most timeouts, directions with the most retransmissions. The chosen
    directions are in the order of their data.

    Parameters
    ----------
    run
        A run or a capture.
    kinds
        The kinds of pictures to draw, from `TITLES`.
    room
        The limits of the pictures. The first direction is drawn even if it has too many marks.
    titles
        The headings of the kinds.
    lost_s
        The time that each flow waited for timers and repair [s]. If it is given, the flows that
        waited longest are chosen, and come first.
    """
    every = directions_with_data(run)
    if not every:
        return Found((), ["No pictures: no direction sent data."])
    flows: dict[str, Flow] = {}
    missing: _Missing = {}
    shared = {
        kind: _shown(run, kind, View(whole=True), missing.setdefault(kind, {}))
        for kind in kinds
        if _whole(kind)
    }
    taken = numbers(shown for shown in shared.values() if shown is not None)
    if lost_s is None:
        first = [*every[:1], *sorted(every[1:], key=lambda one: (-one.timeouts, -one.again))]
    else:
        first = every = sorted(every, key=lambda one: (-lost_s.get(one.flow, 0.0), -one.again))
    large = []
    for direction in first[: room.directions]:
        view = View(flow=direction.flow, direction=direction.direction, whole=True)
        own = {
            kind: _shown(run, kind, view, missing.setdefault(kind, {}))
            for kind in kinds
            if not _whole(kind)
        }
        size = numbers(shown for shown in own.values() if shown is not None)
        panels = [
            Panel(kind, titles[kind], shown)
            for kind in kinds
            if (shown := (own | shared)[kind]) is not None
        ]
        if not panels:
            continue
        if flows and taken + size > room.marks:
            large.append(direction)
            continue
        taken += size
        flows[direction.name] = Flow(direction.name, panels)
    drawn = [flows[direction.name] for direction in every if direction.name in flows]
    order = _BY_DATA if lost_s is None else _BY_LOSS
    notes = [
        *_left_out(first, drawn, large, room, order),
        *_not_drawn(missing, drawn, _full_names(every)),
    ]
    return Found(drawn, notes)


def _full_names(every: Sequence[FlowDirection]) -> dict[str, str]:
    """Return the names of directions in sentences. The keys are the names in the pictures.

    If a flow has data in both directions, the names in sentences say `forward` or `reverse`.
    """
    names = {direction.name for direction in every}
    return {
        direction.name: f"{direction.flow} ({direction.direction})"
        if {direction.flow, f"{direction.flow} (reverse)"} <= names
        else direction.name
        for direction in every
    }


#: The words that say which directions are drawn if there is no room for all.
_BY_DATA = (
    "the one with the most data, then those with the most timeouts, then those with the most "
    "retransmissions"
)
_BY_LOSS = (
    "those of the connections that waited longest for timers and repair, then "
    "those with the most retransmissions"
)


def _whole(kind: str) -> bool:
    """Return whether a kind shows the whole run: all directions share one picture of it."""
    return "flow" not in OPTIONS[kind]


def _shown(run: Tables, kind: str, view: View, missing: dict[str, ValueError]) -> Picture | None:
    """Return a picture, or `None` if there is nothing to show.

    If there is nothing to show, `missing` gets the reason, under the name of the direction.
    """
    try:
        return picture(run, kind, view)
    except ValueError as error:
        missing[view.titled(view.flow) if view.flow else ""] = error
        return None


def _left_out(
    first: Sequence[FlowDirection],
    flows: Sequence[Flow],
    large: Sequence[FlowDirection],
    room: Room,
    order: str,
) -> Iterator[str]:
    """Yield how many directions are drawn, and which directions each limit leaves out.

    `first` has all directions in the order in which they are chosen; `order` names this order. For
    the directions in `large`, there is no room.
    """
    full = _full_names(first)
    beyond = [full[one.name] for one in first[room.directions :]]
    if not flows or not (large or beyond):
        return
    yield (
        f"{number(len(flows))} of {number(len(first))} directions have pictures: "
        f"{order}. `netspurt plot --flow NAME` draws any other."
    )
    if beyond:
        yield (
            f"Not drawn, because at most {number(room.directions)} directions are drawn: "
            f"{few(beyond)}."
        )
    if large:
        yield (
            f"Not drawn, because all pictures together have room for at most "
            f"{number(room.marks)} marks: {few([full[one.name] for one in large])}."
        )


#: Why a picture is not drawn if its table is empty, by the kind of the picture.
_EMPTY = {"rto": "no acknowledgment gave a round trip"}


def _not_drawn(missing: _Missing, flows: Sequence[Flow], full: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences on the kinds of pictures that no flow has, or that some flows lack.

    If only some flows lack a kind, a sentence names those that were captured beside the receiver.
    `full` has the name of each direction for sentences.
    """
    there = {panel.kind for flow in flows for panel in flow.panels}
    names = {flow.name for flow in flows}
    beside: dict[tuple[str, ...], list[str]] = {}
    unrecorded: dict[str, list[str]] = {}
    for kind, whys in missing.items():
        title = f"{TITLES[kind][0].lower()}{TITLES[kind][1:]}"
        if kind not in there and whys:
            why = next(iter(whys.values()))
            if isinstance(why, UnrecordedTableError):
                unrecorded.setdefault(why.recorded, []).append(title)
                continue
            told = str(why)
            reason = _EMPTY.get(kind, told) if told.endswith("is empty") else told
            yield f"Not drawn: {title}. {reason[0].upper()}{reason[1:]}."
            continue
        lacking = [
            full[name]
            for name, why in whys.items()
            if name in names and isinstance(why, BesideReceiverError)
        ]
        if lacking:
            beside.setdefault(tuple(lacking), []).append(title)
    if unrecorded:
        every = (f"{', '.join(titles)} (`{name}`)" for name, titles in unrecorded.items())
        tables = ", ".join(f"`{name}`" for name in unrecorded)
        yield (
            f"Not drawn, because the run did not record their tables: {'; '.join(every)}. Add "
            f"{tables} to `tables` under [record], and run again."
        )
    for directions_lacking, titles in beside.items():
        yield f"Not drawn: {', '.join(titles)} of {few(directions_lacking)}, because {_WHY_BESIDE}."


#: Why pictures are missing for a direction that was captured beside its receiver.
_WHY_BESIDE = f"{BESIDE}, where neither the sender's round trips nor its outstanding data are seen"
