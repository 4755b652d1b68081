"""Tables on the page of a run: spurious retransmissions, and losses repaired late or never."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from netspurt.causes import TIMERS, begun, in_words
from netspurt.pictures import Tables
from netspurt.report.flows import FlowDirection
from netspurt.report.parts import MOST_ROWS, Place, Rows
from netspurt.report.words import instant, span
from netspurt.table import Table, optional

#: The bits of FIN and SYN in the column `flags`. A FIN and a SYN take one sequence number each.
_FIN, _SYN = 1, 2

#: A sentence that says where all rows of a run's tables are.
ALL = "The tables in the run's folder have all rows."


@dataclass(frozen=True)
class _Missed:
    """A lost segment, and the transmission that repaired the loss, if there is one."""

    t_s: float
    seq: int
    octets: int
    packet: int
    why: str
    again_s: float
    cause: str


@dataclass(frozen=True)
class Drawn:
    """The directions that have pictures, and their side in a comparison."""

    names: set[str]
    side: int = 0

    def place(self, direction: FlowDirection, x: float, y: float) -> Place | None:
        """Return a place in a direction's pictures, or `None` if the direction has no pictures."""
        return Place(self.side, direction.name, x, y) if direction.name in self.names else None


#: The instant of a row, the row's cells, and the row's place in the pictures.
_Cells = tuple[float, tuple[str, ...], Place | None]


def unseen_senders(run: Tables, every: list[FlowDirection]) -> list[str]:
    """Return the senders that are not spies, although another spy recorded their packets.

    A spy is a node whose packets the run records.
    """
    senders: dict[str, None] = {}
    for direction in every:
        seen = _seen(run, direction)
        if seen is not None and str(seen["node"][0]) != _sender(run, direction):
            senders[_sender(run, direction)] = None
    return list(senders)


def unrecorded(run: Tables, every: list[FlowDirection]) -> list[FlowDirection]:
    """Return the directions for which no node recorded a segment."""
    return [direction for direction in every if _seen(run, direction) is None]


def spurious_rows(run: Tables, every: list[FlowDirection], drawn: Drawn) -> Rows:
    """Return a table of the spurious retransmissions, including SYNs and FINs."""
    cells: list[_Cells] = []
    names = ("packet", "seq", "len_bytes", "cause", "kind")
    some = False
    for direction in every:
        seen = _seen(run, direction)
        if seen is None:
            continue
        some = some or any(seen["cause"].tolist())
        again = seen.select(seen["spurious"])
        columns = (again[name].tolist() for name in names)
        rows = zip(again.seconds().tolist(), *columns, strict=True)
        for t, packet, seq, octets, cause, kind in rows:
            what = in_words(cause) + f", {kind.upper()}" * (octets == 0)
            row = (instant(t), direction.name, f"{packet:,}", f"{seq:,}", f"{octets:,}", what)
            cells.append((t, row, drawn.place(direction, t, seq + octets / 2)))
    return _rows(
        "Spurious retransmissions",
        ("time", "flow", "packet", "first octet", "octets", "cause"),
        cells,
        (0, 2, 3, 4),
        _without_spurious(run, some=some),
    )


def _without_spurious(run: Tables, *, some: bool) -> str:
    """Return the text for a table of spurious retransmissions that has no rows.

    The table `flows` counts all retransmissions, even if their packets were not recorded.
    """
    flows = run.table("flows")
    if count := int(flows["spurious"].sum()):
        return f"None of the {count:,} spurious retransmissions was recorded."
    again = some or flows["retransmissions"].any()
    return "No retransmission was spurious." if again else "Nothing was retransmitted."


def missed_rows(run: Tables, every: list[FlowDirection], drawn: Drawn) -> Rows | None:
    """Return a table of losses that waited for a timer or were never repaired.

    Return `None` if the losses are not known: the run has no segments of the senders, or no drops.
    """
    unseen = [*unseen_senders(run, every), *(_sender(run, one) for one in unrecorded(run, every))]
    every = [direction for direction in every if _sender(run, direction) not in unseen]
    if not every or optional(run, "segments") is None or optional(run, "drops") is None:
        return None
    cells: list[_Cells] = []
    for direction in every:
        for one in _missed(run, direction):
            waited = span(one.again_s - one.t_s)
            after = "never" if np.isnan(one.again_s) else instant(one.again_s)
            octets = (f"{one.packet:,}", f"{one.seq:,}", f"{one.octets:,}")
            again = (after, in_words(one.cause) or "-", waited)
            row = (instant(one.t_s), direction.name, *octets, one.why, *again)
            cells.append((one.t_s, row, drawn.place(direction, one.t_s, one.seq + one.octets / 2)))
    return _rows(
        "Losses repaired after a timeout or never repaired",
        (
            *("lost at", "flow", "packet", "first octet", "octets", "reason"),
            *("retransmitted at", "cause", "waited"),
        ),
        cells,
        (0, 2, 3, 4, 6, 8),
        _without_timeout(run, every, unseen=bool(unseen)),
    )


#: Kinds of packets in words, if the words are not the names of the kinds.
_KINDS = {"ack": "ACK", "dupack": "duplicate ACK", "old-ack": "old ACK"} | {
    kind: kind.upper() for kind in ("syn", "fin", "rst")
}


def _without_timeout(run: Tables, every: list[FlowDirection], *, unseen: bool) -> str:
    """Return the text for a table of losses without rows: what happened to data and other packets.

    The table `drops` also has packets that the table of losses never lists, such as ACKs.
    """
    drops = _gone(run.table("drops"))
    if len(drops) == 0:
        return "No packet was lost."
    seen = [table for one in every if (table := _seen(run, one)) is not None]
    data = np.isin(drops["id"], np.concatenate([one["id"][one["len_bytes"] > 0] for one in seen]))
    of = " of the senders that were spied" if unseen else ""
    told = f"No data{of} was lost."
    if data.any():
        told = f"Every loss of data{of} was repaired without a timeout."
    kinds = Counter(drops.select(~data)["kind"].tolist())
    others = ", ".join(f"{_KINDS.get(kind, kind)} {count:,}" for kind, count in kinds.items())
    return f"{told} Other packets that were lost: {others}." if others else told


def _gone(drops: Table) -> Table:
    """Return the drops without failed reassemblies. Their lost fragments have rows of their own."""
    return drops.select(drops["reason"] != "reassembly")


def _rows(
    caption: str,
    head: tuple[str, ...],
    cells: list[_Cells],
    right: tuple[int, ...],
    empty: str,
) -> Rows:
    """Return a table with the rows in the order of time."""
    cells = sorted(cells, key=lambda one: one[0])
    shown = cells[:MOST_ROWS]
    rows, places = [row for _, row, _ in shown], [place for *_, place in shown]
    more = len(cells) - len(shown)
    return Rows(f"{caption}: {len(cells):,}", head, rows, right, places, more, empty, elsewhere=ALL)


def _sender(run: Tables, direction: FlowDirection) -> str:
    sums = run.table("flows").where(flow=direction.flow, direction=direction.direction)
    return str(sums["from"][0])


def _seen(run: Tables, direction: FlowDirection) -> Table | None:
    """Return a direction's segments as its sender saw them, or else as the first other spy did."""
    segments = optional(run, "segments")
    if segments is None:
        return None
    own = segments.where(flow=direction.flow, direction=direction.direction)
    if len(own) == 0:
        return None
    there, sender = own["node"].tolist(), _sender(run, direction)
    return own.where(node=sender if sender in there else there[0])


def _missed(run: Tables, direction: FlowDirection) -> Iterator[_Missed]:
    """Yield the losses of a direction that its sender did not repair before a timeout.

    If another transmission of the lost octets arrived, the loss needed no repair, and is left out.
    There are two such cases: an ACK covers the octets although they were not retransmitted later,
    or the later retransmission was spurious.
    """
    seen = _seen(run, direction)
    if seen is None:
        return
    flags = seen["flags"]
    occupied = seen["len_bytes"] + ((flags & _FIN) > 0) + ((flags & _SYN) > 0)
    sent, taken = seen.select(occupied > 0), occupied[occupied > 0]
    if len(sent) == 0:
        return
    drops = run.table("drops").where(flow=direction.flow, direction=direction.direction)
    drops = _gone(drops.select(drops["kind"] != "ack"))
    rows = {one: n for n, one in enumerate(sent["id"].tolist())}
    seq, end = sent["seq"], sent["seq"] + taken
    t, cause = sent.seconds(), sent["cause"].tolist()
    began = begun(cause)
    order = np.argsort(seq, kind="stable")
    in_order, longest = seq[order], int(taken.max())
    acked = _acked(run, direction)
    gone = zip(drops.seconds().tolist(), drops["id"].tolist(), drops["reason"], strict=True)
    for at, one, reason in gone:
        n = rows.get(one)
        if n is None:
            continue
        # The longest segment takes `longest` sequence numbers. So a segment that covers the first
        # lost number begins at this number, or less than `longest` numbers before it.
        first = np.searchsorted(in_order, seq[n] - longest, side="right")
        near = order[first : np.searchsorted(in_order, seq[n], side="right")]
        covering = near[(end[near] > seq[n]) & (t[near] > t[n])]
        later = int(covering.min()) if len(covering) else None
        octets = int(sent["len_bytes"][n])
        why = str(reason) + f", {str(sent['kind'][n]).upper()}" * (octets == 0)
        facts = (int(seq[n]), octets, int(sent["packet"][n]), why)
        if later is None:
            if acked < int(end[n]):
                yield _Missed(at, *facts, np.nan, "")
        elif began[later] in TIMERS and not sent["spurious"][later]:
            yield _Missed(at, *facts, float(t[later]), cause[later])


def _acked(run: Tables, direction: FlowDirection) -> int:
    """Return the first sequence number that was not acknowledged.

    The table `flows` counts acknowledged data, but not an acknowledged FIN.
    """
    sums = run.table("flows").where(flow=direction.flow, direction=direction.direction)
    node = _sender(run, direction)
    acks = run.table("segments").where(node=node, flow=direction.flow, way="in")["ack"]
    return max(int(sums["acked_bytes"][0]) + 1, int(acks.max(initial=0)))
