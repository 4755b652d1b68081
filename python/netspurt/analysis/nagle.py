"""Finds connections whose short segments waited for the ACK of the previous segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.seen import (
    STAMP_BYTES,
    is_beside,
    is_clearly_longer,
    mostly_on_its_way,
    receiver_of,
)
from netspurt.table import Table
from netspurt.wording import counted, duration

#: The minimum number of segments with data.
_SEGMENTS_MIN = 10
#: A pause is a time in which neither end had data to send. If the pauses take at most `_PAUSES_MAX`
#: of the time in which data was on its way, the sender had more data when an ACK came.
_PAUSES_MAX = 0.1
#: The payload of a full segment if the receiver's MSS is not known (RFC 9293 §3.7.1).
_MSS_DEFAULT = 536
#: The name, without its unit, of a column of the table `spent`: the time in which data was on its
#: way.
_FLYING = "congestion_window"
#: A factor and a time [s]. ACKs are late if the mean round trip of data is at least the factor
#: times the round trip of the handshake, and longer by at least the time.
_LATE = 1.5, 0.01
#: All segments have about the same length if their mean length is at least `_EQUAL_MIN` of the
#: longest length.
_EQUAL_MIN = 0.95


@dataclass(frozen=True)
class ShortSegments:
    """A direction that had at most one short segment outstanding, and more data to send.

    A short segment has less data than a full segment. Nagle's algorithm (RFC 896) holds back a
    short segment while data is outstanding.

    Attributes
    ----------
    connection
        The number of the connection.
    source, destination
        The addresses of the sender and of the receiver.
    outstanding_bytes
        The maximum number of outstanding octets.
    rtt_s
        The mean round trip of data, in seconds.
    handshake_s
        The round trip of the handshake, in seconds, or `None` if it is not known.
    """

    connection: int
    source: str
    destination: str
    outstanding_bytes: int
    rtt_s: float
    handshake_s: float | None

    def sentence(self, who: str) -> str:
        """Return sentences on why the data of the connection `who` waited, and on what helps."""
        late = ""
        if self.handshake_s is not None and is_clearly_longer(self.rtt_s, self.handshake_s, _LATE):
            late = (
                f", but the handshake's round trip took only {duration(self.handshake_s)}. So "
                f"{self.destination} may delay ACKs, or data waited in a queue or for a slow link"
            )
        return (
            f"The sender of {who} never had more than one short segment outstanding, with at most "
            f"{counted(self.outstanding_bytes, 'octet')} of data. It had more data, but sent the "
            "next segment only when the ACK came. This is most likely Nagle's algorithm (RFC 896). "
            f"The ACKs took {duration(self.rtt_s)} on average{late}. To mend this, let the "
            f"application at {self.source} write each message with one call, or set TCP_NODELAY."
        )


def short_segments(tables: Mapping[str, Table]) -> list[ShortSegments]:
    """Return the directions whose short segments waited for ACKs.

    The direction whose connection took the longest time comes first. Only captures beside the
    sender show such waits.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `habits`, `spent`.
    """
    connections = tables["connections"]
    names = ("outstanding_bytes_max", "segment_bytes_max", "data_packets")
    own = connections.copied(connections.numbers_of(names, _single))
    if not len(own):
        return []
    times = mostly_on_its_way(tables)
    spent = tables["spent"].select(np.isin(tables["spent"]["connection"], own["connection"]))
    pauses_s, flying_s = (spent.seconds(f"{name}_ns") for name in ("application", _FLYING))
    busy = spent["connection"][pauses_s <= _PAUSES_MAX * flying_s]
    own = own.select(np.isin(own["connection"], busy) & np.isin(own["connection"], list(times)))
    own = own.select(is_beside("sender", own, tables))
    found = [
        ShortSegments(
            connection=row["connection"],
            source=row["source"],
            destination=row["destination"],
            outstanding_bytes=row["outstanding_bytes_max"],
            rtt_s=row["rtt_ns_mean"] / 1e9,
            handshake_s=None if row["handshake_rtt_ns"] is None else row["handshake_rtt_ns"] / 1e9,
        )
        for row in own.each()
        if _is_short(row, receiver_of(row, connections))
    ]
    return sorted(found, key=lambda one: -times[one.connection])


def _single(part: Table) -> NDArray[np.bool_]:
    """Return which directions have many segments, with one outstanding at a time."""
    outstanding = part["outstanding_bytes_max"]
    is_single = (outstanding > 0) & (outstanding <= part["segment_bytes_max"])
    is_many: NDArray[np.bool_] = part["data_packets"] >= _SEGMENTS_MIN
    return is_single & is_many


def _is_short(row: Mapping[str, Any], back: Mapping[str, Any] | None) -> bool:
    """Return whether all outstanding octets of a direction fit into a short segment.

    `back` is the opposite direction. If all segments have about the same length, and this length is
    at least the default of a full segment, the segments may be full for the path. Then the result
    is false.
    """
    stamps = STAMP_BYTES if row["timestamps"] else 0
    mss, own = None if back is None else back["mss_bytes"], row["mss_bytes"]
    full = _MSS_DEFAULT if mss is None else min(mss, mss if own is None else own)
    longest, count = row["segment_bytes_max"], row["data_packets"] - row["retransmissions"]
    are_equal = row["unique_bytes"] >= _EQUAL_MIN * longest * count
    may_be_full = are_equal and longest >= _MSS_DEFAULT - stamps
    is_below = row["outstanding_bytes_max"] < full - stamps
    return row["rtt_ns_mean"] is not None and is_below and not may_be_full
