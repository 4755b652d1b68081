"""Finds retransmissions that a black hole of the path MTU may have dropped.

A black hole is a router that drops packets because they are too big for its next link. Its reports
(ICMP) do not reach the sender (RFC 2923 §2.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from netspurt.analysis.constant_rate import SEGMENT_MAX
from netspurt.analysis.directions import keys, opposite, rows_of
from netspurt.analysis.seen import STAMP_BYTES
from netspurt.causes import HOLE_WORDS, SEEN_IN_ACKS
from netspurt.table import Table
from netspurt.wording import counted, number

#: The minimum number of unanswered retransmissions of the same octets for which a black hole is
#: suspected.
_FEWEST = 3
#: The minimum payload of a large segment. Smaller segments fit the MTU of nearly all links.
_LARGE = 1000
#: The octets by which the header of TCP is longer than the header of a ping.
_ABOVE_PING = 12


@dataclass(frozen=True)
class BlackHole:
    """Large retransmissions of the same octets without an answer. A black hole may drop them.

    Attributes
    ----------
    connection
        The number of the connection.
    source, destination
        The addresses of the sender and of the receiver.
    lost
        The number of retransmissions without an answer.
    lost_bytes_min
        The payload of the smallest of these retransmissions, in octets.
    answered_bytes
        The payload of the smaller retransmission that was answered in the end, in octets. `None` if
        no retransmission was answered.
    ping_bytes
        The payload of a ping whose packets are as long as the smallest retransmission without an
        answer, in octets.
    """

    connection: int
    source: str
    destination: str
    lost: int
    lost_bytes_min: int
    answered_bytes: int | None
    ping_bytes: int

    def sentence(self, who: str) -> str:
        """Return sentences on the retransmissions, the possible causes, and what helps."""
        size = counted(self.lost_bytes_min, "octet")
        many = f"{number(self.lost)} retransmissions of the same octets"
        if self.answered_bytes is None:
            seen = "never got an answer, and no segment of this size was acknowledged before"
            either = "the path or the host failed"
            probing = ", or set net.ipv4.tcp_mtu_probing=1 on a Linux sender"
        else:
            smaller = counted(self.answered_bytes, "octet")
            seen = f"got no answer, but then a retransmission with {smaller} got an answer"
            either = "an outage ended in between"
            probing = ""
        return (
            f"The path of {who} {HOLE_WORDS}: {many}, each with at least {size} of data, {seen}. "
            f"Either {either}, or a router drops such packets and its reports (ICMP) do not reach "
            "the sender: a black hole of the path MTU (RFC 2923 §2.1). To find out, run `ping -M "
            f"do -s {self.ping_bytes} {self.destination}` on {self.source}: if only a shorter ping "
            "is answered, it is a black hole. Then let the reports pass, or make the MTU of the "
            f"route smaller at the sender{probing}."
        )


def black_holes(tables: Mapping[str, Table]) -> list[BlackHole]:
    """Return the directions whose large segments a black hole may drop.

    The direction with the most losses comes first.

    A black hole is possible under three conditions. At least three retransmissions of the same
    octets got no answer. Then a smaller retransmission of these octets was answered, or no
    retransmission was answered at all. No segment as large as these retransmissions was
    acknowledged before. `tables` has the tables `connections`, `retransmissions` and `waits` of an
    explained capture.

    References
    ----------
    RFC 2923 §2.1 (black holes), RFC 4821 §7.7 (how a sender finds them)
    """
    again = tables["retransmissions"]
    again = again.select(~again.equals("cause", "syn", "too-big"))
    groups = list(_of_same_octets(again))
    if not groups:
        return []
    waits = tables["waits"]
    waits = waits.select(waits.exists("answered_ns"))
    answered = set(zip(keys(waits).tolist(), waits["t_ns"].tolist(), strict=True))
    connections = tables["connections"]
    own, of = keys(connections), np.array([key for key, _ in groups])
    places = zip(rows_of(of, own).tolist(), rows_of(opposite(of), own).tolist(), strict=True)
    found: dict[int, BlackHole] = {}
    for (key, rows), (here, back) in zip(groups, places, strict=True):
        is_answered = any((key, row["t_ns"]) in answered for row in rows)
        (other,) = connections.take(np.array([back])).records(_OF_OTHER)
        lost = _lost(rows, other, is_answered=is_answered)
        # Of several such groups of retransmissions in a direction, the group with the most losses
        # counts.
        if len(lost) <= (found[key].lost if key in found else 0):
            continue
        stamps = STAMP_BYTES if connections.value("timestamps", here) else 0
        found[key] = BlackHole(
            connection=key // 2,
            source=connections.value("source", here),
            destination=connections.value("destination", here),
            lost=len(lost),
            lost_bytes_min=min(lost),
            answered_bytes=rows[-1]["len_bytes"] if is_answered else None,
            ping_bytes=min(lost) + _ABOVE_PING + stamps,
        )
    return sorted(found.values(), key=lambda one: -one.lost)


#: The columns of the opposite direction that `_lost` needs.
_OF_OTHER = ("packets", "sack_permitted", "mss_bytes")


def _of_same_octets(again: Table) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield each group of retransmissions that begin with the same octet.

    Each result is the number of a direction, and a group in the order of time. Groups of fewer than
    three retransmissions are left out.
    """
    if not len(again):
        return
    of, seq = keys(again), again["seq"]
    order = np.lexsort((again["t_ns"], seq, of))
    new = (np.diff(of[order]) != 0) | (np.diff(seq[order]) != 0)
    begins = np.concatenate([[0], np.flatnonzero(new) + 1])
    ends = np.append(begins[1:], len(order))
    names = ["t_ns", "len_bytes", "cause", "verdict", "acked_bytes_max"]
    many = ends - begins >= _FEWEST
    for begin, end in zip(begins[many].tolist(), ends[many].tolist(), strict=True):
        yield int(of[order[begin]]), again.take(order[begin:end]).records(names)


def _lost(
    rows: Sequence[Mapping[str, Any]], back: Mapping[str, Any], *, is_answered: bool
) -> list[int]:
    """Return the sizes of the retransmissions that a black hole may have dropped.

    The result is empty if the retransmissions do not look as if a black hole dropped them. `rows`
    are retransmissions of the same octets, and `back` describes the opposite direction.
    """
    # Without SACK, it is not known which segments arrived and caused duplicate ACKs. These segments
    # may have been as large as the retransmissions.
    by_acks = any(row["cause"] in SEEN_IN_ACKS for row in rows)
    spurious = any(row["verdict"] == "spurious" for row in rows)
    if spurious or back["packets"] == 0 or (by_acks and not back["sack_permitted"]):
        return []
    mss, sizes = back["mss_bytes"], [int(row["len_bytes"]) for row in rows]
    if mss is None and max(sizes) > SEGMENT_MAX:
        return []
    # Packets larger than the MSS are divided by the network card, and a FIN counts as an octet.
    sizes = [size if mss is None else min(size, mss) for size in sizes]
    lost = [size for size in sizes if size > sizes[-1]] if is_answered else sizes
    # If nothing was answered, lost small segments show that the path or the host failed.
    if len(lost) < _FEWEST or (max if is_answered else min)(lost) < _LARGE:
        return []
    # If an equally large segment arrived before, the path carries segments of this size. A FIN or a
    # SYN counts as an octet.
    return lost if min(lost) > rows[0]["acked_bytes_max"] + 1 else []
