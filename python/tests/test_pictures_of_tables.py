"""Tests the marks in pictures of runs; the tables of these runs were written by hand.

A view is the part of a run that a picture shows.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netspurt.analysis.receive_window import window_shift
from netspurt.connections import packets_of
from netspurt.pictures import View, busier, picture
from netspurt.pictures.marks import Band, Bars, Mark, Picture, Points, Polyline, Rules
from netspurt.pictures.traffic import outstanding
from netspurt.pictures.view import direction_with_more, flow_end, pick
from netspurt.table import Table

from made_up_tables import MS, Tables, ack, cwnd, flows, rows, rto, rtt, sack_blocks, segments

#: The type of the marks that `marked` returns.
Kind = TypeVar("Kind", bound=Mark)


def marked(shown: Picture, kind: type[Kind]) -> dict[str, Kind]:
    """Return the marks of a kind by their labels."""
    return {mark.label: mark for mark in shown.marks if isinstance(mark, kind)}


def queue(*every: dict[str, Any]) -> Table:
    """Return a table `queue`. By default, a row is about the forward direction of link `l`."""
    default = {"t_ns": 0, "link": "l", "direction": "forward", "queue_packets": np.uint32(0)}
    return rows("queue", list(every), default)


def drops(*every: dict[str, Any]) -> Table:
    """Return a table `drops`; by default a row is about a data packet of the flow `f`."""
    default = {"t_ns": 0, "link": "l", "link_direction": "forward", "reason": "queue-full"}
    more = {"flow": "f", "direction": "forward", "kind": "data", "id": np.uint64(0)}
    return rows("drops", list(every), default | more)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 12), max_size=6).map(sorted),
    st.one_of(st.none(), st.integers(0, 12)),
    st.integers(0, 12),
)
def test_the_state_at_an_instant_of_a_view_comes_from_the_last_change_until_then(
    t_ms: list[int], start_ms: int | None, length: int
) -> None:
    states = queue(*({"t_ns": at * MS, "queue_packets": n} for n, at in enumerate(t_ms)))
    start, end = (start_ms or 0) / 1e3, ((start_ms or 0) + length) / 1e3
    view = View(start=None if start_ms is None else start, end=end)
    since, shown = view.during(states, 1.0)
    for at in np.arange(start, end, 0.25e-3):
        known = [n for n, t in enumerate(t_ms) if t / 1e3 <= at]
        found = np.flatnonzero(since[:-1] <= at)
        assert known[-1:] == [shown["queue_packets"][place] for place in found[-1:]]
    if len(since):
        assert since[-1] == end
        assert (np.diff(since) >= 0).all()
        assert since[0] >= start


def test_the_first_name_is_the_default_and_a_given_name_must_exist() -> None:
    table = queue({"link": "b"}, {"link": "a"})
    assert (pick(table, "link", None, "link"), pick(table, "link", "a", "link")) == ("b", "a")
    with pytest.raises(ValueError, match="no link in queue is called 'c'; the links are b, a"):
        pick(table, "link", "c", "link")
    for wanted in (None, "c"):
        with pytest.raises(ValueError, match="the table queue is empty"):
            pick(queue(), "link", wanted, "link")


def test_the_direction_with_more_acknowledged_octets_is_shown() -> None:
    way = {"direction": "reverse"}
    both = flows({"acked_bytes": 5}, {**way, "acked_bytes": 5}, {"flow": "g"})
    more = flows({"acked_bytes": 5}, {**way, "acked_bytes": 6}, {"flow": "g", "acked_bytes": 9})
    assert (busier(Tables(both)), busier(Tables(more)), busier(Tables(more), "g")) == (
        "forward",
        "reverse",
        "forward",
    )
    assert (direction_with_more(more), busier(Tables(more), "h")) == ("forward", None)
    assert direction_with_more(queue({})) is busier(Tables()) is None


def test_a_direction_ends_with_its_last_ack_or_with_the_end_of_its_connection() -> None:
    seen = segments({"flow": "c7"}, {"flow": "c7", "t_ns": 4000 * MS}, {"t_ns": 6000 * MS})
    done = flows({"finished_ns": 3000 * MS}, {"flow": "c7"})
    assert flow_end(Tables(done), "f", "forward") == 3.0
    assert flow_end(Tables(done), "f", "reverse") == 10.0
    for ending, end in (("reset", 4.0), ("closed", 4.0), ("open", 10.0)):
        connections = rows("connections", [{"connection": 7}], {"connection": 0, "ending": ending})
        assert flow_end(Tables(done, seen, connections), "c7", "forward") == end


def lengths(link: str, *packets: int, direction: str = "forward") -> list[dict[str, Any]]:
    """Return changes of the length of a queue, at 1 s, 2 s and so on."""
    return [
        {"t_ns": 1000 * MS * n, "link": link, "direction": direction, "queue_packets": count}
        for n, count in enumerate(packets, 1)
    ]


@pytest.mark.parametrize(
    ("longest", "dropped", "names"),
    [
        ((6, 5), False, ["l forward"]),
        ((5, 2), False, ["m forward", "l forward"]),
        ((1, 2), False, ["m forward"]),
        ((1, 1), True, ["l forward"]),
    ],
)
def test_queues_with_drops_or_with_more_than_5_packets_are_shown(
    longest: tuple[int, int], dropped: bool, names: list[str]
) -> None:
    """If no queue has drops or over 5 packets, all queues in which packets waited are shown."""
    states = queue(*lengths("l", longest[0], 0), *lengths("m", 0, longest[1], 0))
    lost = drops(*[{"t_ns": 1500 * MS, "link": "l"}] * dropped, {"link": "m", "reason": "loss"})
    lines = marked(picture(Tables(states, lost), "queue"), Polyline)
    assert list(lines) == names


def test_a_drop_is_drawn_at_the_length_of_its_queue() -> None:
    states = queue(*lengths("l", 7, 3, 0), *lengths("l", 9, direction="reverse"))
    lost = drops({"t_ns": 1500 * MS}, {"t_ns": 2000 * MS}, {"t_ns": 500 * MS})
    shown = picture(Tables(states, lost), "queue")
    lines, cross = marked(shown, Polyline), marked(shown, Points)["dropped"]
    # The lines go on to the end of the run, 10 s.
    assert lines["l forward"].x.tolist() == [0, 1, 2, 3, 10]
    assert lines["l forward"].y.tolist() == [0, 7, 3, 0, 0]
    assert list(lines) == ["l forward", "l reverse"], "the fullest queue is drawn last"
    assert list(zip(cross.x, cross.y, strict=True)) == [(1.5, 7), (2.0, 3), (0.5, 0)]
    later = marked(picture(Tables(states, lost), "queue", View(link="l", start=2.5)), Polyline)
    assert later["l forward"].x.tolist() == [2.5, 3, 10]
    assert later["l forward"].y.tolist() == [3, 0, 0]


def test_an_empty_queue_is_shown_only_if_its_link_is_named() -> None:
    run = Tables(queue(*lengths("l", 1, 0, 4)), drops())
    with pytest.raises(ValueError, match=r"no packet waited in a queue in t"):
        picture(run, "queue", View(end=2.0))
    with pytest.raises(ValueError, match=r"queue$"):
        picture(Tables(queue(*lengths("l", 1, 0)), drops()), "queue")
    assert marked(picture(run, "queue", View(link="l", end=2.0)), Polyline)["l forward"].y[1] == 1


def states_of(*more: Table, high: int = 0) -> Tables:
    """Return a run with a cwnd of 1000 to 2000 octets; its ssthresh falls to 900 octets at 2 s.

    `high` is the ssthresh before 2 s, in octets; 0 means 3600.
    """
    ssthresh = high or 3600
    states = cwnd((0, 1000, ssthresh, False), (1000, 2000, ssthresh, True), (2000, 1500, 900, True),
                  (3000, 1500, 900, False), (4000, 1000, 900, True), flight=700)  # fmt: skip
    return Tables(states, flows({"finished_ns": 9000 * MS}), *more)


def test_cwnd_has_marks_where_a_recovery_begins_and_where_a_timer_fired() -> None:
    timer = rto({"t_ns": 500 * MS}, *({"t_ns": t * MS, "fired": True} for t in (4000, 9500)))
    fast = {"kind": "retransmission", "cause": "fast", "t_ns": 1000 * MS}
    sent = segments(fast, fast | {"way": "in"}, fast | {"cause": "rto"}, {"t_ns": 2000 * MS})
    shown = picture(states_of(timer, sent), "cwnd")
    points, line = marked(shown, Points), marked(shown, Polyline)["cwnd"]
    begins = points["recovery begins"]
    assert list(zip(begins.x, begins.y, strict=True)) == [(1, 2000), (4, 1000)]
    assert points["fast retransmit"].x.tolist() == [1.0]
    assert marked(shown, Rules)["timeout"].x.tolist() == [4.0], (
        "the flow ended at 9 s, before the timer fired at 9.5 s"
    )
    assert (line.x[-1], line.y[-1]) == (9.0, 1000)
    assert marked(shown, Band)["flight size"].high.tolist() == [700] * 6
    assert (shown.y.high, shown.y.label) == (1.1 * 3600, "cwnd, ssthresh, flight size")


@pytest.mark.parametrize(
    # The top of the picture is 1.15 times the greatest cwnd: 2300. An ssthresh above 3680
    # (1.6 times the top) does not raise the top.
    ("ssthresh", "high"),
    [(3680, 4048), (3681, 2300), (2**60, 2300)],
)
def test_a_large_ssthresh_does_not_stretch_the_axis(ssthresh: int, high: float) -> None:
    shown = picture(states_of(rto({}), high=ssthresh), "cwnd", View(end=1.5))
    assert shown.y.high == pytest.approx(high)
    assert ("ssthresh" in marked(shown, Polyline)) == (ssthresh == 3680)
    later = marked(picture(states_of(rto({}), high=ssthresh), "cwnd"), Polyline)["ssthresh"]
    assert later.y[0] == min(ssthresh, 23_000)


def test_a_timeout_is_drawn_at_the_value_of_the_timer_that_fired() -> None:
    timer = rto(
        {"t_ns": 100 * MS, "rto_ns": 300 * MS, "srtt_ns": 40 * MS, "rttvar_ns": 20 * MS},
        {"t_ns": 400 * MS, "rto_ns": 600 * MS, "fired": True},
        {"t_ns": 1000 * MS, "rto_ns": 1200 * MS, "fired": True},
    )
    run = Tables(timer, rtt((100, 40 * MS)), flows(), segments({}))
    fired = marked(picture(run, "rto"), Points)["timeout"]
    assert fired.x.tolist() == [0.4, 1.0]
    assert fired.y.tolist() == [0.3, 0.6]
    late = marked(picture(run, "rto", View(start=0.5)), Points)["timeout"]
    assert (late.x.tolist(), late.y.tolist()) == ([1.0], [0.6])
    with pytest.raises(ValueError, match="flow f has no RTO in the selected time"):
        picture(run, "rto", View(end=0.05))


def test_flows_are_drawn_in_falling_order_of_their_data_with_marks_of_retransmissions() -> None:
    again = {"kind": "retransmission", "cause": "rto", "t_ns": 3 * MS, "spurious": True}
    of_g, of_h = {"flow": "g", "len_bytes": 400}, {"flow": "h", "len_bytes": 0}
    two = {"seq": 101, "t_ns": MS}, {"t_ns": 2 * MS}
    seen = segments(*two, again, of_g, {"flow": "g", "node": "b"}, of_h)
    shown = picture(Tables(seen, flows()), "flows")
    lines = marked(shown, Polyline)
    assert list(lines) == ["g", "f"], "a flow without data is not shown"
    assert lines["f"].y.tolist() == [200, 200, 200]
    assert lines["g"].y.tolist() == [400]
    points = [(mark.label, mark.shape) for mark in shown.marks if isinstance(mark, Points)]
    assert points == [("retransmission", "dot"), ("spurious", "ring")]
    assert list(marked(picture(Tables(seen), "flows", View(flow="f , g")), Polyline)) == ["f", "g"]
    with pytest.raises(ValueError, match="7 flows are too many: a plot shows at most 6"):
        picture(Tables(seen), "flows", View(flow="f,g,h,i,j,k,l"))
    with pytest.raises(ValueError, match="no flow has reverse data"):
        picture(Tables(seen), "flows", View(direction="reverse"))
    with pytest.raises(ValueError, match=r"no data of flow h was seen at a$"):
        picture(Tables(seen), "flows", View(flow="h"))
    late = picture(Tables(seen, flows()), "flows", View(start=0.003))
    assert list(marked(late, Polyline)) == ["f"], (
        "a flow without data in the selected time is not shown"
    )
    with pytest.raises(ValueError, match="no flow has forward data in the selected time"):
        picture(Tables(seen), "flows", View(start=0.004))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9)), min_size=1, max_size=12))
def test_octets_between_the_highest_acknowledged_and_the_highest_sent_octet_are_outstanding(
    story: list[tuple[bool, int]],
) -> None:
    every = [
        ack(n * MS, octet) if is_ack else {"t_ns": n * MS, "seq": octet, "len_bytes": 2}
        for n, (is_ack, octet) in enumerate(story)
    ]
    both = segments({"t_ns": 0, "seq": 1, "len_bytes": 2}, *every)
    t, octets = outstanding(Tables(both), View())
    highest, una = 3, 1
    expected = [2]
    for is_ack, octet in story:
        highest, una = (highest, max(una, octet)) if is_ack else (max(highest, octet + 2), una)
        expected.append(max(highest - una, 0))
    assert octets.tolist() == expected
    assert t.tolist() == [0.0, *(n / 1e3 for n in range(len(story)))]


def test_data_that_an_ack_releases_is_outstanding_only_after_this_ack() -> None:
    every = [{"t_ns": 0, "seq": 1}, ack(5 * MS, 101), {"t_ns": 5 * MS, "seq": 101}]
    t, octets = outstanding(Tables(segments(*every)), View())
    assert t.tolist() == [0.0, 0.005, 0.005]
    assert octets.tolist() == [100, 0, 100], "packets at one instant count in their order"


def paced(count: int, gap_ms: int = 10) -> list[dict[str, Any]]:
    """Return rows of packets of 100 octets that are sent at a constant rate."""
    return [{"t_ns": n * gap_ms * MS, "seq": 1 + 100 * n} for n in range(count)]


def test_throughput_adds_up_to_the_octets_that_were_sent() -> None:
    again = [row | {"t_ns": row["t_ns"] + MS, "kind": "retransmission"} for row in paced(41)[::2]]
    run = Tables(segments(*paced(41), *again), flows())
    lines = marked(picture(run, "throughput"), Polyline)
    sums = {
        label: float(np.sum(line.y[:-1] * np.diff(line.x))) / 8
        for label, line in lines.items()
        if line.steps
    }
    assert sums == pytest.approx({"sent": 6200, "sent for the first time": 4100})
    assert len(lines["sent"].x) == 7, "there must be 6 spans for 62 packets"
    mean = lines["mean so far"]
    assert mean.y[-1] == pytest.approx(8 * 4100 / 0.401)
    assert mean.x[0] >= lines["sent"].x[1]
    with pytest.raises(ValueError, match="all data was sent at one instant: there is no rate"):
        picture(Tables(segments({}, {"seq": 101})), "throughput")


def test_density_is_the_inverse_of_the_smoothed_gaps_between_packets() -> None:
    run = Tables(segments(*paced(15), *(ack(n * MS, 1) for n in range(10))), flows())
    lines = marked(picture(run, "density"), Polyline)
    assert list(lines) == ["data"], "ten ACKs have too few gaps"
    # Fifteen packets have five sequences of ten gaps. Each density is drawn at the instant
    # of the sixth packet of its sequence.
    assert lines["data"].x.tolist() == pytest.approx([0.05, 0.06, 0.07, 0.08, 0.09])
    assert lines["data"].y.tolist() == pytest.approx([100.0] * 5)


def time_sequence(*every: dict[str, Any], shifts: tuple[int | None, ...] = (), **view: Any) -> Any:
    """Return the time-sequence picture of these packets.

    `shifts` are the window scales in the SYNs of the two directions. The run also has four drops
    and two SACK blocks; one drop and one SACK block belong to the picture.
    """
    offered = [{"direction": way, "window_scale": shift} for way, shift in
               zip(("forward", "reverse"), shifts, strict=False)]  # fmt: skip
    syns = rows("syns", offered, {"flow": "f", "direction": "forward", "window_scale": None})
    lost = drops({"t_ns": 5 * MS, "id": 0}, {"id": 0, "reason": "reassembly"}, {"id": 77},
                 {"id": 1, "kind": "ack"})  # fmt: skip
    blocks = sack_blocks({"t_ns": 6 * MS, "left": 201, "right": 301}, {"node": "b"})
    run = Tables(segments(*every), syns, lost, blocks, flows())
    return picture(run, "time-sequence", View(**view))


#: Rows of packets: four packets, an ACK, a duplicate ACK, a late ACK, and a retransmission.
STORY = [
    *({"t_ns": n * MS, "seq": 1 + 100 * n, "packet": n + 1} for n in range(4)),
    ack(6 * MS, 101),
    ack(7 * MS, 101, kind="dupack"),
    ack(8 * MS, 1, window=9),
    {"t_ns": 9 * MS, "seq": 101, "kind": "retransmission", "cause": "shim", "spurious": True},
]


def test_the_bars_ticks_cross_and_ring_of_a_time_sequence_stand_at_their_octets() -> None:
    shown = time_sequence(*STORY)
    bars, points = marked(shown, Bars), marked(shown, Points)
    spans = {name: list(zip(m.x, m.low, m.high, strict=True)) for name, m in bars.items()}
    assert spans["sent"] == [(n / 1e3, 1 + 100 * n, 101 + 100 * n) for n in range(4)]
    assert spans["duplicate ACK"] == [(0.007, 1, 101)]
    assert spans["SACK block"] == [(0.006, 201, 301)]
    assert spans["retransmitted: timeout"] == [(0.009, 101, 201)]
    assert set(spans) == {"sent", "duplicate ACK", "SACK block", "retransmitted: timeout"}
    cross, ring = points["dropped or lost"], points["spurious"]
    assert (cross.x.tolist(), cross.y.tolist()) == ([0.005], [51])
    assert (ring.x.tolist(), ring.y.tolist()) == ([0.009], [151])
    line = marked(shown, Polyline)["ACK"]
    assert line.y.tolist() == [101], "the later ACK of octet 1 must not be on the line"
    closed = marked(time_sequence(*STORY, ack(10 * MS, 401, kind="fin")), Polyline)["ACK"]
    assert closed.y.tolist() == [101, 401], "a segment with a FIN also acknowledges data"
    assert (shown.packet_bytes, shown.corner) == (100, "upper left")
    assert bars["sent"].packet is None, (
        "if all packets have one size, the octets give their numbers"
    )


def test_packets_of_different_sizes_keep_their_numbers() -> None:
    shown = time_sequence(*STORY, {"t_ns": 9 * MS, "seq": 501, "len_bytes": 40, "packet": 6},
                          {"t_ns": 9 * MS, "seq": 541, "packet": 7})  # fmt: skip
    assert shown.packet_bytes is None
    numbers = marked(shown, Bars)["sent"].packet
    assert numbers is not None
    assert numbers.tolist() == [1, 2, 3, 4, 6, 7]


@pytest.mark.parametrize(
    ("shifts", "edges"),
    [
        ((), [501, 601]),
        ((3, None), [501, 601]),
        ((None, 2), [501, 601]),
        ((7, 0), [501, 601]),
        # The window field has the value 400. Shifted by 2, it means 1,600 octets.
        ((0, 2), [1701, 1801]),
    ],
)
def test_the_receive_window_is_scaled_only_if_both_syns_offer_a_scale(
    shifts: tuple[int | None, ...], edges: list[int]
) -> None:
    data = [{"t_ns": n * MS, "seq": 1 + 100 * n} for n in range(14)]
    syn_ack = ack(0, 1, kind="syn", flags=18, window=9)
    windows = [ack(6 * MS, 101, window=400), ack(7 * MS, 201, window=400)]
    window = marked(time_sequence(*data, syn_ack, *windows, shifts=shifts), Polyline)[
        "receive window"
    ]
    assert window.y.tolist() == edges


@pytest.mark.parametrize(("edge", "shown"), [(2241, True), (2242, False)])
def test_a_receive_window_far_above_the_data_is_not_shown(edge: int, shown: bool) -> None:
    """The data has octets 1 to 1400, and each margin is 5 % of 1,400 octets.

    So the axis goes from -69 to 1471, a span of 1540 octets. The window is shown if it ends at most
    half a span above the axis: at 2241 or below.
    """
    data = [{"t_ns": n * MS, "seq": 1 + 100 * n} for n in range(14)]
    found = marked(time_sequence(*data, ack(6 * MS, 101, window=edge - 101)), Polyline)
    assert ("receive window" in found) == shown


@pytest.mark.parametrize(("window", "corner"), [(50, "upper left"), (900, "lower right")])
def test_the_legend_does_not_hide_the_receive_window(window: int, corner: str) -> None:
    data = [{"t_ns": n * MS, "seq": 1 + 100 * n} for n in range(10)]
    shown = time_sequence(*data, ack(1 * MS, 101, window=window), ack(9 * MS, 501, window=600))
    assert "receive window" in marked(shown, Polyline)
    assert shown.corner == corner


def test_a_time_sequence_without_packets_says_what_is_missing() -> None:
    with pytest.raises(ValueError, match="no data of flow f was seen"):
        time_sequence(ack(0, 1))
    with pytest.raises(ValueError, match="nothing of flow f was seen at a in the selected time"):
        time_sequence(*STORY, start=3.0)
    with pytest.raises(ValueError, match="flow f was not seen at b, but at a"):
        time_sequence(*STORY, {"flow": "g", "node": "b"}, node="b")


def test_a_direction_is_shown_as_its_sender_saw_it() -> None:
    reply = {"direction": "reverse", "node": "b"}
    echo = {"flow": "p", "kind": "request"}
    seen = segments(echo, {}, reply | {"node": "a", "way": "in"}, reply)
    syns = rows("syns", [], {"flow": "f", "direction": "", "window_scale": None})
    probes = rows("echo_probes", [{}], {"flow": "p"})
    run = Tables(seen, flows(), sack_blocks(), probes, syns)
    asides = [
        picture(run, "time-sequence", View(direction=way)).aside for way in ("forward", "reverse")
    ]
    assert asides == ["f at a", "f (reverse) at b"]


@pytest.mark.parametrize(
    ("shifts", "forward", "reverse"),
    [((3, 7), 3, 7), ((3, None), 0, 0), ((None, 7), 0, 0), ((3,), 0, 0), ((), 0, 0)],
)
def test_windows_are_scaled_in_both_directions_or_in_none(
    shifts: tuple[int | None, ...], forward: int, reverse: int
) -> None:
    offered = [{"direction": way, "window_scale": shift}
               for way, shift in zip(("forward", "reverse"), shifts, strict=False)]  # fmt: skip
    syns = rows("syns", offered, {"flow": "f", "direction": "forward", "window_scale": None})
    assert [window_shift(syns, way) for way in ("forward", "reverse")] == [forward, reverse]
    seen = segments({"window": 10}, {"window": 10, "direction": "reverse"})
    assert packets_of(seen, syns).window.tolist() == [10 << forward, 10 << reverse]
