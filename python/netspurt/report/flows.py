"""The pictures of the flows of a run or a capture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netspurt.pictures import OPTIONS, Picture, Tables, View, picture
from netspurt.report.drawn import BUDGET, numbers
from netspurt.report.parts import Flow, Panel
from netspurt.wording import number

#: The kinds of pictures, in order, each with its heading.
TITLES = {
    "time-sequence": "Time and sequence",
    "rto": "Round trip and RTO",
    "cwnd": "Congestion window",
    "queue": "Queues",
    "outstanding": "Outstanding data",
    "throughput": "Throughput",
}

#: The most directions of a page. A longer list would be too long to choose from.
MOST_FLOWS = 40


@dataclass(frozen=True)
class Way:
    """A flow and one of its directions, and the numbers of its timeouts and retransmissions."""

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
    """The flows of a page, and sentences on what the page leaves out."""

    flows: Sequence[Flow]
    notes: Sequence[str]


def ways(run: Tables) -> list[Way]:
    """Return the directions that carried data. The direction with the most data is first.

    Of directions with equal data, the one with more retransmissions comes first.
    """
    flows = run.table("flows")
    octets, again = (flows[name].astype(np.int64) for name in ("acked_bytes", "retransmissions"))
    columns = (flows[name].tolist() for name in ("flow", "direction", "timeouts"))
    every = [Way(*row) for row in zip(*columns, again.tolist(), strict=True)]
    order = np.lexsort((-again, -octets)).tolist()
    return [every[n] for n in order if int(flows["sent"][n]) > 0]


@dataclass(frozen=True)
class Room:
    """What pictures may take: the most marks, and the most directions."""

    marks: int = BUDGET
    directions: int = MOST_FLOWS


#: The room of a page with one subject.
ROOM = Room()


def flows_of(
    run: Tables, kinds: Sequence[str], room: Room, titles: Mapping[str, str] = TITLES
) -> Found:
    """Return the pictures of as many flows as there is room for.

    Parameters
    ----------
    run
        A run or a capture.
    kinds
        The kinds of pictures to draw, of `TITLES`.
    room
        The most marks and directions. The direction with the most data is drawn even if it has
        more marks.
    titles
        The headings of the kinds.

    After the direction with the most data, those with the most timeouts are chosen, then those with
    the most retransmissions. The chosen ones are in the order of their data.
    """
    every = ways(run)
    if not every:
        return Found((), ["No pictures: no direction sent data."])
    flows: dict[str, Flow] = {}
    missing: dict[str, str] = {}
    shared = {kind: _shown(run, kind, View(whole=True), missing) for kind in kinds if _whole(kind)}
    taken = numbers(shown for shown in shared.values() if shown is not None)
    first = [*every[:1], *sorted(every[1:], key=lambda way: (-way.timeouts, -way.again))]
    for way in first[: room.directions]:
        view = View(flow=way.flow, direction=way.direction)
        own = {kind: _shown(run, kind, view, missing) for kind in kinds if not _whole(kind)}
        size = numbers(shown for shown in own.values() if shown is not None)
        panels = [
            Panel(kind, titles[kind], shown)
            for kind in kinds
            if (shown := (own | shared)[kind]) is not None
        ]
        if not panels or (flows and taken + size > room.marks):
            continue
        taken += size
        flows[way.name] = Flow(way.name, panels)
    drawn = [flows[way.name] for way in every if way.name in flows]
    return Found(drawn, [*_left_out(first, drawn, room), *_not_drawn(missing, drawn)])


def _whole(kind: str) -> bool:
    """Return whether a kind shows the whole run: all directions share one picture of it."""
    return "flow" not in OPTIONS[kind]


def _shown(run: Tables, kind: str, view: View, missing: dict[str, str]) -> Picture | None:
    """Return a picture, or `None` with the reason in `missing` if there is nothing to show."""
    try:
        return picture(run, kind, view)
    except ValueError as error:
        missing.setdefault(kind, str(error))
        return None


def _left_out(first: Sequence[Way], flows: Sequence[Flow], room: Room) -> Iterator[str]:
    """Yield sentences on the directions that are not drawn, by the limit that leaves them out.

    `first` has all directions in the order in which they are chosen.
    """
    there = {flow.name for flow in flows}
    large = [way.name for way in first[: room.directions] if way.name not in there]
    beyond = [way.name for way in first[room.directions :]]
    if not flows or not (large or beyond):
        return
    yield (
        f"Pictures are of {number(len(flows))} of {number(len(first))} directions: the one with "
        "the most data, then those with the most timeouts, then those with the most "
        "retransmissions. `netspurt plot --flow NAME` draws any other."
    )
    if beyond:
        yield f"Not drawn, for at most {number(room.directions)} are: {few(beyond)}."
    if large:
        yield (
            f"Not drawn, for there is no room beside the others for more than "
            f"{number(room.marks)} marks: {few(large)}."
        )


def few(names: Sequence[str]) -> str:
    """Return the first names, and how many there are if these are not all."""
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown} and {number(len(names) - 8)} more"


#: Why the table of a kind of pictures is empty.
_EMPTY = {"rto": "no acknowledgement gave a round trip"}


def _not_drawn(missing: dict[str, str], flows: Sequence[Flow]) -> Iterator[str]:
    """Yield a sentence for each kind of picture that no flow has, with the reason."""
    there = {panel.kind for flow in flows for panel in flow.panels}
    for kind, why in missing.items():
        if kind not in there:
            reason = _EMPTY.get(kind, why) if why.endswith("is empty") else why
            yield f"Not drawn: {TITLES[kind].lower()}. {reason[0].upper()}{reason[1:]}."
