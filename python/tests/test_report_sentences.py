"""Tests the sentences and the tables of reports. Their input is tables written by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from netspurt.live_report import ProgramsReport
from netspurt.matched import PairedSegment
from netspurt.report.findings import _is_window_unknown, _verdicts
from netspurt.report.flows import FlowDirection, Room, directions_with_data, flows_of
from netspurt.report.programs import connections, told_programs
from netspurt.report.runs import _answer, _causes, _goodput, _links
from netspurt.report.two_points import _between, _Crossings, _round_trip
from netspurt.report.words import span

from made_up_papers import made_run, table

NAN = float("nan")


@pytest.mark.parametrize(
    ("syns", "timestamps", "unknown"),
    [
        ([2, 2], [True, True], False),
        ([2, 0], [True, True], True),
        ([2, 1], [True, False], True),
        ([], [], False),
    ],
)
def test_windows_are_unknown_if_a_connection_lacks_its_syns_or_its_time_stamps(
    syns: list[int], timestamps: list[bool], unknown: bool
) -> None:
    columns = {"syns": np.array(syns, int), "timestamps": np.array(timestamps, bool)}
    explained: Any = SimpleNamespace(table=lambda name: {"connections": columns}[name])
    assert _is_window_unknown(explained) is unknown


# Two points of one path.

#: The clock of the far point is 100 s ahead of the clock of the near point. Data takes at least
#: 30 ms from the near point to the far point, and ACKs take at least 20 ms in the other direction.
AHEAD_S, THERE_S, BACK_S = 100.0, 0.03, 0.02
#: Each row stands for one segment that neither capture has twice.
ONE_SEGMENT = (1, 0, 0)


def segment(at_s: float | None, wait_s: float | None = 0.0, octets: int = 1000) -> Any:
    """Return a segment that passed the near point at an instant and waited on its way.

    If the instant is `None`, the near point missed the segment. If the wait is `None`, the segment
    was lost.
    """
    near = -1 if at_s is None else round(1e9 * at_s)
    far = -1 if wait_s is None else round(1e9 * ((at_s or 0) + AHEAD_S + THERE_S + wait_s))
    return PairedSegment("a:1", "b:2", 0, octets, False, near, far, *ONE_SEGMENT)


def answer(at_s: float) -> Any:
    """Return an ACK that left the far point at `at_s`, by the clock of the near point."""
    times = (round(1e9 * (at_s + BACK_S)), round(1e9 * (at_s + AHEAD_S)))
    return PairedSegment("b:2", "a:1", 0, 0, False, *times, *ONE_SEGMENT)


def between(*pairs: Any) -> str:
    """Return what the page says about the segments between the near and the far point."""
    return " ".join(_between(pairs, "a:1", ["near", "far"]))


def test_no_share_of_lost_segments_is_reported_if_all_arrived() -> None:
    words = between(segment(1), segment(2), segment(3))
    assert words.startswith("All 3 segments with data that passed near came to far. ")


def test_lost_segments_are_reported_as_a_share_of_those_that_passed_the_near_point() -> None:
    words = between(segment(1), segment(2, None), segment(3), segment(None), segment(4))
    assert "Of the 4 segments with data that passed near, 1 (25.00%) did not come to far" in words
    assert "near lacks 1 segment that came to far." in words


def test_acknowledgments_and_segments_without_data_are_not_counted_as_data() -> None:
    words = between(segment(0, None, octets=0), segment(1), answer(1), answer(2))
    assert words.startswith("The only segment with data that passed near came to far. ")


@pytest.mark.parametrize(("matched", "told"), [(2, True), (1, False)])
def test_segments_are_compared_only_if_both_points_saw_most_of_them(
    matched: int, told: bool
) -> None:
    pairs = [segment(n) for n in range(matched)] + [segment(n, None) for n in range(4 - matched)]
    assert ("Of the 4 segments" in between(*pairs)) == told
    assert between(*pairs).startswith("For most segments with data, the other") != told


def told_round_trip(
    back_s: list[float], shown_s: float | None = None, *, complete: bool = True
) -> str:
    """Return the sentences on the round trip.

    `back_s` has the waits of the ACKs. `shown_s` is the shortest round trip in the near capture.
    """
    out = [AHEAD_S + THERE_S + wait for wait in (0.005, 0.0, 0.5)]
    back = [BACK_S - AHEAD_S + wait for wait in back_s]
    out_ns, back_ns = (np.array([round(1e9 * s) for s in way]) for way in (out, back))
    shown_ns = None if shown_s is None else round(1e9 * shown_s)
    return " ".join(_round_trip(_Crossings(out_ns, back_ns, complete, shown_ns), "near"))


def test_the_round_trip_between_two_points_does_not_depend_on_their_clocks() -> None:
    least = "A round trip between the two points takes at least 50 ms, whatever the clocks say."
    for shown_s in (None, 0.05, 0.06):
        assert told_round_trip([0.1, 0.0], shown_s).startswith(least)


@pytest.mark.parametrize(("shown_s", "complete"), [(0.0499, True), (0.06, False)])
def test_the_page_omits_an_unreliable_lower_bound_of_the_round_trip(
    shown_s: float, complete: bool
) -> None:
    words = told_round_trip([0.1, 0.0], shown_s, complete=complete)
    assert words.startswith(f"The shortest round trip that near shows took {1e3 * shown_s:g} ms.")
    assert "at least" not in words


def test_a_negative_round_trip_is_not_reported() -> None:
    """A clock was set after the segments had passed, and before their ACKs passed."""
    assert told_round_trip([-1.0]) == ""


def test_the_waits_of_data_are_relative_to_its_fastest_segment() -> None:
    waits = [0.004, 0.001, 0.002, 0.101, 0.003]
    words = between(*(segment(n, wait) for n, wait in enumerate(waits)))
    told = "data took 2 ms longer than the fastest segment (median), and 100 ms longer at most"
    assert told in words
    assert "This additional time may come from queues between the two points, from a path" in words


# Programs of a live run.


def with_programs(connected: Any = None, **values: Any) -> Any:
    """Return a live run of programs. `values` replaces parts of the report on the programs."""
    usual = {"command": ["wget", "a b"], "server": None, "status": 0, "ran": True}
    usual |= {"stopped": False, "other_packets": 0, "kernel_told": True}
    run = made_run(**({} if connected is None else {"connections": connected}))
    run.live = SimpleNamespace(programs=ProgramsReport(**{**usual, **values}))
    return run


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, ["The command `wget 'a b'` ended with status 0."]),
        (
            {"stopped": True, "status": 124, "server": "nc -l 80", "other_packets": 1234},
            [
                "The command `wget 'a b'` was ended by the scenario's `stop` with status 124.",
                "The other end ran `nc -l 80`.",
                "1,234 packets belong to no connection of TCP.",
            ],
        ),
        (
            {"kernel_told": False},
            [
                "The command `wget 'a b'` ended with status 0.",
                "The kernels reported no states of the connections, so timers are not known.",
            ],
        ),
    ],
)
def test_programs_are_reported_with_the_way_in_which_they_ended(
    values: dict[str, Any], words: list[str]
) -> None:
    assert list(told_programs(with_programs(**values))) == words


def test_the_page_of_a_run_without_programs_mentions_no_programs() -> None:
    run = made_run(connections=table(flow=["x"]))
    for live in (None, SimpleNamespace(programs=None)):
        run.live = live
        assert list(told_programs(run)) == []
        assert connections(run) is None


#: Columns of the table of connections. The time of the SYN is known for only one connection.
CONNECTED: dict[str, list[Any]] = {
    "flow": ["c1", "c2"],
    "syn_s": [1.5, NAN],
    "asked_s": [1.75, NAN],
    "answered_s": [2.5, NAN],
    "complete_s": [NAN, NAN],
    "from_bytes": [5000, 7],
    "to_bytes": [120, 8],
}


def test_times_in_the_table_of_connections_count_from_the_last_syn() -> None:
    """The octets of requests are counted at the end that did not open the connection."""
    opened = table(**CONNECTED, opened_by_to=np.array([False, True]))
    rows = connections(with_programs(opened))
    assert rows is not None
    assert list(rows.rows) == [
        ("c1", "1.500 s", "250 ms", "1 s", "-", "120", "5,000"),
        ("c2", "-", "-", "-", "-", "7", "8"),
    ]
    assert rows.more == 0


def test_a_table_of_connections_has_500_rows_at_most() -> None:
    many = {name: values * 251 for name, values in CONNECTED.items()}
    rows = connections(with_programs(table(**many, opened_by_to=np.zeros(502, bool))))
    assert rows is not None
    assert (len(rows.rows), rows.more) == (500, 2)


# Runs.


def flows(**columns: Any) -> Any:
    """Return a table of two directions with data. `columns` replaces some usual columns."""
    usual = {
        "flow": ["x", "y"],
        "direction": ["forward", "forward"],
        "start_s": [1.0, 0.0],
        "finished_s": [3.0, 4.0],
        "waited_s": [0.0, 0.0],
        "repairing_s": [0.0, 0.0],
        "acked_bytes": [1000, 2000],
        "sent": [2, 4],
        "retransmissions": [0, 0],
        "timeouts": [0, 0],
    }
    return table(**usual | columns)


def ended(stop_s: float = 10.0, **columns: Any) -> Any:
    """Return a run that ended at this time, with these columns in its table of flows."""
    run = made_run(flows=flows(**columns))
    run.stop_ns, run.live = round(1e9 * stop_s), None
    return run


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {},
            "2 of 2 directions with data finished, the last at 4.000 s. Nothing was retransmitted.",
        ),
        (
            {"finished_s": [3723.5, NAN]},
            "1 of 2 directions with data finished, the last at 3,723.500 s (1 h 2 min). Nothing "
            "was retransmitted.",
        ),
        (
            {"finished_s": [NAN, NAN]},
            "The run stopped after 10 s, before any of its 2 directions with data finished. "
            "Nothing was retransmitted.",
        ),
        (
            {"retransmissions": [3, 0], "waited_s": [0.25, 0.5], "repairing_s": [0, 0]},
            "2 of 2 directions with data finished, the last at 4.000 s. The senders, all together, "
            "spent 750 ms in silence before timeouts and no time in repair.",
        ),
        (
            {"retransmissions": [3, 0], "waited_s": [0.25, NAN], "repairing_s": [NAN, NAN]},
            "2 of 2 directions with data finished, the last at 4.000 s. The senders, all together, "
            "spent 250 ms in silence before timeouts.",
        ),
        (
            {"retransmissions": [3, 0], "waited_s": [NAN, NAN], "repairing_s": [NAN, NAN]},
            "2 of 2 directions with data finished, the last at 4.000 s.",
        ),
    ],
)
def test_the_answer_on_several_directions_combines_their_times(
    columns: dict[str, Any], words: str
) -> None:
    assert _answer(ended(**columns)) == words


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        # 1,000 octets in 2 s are 4 kbit/s. The direction starts 9 s before the end of the run.
        ({}, "Finished after 2.000 s, at 4 kbit/s."),
        ({"finished_s": [NAN]}, "Not finished in 10 s simulated, at 889 bit/s."),
        (
            {"finished_s": [NAN], "acked_bytes": [0]},
            "Not finished in 10 s simulated: no data was acknowledged.",
        ),
    ],
)
def test_the_answer_on_one_direction_counts_time_from_its_start(
    columns: dict[str, Any], words: str
) -> None:
    one = {"start_s": [1.0], "finished_s": [3.0], "acked_bytes": [1000], "retransmissions": [0]}
    run = made_run(flows=table(**one | columns))
    run.stop_ns, run.live = 10_000_000_000, None
    assert _answer(run) == f"{words} Nothing was retransmitted."


def test_a_direction_that_took_no_time_has_no_goodput() -> None:
    assert _goodput(ended(start_s=[3.0, 0.0]), 0) == "-"


def test_causes_of_a_direction_are_reported_with_their_spurious_retransmissions() -> None:
    rows = {
        "flow": ["x", "x", "y"],
        "direction": ["forward", "forward", "reverse"],
        "cause": ["rto", "fast", "go-back-n"],
        "sent": [1200, 2, 1],
        "spurious": [1100, 0, 1],
    }
    assert _causes(made_run(retransmissions=table(**rows))) == {
        ("x", "forward"): "timeout 1,200 (1,100), fast retransmit 2",
        ("y", "reverse"): "go-back-N 1 (1)",
    }
    assert _causes(made_run()) == {}


def test_links_that_carried_and_dropped_nothing_are_left_out() -> None:
    links = table(
        link=["a", "b", "c"],
        direction=["forward"] * 3,
        carried=[5, 0, 0],
        carried_bytes=[5000, 0, 0],
        dropped=[0, 0, 2],
        lost=[1, 0, 0],
        queue_packets_max=[3, 0, 9],
    )
    run = made_run(links=links)
    run.stop_ns = 4_000_000_000
    # Link `a` carried 40,000 bits in 4 s.
    assert list(_links(run).rows) == [
        ("a", "forward", "5", "10 kbit/s", "0", "1", "3"),
        ("c", "forward", "0", "0 bit/s", "2", "0", "9"),
    ]
    run.stop_ns = 0
    assert _links(run).rows[0][3] == "-"


# Directions.


def test_directions_are_sorted_by_amount_of_data_and_then_by_retransmissions() -> None:
    run = made_run(
        flows=table(
            flow=["idle", "few", "more", "most", "more"],
            direction=["forward", "forward", "forward", "reverse", "reverse"],
            acked_bytes=np.array([9, 1, 5, 7, 5], np.uint64),
            retransmissions=np.array([9, 0, 1, 0, 2], np.uint32),
            timeouts=[0, 0, 0, 4, 0],
            sent=[0, 1, 1, 1, 1],
        )
    )
    found = directions_with_data(run)
    assert [direction.name for direction in found] == [
        "most (reverse)",
        "more (reverse)",
        "more",
        "few",
    ]
    assert found[0] == FlowDirection("most", "reverse", timeouts=4, again=0)


def test_a_run_whose_directions_sent_nothing_has_no_pictures() -> None:
    found = flows_of(made_run(flows=flows(sent=[0, 0])), ("rto",), Room())
    assert (found.flows, found.notes) == ((), ["No pictures: no direction sent data."])


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (["needed"], "None is known to be spurious."),
        (["needed", "spurious"], "1 was spurious."),
        (["spurious"] * 2, "2 were spurious."),
        (["spurious"] * 2000, "2,000 were spurious."),
        (["unknown", "spurious"], "1 was spurious; for 1 the verdict is not known."),
        (["unknown"] * 3, "None is known to be spurious; for 3 the verdict is not known."),
    ],
)
def test_the_sentence_on_verdicts_counts_spurious_retransmissions_and_unknown_verdicts(
    verdicts: list[str], words: str
) -> None:
    assert list(_verdicts(verdicts)) == [words]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0000025, "2.5 µs"),
        (599.4, "599.4 s"),
        (600, "10 min 0 s"),
        (659.6, "11 min 0 s"),
        (3569, "59 min 29 s"),
        (3571, "1 h 0 min"),
        (7169, "1 h 59 min"),
        (7171, "2 h 0 min"),
    ],
)
def test_a_long_duration_is_rounded_before_it_is_split_into_units(
    seconds: float, text: str
) -> None:
    assert span(seconds) == text
