"""One connection in two captures: what both points together show of the path between them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.captures import Explained, end_of
from netspurt.matched import MATCHED_MIN, PairedSegment, client_and_server, paired
from netspurt.report.pure_acks import pure_acks
from netspurt.shared import SharedConnection, shared_connections
from netspurt.wording import counted, duration, number, plain

#: A row of the table `connections`.
_Row = Mapping[str, Any]


def same_connection(
    captures: Sequence[Explained], numbers: Sequence[int]
) -> SharedConnection | None:
    """Return the connection that has these `numbers` in two captures.

    The result is `None` if it is not certain that the captures hold the same connection.
    """
    places = _places(captures, numbers)
    if places[0][0] == places[1][0]:
        return None
    rows = [
        (*place, row)
        for one, place in zip(captures, places, strict=True)
        for row in one.table("connections").where(connection=place[1]).records()
    ]
    return next((shared for shared in shared_connections(rows) if shared.certain), None)


def _places(captures: Sequence[Explained], numbers: Sequence[int]) -> list[tuple[str, int]]:
    return [(one.path, own) for one, own in zip(captures, numbers, strict=True)]


def sentences(
    captures: Sequence[Explained], numbers: Sequence[int], names: Sequence[str]
) -> list[str]:
    """Return sentences on a connection that two captures hold, or none if the connections differ.

    Parameters
    ----------
    captures, numbers
        The two captures, and in each the number of the connection.
    names
        The names of the captures in the sentences.

    Raises
    ------
    OSError
        If a capture cannot be read.
    """
    shared = same_connection(captures, numbers)
    if shared is None:
        return []
    near = _places(captures, numbers).index(shared.best)
    order = (near, 1 - near)
    connection = captures[near].table("connections").where(connection=numbers[near]).records()
    sender = max(
        connection,
        key=lambda row: ((row["source"], row["source_port"]) == shared.sender, row["unique_bytes"]),
    )
    ends = frozenset(end_of(sender, which) for which in ("source", "destination"))
    files = [Path(captures[place].path) for place in order]
    told = [plain(names[place]) for place in order]
    pairs, _ = paired(*files)
    own = [pair for pair in pairs if pair.ends == ends]
    return [
        f"{told[0]} and {told[1]} hold the same connection, {end_of(sender, 'source')} to "
        f"{end_of(sender, 'destination')}, captured at two points; {told[0]} is nearer to the "
        "sender. So differences between the two captures come from the path between the two "
        "points, and not from two different TCPs.",
        *_between(own, end_of(sender, "source"), told),
        *_round_trip(_Crossings.of(captures, numbers, own, sender, order), told[0]),
        f"The causes of retransmissions are more certain beside the sender: `netspurt explain "
        f"{plain(shlex.quote(str(files[0])))}`. All segments are matched by `netspurt match "
        f"{' '.join(plain(shlex.quote(str(file))) for file in _from_client(files, own, sender))}`.",
    ]


def _from_client(
    files: Sequence[Path], pairs: Sequence[PairedSegment], sender: _Row
) -> Sequence[Path]:
    """Return two captures in the order that `netspurt match` needs: nearest to the client first.

    The sender's data passes `files` in their order.
    """
    client, _ = client_and_server(pairs)
    return files if client == end_of(sender, "source") else files[::-1]


def _between(pairs: Sequence[PairedSegment], sender: str, names: Sequence[str]) -> Iterator[str]:
    """Yield what happened to a sender's data between two points."""
    near, far = names
    sent = [pair for pair in pairs if pair.source == sender and pair.octets > 0]
    out, segments = _times(sent), np.array([pair.segments for pair in sent], dtype=np.int64)
    passed, came = out[:, 0] >= 0, out[:, 1] >= 0
    both = passed & came
    if segments[both].sum() < MATCHED_MIN * segments.sum():
        yield (
            "For most segments with data, the other point has no segment with the same octets, "
            "probably because segmentation offload changed the lengths. So single segments are not "
            "compared."
        )
        return
    lost = int(segments[passed & ~came].sum())
    data = counted(int(segments[passed].sum()), "segment")
    if lost:
        share = lost / max(1, int(segments[passed].sum()))
        yield (
            f"Of the {data} with data that passed {near}, {number(lost)} ({share:.2%}) did not "
            f"come to {far}: the path between the two points lost them, or {far} missed them."
        )
    else:
        every = f"All {data}" if passed.sum() > 1 else "The only segment"
        yield f"{every} with data that passed {near} came to {far}."
    if missed := int(segments[came & ~passed].sum()):
        yield f"{near} lacks {counted(missed, 'segment')} that came to {far}."
    yield _delays(out[both, 1] - out[both, 0], names)


def _delays(out: NDArray[np.int64], names: Sequence[str]) -> str:
    """Return a text on how much longer segments took than the fastest segment."""
    above = (out - out.min()) / 1e9
    return (
        f"From {names[0]} to {names[1]} data took {duration(float(np.median(above)))} longer than "
        f"the fastest segment (median), and {duration(float(above.max()))} longer at most. This "
        "additional time may come from queues between the two points, from a path whose delay "
        "changes, or from clocks that drift."
    )


@dataclass(frozen=True)
class _Crossings:
    """The packets of a connection that both captures hold, and its shortest round trip.

    The near capture, made at the near point, is the one nearer to the sender of the data.

    Attributes
    ----------
    out
        How long the packets of the data's sender took from the near point to the far point, by the
        clocks of the captures [ns], shape (n,).
    back
        How long the packets of the other end took from the far point to the near point, by the
        same clocks [ns], shape (m,).
    complete
        True if both arrays, `out` and `back`, have at least half of the packets of their direction.
    shown_ns
        The shortest round trip that the near capture shows [ns], of data or of the handshake.
        `None` if the near capture shows no round trip.
    """

    out: NDArray[np.int64]
    back: NDArray[np.int64]
    complete: bool
    shown_ns: int | None

    @classmethod
    def of(
        cls,
        captures: Sequence[Explained],
        numbers: Sequence[int],
        pairs: Sequence[PairedSegment],
        sender: _Row,
        order: Sequence[int],
    ) -> _Crossings:
        """Return the packets of a connection. The first index in `order` is the near capture's."""
        captures, numbers = [captures[n] for n in order], [numbers[n] for n in order]
        source, other = end_of(sender, "source"), end_of(sender, "destination")
        rows = captures[0].table("connections").where(connection=numbers[0]).records()
        packets = {end_of(row, "source"): row["packets"] for row in rows}
        times = {
            end: np.concatenate(
                [
                    _at_both([pair for pair in pairs if pair.source == end]),
                    pure_acks(captures, numbers, end),
                ]
            )
            for end in (source, other)
        }
        complete = all(
            len(own) > 0 and len(own) >= MATCHED_MIN * packets.get(end, 0)
            for end, own in times.items()
        )
        shown = [sender["rtt_ns_min"], sender["handshake_rtt_ns"]]
        known = [trip for trip in shown if trip is not None]
        out, back = (np.diff(times[end]).ravel() for end in (source, other))
        return cls(out, -back, complete, min(known, default=None))


def _round_trip(crossings: _Crossings, near: str) -> Iterator[str]:
    """Yield a lower bound of round trips between the two points, or a round trip that was seen.

    The lower bound is the sum of two times: the time of the fastest packet in each direction. A
    difference of the clocks has no effect on the sum. A round trip that the near capture shows
    contains a packet of each direction. If this round trip is shorter than the sum, the faster
    packets were not matched, and the sum is no bound. Without a bound, the shortest round trip that
    the near capture shows is given.
    """
    shown_ns = crossings.shown_ns
    if crossings.complete:
        least_ns = int(crossings.out.min()) + int(crossings.back.min())
        if least_ns >= 0 and (shown_ns is None or least_ns <= shown_ns):
            yield (
                f"A round trip between the two points takes at least {duration(least_ns / 1e9)}, "
                "whatever the clocks say. The fastest packets of both directions took this long "
                "together."
            )
            return
    if shown_ns is not None:
        yield (
            f"The shortest round trip that {near} shows took {duration(shown_ns / 1e9)}. It "
            "contains the path between the two points in both directions."
        )


def _at_both(pairs: Sequence[PairedSegment]) -> NDArray[np.int64]:
    """Return the times of the segments that were seen at both points [ns], shape (n, 2)."""
    times = _times(pairs)
    both: NDArray[np.int64] = times[(times >= 0).all(axis=1)]
    return both


def _times(pairs: Sequence[PairedSegment]) -> NDArray[np.int64]:
    """Return the times of segments at both points [ns], shape (n, 2)."""
    times = [(pair.first_ns, pair.second_ns) for pair in pairs]
    return np.array(times, dtype=np.int64).reshape(-1, 2)
