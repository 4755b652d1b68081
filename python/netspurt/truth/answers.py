"""Matches an explanation's answers with the retransmissions that a capture really contains."""

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

#: The largest difference of matching time stamps [ns]. Some formats have only microseconds.
_APART_NS = 1000

#: The columns of the table `retransmissions` that are read.
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


#: A function that explains the capture in a file.
Explainer = Callable[[Path], Explained]


@dataclass(frozen=True)
class Answer:
    """An explanation's answer about a retransmission.

    Attributes
    ----------
    t_ns
        The packet's time stamp, in nanoseconds since 1970.
    seq
        The packet's first octet, counted from the SYN.
    cause, cause_confidence
        The cause, or `unknown`, and the probability that this is right.
    verdict, verdict_confidence
        `needed`, `spurious` or `unknown`, and the probability that this is right.
    original_missing
        Whether the explanation says that the capture does not have the original.
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
    """The truth of a capture, matched with the answers.

    Attributes
    ----------
    pairs
        Each retransmission with its answer, or None. Duplicates of retransmissions that the network
        made are left out.
    invented
        Answers about packets that are not retransmissions, each with the side of the packet:
        `sender` if its source is the capture's node, otherwise `receiver`.
    """

    pairs: Sequence[tuple[Label, Answer | None]]
    invented: Sequence[tuple[str, Answer]]


def answers(explained: Explained) -> list[Answer]:
    """Return the answers of an explanation, one for each retransmission."""
    table = explained.table("retransmissions")
    columns = [table[name].tolist() for name in _COLUMNS]
    return [Answer(*row) for row in zip(*columns, strict=True)]


def match(
    file: Path, addresses: Sequence[str], labels: Sequence[Label], said: Sequence[Answer]
) -> Matched:
    """Match the answers about a capture with its truth, by the time stamps of packets.

    If packets have the same time stamp, packets with the same first octet are matched first. This
    is not required, because a capture without the SYN does not show from where octets count.

    Parameters
    ----------
    file, addresses
        The capture, and the addresses of its node.
    labels
        The truth of the capture.
    said
        The answers.
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
    """Remove and return the nearest free answer about a packet with the time of the label."""
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
    """Return the side of the packet that an answer is about: `sender` or `receiver`."""
    own = {ipaddress.ip_address(address).packed for address in addresses}

    # In a simulation, an ACK and the data that it releases have the same time stamp. So the longer
    # packet is taken.
    def apart(packet: Packet) -> tuple[int, int]:
        return abs(packet.unix_ns - answer.t_ns), -packet.size_bytes

    nearest = min(packets, key=apart, default=None)
    if nearest is None:
        return "receiver"
    first, length = (12, 4) if nearest.octets[0] >> 4 == 4 else (8, 16)
    return "sender" if nearest.octets[first : first + length] in own else "receiver"
