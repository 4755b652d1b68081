"""Pure ACKs that are in both captures of one connection, and their times at both points.

`netspurt._core.pair_captures` pairs only segments that occupy sequence numbers. In a transfer of
data in one direction, nearly all packets of the other direction are pure ACKs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netspurt.captures import Explained, end_of
from netspurt.table import optional

#: The columns whose values are equal in both captures for the same pure ACK.
_KEY = ("seq", "ack", "window", "flags", "sack_blocks", "ts_val", "ts_ecr")

#: The flags SYN, FIN and RST.
_CONTROL = 7


def pure_acks(
    captures: Sequence[Explained], numbers: Sequence[int], source: str
) -> NDArray[np.int64]:
    """Return the times of the pure ACKs that one end of a connection sent [ns since 1970].

    Equal ACKs cannot be told apart, so an ACK counts only if it is unique in both captures.

    Parameters
    ----------
    captures, numbers
        The two captures, and in each the number of the connection.
    source
        The end that sent the ACKs: its address and port, as `end_of` returns them.

    Returns
    -------
    NDArray[np.int64]
        The times in both captures, shape (n, 2); n is 0 if a capture was explained without its
        segments.
    """
    found = [_unique(one, number, source) for one, number in zip(captures, numbers, strict=True)]
    (keys, times), (other_keys, other_times) = found
    _, own, other = np.intersect1d(keys, other_keys, assume_unique=True, return_indices=True)
    return np.column_stack([times[own], other_times[other]])


def _unique(
    capture: Explained, number: int, source: str
) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Return the keys that only one pure ACK of a capture has, and the time of this ACK."""
    kind = np.dtype([(name, np.int64) for name in _KEY])
    table = optional(capture, "segments")
    if table is None:
        return np.zeros(0, kind), np.zeros(0, np.int64)
    ways = [
        row["direction"]
        for row in capture.table("connections").where(connection=number).records()
        if end_of(row, "source") == source
    ]
    own = table.where(flow=f"c{number}", len_bytes=0)
    keep = np.isin(own["direction"], ways) & ((own["flags"] & _CONTROL) == 0)
    keys = np.zeros(int(keep.sum()), kind)
    for name in _KEY:
        keys[name] = np.ma.filled(np.ma.asarray(own[name][keep]).astype(np.int64), -1)
    times = own["t_ns"][keep] + capture.start_ns
    unique, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return unique[counts == 1], times[first[counts == 1]]
