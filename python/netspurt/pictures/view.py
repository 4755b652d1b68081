"""The part of a run that a picture shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from netspurt.table import HasTables, Table, optional
from netspurt.wording import unknown_name

#: The directions of a flow: what its initiator sends, and what the other end sends.
DIRECTIONS = ("forward", "reverse")


class Tables(HasTables, Protocol):
    """Anything that has a title, an end and tables by name."""

    @property
    def stop_ns(self) -> int:
        """When the run or the capture ended, in nanoseconds since its start."""


@dataclass(frozen=True)
class View:
    """The part of a run to show.

    Attributes
    ----------
    flow, direction, node, link
        The subject. The direction is `"forward"` or `"reverse"`. By default,
        `netspurt.pictures.picture` shows the first flow, the direction with more acknowledged
        octets, the node of the sender if packets were recorded there, and the links with drops or
        long queues.
    start, end
        The span of time, in seconds. `None` means the start or the end of the run.
    whole
        True if a line shows every change of its value, because the reader can zoom. Otherwise a
        value that changes too often is drawn as its mean with a band of its range.
    """

    flow: str | None = None
    direction: str | None = None
    node: str | None = None
    link: str | None = None
    start: float | None = None
    end: float | None = None
    whole: bool = False

    def __post_init__(self) -> None:
        if self.direction not in {None, *DIRECTIONS}:
            raise ValueError(
                f"the direction {self.direction!r} is neither {' nor '.join(DIRECTIONS)}"
            )
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError(
                f"the time to show ends at {self.end:g} s, before its start, {self.start:g} s"
            )

    @property
    def sends(self) -> str:
        """The direction of a flow that the picture shows, or forward if the view has none."""
        return self.direction or DIRECTIONS[0]

    @property
    def answers(self) -> str:
        """The direction of the acknowledgments of the shown data."""
        return next(direction for direction in DIRECTIONS if direction != self.sends)

    def titled(self, flow: str) -> str:
        """Return the text by which a plot names a flow and the shown direction."""
        return flow if self.sends == DIRECTIONS[0] else f"{flow} ({self.sends})"

    @property
    def in_words(self) -> str:
        """The words ` in the selected time` if the view has a span of time; otherwise nothing."""
        return "" if self.start is None and self.end is None else " in the selected time"

    def clip(self, table: Table) -> Table:
        """Return the rows within the span of time."""
        keep = self.holds(table.seconds())
        return table if keep.all() else table.select(keep)

    def holds(self, t: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether each instant (in seconds) is in the span of time, shape (len(t),)."""
        keep = np.ones(len(t), dtype=np.bool_)
        if self.start is not None:
            keep &= t >= self.start
        if self.end is not None:
            keep &= t <= self.end
        return keep

    def during(self, states: Table, end: float) -> tuple[NDArray[np.float64], Table]:
        """Return the states in force in the span of time until `end`, and the start of each state.

        The first state is the state in force when the span begins, if there is one. The last state
        is repeated at the end of the span.
        """
        t = states.seconds()
        start = 0.0 if self.start is None else self.start
        end = end if self.end is None else min(end, self.end)
        shown = np.flatnonzero((t >= start) & (t <= end))
        before = np.flatnonzero(t < start)[-1:] if start <= end else shown[:0]
        rows = np.concatenate([before, shown])
        rows = np.concatenate([rows, rows[-1:]])
        since = np.maximum(t[rows], start)
        since[-1:] = end
        return since, states.take(rows)


def pick(table: Table, column: str, wanted: str | None, what: str) -> str:
    """Return `wanted` if a column of names has it, or the first name if `wanted` is `None`.

    Raises
    ------
    ValueError
        If the column does not have the name, or is empty. The message calls the names `what`.
    """
    names = list(dict.fromkeys(table[column].tolist()))
    if wanted is None and names:
        return str(names[0])
    if wanted not in names:
        raise ValueError(
            unknown_name(what, wanted, names, where=f"in {table.name}", most=8)
            if names
            else f"the table {table.name} is empty"
        )
    return str(wanted)


def first_flow(run: Tables, name: str) -> str | None:
    """Return the flow that a picture shows by default: the first flow with rows in a table.

    The rows of a table are in the order of time. So its first row may belong to an echo probe, or
    to a connection of a population (many connections of one kind). The result is `None` if the
    table was not recorded, or if it has no rows of flows.
    """
    table, flows = optional(run, name), optional(run, "flows")
    if table is None or flows is None:
        return None
    there = set(table["flow"].tolist())
    return next((str(flow) for flow in flows["flow"].tolist() if flow in there), None)


def of_flows(run: Tables) -> Table:
    """Return the segments of flows. Echo probes are left out: they have no sequence numbers.

    Raises
    ------
    ValueError
        If all segments are of echo probes.
    """
    segments, echo_probes = run.table("segments"), optional(run, "echo_probes")
    if echo_probes is None:
        return segments
    found = segments.select(~np.isin(segments["flow"], np.unique(echo_probes["flow"])))
    if len(segments) and not len(found):
        raise ValueError("nothing to draw: all packets are of echo probes, which send no data")
    return found


#: The flag of an ACK, and the flags of an ACK and a SYN together.
_ACK = 16
_ACK_AND_SYN = 18


def are_acknowledgments(segments: Table) -> NDArray[np.bool_]:
    """Return whether each segment has ACK and not SYN, shape (len(segments),)."""
    found: NDArray[np.bool_] = (segments["flags"] & _ACK_AND_SYN) == _ACK
    return found


def acknowledgments(segments: Table) -> Table:
    """Return the segments that have ACK and not SYN."""
    return segments.select(are_acknowledgments(segments))


def direction_with_more(sums: Table | None) -> str | None:
    """Return the direction in which more octets were acknowledged, or forward if both are equal.

    `sums` has rows of the table `flows`. The result is `None` if there are no rows, or no column
    `acked_bytes`.
    """
    if sums is None or len(sums) == 0 or "acked_bytes" not in list(sums):
        return None
    octets = {way: int(sums.where(direction=way)["acked_bytes"].sum()) for way in DIRECTIONS}
    return max(octets, key=lambda way: octets[way])


def flow_end(run: Tables, flow: str, direction: str) -> float:
    """Return when a direction ended, in seconds.

    In a run, the direction ends when all its data was acknowledged. In a capture, it ends with the
    last packet of a connection that was closed or reset. Otherwise it ends with the run or the
    capture.
    """
    sums = run.table("flows").where(flow=flow, direction=direction)
    finished = float(sums.seconds("finished_ns")[0]) if len(sums) else np.nan
    if not np.isnan(finished):
        return finished
    if _was_seen_to_end(run, flow):
        return float(run.table("segments").where(flow=flow).seconds().max())
    return run.stop_ns / 1e9


def captured(run: Tables) -> Table | None:
    """Return the table of a capture's connections; `None` for a run."""
    connections = optional(run, "connections")
    # In a run, the table of this name has the connections of populations or of real programs.
    return connections if connections is not None and "ending" in set(connections) else None


def connection_of(flow: str) -> int:
    """Convert the name of a capture's flow to the number of its connection."""
    return int(flow.removeprefix("c"))


def _was_seen_to_end(run: Tables, flow: str) -> bool:
    """Return whether a capture saw this connection closed or reset. A run gives false."""
    connections = captured(run)
    if connections is None:
        return False
    own = connections.where(connection=connection_of(flow))
    return bool(np.any(own["ending"] != "open"))
