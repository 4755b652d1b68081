"""The part of each run that `netspurt compare` compares: a flow, a direction and a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from netspurt.cli.opening import busiest, flow_of, is_explained, is_run
from netspurt.wording import listed, unknown_name

if TYPE_CHECKING:
    from netspurt.analysis.compare import Seen
    from netspurt.captures import Explained
    from netspurt.plots import View
    from netspurt.run import Run


@dataclass(frozen=True)
class ComparedDirection:
    """The compared part of a run or capture: a flow, a direction of it, and the observing node."""

    flow: str
    direction: str | None
    node: str

    @property
    def titled(self) -> str:
        """The flow and the direction in words."""
        return self.flow if self.direction in (None, "forward") else f"{self.flow} (reverse)"

    def view(self) -> View:
        """Return the view of this part. A view says what a plot shows."""
        from netspurt.plots import View

        return View(flow=self.flow, direction=self.direction, node=self.node)

    def events(self, run: Run | Explained) -> list[Seen]:
        """Return the events of this part: the segments that the node observed.

        The key of an event begins with `out`, `in` or `through`. In a run, the node sent the packet
        (`out`), received it (`in`) or forwarded it (`through`). In a capture, the direction's
        sender sent the packet (`out`), or the other end sent it (`in`).
        """
        from netspurt.analysis.compare import events

        seen = events(run.segments, self.flow, self.node)
        if not is_explained(run) or self.direction in (None, "forward"):
            return seen
        # The table of a capture has `out` for packets of the initiator, and `in` for packets of the
        # other end. In the reverse direction, the other end is the sender.
        other = {"out": "in", "in": "out"}
        return [replace(one, key=(other[one.key[0]], *one.key[1:])) for one in seen]


def titled(directions: Sequence[ComparedDirection]) -> str:
    """Return the compared flows and directions in words."""
    return " and ".join(dict.fromkeys(way.titled for way in directions))


def flow_of_each(paths: tuple[Path, Path], flow: str | None) -> list[str | None]:
    """Return the flow of each run. A single name applies to both runs; `A,B` names one for each."""
    first, comma, second = (flow or "").partition(",")
    names = [first or None, (second if comma else first) or None]
    return [flow_of(path, name) for path, name in zip(paths, names, strict=True)]


def compared_directions(
    runs: list[Run | Explained],
    flows: list[str | None],
    direction: str | None,
    node: str | None,
) -> list[ComparedDirection]:
    """Return the compared part of each run.

    By default, the direction with more data is chosen. The second of two runs gets the direction of
    the first run. Two captures may have different directions.
    """
    from netspurt.pictures import busier

    if node is not None and not any(is_run(run) for run in runs):
        raise ValueError("--node names a node of a run, but both files are captures: leave it out")
    if not any(is_explained(run) for run in runs):
        common = flows[0] or _common_flow(runs)
        flows = [flows[0] or common, flows[1] or common]
    directions: list[ComparedDirection] = []
    for run, given in zip(runs, flows, strict=True):
        if is_explained(run):
            known = given if given in run.flows["flow"] else None
            chosen = busiest(run, known)
            if chosen is None:
                raise ValueError(f"{run.path} has no data to compare")
            directions.append(ComparedDirection(chosen[0], direction or chosen[1], "capture"))
        elif is_run(run):
            name = given or _only_flow(run)
            first = directions[0].direction if directions and is_run(runs[0]) else busier(run, name)
            way = direction or first
            directions.append(ComparedDirection(name, way, node or sender_of(run, name, way)))
    return directions


#: The maximum number of flows that an error lists.
_LISTED = 8


def _only_flow(run: Run) -> str:
    """Return the only flow of a run."""
    names = list(dict.fromkeys(str(flow) for flow in run.flows["flow"]))
    if len(names) != 1:
        raise ValueError(f"the run has the flows {listed(names, _LISTED)}: name one with --flow")
    return names[0]


def _common_flow(runs: list[Run | Explained]) -> str:
    own, other = (dict.fromkeys(str(flow) for flow in run.flows["flow"]) for run in runs)
    both = [flow for flow in own if flow in other]
    if not both:
        first, second = (listed([*names], _LISTED) for names in (own, other))
        pair = f"{next(iter(own), 'A')},{next(iter(other), 'B')}"
        raise ValueError(
            f"the runs have no flow of the same name: the first has {first}, the second {second}; "
            f"--flow {pair} compares a flow of each"
        )
    if len(both) > 1:
        told = listed(both, _LISTED)
        raise ValueError(f"flows that both runs have: {told}; name one with --flow")
    return both[0]


def sender_of(run: Run, flow: str, direction: str | None = None) -> str:
    """Return the node that sends in a direction of a flow; the default direction is forward."""
    rows = run.flows.where(flow=flow, direction="forward")
    if len(rows) == 0:
        names = list(dict.fromkeys(run.flows["flow"].tolist()))
        raise ValueError(unknown_name("flow", flow, names, where="of the run", most=8))
    return str(rows["to" if direction == "reverse" else "from"][0])
