"""Aligns two runs of one flow, segment by segment.

Each run is observed at one node. In each run, time starts at the first segment with payload. The
handshake before it is not compared. A segment is identified by its direction, its octets and the
number of its transmission. An ACK is identified by its direction, its acknowledgment number, and
its place among the ACKs with this number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from netspurt.causes import in_words
from netspurt.table import Table

#: The identity of a segment: its direction at the node; `data` or `ack`; the number of its first
#: octet, or its acknowledgment number; the number of its octets; and its place among equal
#: segments, from 1.
Key = tuple[str, str, int, int, int]


@dataclass(frozen=True)
class Seen:
    """A segment that a node observed.

    Attributes
    ----------
    key
        The identity of the segment.
    t_s
        The time in seconds since the first segment with payload.
    kind, cause
        The segment's kind and cause, in the words of the table `segments`.
    packet
        The packet's number; for an ACK, the highest number that it covers.
    at_s
        The time in seconds since the start of the run.
    spurious
        True if the segment is a retransmission that the tables call spurious.
    """

    key: Key
    t_s: float
    kind: str
    cause: str
    packet: int
    at_s: float = 0.0
    spurious: bool = False

    def __str__(self) -> str:
        verb = "sends" if self.key[0] == "out" else "gets"
        if self.key[1] == "ack":
            return f"{verb} {self.kind} {self.packet}"
        copy = f" again ({in_words(self.cause)})" if self.cause else ""
        return f"{verb} packet {self.packet}{copy}"


@dataclass(frozen=True)
class RunComparison:
    """The comparison of two runs.

    Attributes
    ----------
    same
        The number of segments before the first difference. These segments are equal and in the same
        order.
    parted
        The first segments that differ, one of each run. A segment is `None` if its run had ended.
        Both are `None` if the runs never differ.
    differences_s
        For each segment before the first difference: its time in the second run minus its time in
        the first, in seconds.
    matched
        The number of segments that both runs have.
    all_differences_s
        For each segment that both runs have, in the order of the first run: its time in the second
        run minus its time in the first, in seconds.
    only
        The number of segments that only the first run has, and the number that only the second run
        has.
    retransmissions
        The numbers of retransmissions in both runs, by direction and cause. The node sends them
        (`out`), receives them (`in`) or forwards them (`through`). A direction without
        retransmissions is left out.
    spurious
        The numbers of spurious retransmissions that the node sends, in both runs.
    """

    same: int
    parted: tuple[Seen | None, Seen | None]
    differences_s: np.ndarray[tuple[int], np.dtype[np.float64]]
    matched: int
    all_differences_s: np.ndarray[tuple[int], np.dtype[np.float64]]
    only: tuple[int, int]
    retransmissions: tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]
    spurious: tuple[int, int] = (0, 0)


def events(segments: Table, flow: str, node: str) -> list[Seen]:
    """Return the segments of a flow that a node observed, from the first segment with payload.

    Parameters
    ----------
    segments
        The table `segments` of a run.
    flow, node
        The names of the flow and of the node.

    Raises
    ------
    ValueError
        If the node saw no segment of the flow with payload.
    """
    own = segments.where(flow=flow, node=node)
    own = own.select(np.isin(own["kind"], ("data", "retransmission", "ack", "dupack", "old-ack")))
    data = np.flatnonzero(own["len_bytes"] > 0)
    if len(data) == 0:
        raise ValueError(f"no data of flow {flow} was seen at {node}{_elsewhere(segments, flow)}")
    return list(_events(own.take(np.arange(data[0], len(own)))))


def _elsewhere(segments: Table, flow: str) -> str:
    """Return in words the nodes at which data of a flow was seen, or an empty text if none."""
    own = segments.where(flow=flow)
    nodes = ", ".join(np.unique(own.select(own["len_bytes"] > 0)["node"]).tolist())
    return f", but at {nodes}: name another node (--node, or `spy` under [record])" if nodes else ""


def _events(own: Table) -> Iterator[Seen]:
    start = own.seconds()[0]
    times = own.seconds() - start
    count: Counter[tuple[str, str, int, int]] = Counter()
    names = ("way", "kind", "cause", "packet", "seq", "ack", "len_bytes", "spurious")
    columns = [own[name].tolist() for name in names]
    for t_s, way, kind, cause, packet, seq, ack, length, again in zip(times, *columns, strict=True):
        identity = (way, "data", seq, length) if length else (way, "ack", ack, 0)
        count[identity] += 1
        key = (*identity, count[identity])
        yield Seen(key, float(t_s), kind, cause, packet, float(t_s + start), bool(again))


def compare(first: list[Seen], second: list[Seen]) -> RunComparison:
    """Align two runs.

    Examples
    --------
    >>> def seen(t_s, octet):
    ...     return Seen(("out", "data", octet, 100, 1), t_s, "data", "", octet // 100 + 1)
    >>> result = compare([seen(0.0, 1), seen(1.0, 101)], [seen(0.0, 1), seen(1.25, 201)])
    >>> result.same, str(result.parted[0]), str(result.parted[1]), result.only
    (1, 'sends packet 2', 'sends packet 3', (1, 1))
    """
    same = 0
    while same < min(len(first), len(second)) and first[same].key == second[same].key:
        same += 1
    first_different = [run[same] if same < len(run) else None for run in (first, second)]
    times_in_second = {seen.key: seen.t_s for seen in second}
    both = [seen for seen in first if seen.key in times_in_second]
    return RunComparison(
        same=same,
        parted=(first_different[0], first_different[1]),
        differences_s=np.array([b.t_s - a.t_s for a, b in zip(first[:same], second, strict=False)]),
        matched=len(both),
        all_differences_s=np.array([times_in_second[seen.key] - seen.t_s for seen in both]),
        only=(len(first) - len(both), len(second) - len(both)),
        retransmissions=(_causes(first), _causes(second)),
        spurious=(_spurious(first), _spurious(second)),
    )


def parting(comparison: RunComparison) -> tuple[str, str]:
    """Return a text for each run: its action at the first difference, and the time.

    If the words of both actions are equal, each text also has the octets, and the number of the
    transmission of these octets, counted from 1. Equal ACKs are also counted from 1.

    Examples
    --------
    >>> def seen(t_s, octets):
    ...     return Seen(("out", "data", 101, octets, 1), t_s, "data", "", 2)
    >>> parting(compare([seen(1.0, 100)], [seen(1.25, 40)]))  # doctest: +NORMALIZE_WHITESPACE
    ('sends packet 2 (octets 101 to 200, transmission 1) at 1.0000 s',
     'sends packet 2 (octets 101 to 140, transmission 1) at 1.2500 s')
    """
    first, second = comparison.parted
    same_text = str(first) == str(second)
    return _action(first, exact=same_text), _action(second, exact=same_text)


def _action(seen: Seen | None, *, exact: bool) -> str:
    """Return a run's action and its time.

    If `exact` is true, the text also has the octets, and the number of the transmission or of the
    ACK.
    """
    if seen is None:
        return "has ended"
    _, kind, number, octets, place = seen.key
    last = number + octets - 1
    of_data = f"octets {number:,} to {last:,}, transmission {place}"
    which = of_data if kind == "data" else f"octet {number:,}, ACK {place} of this octet"
    detail = f" ({which})" if exact else ""
    return f"{seen}{detail} at {seen.t_s:.4f} s"


def why(comparison: RunComparison, first: list[Seen], second: list[Seen]) -> str:
    """Return the cause of the first difference of two runs, or an empty text if it is unknown."""
    for run, (seen, other) in zip(
        (first, second), (comparison.parted, comparison.parted[::-1]), strict=True
    ):
        if seen is None or seen.key[:2] != ("out", "data"):
            continue
        before = run[: comparison.same]
        last = before[-1] if before else None
        if seen.kind == "data" and last is not None and last.kind == "dupack":
            copies = [old for old in before if old.kind == "dupack" and old.key[2] == last.key[2]]
            if len(copies) <= _LIMITED_TRANSMITS and (other is None or other.kind != "data"):
                return LIMITED_TRANSMIT
        if seen.cause:
            told = f"a retransmission ({in_words(seen.cause)})"
            return f"{told} that the other run does not have at this point"
    return ""


#: The number of duplicate ACKs for which RFC 3042 allows new segments.
_LIMITED_TRANSMITS = 2

LIMITED_TRANSMIT = "limited transmit (RFC 3042)"
PARTIAL_ACK = "repair through a partial ACK (RFC 6582)"

#: The causes of retransmissions that a single RFC specifies, each with this RFC.
_SPECIFIED = {"tlp": " (RFC 8985)"}


def usual_payload(run: list[Seen]) -> int | None:
    """Return the most frequent payload of the data segments [octets]; `None` without data.

    Examples
    --------
    >>> def data(number, octets):
    ...     return Seen(("out", "data", number, octets, 1), 0.0, "data", "", number)
    >>> usual_payload([data(0, 960), data(960, 960), data(1920, 80)])
    960
    """
    payloads = Counter(event.key[3] for event in run if event.key[1] == "data")
    return payloads.most_common(1)[0][0] if payloads else None


def mechanisms(run: list[Seen]) -> dict[str, list[float]]:
    """Return the causes of sending, except plain ACK clocking, with their instants in seconds.

    Limited transmit is a new segment after the first or second duplicate ACK. A retransmission with
    the cause `fast` that follows an ACK of new octets is a repair through a partial ACK. The other
    mechanisms are named after their causes.

    Examples
    --------
    >>> def seen(t_s, way, what, number, kind, cause=""):
    ...     return Seen((way, what, number, 0, 1), t_s, kind, cause, number)
    >>> mechanisms([
    ...     seen(1.0, "in", "ack", 3, "dupack"), seen(1.0, "out", "data", 9, "data"),
    ...     seen(2.0, "in", "ack", 5, "ack"), seen(2.0, "out", "data", 5, "retransmission", "fast"),
    ... ])
    {'limited transmit (RFC 3042)': [1.0], 'repair through a partial ACK (RFC 6582)': [2.0]}
    """
    instants: dict[str, list[float]] = {}
    last_ack, copies = None, 0
    for event in run:
        if event.key[:2] == ("in", "ack"):
            repeats = (
                last_ack is not None and event.kind == "dupack" and last_ack.key[2] == event.key[2]
            )
            copies = copies + 1 if repeats else int(event.kind == "dupack")
            last_ack = event
        elif event.key[:2] == ("out", "data"):
            mechanism = _mechanism(event, last_ack, copies)
            if mechanism:
                instants.setdefault(mechanism, []).append(event.t_s)
    return instants


def _mechanism(event: Seen, last_ack: Seen | None, copies: int) -> str:
    """Return the cause of sending a segment, or an empty text for plain ACK clocking."""
    if not event.cause:
        return LIMITED_TRANSMIT if 0 < copies <= _LIMITED_TRANSMITS else ""
    if event.cause == "fast" and last_ack is not None and last_ack.kind == "ack":
        return PARTIAL_ACK
    return in_words(event.cause) + _SPECIFIED.get(event.cause, "")


def opening(segments: Table, flow: str, node: str) -> float | None:
    """Return the time from the handshake's ACK to the sender's first data segment, in seconds.

    The handshake's ACK is the last pure ACK before this segment. If the time is short, the ACK may
    still be in a queue when the data arrives there. Then the queue has one place fewer for the
    data. The result is `None` if there is no such ACK, for example if the sender has no handshake.
    """
    own = segments.where(flow=flow, node=node, way="out")
    data = np.flatnonzero(own["len_bytes"] > 0)
    acks = np.flatnonzero(np.isin(own["kind"], ("ack", "dupack")) & (own["len_bytes"] == 0))
    before = acks[acks < data[0]] if len(data) else acks[:0]
    if len(before) == 0:
        return None
    times = own.seconds()
    return float(times[data[0]] - times[before[-1]])


def _spurious(run: list[Seen]) -> int:
    return sum(seen.spurious for seen in run if seen.key[0] == "out")


def _causes(run: list[Seen]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for seen in run:
        if seen.cause:
            counts.setdefault(seen.key[0], Counter())[seen.cause] += 1
    return {way: dict(own) for way, own in counts.items()}
