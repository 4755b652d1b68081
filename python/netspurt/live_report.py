"""What a live run tells beside its tables: `live.json`, which its process writes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from netspurt.typed import parse, read


@dataclass(frozen=True)
class SenderScene:
    """An end that sends data, at an instant; `srtt_ns` is `None` before the first sample."""

    flow: str
    direction: str
    cwnd_bytes: int
    flight_bytes: int
    srtt_ns: int | None
    rto_ns: int
    backoff: int
    in_recovery: bool


@dataclass(frozen=True)
class QueueScene:
    """A queue after the latest packet that came, with the packet in transmission."""

    link: str
    direction: str
    packets: int
    bytes: int


@dataclass(frozen=True)
class Scene:
    """What a live run looks like while it goes on: its first senders, its first queues.

    `passed_ms` is how long it has been going on.
    """

    passed_ms: int
    senders: list[SenderScene]
    queues: list[QueueScene]


@dataclass(frozen=True)
class Lateness:
    """How late packets were delivered: how many there were, and quantiles in nanoseconds."""

    deliveries: int
    p50_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int


@dataclass(frozen=True)
class Replayed:
    """Drops of the live run, those of the same arrivals in virtual time, and whether they agree."""

    drops: int
    drops_again: int
    same: bool


@dataclass(frozen=True)
class PacketCounts:
    """Packets that are not as they should be.

    Attributes
    ----------
    strange
        No TCP segments of their flow.
    damaged
        With octets that nobody wrote there.
    missed
        Lost for want of room before they were read.
    refused
        Not taken by a host's device.
    """

    strange: int
    damaged: int
    missed: int
    refused: int


@dataclass(frozen=True)
class EndReport:
    """What one end of a flow was given, by the names that the kernel has for it.

    `counters` are what its kernel counted of TCP until the run's end.
    """

    flow: str
    side: str
    profile: str
    sysctls: dict[str, str]
    route: dict[str, Any]
    device: dict[str, Any]
    socket: dict[str, Any]
    counters: dict[str, int]

    def values(self) -> dict[str, Any]:
        """Return all values that are set; those of the route have it in their names."""
        route = {f"route {name}": value for name, value in self.route.items()}
        every = {**self.sysctls, **route, **self.device, **self.socket}
        return {name: value for name, value in every.items() if value is not None}


@dataclass(frozen=True)
class FlowFailure:
    """A connection that ended with an error."""

    flow: str
    failure: str


@dataclass(frozen=True)
class ProgramsReport:
    """Programs, and how the first one ended.

    Attributes
    ----------
    command, server
        What ran at the two ends.
    status
        The command's status, or what stands for it.
    ran
        Whether it ran at all.
    stopped
        Whether the scenario's stop ended it.
    other_packets
        Packets that belong to no connection.
    kernel_told
        Whether the kernels told of connections.
    """

    command: list[str]
    server: str | None
    status: int
    ran: bool
    stopped: bool
    other_packets: int
    kernel_told: bool


@dataclass(frozen=True)
class LiveReport:
    """What a live run tells of itself.

    Attributes
    ----------
    valid
        Whether the run counts: nothing was too late, no packet went missing in this machine, and
        the same arrivals had the same drops in virtual time.
    back_end, wire, offload
        What the hosts' wires were made of.
    kernel
        Its release.
    real_time
        Whether the driver ran before all others.
    budget_ns, lateness
        How late a delivery was allowed to be, and how late they were.
    replayed, packets, ends, failures
        What the run in virtual time said; packets that are not as they should be; what the ends
        were given; connections that ended with an error.
    programs
        Of a run of programs: what they were, and how they ended.
    stop_ns, digest, flows_digest, tables, captures, nodes, flows
        As in the manifest.
    """

    valid: bool
    back_end: str
    wire: str
    offload: bool
    kernel: str
    real_time: bool
    budget_ns: int
    lateness: Lateness
    replayed: Replayed
    packets: PacketCounts
    ends: list[EndReport]
    failures: list[FlowFailure]
    programs: ProgramsReport | None
    stop_ns: int
    digest: str
    flows_digest: str
    tables: dict[str, int]
    captures: dict[str, str]
    nodes: dict[str, str]
    flows: dict[str, dict[str, str]]

    @classmethod
    def load(cls, file: Path) -> LiveReport:
        """Read a report.

        Raises
        ------
        TypedError
            When the file holds none.
        OSError
            When it cannot be read.
        """
        return read(cls, parse(file.read_bytes()))

    def why_not(self) -> str:
        """Return why the run does not count, in words; empty if it does."""
        if self.valid:
            return ""
        late_ms, budget_ms = (ns / 1e6 for ns in (self.lateness.max_ns, self.budget_ns))
        reasons = [f"a delivery was {late_ms:.3g} ms late, budget {budget_ms:.3g} ms"]
        reasons = reasons if self.lateness.max_ns > self.budget_ns else []
        if not self.replayed.same:
            reasons.append("the same arrivals in virtual time had other drops")
        counts = {word: count for word, count in asdict(self.packets).items() if count}
        reasons += [f"{count} packets {word}" for word, count in counts.items()]
        return "; ".join(reasons)

    def as_json(self) -> dict[str, Any]:
        """Return it as it stands in its file."""
        return asdict(self)
