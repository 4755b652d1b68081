"""The list of a path's drops, and a comparison of labels with the kernel's counters.

A label is the cause of a retransmission in the tables of a run. In a live run, the kernel counts
its retransmissions itself, so the labels can be checked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from netspurt.run import Run
from netspurt.wording import counted, number


@dataclass(frozen=True)
class Sum:
    """A sum of labels, and the counter of a host's kernel for the same events.

    Attributes
    ----------
    end
        The end of a flow, such as `transfer.from`.
    what
        The name of the kernel's counter.
    labels, kernel
        The number of labels, and the kernel's count.
    agrees
        True if the counts are equal. A listening end may repeat some SYN-ACKs without a timeout. So
        its counter of timeouts may be lower, by at most the number of its repeated SYN-ACKs.
    """

    end: str
    what: str
    labels: int
    kernel: int
    agrees: bool

    def __str__(self) -> str:
        labels = counted(self.labels, "label")
        return f"{self.end}: {self.what}: {labels}, and the kernel counted {number(self.kernel)}"


#: The counter of timeouts.
_TIMEOUTS = "TcpExtTCPTimeouts"

#: The causes that each counter of the kernel counts.
_COUNTERS = {
    "TcpRetransSegs": ("syn", "rto", "go-back-n", "fast", "sack-recovery", "rack", "tlp"),
    "TcpExtTCPSynRetrans": ("syn",),
    _TIMEOUTS: ("syn", "rto"),
    "TcpExtTCPSlowStartRetrans": ("go-back-n",),
    "TcpExtTCPFastRetrans": ("fast", "sack-recovery", "rack"),
}

#: The direction in which each end sends.
_DIRECTION = {"from": "forward", "to": "reverse"}


def sums(run: Run) -> list[Sum]:
    """Return the sums of a run's labels, each with the kernel's counter; none for a simulation.

    Each end of a flow is a separate host. It has a sum for each counter if the run records the
    packets of its node. The connections of programs between two hosts count together. There is no
    sum for tail loss probes alone, because the kernel counts probes that retransmitted octets
    together with probes of new octets.
    """
    if run.live is None:
        return []
    table = run.segments
    columns = (table[name].tolist() for name in ("flow", "direction", "way", "cause"))
    by_direction = defaultdict[tuple[str, str], Counter[str]](Counter)
    for flow, direction, way, cause in zip(*columns, strict=True):
        if way == "out":
            by_direction[flow, direction][cause] += 1
    compared = []
    for end in run.live.ends:
        # The name of a program's connection is the name of the flow, a dot and a number.
        of_end = sum(
            (
                causes
                for (flow, direction), causes in by_direction.items()
                if end.flow in (flow, flow.rpartition(".")[0]) and direction == _DIRECTION[end.side]
            ),
            Counter[str](),
        )
        if not of_end:
            continue
        for name, causes in _COUNTERS.items():
            labels = sum(of_end[cause] for cause in causes)
            kernel = end.counters.get(name, 0)
            # A listening end repeats a SYN-ACK after a timeout, or to answer a repeated SYN. The
            # counter of timeouts counts only the repetitions after a timeout.
            minimum = labels - of_end["syn"] if name == _TIMEOUTS and end.side == "to" else labels
            agrees = minimum <= kernel <= labels
            compared.append(Sum(f"{end.flow}.{end.side}", name, labels, kernel, agrees))
    return compared


def drops(run: Run) -> list[dict[str, Any]]:
    """Return the packets that the path dropped or lost, in the order of time."""
    table = run.drops
    names = ("t_ns", "link", "link_direction", "reason", "flow", "direction", "kind", "id")
    columns = [table[name].tolist() for name in names]
    seen = (run.segments[name].tolist() for name in ("id", "seq", "len_bytes"))
    sent = {number: octets for number, *octets in zip(*seen, strict=True)}
    dropped = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    for row in dropped:
        row["seq"], row["len_bytes"] = sent.get(row["id"], (None, None))
    return dropped
