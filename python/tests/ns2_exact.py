"""Recomputes the instants of a trace of the simulator ns-2 in exact fractions, and finds ties.

A tie is two events at one instant. Their order in ns-2 depends on the rounding of floating-point
numbers.

If a link is free when a packet comes to its queue, the transmission of the packet begins at that
instant. Otherwise this transmission begins when the transmission before it ends. The packet arrives
after the time of its transmission plus the link's delay. So every instant of a trace follows from
the instants at which the two ends send packets.

An end sends at an arrival, at the end of a hold (the wait of a delayed ACK), or when a timer fires.
A timer fires a whole number of milliseconds after an earlier event at the same end.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from ns2_cases import TOLERANCE_US, Row, drive, first_difference
from ns2_ties import reach_ns

__all__ = ["Tie", "decided_by_doubles", "exact_ties"]

#: The maximum difference between a printed instant and the exact instant [s]. It is 1.5 µs, because
#: ns-2 prints whole microseconds.
PRINTED = Fraction(3, 2_000_000)

#: A direction of a link: its first node and its second node.
Way = tuple[int, int]


class Tie(NamedTuple):
    """Holds the exact instant of two events [s] and their place.

    The field `where` is `hold` if a hold of the receiver ends at this instant. If a queue is full
    at this instant, the field names the two nodes of its link, for example `queue 0-1`.
    """

    at: Fraction
    where: str


class _Line(NamedTuple):
    """Holds the fields of a line of the trace."""

    kind: str
    time: Fraction
    way: Way
    flow: str
    size: int
    uid: str


def exact_ties(case: dict[str, object]) -> list[Tie]:
    """Return the ties of ns-2's run of a case, in the order of time.

    Raises
    ------
    ValueError
        If a printed instant does not follow from the instants before it.
    """
    settings: dict[str, Any] = {**drive.CASE, **case}
    walk = _Walk(settings)
    for text in drive.trace(settings).splitlines():
        walk.follow(text)
    return sorted(set(walk.ties))


def decided_by_doubles(case: dict[str, object], own_rows: list[Row], ns2_rows: list[Row]) -> bool:
    """Return whether the first difference between our rows and ns-2's rows is at a tie.

    If the drops differ first, there must be a tie at a full queue at the instant of the difference.
    If the sender's events differ first, there must be a tie at the end of a hold, at most
    `reach_ns` before the difference.
    """
    at, where, reach = _parted(own_rows, ns2_rows, drops=True), "queue", 0
    seen = _parted(own_rows, ns2_rows, drops=False)
    if at is None or (seen is not None and seen < at):
        at, where, reach = seen, "hold", reach_ns(case) // 1000
    if at is None:
        return False
    times = [float(tie.at) * 1e6 for tie in exact_ties(case) if tie.where.startswith(where)]
    return any(at - reach - TOLERANCE_US <= time <= at + TOLERANCE_US for time in times)


def _parted(own_rows: list[Row], ns2_rows: list[Row], *, drops: bool) -> int | None:
    """Return the time of the first difference [µs], or `None` if there is no difference.

    If `drops` is true, only drops are compared. Otherwise only the sender's events are compared.
    """
    sides = [
        [row for row in rows if (row.event == "drop") is drops] for rows in (own_rows, ns2_rows)
    ]
    difference = first_difference(*sides)
    if difference is None:
        return None
    return min(row.us for row in difference[1:] if row is not None)


class _Queue:
    """Holds the state of one direction of a link."""

    def __init__(self, rate: Fraction, delay: Fraction, limit: int) -> None:
        self.rate, self.limit = rate, limit
        self.delays = [(Fraction(0), delay)]
        self.free = Fraction(0)
        self.waiting = 0
        self.came: dict[str, Fraction] = {}
        #: The instants at which packets took the last place in the queue or found it full.
        self.full: list[Fraction] = []
        #: The instants at which the transmissions of waiting packets began.
        self.begun: set[Fraction] = set()

    def delay(self, start: Fraction) -> Fraction:
        """Return the delay of a packet whose transmission begins at the instant `start`."""
        return [delay for since, delay in self.delays if since <= start][-1]


class _Walk:
    """Follows the lines of a trace, and computes the exact instant of each line."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.hold = Fraction(str(settings["delayed_ack"]))
        self.queues: dict[Way, _Queue] = {}
        for place, link in enumerate(settings["links"].split()):
            rate, delay, limit = link.split(",")
            for way in ((place, place + 1), (place + 1, place)):
                self.queues[way] = _Queue(Fraction(rate), Fraction(delay), int(limit))
        self.last = len(settings["links"].split())
        for step in settings["delays"].split():
            time, source, target, delay = step.split(",")
            queue = self.queues[int(source), int(target)]
            queue.delays.append((Fraction(time), Fraction(delay)))
        #: The instant at which a packet arrives at a node, by the packet's id and the node.
        self.arrivals: dict[tuple[str, int], Fraction] = {}
        #: The instants of the events at each end, the newest last.
        self.happened: dict[int, list[Fraction]] = {0: [Fraction(0)], self.last: []}
        #: The newest arrival at the receiver that is not acknowledged yet.
        self.held: Fraction | None = None
        #: The end of the hold that began with the arrival before `held`.
        self.deadline: Fraction | None = None
        #: The end of the last hold that ended with an ACK.
        self.ended: Fraction | None = None
        self.ties: list[Tie] = []

    def follow(self, text: str) -> None:
        """Process the next line of the trace."""
        f = text.split()
        line = _Line(f[0], Fraction(f[1]), (int(f[2]), int(f[3])), f[4], int(f[5]), f[11])
        if line.kind == "+":
            self._came(line)
        elif line.kind == "d":
            self._dropped(line)
        elif line.kind == "-":
            self._begins(line)
        elif line.kind == "r":
            self._arrives(line)

    def _at(self, line: _Line) -> Fraction:
        """Return when a packet came to a queue. If the receiver sent this packet, record an ACK."""
        node = line.way[0]
        known = self.arrivals.get((line.uid, node))
        if known is not None:
            return known
        at = self._sent(line, node)
        if node == self.last:
            self._acknowledged(at)
        return at

    def _acknowledged(self, at: Fraction) -> None:
        """Record that the receiver sends an ACK, at an arrival or at the end of a hold."""
        if at != self.held:
            self.ended = at
        self.held = self.deadline = None

    def _sent(self, line: _Line, end: int) -> Fraction:
        """Return the exact instant at which an end sends a packet of its own.

        If a timer or the end of a hold is the cause, the instant is recorded as an event.
        """
        before = self.happened[end]
        for at in reversed(before):
            if abs(at - line.time) <= PRINTED:
                return at
        for at in reversed(before):
            wait = Fraction(round((line.time - at) * 1000), 1000)
            if (end == 0 or wait == self.hold) and abs(at + wait - line.time) <= PRINTED:
                before.append(at + wait)
                return at + wait
        raise ValueError(f"{line.time}: no event explains why node {end} sends")

    def _came(self, line: _Line) -> None:
        """Record that a packet came to a queue."""
        queue = self.queues[line.way]
        at = self._at(line)
        queue.came[line.uid] = at
        queue.waiting += 1
        # If the limit is n, n - 1 packets may wait.
        if queue.waiting >= queue.limit - 1:
            self._full(queue, at, line.way)

    def _dropped(self, line: _Line) -> None:
        """Record that a queue dropped a packet."""
        queue = self.queues[line.way]
        at = queue.came.pop(line.uid, None)
        if at is not None:
            queue.waiting -= 1
            self._full(queue, at, line.way)

    def _full(self, queue: _Queue, at: Fraction, way: Way) -> None:
        """Record that a queue was full, and a tie if another packet left it at this instant."""
        queue.full.append(at)
        if at in queue.begun:
            self.ties.append(Tie(at, f"queue {way[0]}-{way[1]}"))

    def _begins(self, line: _Line) -> None:
        """Compute when a transmission begins, and when its packet arrives."""
        queue = self.queues[line.way]
        came = queue.came.pop(line.uid)
        start = max(came, queue.free)
        self._check(line, start)
        if start > came:
            queue.begun.add(start)
            if start in queue.full[-4:]:
                self.ties.append(Tie(start, f"queue {line.way[0]}-{line.way[1]}"))
        queue.waiting -= 1
        queue.free = start + line.size * 8 / queue.rate
        arrival = queue.free + queue.delay(start)
        self.arrivals[line.uid, line.way[1]] = arrival

    def _arrives(self, line: _Line) -> None:
        """Record that a packet arrived at a node, and a tie if a hold ended at this instant."""
        node = line.way[1]
        at = self.arrivals[line.uid, node]
        self._check(line, at)
        if node in self.happened:
            self.happened[node].append(at)
        if node == self.last and self.hold:
            if self.held is not None and self.deadline is None:
                self.deadline = self.held + self.hold
            if at in (self.deadline, self.ended):
                self.ties.append(Tie(at, "hold"))
            self.held = at

    def _check(self, line: _Line, at: Fraction) -> None:
        """Raise an error if the printed instant of a line is not the exact instant `at`."""
        if abs(at - line.time) > PRINTED:
            printed, exact = float(line.time), float(at)
            raise ValueError(
                f"ns-2 printed {printed}, but {exact} follows from the events before it"
            )
