"""The pictures of the flows of a run or a capture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from netspurt.pictures import OPTIONS, Tables, View, picture
from netspurt.report.drawn import numbers
from netspurt.report.parts import Flow, Panel
from netspurt.wording import counted

#: The kinds of pictures, in order, each with its heading.
TITLES = {
    "time-sequence": "Time and sequence",
    "rto": "Round trip and RTO",
    "cwnd": "Congestion window",
    "queue": "Queues",
    "outstanding": "Outstanding data",
    "throughput": "Throughput",
}

#: The most flows of a page. A longer list would be too long to choose from.
_MOST_FLOWS = 40


@dataclass(frozen=True)
class Way:
    """A flow and one of its directions, and whether the direction has retransmissions."""

    flow: str
    direction: str
    repaired: bool = False

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
    names = zip(flows["flow"].tolist(), flows["direction"].tolist(), strict=True)
    every = [Way(*name, repaired=bool(n)) for name, n in zip(names, again.tolist(), strict=True)]
    order = np.lexsort((-again, -octets)).tolist()
    return [every[n] for n in order if int(flows["sent"][n]) > 0]


def flows_of(run: Tables, kinds: Sequence[str], room: int) -> Found:
    """Return the pictures of as many flows as there is room for.

    Parameters
    ----------
    run
        A run or a capture.
    kinds
        The kinds of pictures to draw, of `TITLES`.
    room
        The most marks. The flow with the most data is drawn even if it has more.

    Flows with retransmissions are chosen first. The chosen flows are in the order of their data.
    """
    flows: dict[str, Flow] = {}
    missing: dict[str, str] = {}
    taken = 0
    every = ways(run)
    first = sorted(every[1:], key=lambda way: not way.repaired)
    for way in [*every[:1], *first][:_MOST_FLOWS]:
        panels = list(_panels(run, way, kinds, missing))
        size = numbers(panel.picture for panel in panels)
        if not panels or (flows and taken + size > room):
            continue
        taken += size
        flows[way.name] = Flow(way.name, panels)
    drawn = [flows[way.name] for way in every if way.name in flows]
    return Found(drawn, [*_left_out(every, drawn), *_not_drawn(missing, drawn)])


def _panels(
    run: Tables, way: Way, kinds: Sequence[str], missing: dict[str, str]
) -> Iterator[Panel]:
    for kind in kinds:
        view = View(whole=True)
        if "flow" in OPTIONS[kind]:
            view = View(flow=way.flow, direction=way.direction)
        try:
            shown = picture(run, kind, view)
        except ValueError as error:
            missing.setdefault(kind, str(error))
            continue
        yield Panel(kind, TITLES[kind], shown)


def _left_out(every: Sequence[Way], flows: Sequence[Flow]) -> Iterator[str]:
    """Yield a sentence on the flows that are not drawn."""
    there = {flow.name for flow in flows}
    gone = [way.name for way in every if way.name not in there]
    if flows and gone:
        names = ", ".join(gone[:8]) + (", ..." if len(gone) > 8 else "")
        yield (
            f"Pictures and tables of retransmissions are of {counted(len(flows), 'direction')}, "
            f"those with retransmissions and with most data; {len(gone)} are left out: {names}."
        )


def _not_drawn(missing: dict[str, str], flows: Sequence[Flow]) -> Iterator[str]:
    """Yield a sentence for each kind of picture that no flow has, with the reason."""
    there = {panel.kind for flow in flows for panel in flow.panels}
    for kind, why in missing.items():
        if kind not in there:
            yield f"Not drawn: {TITLES[kind].lower()}. {why[0].upper()}{why[1:]}."
