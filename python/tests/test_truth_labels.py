"""Tests labels and drops of made-up tables, parts of captures, and which cases are kept.

A label says why a packet of a capture was retransmitted. A case is a run with captures and labels.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netspurt.run import Run
from netspurt.truth import cases, make_collection
from netspurt.truth.labels import Label, NodeRows, read_labels, write_labels
from netspurt.truth.ledger import drops
from netspurt.truth.pcapng import CollectionError, Packet, read_packets, write_part

from made_up_tables import rows, segments

#: The instant of the first packet in nanoseconds since 1970.
BEGAN = 1_700_000_000_000_000_000
#: The addresses and ports of the two ends of the flow `f`.
ENDS = {"f": {"from": "10.0.0.1:4000", "to": "[fe80::2]:80"}}
#: Flags of TCP.
FIN, SYN, ACK = 1, 2, 16


def node_rows(*every: dict[str, Any]) -> NodeRows:
    """Return these segments as the rows of the node `a`."""
    return NodeRows(cast(Run, SimpleNamespace(segments=segments(*every))), "a")


def packets_of(count: int, size: int = 140) -> list[Packet]:
    """Return packets that are a microsecond apart."""
    return [Packet(BEGAN + 1000 * n, size, bytes(size)) for n in range(count)]


def labels_of(*every: dict[str, Any], kept: Sequence[int] | None = None) -> list[Label]:
    """Return the labels of a capture that keeps some packets of a node."""
    chosen = range(len(every)) if kept is None else kept
    found = node_rows(*every).labels("a.pcapng", chosen, packets_of(len(every)), ENDS)
    return list(found)


def sent(first: int, length: int = 100, **more: Any) -> dict[str, Any]:
    """Return a segment with these octets."""
    return {"seq": first, "len_bytes": length, **more}


def repeated(first: int, length: int = 100, **more: Any) -> dict[str, Any]:
    """Return a retransmission of these octets after a timeout."""
    return sent(first, length, cause="rto", **more)


def test_a_label_has_the_values_of_its_row_and_of_its_packet() -> None:
    row = repeated(101, spurious=True, id=7, direction="reverse", way="in")
    (label,) = labels_of(sent(1), sent(101), row)
    assert label == Label(
        capture="a.pcapng",
        frame=3,
        t_ns=2000,
        unix_ns=BEGAN + 2000,
        flow="f",
        direction="reverse",
        source="[fe80::2]:80",
        destination="10.0.0.1:4000",
        seq=101,
        len_bytes=100,
        cause="rto",
        spurious=True,
        side="receiver",
        original="unseen",
        copy=False,
    )


@pytest.mark.parametrize(("way", "side"), [("out", "sender"), ("in", "receiver")])
def test_a_packet_that_leaves_is_seen_at_its_sender_and_one_that_arrives_at_its_receiver(
    way: str, side: str
) -> None:
    assert [label.side for label in labels_of(repeated(1, way=way))] == [side]


def test_a_node_that_forwards_a_packet_sees_it_in_the_middle() -> None:
    (label,) = labels_of(repeated(1, way="through"))
    assert (label.side, label.source) == ("middle", "10.0.0.1:4000")


def test_the_rows_of_a_node_leave_out_packets_of_other_nodes() -> None:
    own = node_rows(sent(1), sent(1, node="b"), repeated(1))
    assert [row["id"] for row in own.rows] == [0, 2]
    own.check(packets_of(2))


@pytest.mark.parametrize(
    ("count", "size", "says"),
    [
        (3, 140, "the capture has 3 packets, but its table has 2 rows"),
        (0, 140, "the capture has 0 packets, but its table has 2 rows"),
        (2, 141, "packet 2 has 141 octets, but its row has 140"),
    ],
)
def test_a_capture_with_other_packets_than_the_rows_is_refused(
    count: int, size: int, says: str
) -> None:
    packets = [*packets_of(count)[:-1], *packets_of(count, size)[-1:]]
    with pytest.raises(CollectionError) as error:
        node_rows(sent(1), repeated(1)).check(packets)
    assert str(error.value) == says


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 12)), min_size=1, max_size=14))
def test_an_original_is_seen_if_every_octet_was_in_an_earlier_packet(
    spans: list[tuple[int, int]],
) -> None:
    seen: set[int] = set()
    expected = []
    for first, length in spans:
        own = set(range(first, first + length))
        expected.append("seen" if own <= seen else "partly" if own & seen else "unseen")
        seen |= own
    found = labels_of(*(repeated(first, length) for first, length in spans))
    assert [label.original for label in found] == expected


@pytest.mark.parametrize(
    ("first", "second", "original"),
    [
        # A SYN and a FIN take a sequence number each. So a SYN without data can have an original.
        (sent(0, 0, flags=SYN), repeated(0, 0, flags=SYN), "seen"),
        (sent(1, 100), repeated(1, 100, flags=ACK | FIN), "partly"),
        (sent(1, 100, flags=ACK | FIN), repeated(101, 1), "seen"),
        (sent(1, 100, flags=ACK), repeated(101, 1), "unseen"),
        (sent(0, 0, flags=SYN | FIN), repeated(1, 1), "seen"),
        # Each direction of each flow has sequence numbers of its own.
        (sent(1, direction="reverse"), repeated(1), "unseen"),
        (sent(1, flow="g"), repeated(1), "unseen"),
    ],
)
def test_octets_are_compared_by_sequence_number_within_one_direction(
    first: dict[str, Any], second: dict[str, Any], original: str
) -> None:
    assert [label.original for label in labels_of(first, second)] == [original]


def test_an_original_outside_the_capture_is_unseen() -> None:
    three = sent(1), sent(101), repeated(1)
    (whole,), (part,) = labels_of(*three), labels_of(*three, kept=[1, 2])
    assert (whole.original, part.original) == ("seen", "unseen")
    assert (part.frame, part.t_ns, part.unix_ns) == (2, 1000, BEGAN + 2000)
    assert labels_of(*three, kept=[0, 1]) == []


def test_a_second_packet_with_the_same_id_is_the_networks_copy() -> None:
    found = labels_of(sent(1, id=1), repeated(1, id=2), repeated(1, id=2), repeated(1, id=3))
    assert [label.copy for label in found] == [False, True, False]


def test_labels_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "truth.csv"
    plain, spurious = labels_of(repeated(1), repeated(1, spurious=True, id=0))
    odd = replace(spurious, flow='a "b", c\nd', cause="")
    write_labels(file, [plain, spurious, odd])
    assert read_labels(file) == [plain, spurious, odd]
    assert file.read_text().splitlines()[1].endswith(",rto,no,sender,unseen,no")
    with pytest.raises(FileExistsError):
        write_labels(file, [])


def test_a_file_without_the_columns_of_labels_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "truth.csv"
    write_labels(file, labels_of(repeated(1)))
    file.write_text(file.read_text().replace("original,copy", "copy,original", 1))
    with pytest.raises(
        CollectionError, match="does not have the columns of a table of labels: make the"
    ):
        read_labels(file)
    file.write_text("")
    with pytest.raises(CollectionError, match="does not have the columns of a table of labels"):
        read_labels(file)


def test_a_drop_has_the_octets_of_its_segment_if_a_node_saw_it() -> None:
    columns = {"t_ns": 5, "link": "l", "link_direction": "forward", "reason": "loss", "flow": "f"}
    columns |= {"direction": "forward", "kind": "data", "id": 1}
    table = rows("drops", [{}, {"id": 99, "reason": "queue", "t_ns": 6}], columns)
    seen = segments(sent(1), sent(101, 50))
    found = drops(cast(Run, SimpleNamespace(drops=table, segments=seen)))
    assert found[0] == {**columns, "seq": 101, "len_bytes": 50}
    assert found[1] == {
        **columns, "id": 99, "reason": "queue", "t_ns": 6, "seq": None, "len_bytes": None,
    }  # fmt: skip


def block(kind: int, body: bytes) -> bytes:
    """Return a block of pcapng: its type, its length, its body, and its length again."""
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


def head(snap_bytes: int) -> bytes:
    """Return the section's header and an interface with timestamps in nanoseconds."""
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    resolution = struct.pack("<HHI", 9, 1, 9) + bytes(4)
    return section + block(1, struct.pack("<HHI", 101, 0, snap_bytes) + resolution)


def packet_block(unix_ns: int, octets: bytes, size: int, options: bytes = b"") -> bytes:
    """Return a block with the captured octets of a packet whose length was `size`."""
    fixed = struct.pack("<IIIII", 0, unix_ns >> 32, unix_ns & 0xFFFFFFFF, len(octets), size)
    return block(6, fixed + octets + bytes(-len(octets) % 4) + options)


#: An option of a block: a comment, and the end of the options.
COMMENT = struct.pack("<HH4s", 1, 4, b"note") + bytes(4)


def test_the_file_of_a_part_of_a_capture_has_exactly_the_expected_octets(tmp_path: Path) -> None:
    """The part has the new snap length, shorter packets with padding, and no comments."""
    whole, part = tmp_path / "whole", tmp_path / "part"
    statistics = block(5, bytes(12))
    content = [
        head(100),
        packet_block(BEGAN, b"abcdefgh", 8, COMMENT),
        packet_block(BEGAN + 1, b"ijk", 900),
        statistics,
        packet_block(BEGAN + 5, b"lmnopq", 6),
    ]
    whole.write_bytes(b"".join(content))
    assert read_packets(whole)[1] == Packet(BEGAN + 1, 900, b"ijk")
    write_part(whole, part, [0, 2], 5)
    first, last = packet_block(BEGAN, b"abcde", 8), packet_block(BEGAN + 5, b"lmnop", 6)
    assert part.read_bytes() == head(5) + first + statistics + last
    with pytest.raises(FileExistsError):
        write_part(whole, part, [0], 5)


@pytest.mark.parametrize(
    ("tail", "says"),
    [
        (b"\x06\0\0\0\x0c\0\0\0\x0c\0\0", "is cut at octet 60"),
        (struct.pack("<III", 6, 14, 14) + bytes(2), "has a block of 14 octets at octet 60"),
        (struct.pack("<III", 6, 16, 16), "has a block of 16 octets at octet 60"),
        (struct.pack("<III", 6, 8, 8), "has a block of 8 octets at octet 60"),
    ],
)
def test_the_error_for_a_damaged_block_has_its_offset(
    tmp_path: Path, tail: bytes, says: str
) -> None:
    file = tmp_path / "cut"
    assert len(head(100)) == 60
    file.write_bytes(head(100) + tail)
    with pytest.raises(CollectionError) as error:
        read_packets(file)
    assert str(error.value) == f"{file} {says}"


def test_a_case_is_left_out_if_its_capture_differs_from_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first of the two captures is right; the second one lacks its first packet.
    first = iter([0])
    monkeypatch.setattr(
        "netspurt.truth.making.read_packets", lambda file: read_packets(file)[next(first, 1) :]
    )
    done: list[tuple[int, int]] = []
    (case,) = cases(1, live=False, only="tails", stacks="plain")
    made = make_collection(tmp_path / "c", [case], progress=lambda *now: done.append(now))
    assert (made.cases, made.captures, done) == (0, 0, [(1, 1)])
    assert "packets, but its table has" in made.left_out[case.name]
    told = json.loads((tmp_path / "c" / "collection.json").read_text())
    assert told["left_out"] == made.left_out
    assert [one.name for one in (tmp_path / "c").iterdir()] == ["collection.json"]


def test_a_case_without_retransmissions_is_kept_without_labels(tmp_path: Path) -> None:
    (case,) = cases(1, live=False, only="tails", stacks="plain")
    no_losses = {**case.values, "flows.transfer.send": "1 B", "links.path.loss": "none"}
    made = make_collection(tmp_path / "c", [replace(case, values=no_losses)])
    assert (made.cases, made.retransmissions, made.left_out) == (1, 0, {})
    assert read_labels(tmp_path / "c" / case.name / "truth.csv") == []


def test_a_longer_list_of_cases_begins_with_the_shorter_list() -> None:
    many = cases(60, live=False, only="tails", stacks="plain")
    assert cases(7, live=False, only="tails", stacks="plain") == many[:7]
    seeds = [case.seed for case in many]
    round_ends = seeds.index(2)
    assert seeds == sorted(seeds)
    assert sorted(case.number for case in many[:round_ends]) == list(range(round_ends))
    assert many[0].name == f"tails-{many[0].number:02d}-plain-s1"
