"""One connection in two captures: what both points together show of the path between them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netspurt import _core
from netspurt.captures import Explained, end_of
from netspurt.shared import shared_connections
from netspurt.wording import counted, duration, number, plain

#: The minimum share of data segments that must be seen at both points. If the share is smaller,
#: the segments probably have different lengths at the two points.
_MATCHED_MIN = 0.5


def same_connection(
    captures: Sequence[Explained], numbers: Sequence[int]
) -> tuple[int, int] | None:
    """Return the indices of two captures: first of the one that shows the connection best.

    This is the capture nearer to the end that retransmitted most, or else sent the most data. The
    result is `None` if it is not certain that the connections with these `numbers` are the same.
    """
    places = [(one.path, own) for one, own in zip(captures, numbers, strict=True)]
    if places[0][0] == places[1][0]:
        return None
    rows = [
        (*place, row)
        for one, place in zip(captures, places, strict=True)
        for row in one.table("connections").where(connection=place[1]).records()
    ]
    for shared in shared_connections(rows):
        if shared.certain:
            near = places.index(shared.best)
            return near, 1 - near
    return None


def sentences(
    captures: Sequence[Explained], numbers: Sequence[int], names: Sequence[str]
) -> list[str]:
    """Return sentences on a connection that two captures hold; empty if the connections differ.

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
    order = same_connection(captures, numbers)
    if order is None:
        return []
    near = order[0]
    connection = captures[near].table("connections").where(connection=numbers[near]).records()
    ends = frozenset(end_of(connection[0], which) for which in ("source", "destination"))
    files = [Path(captures[place].path) for place in order]
    told = [plain(names[place]) for place in order]
    pairs = _core.pair_captures(
        str(files[0]), files[0].read_bytes(), str(files[1]), files[1].read_bytes()
    )
    own = [pair for pair in pairs if frozenset(pair[:2]) == ends]
    sender = max(connection, key=lambda row: int(row["unique_bytes"]))
    return [
        f"{told[0]} and {told[1]} hold the same connection, {end_of(sender, 'source')} to "
        f"{end_of(sender, 'destination')}, captured at two points; {told[0]} is nearer to the "
        "sender. So the differences come from the path between the two points, and not from two "
        "different TCPs.",
        *_between(own, end_of(sender, "source"), told),
        f"The causes of retransmissions are more certain beside the sender: `netspurt explain "
        f"{plain(shlex.quote(str(files[0])))}`. All segments are matched by `netspurt match "
        f"{' '.join(plain(shlex.quote(str(file))) for file in files)}`.",
    ]


#: A segment of one or both captures: its source and destination, sequence number, octets, whether
#: it opens the connection, and the times at both points [ns]. The time at a point where the segment
#: was not seen is negative.
_Pair = tuple[str, str, int, int, bool, int, int]


def _between(pairs: Sequence[_Pair], sender: str, names: Sequence[str]) -> Iterator[str]:
    """Yield what happened to a sender's data between two points, and the round trip."""
    near, far = names
    out = _times([pair for pair in pairs if pair[0] == sender and pair[3] > 0])
    back = _times([pair for pair in pairs if pair[0] != sender])
    passed, came = out[:, 0] >= 0, out[:, 1] >= 0
    both = passed & came
    if both.sum() < _MATCHED_MIN * len(out):
        yield (
            "Most segments with data have no equal segment at the other point, probably because "
            "segmentation offload changed their lengths. So single segments are not compared."
        )
        return
    lost = int((passed & ~came).sum())
    data = counted(int(passed.sum()), "segment")
    if lost:
        share = lost / max(1, int(passed.sum()))
        yield (
            f"Of the {data} with data that passed {near}, {number(lost)} ({share:.2%}) did not "
            f"come to {far}: the path between the two points lost them, or {far} missed them."
        )
    else:
        every = f"All {data}" if passed.sum() > 1 else "The only segment"
        yield f"{every} with data that passed {near} came to {far}."
    if missed := int((came & ~passed).sum()):
        yield f"{near} lacks {counted(missed, 'segment')} that came to {far}."
    yield from _delays(out[both, 1] - out[both, 0], back, names)


def _delays(out: NDArray[np.int64], back: NDArray[np.int64], names: Sequence[str]) -> Iterator[str]:
    """Yield how long data took from one point to the other, and the round trip between them."""
    returned = back[(back >= 0).all(axis=1)]
    above = (out - out.min()) / 1e9
    if len(returned):
        least = (int(out.min()) + int((returned[:, 0] - returned[:, 1]).min())) / 1e9
        if least >= 0:
            yield (
                f"A round trip between the two points takes at least {duration(least)}, whatever "
                "the clocks say."
            )
    yield (
        f"From {names[0]} to {names[1]} data took {duration(float(np.median(above)))} longer than "
        f"the fastest segment (median), and {duration(float(above.max()))} longer at most. Queues "
        "between the two points caused this additional time, unless the clocks of the captures "
        "drift."
    )


def _times(pairs: Sequence[_Pair]) -> NDArray[np.int64]:
    """Return the times of segments at both points [ns], shape (n, 2)."""
    return np.array([pair[5:7] for pair in pairs], dtype=np.int64).reshape(-1, 2)
