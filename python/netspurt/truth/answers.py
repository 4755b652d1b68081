"""Matches an explanation's answers with the retransmissions that a capture really contains.

An answer is what the explanation of a capture says about one retransmission: its cause and its
verdict. The truth of a capture is a list of labels: the retransmissions that are in the capture,
with the causes and verdicts that the tables of the run have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netspurt.captures import end_of
from netspurt.truth.labels import Label, address_of

#: The maximum difference of matching timestamps [ns]. Some formats store only whole microseconds.
_DIFFERENCE_MAX_NS = 1000

#: The columns with which the tables `retransmissions` and `connections` name a direction.
_DIRECTION = ("connection", "direction")

#: The columns of the table `retransmissions` that become fields of an answer, in their order.
_COLUMNS = (
    "t_ns",
    "seq",
    "cause",
    "cause_confidence",
    "verdict",
    "verdict_confidence",
    "original_missing",
)


class ExplainedLike(Protocol):
    """An explained capture."""

    def table(self, name: str, /) -> Mapping[str, NDArray[np.generic]]:
        """Return a table by its name."""


#: A function that explains the capture in a file.
Explainer = Callable[[Path], ExplainedLike]


@dataclass(frozen=True)
class Answer:
    """An explanation's answer about a retransmission.

    Attributes
    ----------
    source
        The address and the port of the end that sent the packet.
    t_ns
        The packet's timestamp, in nanoseconds since 1970.
    seq
        The packet's first octet, counted from the SYN.
    cause, cause_confidence
        The cause, or `unknown`, and the probability that the cause is right.
    verdict, verdict_confidence
        `needed`, `spurious` or `unknown`, and the probability that the verdict is right.
    original_missing
        True if the explanation says that the capture does not contain the original.
    """

    source: str
    t_ns: int
    seq: int
    cause: str
    cause_confidence: float
    verdict: str
    verdict_confidence: float
    original_missing: bool


@dataclass(frozen=True)
class MatchedAnswers:
    """The truth of a capture, matched with the answers.

    Attributes
    ----------
    pairs
        Each retransmission with its answer, or with `None` if there is no answer. If the network
        duplicated a retransmission, the duplicate is left out.
    invented
        Answers about packets that are not retransmissions, each with the side of the packet:
        `sender` if its source is the capture's node, otherwise `receiver`.
    """

    pairs: Sequence[tuple[Label, Answer | None]]
    invented: Sequence[tuple[str, Answer]]


def answers(explained: ExplainedLike) -> list[Answer]:
    """Return the answers of an explanation, one for each retransmission."""
    ends = _rows(explained.table("connections"), (*_DIRECTION, "source", "source_port"))
    sources = {(row["connection"], row["direction"]): end_of(row, "source") for row in ends}
    return [
        Answer(sources[row["connection"], row["direction"]], *(row[column] for column in _COLUMNS))
        for row in _rows(explained.table("retransmissions"), (*_DIRECTION, *_COLUMNS))
    ]


def _rows(
    table: Mapping[str, NDArray[np.generic]], names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, with the columns `names`."""
    for row in zip(*(table[name].tolist() for name in names), strict=True):
        yield dict(zip(names, row, strict=True))


def match(
    addresses: Sequence[str], labels: Sequence[Label], given: Sequence[Answer]
) -> MatchedAnswers:
    """Match the answers about a capture with its truth, by the sources and timestamps of packets.

    Both directions may have packets with the same timestamp. Among packets of one source with the
    same timestamp, packets with the same first octet are matched first. An equal first octet is not
    required, because a capture without the SYN does not show the initial sequence number.

    Parameters
    ----------
    addresses
        The addresses of the node at which the capture was made.
    labels
        The truth of the capture.
    given
        The answers.
    """
    unmatched: dict[int, list[Answer]] = defaultdict(list)
    for answer in given:
        unmatched[answer.t_ns // _DIFFERENCE_MAX_NS].append(answer)
    matched = {index: _take(unmatched, label, exact=True) for index, label in enumerate(labels)}
    for index, label in enumerate(labels):
        matched[index] = matched[index] or _take(unmatched, label, exact=False)
    pairs = [(label, matched[i]) for i, label in enumerate(labels) if not label.copy]
    invented = [answer for remaining in unmatched.values() for answer in remaining]
    sides = ["sender" if address_of(one.source) in addresses else "receiver" for one in invented]
    return MatchedAnswers(pairs, list(zip(sides, invented, strict=True)))


def _take(unmatched: dict[int, list[Answer]], label: Label, *, exact: bool) -> Answer | None:
    """Remove and return the unmatched answer nearest in time to the label; `None` if none is near.

    Only answers about packets of the label's source are considered. If `exact` is true, these
    packets must also have the label's first octet.
    """
    place = label.unix_ns // _DIFFERENCE_MAX_NS
    near = [
        answer
        for at in (place - 1, place, place + 1)
        for answer in unmatched.get(at, [])
        if abs(answer.t_ns - label.unix_ns) <= _DIFFERENCE_MAX_NS
        and answer.source == label.source
        and (not exact or answer.seq == label.seq)
    ]
    if not near:
        return None
    nearest = min(near, key=lambda answer: abs(answer.t_ns - label.unix_ns))
    unmatched[nearest.t_ns // _DIFFERENCE_MAX_NS].remove(nearest)
    return nearest
