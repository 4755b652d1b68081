"""Tests events of qlog that are made from tables written by hand.

qlog is a format for the events of connections. A vantage point is a node at which a connection was
seen. The program qvis draws qlog files of an older version.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netspurt.qlog import CURRENT, QVIS, Vantage, vantages, write_qlog
from netspurt.qlog.events import Events, in_order
from netspurt.qlog.forms import EVENTS
from netspurt.qlog.texts import TEXT, grouped, milliseconds
from netspurt.table import Table

from made_up_tables import MS, SEGMENT, Tables, ack, cwnd, rows, rto, rtt, sack_blocks, segments

#: The client `a` of the flow `f`, which sends the data.
SENDER = Vantage("f", "a", "client", "forward")
#: Columns of the table `segments`, with their values in a segment without options.
OPTIONS: dict[str, Any] = {"ecn": "not-ect", "ts_val": None, "ts_ecr": None, "offset_bytes": None}


def events(
    folder: Path, *tables: Table, form: Any = CURRENT, seen: Vantage = SENDER
) -> list[tuple[float, str, Any]]:
    """Write a trace, and return its events: the instant [ms], the name, and the data."""
    names = {table.name for table in tables}
    given_tables = [*tables, sack_blocks()] if "sack_blocks" not in names else tables
    if "segments" not in names:
        given_tables = [*given_tables, segments(**OPTIONS)]
    file = folder / "one.sqlog"
    count = write_qlog(file, Tables(*given_tables), [seen], form=form)
    told = [json.loads(record) for record in file.read_text().split("\x1e")[2:]]
    assert len(told) == count
    return [(event["time"], event["name"].partition(":")[2], event["data"]) for event in told]


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0.000000"),
        (1, "0.000001"),
        (999_999, "0.999999"),
        (MS, "1.000000"),
        # A float of 64 bits cannot hold this value.
        (10**16 + 1, "10000000000.000001"),
    ],
)
def test_an_instant_is_written_in_milliseconds_without_rounding(ns: int, text: str) -> None:
    assert milliseconds(np.array([ns])).tolist() == [text]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99)), max_size=20))
def test_the_texts_of_each_group_keep_their_order(pairs: list[tuple[int, int]]) -> None:
    expected: list[list[int]] = [[] for _ in range(6)]
    for group, value in pairs:
        expected[group].append(value)
    groups = np.array([group for group, _ in pairs], dtype=np.intp)
    values = np.array([str(value) for _, value in pairs], dtype=TEXT)
    found = grouped(values, groups, 6).tolist()
    assert [json.loads(text) if text else [] for text in found] == expected


def test_at_one_instant_arrivals_come_first_then_changes_then_sent_packets() -> None:
    def kind(what: str, *t_ns: int) -> Events:
        data = np.array([json.dumps({"n": n}) for n in range(len(t_ns))], dtype=TEXT)
        return Events(what, np.array(t_ns), data)

    kinds = [kind(what, 5, 5) for what in EVENTS] + [kind("sent", 1), kind("lost")]
    found = [json.loads(text) for text in in_order(kinds, CURRENT).tolist()]
    words = ("received", "timer", "rto", "metrics", "state", "lost", "sent")
    names = [CURRENT.names[what] for what in ("sent", *(w for word in words for w in (word, word)))]
    assert [event["name"] for event in found] == names
    assert [event["data"]["n"] for event in found] == [0, *[0, 1] * len(EVENTS)]
    assert len(in_order(kinds, QVIS)) == len(found) - 2, "qvis has no event for the RTO"
    assert in_order([kind("rto", 3)], QVIS).tolist() == in_order([], CURRENT).tolist() == []


def test_the_event_of_a_packet_has_a_member_for_each_known_value(tmp_path: Path) -> None:
    plain = {"t_ns": MS, "seq": 1, "id": 3, "ts_val": 0, "offset_bytes": 7}
    retransmitted = {"t_ns": 3 * MS, "kind": "retransmission", "id": 4, "cause": "rack"}
    elsewhere = {"t_ns": 4 * MS, "id": 9, "node": "b"}
    every = segments(plain, ack(2 * MS, 1, id=1), retransmitted, elsewhere, **OPTIONS)
    blocks = sack_blocks(*({"id": 1, "left": left, "right": left + 100} for left in (301, 101)))
    first, answer, *_, last = events(tmp_path, every, blocks)
    assert first == (
        1.0,
        "packet_sent",
        {
            "header": {"packet_type": "1RTT", "packet_number": 3},
            "raw": {"length": 140, "payload_length": 100},
            "kind": "data",
            **{"seq": 1, "ack": 1, "window": 1000, "flags": 16, "ecn": "not-ect"},
            **{"ts_val": 0, "offset_bytes": 7},
        },
    )
    assert answer[1] == "packet_received"
    assert answer[2]["sack_blocks"] == [[301, 401], [101, 201]]
    told = {name: last[2][name] for name in ("cause", "trigger", "spurious")}
    assert told == {"cause": "rack", "trigger": "retransmit_timeout", "spurious": False}
    assert not {"ts_val", "sack_blocks"} & set(last[2])


@pytest.mark.parametrize(
    ("causes", "lost"),
    [
        (("", "fast"), [(0, "reordering_threshold")]),
        (("", "sack-recovery"), [(0, "reordering_threshold")]),
        (("", "rack"), [(0, "time_threshold")]),
        (("", "rto", "rto"), [(0, "pto_expired"), (1, "pto_expired")]),
        # A tail loss probe reports nothing as lost. The next retransmission reports the probe.
        (("", "tlp", "rto"), [(1, "pto_expired")]),
        (("", "shim"), []),
        # Go-back-N follows a timeout. Tahoe also starts it after a fast retransmit.
        (("", "fast", "go-back-n"), [(0, "reordering_threshold"), (1, "reordering_threshold")]),
        (("", "rto", "go-back-n"), [(0, "pto_expired"), (1, "pto_expired")]),
        # The first transmission was not seen.
        (("rto",), [(None, "pto_expired")]),
    ],
)
def test_a_retransmission_reports_the_last_transmission_of_its_octets_as_lost(
    tmp_path: Path, causes: Sequence[str], lost: list[tuple[int | None, str]]
) -> None:
    sent = [{"t_ns": n * MS, "seq": 101, "cause": cause} for n, cause in enumerate(causes)]
    before = {"id": 70, "seq": 1}
    told = events(tmp_path, segments(*sent, before, **OPTIONS))
    found = [data for _, name, data in told if name == "packet_lost"]
    numbers = [data.get("header", {}).get("packet_number") for data in found]
    assert list(zip(numbers, [data["trigger"] for data in found], strict=True)) == lost


def test_a_pure_ack_is_never_reported_as_lost(tmp_path: Path) -> None:
    pure = {"t_ns": MS, "id": 71, "seq": 101, "kind": "ack"}
    again = {"t_ns": 2 * MS, "id": 72, "seq": 101, "cause": "rto"}
    told = events(tmp_path, segments({"id": 70, "seq": 101}, pure, again, **OPTIONS))
    (lost,) = (data for _, name, data in told if name == "packet_lost")
    assert lost["header"]["packet_number"] == 70


def test_a_metric_that_changes_is_written_once_per_instant(tmp_path: Path) -> None:
    timer = [
        {"t_ns": 0},
        {"t_ns": 2 * MS, "srtt_ns": 40 * MS, "rttvar_ns": 20 * MS},
        {"t_ns": 2 * MS, "srtt_ns": 41 * MS, "rttvar_ns": 20 * MS, "backoff": 2},
        {"t_ns": 3 * MS, "srtt_ns": 45 * MS, "rttvar_ns": 20 * MS, "backoff": 2},
        {"t_ns": 3 * MS, "srtt_ns": 41 * MS, "rttvar_ns": 20 * MS, "backoff": 2},
        {"t_ns": 4 * MS, "srtt_ns": 41 * MS, "rttvar_ns": 20 * MS, "backoff": 9},
        {"t_ns": 6 * MS, "srtt_ns": 41 * MS, "rttvar_ns": 20 * MS, "backoff": 8},
    ]
    samples = rtt((2, 40 * MS), (3, 50 * MS), (4, 30 * MS), (5, 30 * MS))
    told = events(tmp_path, samples, rto(*timer))
    metrics = {t: data for t, name, data in told if name == "recovery_metrics_updated"}
    assert metrics == {
        0: {"pto_count": 0},
        2: {"min_rtt": 40, "latest_rtt": 40, "smoothed_rtt": 41, "rtt_variance": 20,
            "pto_count": 1},
        3: {"latest_rtt": 50},
        # A backoff of 9 is between 2³ and 2⁴, so `pto_count` is 3.
        4: {"min_rtt": 30, "latest_rtt": 30, "pto_count": 3},
        # Each sample is written as `latest_rtt`, even if it equals the sample before it.
        5: {"latest_rtt": 30},
    }  # fmt: skip


def test_a_sender_below_ssthresh_is_in_slow_start_unless_it_recovers(tmp_path: Path) -> None:
    states = [(0, 10, 11, False), (1, 10, 11, False), (2, 11, 11, False), (3, 5, 6, True),
              (4, 7, 6, True), (5, 5, 6, False)]  # fmt: skip
    told = events(tmp_path, cwnd(*states))
    changes = [(t, data) for t, name, data in told if name == "congestion_state_updated"]
    assert changes == [
        (0, {"new": "slow_start"}),
        (2, {"old": "slow_start", "new": "congestion_avoidance"}),
        (3, {"old": "congestion_avoidance", "new": "recovery"}),
        (5, {"old": "recovery", "new": "slow_start"}),
    ]


@pytest.mark.parametrize(
    ("form", "kind", "values"),
    [(CURRENT, "loss_timeout", [(0, 1000, 1), (2, 2000, 2)]), (QVIS, "pto", [])],
)
def test_a_timer_has_an_event_when_it_fires_and_when_its_value_changes(
    tmp_path: Path, form: Any, kind: str, values: list[tuple[int, int, int]]
) -> None:
    timer = [{}, {"t_ns": MS}, {"t_ns": 2 * MS, "fired": True, "rto_ns": 2000 * MS, "backoff": 2}]
    told = events(tmp_path, rto(*timer), form=form)
    fired = [(t, data) for t, name, data in told if "timer" in name]
    assert fired == [(2, {"timer_type": kind, "event_type": "expired"})]
    changed = [(t, d["rto"], d["backoff"]) for t, name, d in told if name == "rto_updated"]
    assert changed == values


def test_a_vantage_point_without_tables_of_the_sender_has_only_packets(tmp_path: Path) -> None:
    between = Vantage("f", "a", "network", "forward", has_sender_tables=False)
    told = events(tmp_path, segments({}, **OPTIONS), rto({}), rtt((0, MS)), seen=between)
    assert [name for _, name, _ in told] == ["packet_sent"]


#: Packets of a node in order. Each packet has its kind and a number: that of the octet after its
#: data, or that of the octet that it acknowledges. Packets 0 and 1 have the same instant, packets 2
#: and 3 have the next instant, and so on.
Story = list[tuple[str, int]]


def acknowledged(story: Story) -> dict[int, list[int]]:
    """Return the packets that each ACK newly acknowledges.

    A packet counts only if its instant is earlier than the instant of the ACK.
    """
    found: dict[int, list[int]] = {}
    open_packets: dict[int, int] = {}
    highest = 0
    for number, (what, octet) in enumerate(story):
        if what == "ack":
            highest = max(highest, octet)
            before = {n: end for n, end in open_packets.items() if n // 2 < number // 2}
            found[number] = [packet for packet, end in before.items() if end <= highest]
            open_packets = {n: e for n, e in open_packets.items() if n not in found[number]}
        elif what == "data":
            open_packets[number] = octet
    return {number: new for number, new in found.items() if new}


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["ack", "data", "empty"]), st.integers(2, 6)), max_size=14)
)
def test_qvis_gets_each_packet_with_the_ack_that_first_covers_it(
    tmp_path_factory: pytest.TempPathFactory, story: Story
) -> None:
    every = []
    for n, (what, octet) in enumerate(story):
        size = {"data": 1, "empty": 0}.get(what, 0)
        sent = {"t_ns": n // 2 * MS, "seq": octet - size, "len_bytes": size}
        every.append(ack(n // 2 * MS, octet) if what == "ack" else sent)
    folder = tmp_path_factory.mktemp("story")
    told = events(folder, segments(*every, **OPTIONS), form=QVIS)
    found = {}
    for _, name, data in told:
        for frame in data.get("frames", []):
            if frame["frame_type"] == "ack":
                assert name == "packet_received"
                spans = frame["acked_ranges"]
                gaps = [b[0] - a[1] for a, b in itertools.pairwise(spans)]
                assert all(gap > 1 for gap in gaps), "ranges that touch must be one range"
                numbers = [n for low, high in spans for n in range(low, high + 1)]
                found[data["header"]["packet_number"]] = numbers
    assert found == acknowledged(story)


def test_for_qvis_a_sent_packet_acknowledges_the_packets_that_its_node_received(
    tmp_path: Path,
) -> None:
    def data(t_ms: int, number: int, seq: int, covered: int, way: str) -> dict[str, Any]:
        """Return a row of a packet that carries data and an acknowledgment."""
        direction = "forward" if way == "out" else "reverse"
        numbers = {"id": number, "seq": seq, "ack": covered, "len_bytes": 100}
        return {"t_ns": t_ms * MS, "way": way, "direction": direction, **numbers}

    story = [
        data(1, 1, 1, 1, "out"),
        data(2, 2, 1, 101, "in"),
        data(2, 3, 101, 101, "out"),
        data(3, 4, 101, 201, "in"),
        data(4, 5, 201, 201, "out"),
    ]
    told = events(tmp_path, segments(*story, **OPTIONS), form=QVIS)
    acked = {
        (name, data["header"]["packet_number"]): frame["acked_ranges"]
        for _, name, data in told
        for frame in data["frames"]
        if frame["frame_type"] == "ack"
    }
    assert acked == {
        ("packet_received", 2): [[1, 1]],
        ("packet_sent", 3): [[2, 2]],
        ("packet_received", 4): [[3, 3]],
        ("packet_sent", 5): [[4, 4]],
    }


def test_the_place_of_a_node_on_the_flow_decides_if_it_is_client_network_or_server() -> None:
    every = segments(
        {"node": "b", "way": "through"},
        {"node": "c", "way": "in"},
        {"way": "in", "direction": "reverse"},
        {},
        {"node": "c", "way": "out", "direction": "reverse"},
        {"node": "b", "flow": "echo", "kind": "request"},
    )
    seen = vantages(Tables(every), direction="reverse")
    assert {(one.node, one.kind, one.sends, one.has_sender_tables) for one in seen} == {
        ("a", "client", "forward", True),
        ("b", "network", "reverse", False),
        ("c", "server", "reverse", True),
    }
    capture = vantages(Tables(every), ends=False)
    assert {(one.kind, one.sends, one.has_sender_tables) for one in capture} == {
        ("network", "forward", True)
    }
    assert [one.node for one in vantages(Tables(every), node="c")] == ["c"]


def test_the_packets_of_the_end_with_more_data_count_as_sent_between_the_ends() -> None:
    page = {"direction": "reverse", "len_bytes": 1000}
    every = segments({"flow": "get"}, {"flow": "get", **page}, {"flow": "put"}, {"flow": "put"})
    seen = vantages(Tables(every), ends=False)
    assert {one.flow: one.sends for one in seen} == {"get": "reverse", "put": "forward"}
    (asked,) = vantages(Tables(every), flow="get", direction="forward", ends=False)
    assert asked.sends == "forward"


def test_the_error_for_an_unknown_vantage_point_lists_the_known_ones() -> None:
    every = segments({}, {"flow": "g", "node": "b"})
    with pytest.raises(ValueError, match="no flow in segments is called 'x'; the flows are f, g"):
        vantages(Tables(every), flow="x")
    with pytest.raises(ValueError, match="called 'a'; the spied nodes are b"):
        vantages(Tables(every), flow="g", node="a")
    nothing = rows("segments", [{"kind": "reply"}], SEGMENT)
    with pytest.raises(ValueError, match="no segment of TCP was seen: spy a node"):
        vantages(Tables(nothing))
    with pytest.raises(ValueError, match="no flow in segments is called 'f'; there are no flows"):
        vantages(Tables(nothing), flow="f")
