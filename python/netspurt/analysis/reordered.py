"""Finds connections whose packets the path reordered, and what the reordering cost.

A packet is late if it came after a packet that was sent later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.directions import Keys, keys, rows_of
from netspurt.causes import SEEN_IN_ACKS
from netspurt.table import Table
from netspurt.wording import counted, duration, number

#: The minimum number of late packets, and their minimum share of the packets with data. Less
#: reordering is not reported.
_FEWEST, _SHARE_MIN = 3, 0.001


@dataclass(frozen=True)
class Reordering:
    """A direction with late packets.

    Attributes
    ----------
    connection
        The number of the connection.
    late, packets
        The number of late packets, and the number of all packets with data. If `late` is counted in
        acknowledgments, packets that were retransmitted do not count.
    by_segs_max
        The maximum distance from a late packet to the highest octet that came before it, in full
        segments.
    behind_s_max
        The longest time by which a packet was late [s], or `None` if acknowledgments show more late
        packets than the capture itself.
    again, spurious
        The number of retransmissions, and the number of known spurious retransmissions that ACKs
        triggered.
    """

    connection: int
    late: int
    packets: int
    by_segs_max: int
    behind_s_max: float | None
    again: int
    spurious: int

    def sentence(self, who: str) -> str:
        """Return sentences on how many packets were late, by how much, and at what cost."""
        share = f"{number(self.late)} of {counted(self.packets, 'data packet')}"
        behind = "" if self.behind_s_max is None else f" or {duration(self.behind_s_max)}"
        seen = "came" if self.behind_s_max is not None else "were acknowledged"
        return (
            f"The path reordered packets of {who}: {share} {seen} after packets that were sent "
            f"later, by up to {counted(self.by_segs_max, 'packet')}{behind}. {self._cost()}"
        )

    def _cost(self) -> str:
        if self.spurious:
            kind = "spurious retransmission"
            which = kind if self.spurious == 1 else counted(self.spurious, kind)
            return (
                f"Reordering is a likely cause of the {which}: the sender took late packets for "
                "lost ones."
            )
        if self.again:
            return (
                "The late packets were not lost, and no retransmission that ACKs triggered is "
                "known to be spurious."
            )
        return (
            "No retransmission was seen. The only cost was that data which had arrived waited for "
            "the late packets."
        )


def reorderings(tables: Mapping[str, Table]) -> list[Reordering]:
    """Return the directions with reordered packets, in descending order of late packets.

    `tables` has the tables `connections`, `habits` and `retransmissions` of an explained capture.
    The capture shows packets that were reordered before the capture point; SACK blocks also report
    packets that were reordered later. But packets that seem to be reordered may have been lost, if
    the capture missed their retransmissions. So SACK blocks count only if they report more packets
    than the capture missed.
    """
    habits, connections, table = (
        tables[name] for name in ("habits", "connections", "retransmissions")
    )
    most = np.maximum(habits["overtaken_packets"], habits["overtaken_in_acks_packets"])
    habits = habits.select(most >= _FEWEST)
    own = keys(habits)
    rows = rows_of(own, keys(connections))
    packets = connections["data_packets"][rows]
    missed = habits["uncaptured_bytes"] / np.maximum(connections["segment_bytes_max"][rows], 1)
    in_acks = np.where(
        habits["overtaken_in_acks_packets"] > missed, habits["overtaken_in_acks_packets"], 0
    )
    # A sender sees reordering only in ACKs, so only spurious retransmissions that ACKs triggered
    # count.
    by_acks = np.isin(table["cause"], SEEN_IN_ACKS) & table.equals("verdict", "spurious")
    again, spurious = (_counts(own, keys(one)) for one in (table, table.select(by_acks)))
    found = []
    columns = (packets.tolist(), in_acks.tolist(), again.tolist(), spurious.tolist())
    for row, sent, told, *counts in zip(habits.each(), *columns, strict=True):
        seen = row["overtaken_packets"]
        itself = seen >= told
        late = int(max(seen, told))
        if late < max(_FEWEST, _SHARE_MIN * sent):
            continue
        by = row[f"overtaken{'' if itself else '_in_acks'}_distance_segs_max"]
        behind = row["overtaken_ns_max"] / 1e9 if itself else None
        found.append(Reordering(row["connection"], late, int(sent), int(by), behind, *counts))
    return sorted(found, key=lambda one: -one.late)


def _counts(of: Keys, rows: Keys) -> NDArray[np.intp]:
    """Return how often each number of the array `of` is in the array `rows`, shape (n,).

    All numbers in the array `of` are different.
    """
    found = rows_of(rows, of)
    return np.bincount(found[found >= 0], minlength=len(of))
