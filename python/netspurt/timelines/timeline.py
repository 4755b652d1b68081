"""The timeline that a link follows, and the text of its file.

A timeline has the delays, rates or losses of a link, each with the instant at which it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from netspurt.quantities import exactly
from netspurt.timelines.error import printable

#: The maximum number of points of a timeline.
POINTS_MAX = 200_000

_Value = TypeVar("_Value")

#: Instants [ns], each with the value in force from then on.
Steps = Sequence[tuple[int, _Value]]


@dataclass(frozen=True)
class Outage:
    """A time in which a link transmits nothing.

    Attributes
    ----------
    at_ns
        When the outage begins [ns].
    dead_ns
        The length of the outage [ns]. If it is zero, another path takes over immediately.
    arrivals
        `drop` if packets that arrive during the outage are dropped, `queue` if they wait.
    """

    at_ns: int
    dead_ns: int
    arrivals: str = "drop"


@dataclass(frozen=True)
class Way:
    """The values of one direction of a link, or of both directions. Times are in nanoseconds.

    Attributes
    ----------
    delay
        Instants, each with the delay from then on.
    rate
        Instants, each with the rate from then on, in bits per second.
    loss
        Instants, each with the probability of loss from then on; or a single probability.
    bit_errors
        Instants, each with the bit error rate from then on. The file has bit error rates only
        if `loss` is empty.
    opportunities
        Instants at which 1500 octets are delivered. After the last one, the series repeats.
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
        The values of the forward direction. If `reverse` is `None`, they are the values of both
        directions.
    reverse
        The values of the reverse direction; `None` if both directions have the same values.
    between
        How delays, probabilities and error rates change between two points: `step` or `linear`.
    order
        `fifo`, or `overtaking` if a packet may arrive before packets that were sent earlier.
    duplicates
        The probability that a direction delivers a packet twice.
    measured
        True if the delays of the two directions were measured separately.
    notes
        Facts that a user should know before using the timeline, one sentence each.
    remarks
        Comment lines for the top of the file.
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
        """The values of each direction, forward first; one element if both have the same values."""
        return [self.forward] if self.reverse is None else [self.forward, self.reverse]

    @property
    def end_ns(self) -> int:
        """The instant of the last change [ns]."""
        ends = [0]
        for direction in self.ways:
            loss = () if isinstance(direction.loss, float) else direction.loss
            for points in (direction.delay, direction.rate, loss, direction.bit_errors):
                ends += [at for at, _ in points[-1:]]
            ends += [
                *direction.opportunities[-1:],
                *(outage.at_ns + outage.dead_ns for outage in direction.outages),
            ]
        return max(ends)

    def to_toml(self) -> str:
        """Return the text of a file that a link of a scenario can follow."""
        lines = [
            f"# From {printable(self.name)}.",
            *(f"# {printable(remark)}" for remark in self.remarks),
        ]
        for key, text_of in (
            ("delay", self._delay),
            ("rate", _rate),
            ("loss", self._loss),
        ):
            texts = list(map(text_of, self.ways))
            if any(texts):
                both = f"[{', '.join(text or _ABSENT[key] for text in texts)}]"
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

    def _delay(self, direction: Way) -> str:
        return (
            f"{{ {self._rule}, timeline = {_delays(direction.delay)} }}" if direction.delay else ""
        )

    def _loss(self, direction: Way) -> str:
        if isinstance(direction.loss, float):
            return f"{{ probability = {direction.loss:.6g} }}" if direction.loss > 0 else ""
        for key, points in (
            ("probability", direction.loss),
            ("bit_error_rate", direction.bit_errors),
        ):
            if points:
                entries = _points(points, lambda value: f"{value:.9g}")
                return f"{{ {key} = {{ {self._rule}, timeline = {entries} }} }}"
        return ""

    @property
    def _rule(self) -> str:
        return f'between = "{self.between}"'

    def outages(self) -> list[tuple[Outage, str]]:
        """Return outages in the order of time, each with its direction, or `""` for both."""
        if self.reverse is None or list(self.forward.outages) == list(self.reverse.outages):
            return [(outage, "") for outage in self.forward.outages]
        both = [(outage, "forward") for outage in self.forward.outages]
        both += [(outage, "reverse") for outage in self.reverse.outages]
        return sorted(both, key=lambda outage_and_direction: outage_and_direction[0].at_ns)


#: For each key, the value of a direction that lacks the key. The value is written if the other
#: direction has the key.
_ABSENT = {"delay": '"0 s"', "rate": '"unlimited"', "loss": '"none"'}


def _rate(direction: Way) -> str:
    if direction.opportunities:
        instants = _list(f'"{exactly(at, "ms")}"' for at in direction.opportunities)
        return f"{{ opportunities = {instants} }}"
    points = _points(direction.rate, lambda bits: f'"{bits} bit/s"')
    return f"{{ timeline = {points} }}" if direction.rate else ""


def _delays(points: Steps[int]) -> str:
    return _points(points, lambda delay_ns: f'"{exactly(delay_ns, "ms")}"')


def _points(points: Steps[_Value], text_of: Callable[[_Value], str]) -> str:
    return _list(f'["{exactly(at)}", {text_of(value)}]' for at, value in points)


def _list(entries: Iterable[str]) -> str:
    """Return a TOML array with each entry on its own line."""
    return "[\n" + "".join(f"  {entry},\n" for entry in entries) + "]"
