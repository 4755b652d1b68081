"""Connections whose packets the path reordered, and what the reordering cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from netspurt.table import Table
from netspurt.wording import counted, duration, number

#: Fewer late packets than this, or a smaller share of the packets with data, are not reported.
_FEWEST, _SHARE_MIN = 3, 0.001


@dataclass(frozen=True)
class Reordering:
    """A direction whose packets the path reordered: some came after packets that were sent later.

    Attributes
    ----------
    connection
        The number of the connection.
    late, packets
        The number of late packets that were not sent again, and of all packets with data.
    by_segs_max
        The maximum distance from a late packet to the highest octet that came before it, in full
        segments.
    behind_s_max
        The longest time by which a packet was late [s]; `None` if only acknowledgments show the
        late packets.
    again, spurious
        The number of retransmissions, and the number of retransmissions that are known to be
        spurious.
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
            return "The late packets were not lost, and no retransmission is known to be spurious."
        return (
            "No retransmission was seen. The only cost was that data which had arrived waited for "
            "the late packets."
        )


def reorderings(tables: Mapping[str, Table]) -> list[Reordering]:
    """Return the directions whose packets the path reordered, the most late packets first.

    `tables` has `connections`, `habits` and `retransmissions`. A capture beside the receiver shows
    the late packets themselves; elsewhere SACK blocks report them.
    """
    connections = tables["connections"]
    names = ("connection", "direction", "data_packets")
    columns = (connections[name].tolist() for name in names)
    packets = {key[:2]: key[2] for key in zip(*columns, strict=True)}
    again, spurious = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    table = tables["retransmissions"]
    columns = (table[name].tolist() for name in ("connection", "direction", "verdict"))
    for connection, direction, verdict in zip(*columns, strict=True):
        again[connection, direction] += 1
        spurious[connection, direction] += verdict == "spurious"
    found = []
    for row in tables["habits"].records():
        key = (row["connection"], row["direction"])
        seen, told = row["overtaken_packets"], row["overtaken_in_acks_packets"]
        itself = seen >= told
        late = int(max(seen, told))
        if late < _FEWEST or late < _SHARE_MIN * packets[key]:
            continue
        by = row[f"overtaken{'' if itself else '_in_acks'}_distance_segs_max"]
        behind = row["overtaken_ns_max"] / 1e9 if itself else None
        counts = (late, int(packets[key]), int(by))
        found.append(Reordering(key[0], *counts, behind, again[key], spurious[key]))
    return sorted(found, key=lambda one: -one.late)
