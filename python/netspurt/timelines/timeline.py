"""The timeline that a link follows, and its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from netspurt.quantities import exactly
from netspurt.timelines.error import printable

#: The most points of a timeline.
MOST_POINTS = 200_000

_Value = TypeVar("_Value")

#: Instants [ns], each with the value in force from it on.
Steps = Sequence[tuple[int, _Value]]


@dataclass(frozen=True)
class Outage:
    """A time in which a link transmits nothing.

    Attributes
    ----------
    at_ns
        When it begins [ns].
    dead_ns
        The length of the outage [ns]. If it is zero, another path takes over at once.
    arrivals
        `drop` if packets that arrive meanwhile are dropped, `queue` if they wait.
    """

    at_ns: int
    dead_ns: int
    arrivals: str = "drop"


@dataclass(frozen=True)
class Way:
    """The values of one direction of a link, or of both. Instants and delays are in nanoseconds.

    Attributes
    ----------
    delay
        Instants, each with the delay from it on.
    rate
        Instants, each with the rate from it on, in bits per second.
    loss
        Instants, each with the probability of loss from it on; or a single probability.
    bit_errors
        Instants, each with the bit error rate from it on. It replaces `loss`.
    opportunities
        Instants at which 1500 octets are delivered. After the last one they begin again.
    outages
        Times in which nothing is transmitted, in the order of time.
    """

    delay: Steps[int] = ()
    rate: Steps[int] = ()
    loss: Steps[float] | float = ()
    bit_errors: Steps[float] = ()
    opportunities: Sequence[int] = ()
    outages: Sequence[Outage] = ()


@dataclass(frozen=True)
class Timeline:
    """The timeline that a link follows.

    Attributes
    ----------
    name
        The file or recording that it comes from.
    forward
        The values of the forward direction. Without `reverse` they are the values of both
        directions.
    reverse
        The values of the reverse direction, if they differ.
    between
        The rule between two points of delays, probabilities and error rates: `step` or `linear`.
    order
        `fifo`, or `overtaking` if packets may arrive before earlier ones.
    duplicates
        The probability that a direction delivers a packet twice.
    measured
        Whether the delays of the two directions were measured.
    notes
        Facts that a user should know before using the timeline, one sentence each.
    remarks
        Lines of comment for the head of the file.
    """

    name: str
    forward: Way = field(default_factory=Way)
    reverse: Way | None = None
    between: str = "step"
    order: str = "fifo"
    duplicates: float = 0.0
    measured: bool = False
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()

    @property
    def ways(self) -> list[Way]:
        """The directions that differ: one, or forward and reverse."""
        return [self.forward] if self.reverse is None else [self.forward, self.reverse]

    @property
    def end_ns(self) -> int:
        """The instant of the last change [ns]."""
        ends = [0]
        for way in self.ways:
            loss = () if isinstance(way.loss, float) else way.loss
            for points in (way.delay, way.rate, loss, way.bit_errors):
                ends += [at for at, _ in points[-1:]]
            ends += [*way.opportunities[-1:], *(one.at_ns + one.dead_ns for one in way.outages)]
        return max(ends)

    def to_toml(self) -> str:
        """Return the file that a link of a scenario follows."""
        lines = [
            f"# From {printable(self.name)}.",
            *(f"# {printable(one)}" for one in self.remarks),
        ]
        for key, text in (
            ("delay", self._delay),
            ("rate", _rate),
            ("loss", self._loss),
        ):
            texts = list(map(text, self.ways))
            if any(texts):
                both = f"[{', '.join(one or _NONE[key] for one in texts)}]"
                lines.append(f"{key} = {both if len(set(texts)) > 1 else texts[0]}")
        if self.duplicates:
            lines.append(f"duplicate = {{ probability = {self.duplicates:.6g} }}")
        if self.order != "fifo":
            lines.append(f'order = "{self.order}"')
        for outage, direction in self.outages():
            lines += [
                "[[handovers]]",
                f'at = "{exactly(outage.at_ns)}"',
                f'dead = "{exactly(outage.dead_ns)}"',
                f'arrivals = "{outage.arrivals}"',
                *([f'direction = "{direction}"'] if direction else []),
            ]
        return "\n".join(lines) + "\n"

    def _delay(self, way: Way) -> str:
        return f"{{ {self._rule}, timeline = {_delays(way.delay)} }}" if way.delay else ""

    def _loss(self, way: Way) -> str:
        if isinstance(way.loss, float):
            return f"{{ probability = {way.loss:.6g} }}" if way.loss > 0 else ""
        for key, points in (("probability", way.loss), ("bit_error_rate", way.bit_errors)):
            if points:
                told = _points(points, lambda p: f"{p:.9g}")
                return f"{{ {key} = {{ {self._rule}, timeline = {told} }} }}"
        return ""

    @property
    def _rule(self) -> str:
        return f'between = "{self.between}"'

    def outages(self) -> list[tuple[Outage, str]]:
        """Return outages in the order of time, each with its direction; empty text for both."""
        if self.reverse is None or list(self.forward.outages) == list(self.reverse.outages):
            return [(one, "") for one in self.forward.outages]
        both = [(one, "forward") for one in self.forward.outages]
        both += [(one, "reverse") for one in self.reverse.outages]
        return sorted(both, key=lambda one: one[0].at_ns)


#: The value of a key for a direction, if only the other direction has that key.
_NONE = {"delay": '"0 s"', "rate": '"unlimited"', "loss": '"none"'}


def _rate(way: Way) -> str:
    if way.opportunities:
        instants = _list(f'"{exactly(at, "ms")}"' for at in way.opportunities)
        return f"{{ opportunities = {instants} }}"
    points = _points(way.rate, lambda bits: f'"{bits} bit/s"')
    return f"{{ timeline = {points} }}" if way.rate else ""


def _delays(points: Steps[int]) -> str:
    return _points(points, lambda span: f'"{exactly(span, "ms")}"')


def _points(points: Steps[_Value], value: Callable[[_Value], str]) -> str:
    return _list(f'["{exactly(at)}", {value(of)}]' for at, of in points)


def _list(entries: Iterable[str]) -> str:
    """Return a list, each entry on a line of its own."""
    return "[\n" + "".join(f"  {entry},\n" for entry in entries) + "]"
