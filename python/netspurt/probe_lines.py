"""The lines that the probing process writes: the lines of a data file, and its other messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from netspurt.typed import TypedError, parse, read

T = TypeVar("T")


@dataclass(frozen=True)
class SpanCounts:
    """The number of measured times, and quantiles of these times in nanoseconds."""

    count: int
    p50_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int


@dataclass(frozen=True)
class Noise:
    """Round trips over loopback, measured by the program's timestamps and by the kernel's.

    `where` is always `loopback`.
    """

    where: str
    user: SpanCounts
    kernel: SpanCounts


@dataclass(frozen=True)
class NoNoise:
    """The reason why round trips over loopback could not be measured."""

    failed: str


@dataclass(frozen=True)
class PathReport:
    """The route to the target by the machine's routing table, and the outcome of a first probe.

    The first probe has a hop limit of one, so that the kernel learns the link address of the next
    hop. `warmed` is its outcome.
    """

    source: str
    device: str | None
    gateway: str | None
    mtu: int | None
    warmed: dict[str, Any]


@dataclass(frozen=True)
class Began:
    """When a run began: by CLOCK_MONOTONIC_RAW, and in nanoseconds since 1970."""

    raw_ns: int
    unix_ns: int


@dataclass(frozen=True)
class HeaderLine:
    """The first line of a data file: everything that is known before the first echo probe.

    `least_octets` is the length of the shortest probe of this kind. `part` is the number of the
    file, from 1, if a run fills several files.
    """

    netspurt: str
    version: int
    made_by: str
    task: str
    host: str
    address: str
    port: int
    kind: str
    lengths: dict[str, Any]
    seed: int
    count: int | None
    pace: str
    gap_s: float | None
    timeout_s: float
    kernel: str
    clocks: dict[str, str]
    socket: str
    least_octets: int
    noise: Noise | NoNoise | None
    path: PathReport
    began: Began
    part: int
    file: str | None = None


@dataclass(frozen=True)
class EchoProbeLine:
    """An echo probe that was answered or given up.

    If the probe was answered, it has `rtt_ns` and `user_rtt_ns`.

    Attributes
    ----------
    echo_probe
        The number of the probe, from 1.
    octets
        The length of the probe.
    raw_ns, user_tx_ns, kernel_tx_ns
        When the probe left [ns], by three clocks: by CLOCK_MONOTONIC_RAW, by the program's
        timestamp, and by the kernel's timestamp.
    lost
        True if no answer came in time.
    why
        The reason for the loss in words, if an ICMP error came or the probe could not be sent.
    rtt_ns
        The round trip [ns].
    by
        The source of the timestamps of `rtt_ns`: the kernel or the program (`user`).
    user_rtt_ns
        The round trip by the program's timestamps [ns].
    user_rx_ns, kernel_rx_ns
        When the answer came [ns]: by the program's timestamp, and by the kernel's timestamp.
    ttl
        The hop limit in the answer's IP header.
    clock_step_ns
        The step of the machine's clock between the probe and its answer [ns].
    """

    echo_probe: int
    octets: int
    raw_ns: int
    user_tx_ns: int
    kernel_tx_ns: int | None = None
    lost: bool = False
    why: str | None = None
    rtt_ns: int = 0
    by: str = ""
    user_rtt_ns: int = 0
    user_rx_ns: int = 0
    kernel_rx_ns: int | None = None
    ttl: int | None = None
    clock_step_ns: int = 0


@dataclass(frozen=True)
class HopLine:
    """A probe with a hop limit, and the address that answered it (`from_`).

    `last` is true if the path ends at this address.
    """

    hop: int
    echo_probe: int
    octets: int
    raw_ns: int
    lost: bool = False
    rtt_ns: int = 0
    by: str = ""
    user_rtt_ns: int = 0
    from_: str | None = field(default=None, metadata={"key": "from"})
    last: bool = False
    why: str | None = None


@dataclass(frozen=True)
class _Stray:
    """A late or repeated answer. Its fields mean the same as in `EchoProbeLine`."""

    rtt_ns: int
    by: str
    user_rtt_ns: int
    user_rx_ns: int
    kernel_rx_ns: int | None = None
    ttl: int | None = None
    clock_step_ns: int = 0


@dataclass(frozen=True, kw_only=True)
class LateLine(_Stray):
    """The first answer to echo probe number `late`, if it came after the probe was given up."""

    late: int


@dataclass(frozen=True, kw_only=True)
class DuplicateLine(_Stray):
    """A second or later answer to echo probe number `duplicate`."""

    duplicate: int


@dataclass(frozen=True)
class ClockStepLine:
    """A step of the machine's clock [ns], and the number of the next echo probe after it."""

    clock_step_ns: int
    before: int


@dataclass(frozen=True)
class EndLine:
    """The last line of a file. Its `end` is `complete`, `interrupted` or `continued`.

    If `end` is `continued`, the run goes on in the file `next`.
    """

    end: str
    next: str | None = None
    echo_probes: int = 0
    answered: int = 0
    late: int = 0
    duplicates: int = 0
    clock_steps: int = 0
    raw_ns: int = 0


@dataclass(frozen=True)
class ServingLine:
    """The address and port of a server that has started."""

    serving: str


@dataclass(frozen=True)
class ReadyLine:
    """The note that a capture has started. The capture contains each packet after this line."""

    ready: bool


@dataclass(frozen=True)
class CapturedLine:
    """The number of packets in a finished capture."""

    packets: int


Line = HeaderLine | EchoProbeLine | HopLine | LateLine | DuplicateLine | ClockStepLine | EndLine

#: The key that identifies each kind of line. Keys are tried in this order.
_KINDS: dict[str, type[Any]] = {
    "netspurt": HeaderLine,
    "end": EndLine,
    "hop": HopLine,
    "echo_probe": EchoProbeLine,
    "late": LateLine,
    "duplicate": DuplicateLine,
    "clock_step_ns": ClockStepLine,
}


def read_line(text: str) -> Line:
    """Return a line of a data file, parsed as its kind.

    Raises
    ------
    TypedError
        If the text is not such a line.

    Examples
    --------
    >>> read_line('{"clock_step_ns": -5, "before": 7}')
    ClockStepLine(clock_step_ns=-5, before=7)
    """
    content = parse(text)
    kinds = (kind for key, kind in _KINDS.items() if isinstance(content, dict) and key in content)
    kind = next(kinds, None)
    if kind is None:
        raise TypedError(f"not a line of a probe's file: {text.strip()}")
    line: Line = read(kind, content)
    return line


def read_as(kind: type[T], text: str) -> T:
    """Return a line, read as a line of a given kind.

    Raises
    ------
    TypedError
        If the line is of another kind.
    """
    return read(kind, parse(text))
