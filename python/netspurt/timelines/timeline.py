"""What a link follows, and the file that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from netspurt.quantities import exactly

#: The most points of a timeline.
MOST_POINTS = 200_000

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Outage:
    """A time in which a link drops everything.

    Attributes
    ----------
    at_ns
        When it begins [ns].
    dead_ns
        How long it lasts [ns].
    """

    at_ns: int
    dead_ns: int


@dataclass(frozen=True)
class Timeline:
    """What a link follows; instants and delays in nanoseconds.

    Attributes
    ----------
    name
        Where it comes from.
    delay
        Instants, and the delay of a direction from each on; with `reverse`, of the forward one.
    reverse
        The same of the reverse direction, where it differs.
    rate
        Instants, and bits per second from each on.
    loss
        Instants, and the probability of loss from each on; or one probability.
    bit_errors
        Instants, and the bit error rate from each on; in place of `loss`.
    opportunities
        Instants at which 1500 octets are delivered; behind the last one they begin again.
    outages
        Times in which everything that comes is dropped; with `reverse_outages`, forward.
    reverse_outages
        The same in the reverse direction, where they differ.
    order
        `fifo`, or `overtaking` where packets arrive before earlier ones.
    notes
        What to know before it is used.
    remarks
        Lines of comment for the head of the file.
    """

    name: str
    delay: Sequence[tuple[int, int]] = ()
    rate: Sequence[tuple[int, int]] = ()
    loss: Sequence[tuple[int, float]] | float = ()
    bit_errors: Sequence[tuple[int, float]] = ()
    opportunities: Sequence[int] = ()
    outages: Sequence[Outage] = ()
    remarks: Sequence[str] = ()
    reverse: Sequence[tuple[int, int]] | None = None
    reverse_outages: Sequence[Outage] | None = None
    order: str = "fifo"
    notes: Sequence[str] = ()

    def to_toml(self, between: str = "step") -> str:
        """Return the file that a link of a scenario follows.

        Parameters
        ----------
        between
            The rule between two points of delays, probabilities and error rates: `step` or
            `linear`.
        """
        rule = f'between = "{between}"'
        lines = [f"# From {plain(self.name)}.", *(f"# {plain(one)}" for one in self.remarks)]
        if self.delay:
            ways = [self.delay] if self.reverse is None else [self.delay, self.reverse]
            tables = [f"{{ {rule}, timeline = {_delays(way)} }}" for way in ways]
            both = f"[{', '.join(tables)}]" if len(tables) > 1 else tables[0]
            lines.append(f"delay = {both}")
        if self.rate:
            points = _points(self.rate, lambda bits: f'"{bits} bit/s"')
            lines.append(f"rate = {{ timeline = {points} }}")
        if self.opportunities:
            instants = _list(f'"{exactly(at, "ms")}"' for at in self.opportunities)
            lines.append(f"rate = {{ opportunities = {instants} }}")
        if isinstance(self.loss, float):
            lines += [f"loss = {{ probability = {self.loss:.6g} }}"] * (self.loss > 0)
        elif self.loss:
            points = _points(self.loss, lambda p: f"{p:.9g}")
            lines.append(f"loss = {{ probability = {{ {rule}, timeline = {points} }} }}")
        if self.bit_errors:
            points = _points(self.bit_errors, lambda rate: f"{rate:.9g}")
            lines.append(f"loss = {{ bit_error_rate = {{ {rule}, timeline = {points} }} }}")
        if self.order != "fifo":
            lines.append(f'order = "{self.order}"')
        for outage, way in self._outages():
            lines += [
                "[[handovers]]",
                f'at = "{exactly(outage.at_ns)}"',
                f'dead = "{exactly(outage.dead_ns)}"',
                'arrivals = "drop"',
                *([f'direction = "{way}"'] if way else []),
            ]
        return "\n".join(lines) + "\n"

    def _outages(self) -> list[tuple[Outage, str]]:
        """Return the outages in the order of time, each with its direction, empty for both."""
        if self.reverse_outages is None:
            return [(one, "") for one in self.outages]
        both = [(one, "forward") for one in self.outages]
        both += [(one, "reverse") for one in self.reverse_outages]
        return sorted(both, key=lambda one: one[0].at_ns)


def plain(text: str) -> str:
    """Return a text on one line, without control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _delays(points: Sequence[tuple[int, int]]) -> str:
    return _points(points, lambda span: f'"{exactly(span, "ms")}"')


def _points(points: Sequence[tuple[int, _Value]], value: Callable[[_Value], str]) -> str:
    return _list(f'["{exactly(at)}", {value(of)}]' for at, of in points)


def _list(entries: Iterable[str]) -> str:
    """Return a list, each entry on a line of its own."""
    return "[\n" + "".join(f"  {entry},\n" for entry in entries) + "]"
