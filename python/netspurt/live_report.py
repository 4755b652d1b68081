"""The report on a live run, `live.json`. The run's process writes it beside the tables.

A live run is in real time. Its driver is the part that passes packets through the emulated path.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from netspurt.typed import parse, read
from netspurt.wording import counted


@dataclass(frozen=True)
class SenderScene:
    """The state of an end that sends data. `srtt_ns` is `None` before the first sample."""

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
    """A queue after its latest arrival, including the packet in transmission."""

    link: str
    direction: str
    packets: int
    bytes: int


@dataclass(frozen=True)
class Scene:
    """The state of a live run at an instant: some of its senders and of its queues.

    `passed_ms` is the time since the start of the run.
    """

    passed_ms: int
    senders: list[SenderScene]
    queues: list[QueueScene]


@dataclass(frozen=True)
class Lateness:
    """The number of deliveries of packets, and quantiles of how late they were."""

    deliveries: int
    p50_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int


@dataclass(frozen=True)
class Replayed:
    """The drops and losses of a live run, compared with a simulation of the same arrivals.

    Attributes
    ----------
    drops
        The number of packets that were dropped or lost in the live run.
    drops_again
        The number of packets that were dropped or lost in the simulation.
    same
        True if the run and the simulation dropped or lost the same packets at the same instants.
    """

    drops: int
    drops_again: int
    same: bool


@dataclass(frozen=True)
class PacketCounts:
    """The numbers of packets that were strange, damaged, missed or refused.

    Attributes
    ----------
    strange
        Packets that could not be read. A packet of a program must be a complete IPv4 packet. A
        packet of an end with the kernel's TCP must be a correct TCP segment.
    damaged
        Packets whose payload changed on the way through the machine, plus the reads in which an
        application found such changes.
    missed
        Packets that were lost because a buffer was full, before the driver read them.
    refused
        Packets that a host's device did not accept.
    """

    strange: int
    damaged: int
    missed: int
    refused: int

    def in_words(self) -> list[str]:
        """Return each number above zero with its word, as `2 packets missed`."""
        words = {"unreadable": self.strange, "damaged": self.damaged}
        words |= {"missed": self.missed, "refused": self.refused}
        return [f"{counted(count, 'packet')} {word}" for word, count in words.items() if count]


@dataclass(frozen=True)
class EndReport:
    """The settings of one end of a flow, under the kernel's names.

    `side` is `from` or `to`. `counters` are the kernel's TCP counters for this end when the run was
    over.
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
        """Return all values that are set, by name.

        The name of each value of the route begins with `route`.
        """
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
    """The programs of a run, and how the command ended.

    Attributes
    ----------
    command
        The program at one end, with its arguments.
    server
        The shell command at the other end.
    status
        The command's exit status. If a signal ended the command, it is 128 plus the signal's
        number. If the run was over before the command ended, it is 124. If the command was not
        started, it is 125 to 127.
    ran
        True if the command was started.
    stopped
        True if the command still ran when the run was over, and was stopped then.
    other_packets
        The number of packets that belong to no connection.
    kernel_told
        True if the kernel could be asked about the connections of both hosts.
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
    """The report of a live run.

    Attributes
    ----------
    valid
        True if the run is valid: no delivery was too late, the machine lost or damaged no packet,
        and a simulation of the same arrivals has the same drops.
    back_end
        A description of the hosts' devices.
    wire
        The kind of these devices: `veth` or `tun`.
    offload
        True if these devices took many segments at a time.
    kernel
        The kernel's release.
    real_time
        True if the driver had real-time priority.
    budget_ns
        The maximum permitted lateness of a delivery.
    lateness
        The measured lateness of the deliveries.
    replayed
        A comparison of the run with a simulation of the same arrivals.
    packets
        The numbers of faulty packets.
    ends
        The settings of the ends.
    failures
        The connections that ended with an error.
    programs
        The programs, and how the command ended. `None` if the run had no programs.
    stop_ns, digest, flows_digest, tables, captures, nodes, flows
        The values of the same names in the run's manifest, `run.json`.
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
            If the file's content is not a report.
        OSError
            If the file cannot be read.
        """
        return read(cls, parse(file.read_bytes()))

    def why_not(self) -> str:
        """Return in words why the run is not valid. The text is empty if it is valid."""
        if self.valid:
            return ""
        late_ms, budget_ms = (ns / 1e6 for ns in (self.lateness.max_ns, self.budget_ns))
        reasons = [f"a delivery was {late_ms:.3g} ms late, budget {budget_ms:.3g} ms"]
        reasons = reasons if self.lateness.max_ns > self.budget_ns else []
        if not self.replayed.same:
            reasons.append("the same arrivals in virtual time had other drops")
        # Unreadable packets do not make a run invalid.
        return "; ".join([*reasons, *replace(self.packets, strange=0).in_words()])

    def as_json(self) -> dict[str, Any]:
        """Return the report in the form of its file."""
        return asdict(self)
