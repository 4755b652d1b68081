"""What an explanation says of each retransmission that a capture holds, and what it invents."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from netspurt.truth.labels import Label
from netspurt.truth.pcapng import Packet, read_packets

#: How far time stamps may be apart, in nanoseconds: some formats have microseconds.
_APART_NS = 1000

#: The columns that are read of the table `retransmissions`.
_COLUMNS = (
    "t_ns",
    "seq",
    "cause",
    "cause_confidence",
    "verdict",
    "verdict_confidence",
    "original_missing",
)


class Explained(Protocol):
    """An explained capture."""

    def table(self, name: str, /) -> Mapping[str, NDArray[np.generic]]:
        """Return a table by its name."""


#: What explains the capture in a file.
Explainer = Callable[[Path], Explained]


@dataclass(frozen=True)
class Answer:
    """What is said of a retransmission.

    Attributes
    ----------
    t_ns
        Its time stamp, from 1970.
    seq
        Its first octet, counted from the SYN.
    cause, cause_confidence
        Why it was sent, or `unknown`; and the probability that this is right.
    verdict, verdict_confidence
        `needed`, `spurious` or `unknown`; and the probability that this is right.
    original_missing
        Whether the capture is said to miss the original.
    """

    t_ns: int
    seq: int
    cause: str
    cause_confidence: float
    verdict: str
    verdict_confidence: float
    original_missing: bool


@dataclass(frozen=True)
class Matched:
    """A capture's truth beside what was said.

    Attributes
    ----------
    pairs
        Each retransmission with what is said of it, or None. The network's duplicates of
        retransmissions are left out.
    invented
        What is said of packets that are no retransmissions, with the side of the packet: `sender`
        if its source is the capture's node, otherwise `receiver`.
    """

    pairs: Sequence[tuple[Label, Answer | None]]
    invented: Sequence[tuple[str, Answer]]


def answers(explained: Explained) -> list[Answer]:
    """Return what is said of each retransmission."""
    table = explained.table("retransmissions")
    columns = [table[name].tolist() for name in _COLUMNS]
    return [Answer(*row) for row in zip(*columns, strict=True)]


def match(
    file: Path, addresses: Sequence[str], labels: Sequence[Label], said: Sequence[Answer]
) -> Matched:
    """Match what is said of a capture with its truth, by the packets' time stamps.

    Of packets with one stamp those of equal octets are matched first. A capture without the SYN
    cannot tell how octets are counted.

    Parameters
    ----------
    file, addresses
        The capture, and the addresses of its node.
    labels
        Its truth.
    said
        What is said of it.
    """
    free: dict[int, list[Answer]] = defaultdict(list)
    for one in said:
        free[one.t_ns // _APART_NS].append(one)
    found = {index: _taken(free, label, exact=True) for index, label in enumerate(labels)}
    for index, label in enumerate(labels):
        found[index] = found[index] or _taken(free, label, exact=False)
    pairs = [(label, found[i]) for i, label in enumerate(labels) if not label.copy]
    left = [one for rest in free.values() for one in rest]
    packets = read_packets(file) if left else []
    return Matched(pairs, [(_side(packets, addresses, one), one) for one in left])


def _taken(free: dict[int, list[Answer]], label: Label, *, exact: bool) -> Answer | None:
    """Take and return the nearest free answer about a packet of the label's time."""
    place = label.unix_ns // _APART_NS
    near = [
        one
        for at in (place - 1, place, place + 1)
        for one in free.get(at, [])
        if abs(one.t_ns - label.unix_ns) <= _APART_NS and (not exact or one.seq == label.seq)
    ]
    if not near:
        return None
    nearest = min(near, key=lambda one: abs(one.t_ns - label.unix_ns))
    free[nearest.t_ns // _APART_NS].remove(nearest)
    return nearest


def _side(packets: Sequence[Packet], addresses: Sequence[str], answer: Answer) -> str:
    """Return on which side of the path the capture sees the packet that an answer is about."""
    own = {ipaddress.ip_address(address).packed for address in addresses}

    # In a simulation an ACK and what it clocks out have one stamp; data is larger.
    def apart(packet: Packet) -> tuple[int, int]:
        return abs(packet.unix_ns - answer.t_ns), -packet.size_bytes

    nearest = min(packets, key=apart, default=None)
    if nearest is None:
        return "receiver"
    first, length = (12, 4) if nearest.octets[0] >> 4 == 4 else (8, 16)
    return "sender" if nearest.octets[first : first + length] in own else "receiver"
