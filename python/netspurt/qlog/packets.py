"""Events of qlog on packets: sent by a node, received by it, or counted as lost by the sender."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netspurt.causes import begun
from netspurt.qlog.events import Events
from netspurt.qlog.forms import QlogForm
from netspurt.qlog.texts import Texts, grouped, member, of, pairs, quoted, texts
from netspurt.qlog.vantage import Vantage, segments_of
from netspurt.table import HasTables, Table

#: QUIC's word for each cause of a retransmission (RFC 9002 §6.1.1, §6.1.2, §6.2.4). The causes
#: `too-big` and `unknown` have no word.
_SENT = {
    "fast": "retransmit_reordered",
    "sack-recovery": "retransmit_reordered",
    "rack": "retransmit_timeout",
    "rto": "pto_probe",
    "go-back-n": "pto_probe",
    "tlp": "pto_probe",
    "syn": "pto_probe",
    "sfr": "pto_probe",
    "shim": "pto_probe",
}

#: QUIC's word for the reason why the sender counted the earlier transmission as lost. The key is
#: the cause of the retransmission; for `go-back-n` it is the cause that began the go-back-N
#: (`netspurt.causes.begun`). A tail loss probe is missing, because it makes no segment count as
#: lost. A shim (a timer between the host's TCP and the path) is missing, because its timer is not
#: the sender's.
_LOST = {
    "fast": "reordering_threshold",
    "sack-recovery": "reordering_threshold",
    "rack": "time_threshold",
    "rto": "pto_expired",
    "syn": "pto_expired",
    "sfr": "pto_expired",
}

#: The sides of `numpy.searchsorted`.
Side = Literal["left", "right"]

#: The bit of the ACK flag.
_ACK = 16

#: The kinds of segments that occupy no sequence numbers.
_EMPTY = ("ack", "dupack", "old-ack", "rst")


def packet_events(tables: HasTables, vantage: Vantage, form: QlogForm) -> Iterator[Events]:
    """Yield events: the packets that a node sent, those that it received, and lost packets."""
    seen = segments_of(tables).where(flow=vantage.flow, node=vantage.node)
    is_sent = seen["direction"] == vantage.sends
    blocks = tables.table("sack_blocks").where(flow=vantage.flow, node=vantage.node)
    for kind, rows in (("sent", is_sent), ("received", ~is_sent)):
        own = seen.select(rows)
        # At one instant, received packets come before sent ones (`netspurt.qlog.events`).
        side: Side = "left" if kind == "sent" else "right"
        other = seen.select(~rows)
        data = _frames(own, other, side) if form.frames else _segments(own, blocks)
        yield Events(kind, own["t_ns"], data)
    yield _lost(seen.select(is_sent))


def _header(numbers: NDArray[np.int64]) -> Texts:
    """Return headers: each segment is a packet of type 1RTT, and its id is the packet number."""
    kind = quoted(np.full(len(numbers), "1RTT"))
    return of(member("packet_type", kind), member("packet_number", texts(numbers)))


def _raw(own: Table) -> Texts:
    payload = member("payload_length", texts(own["len_bytes"]))
    return of(member("length", texts(own["size_bytes"])), payload)


def _segments(own: Table, blocks: Table) -> Texts:
    """Return the data of packets in netspurt's own schema."""
    cause = own["cause"]
    spans = pairs(blocks["left"], blocks["right"])
    ids, places = own["id"], np.argsort(own["id"], kind="stable")
    at = np.searchsorted(ids, blocks["id"], sorter=places)
    known = at < len(ids)
    known[known] = ids[places[at[known]]] == blocks["id"][known]
    sack_blocks = grouped(spans[known], places[at[known]], len(ids))
    members = [
        member("header", _header(ids)),
        member("raw", _raw(own)),
        member("kind", quoted(own["kind"])),
        *(member(name, texts(own[name])) for name in ("seq", "ack", "window", "flags")),
        member("ecn", quoted(own["ecn"])),
        member("sack_blocks", sack_blocks, sack_blocks != ""),
        *(_optional(own, name) for name in ("ts_val", "ts_ecr", "offset_bytes")),
        member("cause", quoted(cause), cause != ""),
        member("trigger", quoted(_words(cause, _SENT)), np.isin(cause, list(_SENT))),
        member("spurious", texts(own["spurious"]), cause != ""),
    ]
    return of(*members)


def _optional(own: Table, name: str) -> Texts:
    column = own[name]
    return member(name, texts(column), ~np.ma.getmaskarray(column))


def _words(values: NDArray[np.str_], words: Mapping[str, str]) -> NDArray[np.str_]:
    kinds, places = np.unique(values, return_inverse=True)
    return np.array([words.get(str(one), "") for one in kinds], dtype=np.str_)[places]


def _frames(own: Table, other: Table, side: Side) -> Texts:
    """Return the data of packets in QUIC's schema: STREAM frames and ACK frames.

    An ACK frame has the numbers of the packets of the opposite direction (`other`) that its ACK
    newly acknowledges. A packet counts as acknowledged when the cumulative ACK covers it. A SACK
    block is not enough.
    """
    stream = of(
        member("frame_type", quoted(np.full(len(own), "stream"))),
        member("stream_id", texts(np.zeros(len(own), dtype=np.int64))),
        member("offset", texts(np.maximum(own["seq"] - 1, 0))),
        member("length", texts(own["len_bytes"])),
    )
    carries = own["len_bytes"] > 0
    acked = _acked(own, other, side)
    ack = of(
        member("frame_type", quoted(np.full(len(own), "ack"))),
        member("acked_ranges", acked, acked != ""),
    )
    frames = [np.where(carries, stream, ""), np.where(acked != "", ack, "")]
    return of(
        member("header", _header(own["id"])),
        member("raw", _raw(own)),
        member("frames", _array(*frames)),
    )


def _array(first: Texts, second: Texts) -> Texts:
    comma = np.where((first != "") & (second != ""), ",", "")
    inside = np.strings.add(np.strings.add(texts(first), texts(comma)), texts(second))
    return np.strings.add(np.strings.add("[", inside), "]")


def _acked(own: Table, other: Table, side: Side) -> Texts:
    """Return, for each packet, the ranges of packet numbers that its ACK newly acknowledges.

    `side` says which packets an ACK can acknowledge. With "left", the ACK can acknowledge packets
    of its own instant and of earlier instants. With "right", it can acknowledge only packets of
    earlier instants.
    """
    acks = np.flatnonzero((own["flags"] & _ACK) != 0)
    data = other.select(other["len_bytes"] > 0)
    highest = np.maximum.accumulate(own["ack"][acks])
    nth_ack = np.searchsorted(highest, data["seq"] + data["len_bytes"])
    nth_ack = np.maximum(nth_ack, np.searchsorted(own["t_ns"][acks], data["t_ns"], side))
    known = nth_ack < len(acks)
    numbers, nth_ack = data["id"][known], nth_ack[known]
    order = np.lexsort((numbers, nth_ack))
    numbers, nth_ack = numbers[order], nth_ack[order]
    starts = np.flatnonzero(
        (np.diff(nth_ack, prepend=-1) != 0) | (np.diff(numbers, prepend=-2) != 1)
    )
    ends = np.append(starts[1:], len(numbers)) - 1
    spans = pairs(numbers[starts], numbers[ends[: len(starts)]])
    return grouped(spans, acks[nth_ack[starts]], len(own))


def _lost(sent: Table) -> Events:
    """Return the losses of segments that occupy sequence numbers.

    The tables have no instants of losses, so each loss has the instant of its retransmission. The
    header is the header of the last earlier transmission that began at the same octet.
    """
    sent = sent.select(~np.isin(sent["kind"], _EMPTY))
    order = np.lexsort((np.arange(len(sent)), sent["seq"]))
    same = np.diff(sent["seq"][order], prepend=-1) == 0
    before = np.full(len(sent), -1)
    before[order] = np.where(same, np.roll(order, 1), -1)
    cause = np.array(begun(sent["cause"].tolist()))
    retransmitted = np.flatnonzero(np.isin(cause, list(_LOST)))
    earlier = before[retransmitted]
    header = _header(sent["id"][np.maximum(earlier, 0)])
    trigger = quoted(_words(cause[retransmitted], _LOST))
    data = of(member("header", header, earlier >= 0), member("trigger", trigger))
    return Events("lost", sent["t_ns"][retransmitted], data)
