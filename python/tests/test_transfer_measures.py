"""Tests measures of transfers on runs with given segments, windows and queues.

A measure computes the value that a claim of a paper is compared with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from netspurt.papers import read_paper
from netspurt.papers.bench import BenchCase
from netspurt.papers.contacts import contacts, stored
from netspurt.papers.registry import measure
from netspurt.papers.traces import ack_times, busy_time, first_retransmission

from made_up_papers import bench_with, made_run, table

#: A missing value.
NAN = float("nan")

#: A path over a LAN and a modem. A packet of 1,000 octets takes 1 s on the modem.
SCENARIO = """
[links.lan]
between = ["a", "r"]
rate = "10 Mbit/s"
delay = "0.5 ms"
queue = "5 packets"
[links.modem]
between = ["r", "b"]
rate = "8000 bit/s"
delay = "50 ms"
queue = "3 packets"
[flows.x]
from = "a"
to = "b"
tcp = { packet_size = "1000 B", recovery = "sack", clock = { tick = "100 ms" } }
[record]
spy = ["a"]
"""

#: An event at the sender: its time [s], its kind and its packet.
Event = tuple[float, str, int]


def transfer(
    events: Sequence[Event], receiver: Sequence[tuple[float, str, int]] = (), **tables: Any
) -> Any:
    """Return a run with events at the sender `a`, and with arrivals and ACKs at the receiver."""
    rows = [("a", "in" if "ack" in kind else "out", t, kind, n) for t, kind, n in events]
    rows += [("b", way, t, "data", packet) for t, way, packet in receiver]
    columns = [list(column) for column in zip(*rows, strict=True)]
    names = ("node", "way", "t_s", "kind", "packet")
    flows = {"flow": ["x"], "from": ["a"], "to": ["b"]}
    made = {"segments": table(**dict(zip(names, columns, strict=True))), "flows": table(**flows)}
    return made_run(SCENARIO, **{**made, **tables})


def value(name: str, made: dict[str, Any], /, **arguments: str) -> Any:
    """Return the value of a measure on these runs."""
    return measure(name)(bench_with(made), **arguments).value


# ACKs beside the sender.

#: Events at the sender: it sends five packets, and retransmits packet 3.
SIMPLE = [
    (0.0, "data", 1),
    (0.0, "data", 2),
    (1.5, "ack", 1),
    (1.5, "data", 3),
    (1.5, "data", 4),
    (2.5, "ack", 2),
    (3.0, "dupack", 2),
    (4.0, "dupack", 2),
    (4.0, "retransmission", 3),
    (4.000000002, "data", 5),
    (6.0, "ack", 5),
]


@pytest.mark.parametrize(
    ("packet", "sends", "at"),
    [
        ("0", "1,2", 0),
        ("0", "1", None),
        ("1", "3,4", 1.5),
        ("1", "4,3", None),
        ("2", "", 2.5),
        ("2", "3", None),
        ("3", "", None),
        ("5", "", 6),
    ],
)
def test_an_ack_is_found_only_if_it_released_exactly_the_claimed_packets(
    packet: str, sends: str, at: float | None
) -> None:
    assert value("ack", {"r": transfer(SIMPLE)}, run="r", packet=packet, sends=sends) == at


@pytest.mark.parametrize(
    ("nth", "retransmissions", "at"),
    [("1", "", 3), ("2", "3", 4), ("2", "", None), ("2", "3,5", None), ("3", "", None)],
)
def test_a_duplicate_ack_is_found_by_its_number(
    nth: str, retransmissions: str, at: float | None
) -> None:
    """Packet 5 leaves 2 ns after the second duplicate ACK, so it does not belong to this ACK."""
    words = {"run": "r", "packet": "2", "nth": nth, "retransmissions": retransmissions}
    assert value("dupack", {"r": transfer(SIMPLE)}, **words) == at


def test_the_first_ack_that_covers_a_packet_and_the_first_retransmission_are_found() -> None:
    assert ack_times(transfer(SIMPLE)).tolist() == [1.5, 2.5, 6, 6, 6]
    assert ack_times(transfer(SIMPLE[:2])).tolist() == []
    assert first_retransmission(transfer(SIMPLE)) == 4
    assert first_retransmission(transfer(SIMPLE[:5])) == math.inf


def test_the_first_drop_is_reported_with_a_table_of_at_most_eight_drops() -> None:
    drops = table(t_s=[3.0 + n for n in range(9)], link=["modem"] * 9, packet=list(range(7, 16)))
    result = measure("first_drop")(bench_with({"r": made_run(drops=drops)}), run="r")
    assert (result.value, len(result.table)) == (7, 9)
    assert result.table[1] == ("3.000 s", "modem", "7")
    none = made_run(drops=table(t_s=[], link=[], packet=[]))
    assert value("first_drop", {"r": none}, run="r") is None


def test_cwnd_is_counted_in_segments_whose_size_is_the_packet_size_without_headers() -> None:
    cwnd = table(t_s=[0.0, 5.0, 7.0, 8.0], cwnd_bytes=[3840, 9600, 960, 1920])
    rto = table(t_s=[1.0, 7.0, 9.0], fired=[False, True, True])
    run = transfer(SIMPLE, cwnd=cwnd, rto=rto)
    assert value("start_windows", {"r": run}, run="r") == [4, 1]
    without_timeout = transfer(SIMPLE, cwnd=cwnd, rto=table(t_s=[1.0], fired=[False]))
    assert value("start_windows", {"r": without_timeout}, run="r") is None


def test_packets_that_leave_within_a_hundredth_of_a_round_trip_form_a_burst() -> None:
    """The round trip is 2 s, so packets within 20 ms belong together."""
    events = [(0.0, "data", 1), (2.0, "ack", 1), (4.0, "data", 2), (4.019, "data", 3)]
    events += [(4.021, "data", 4), (6.0, "ack", 4)]
    assert value("burst", {"r": transfer(events)}, run="r", round="2") == [2, 2]


# The configuration.


def test_values_of_links_are_read_from_the_resolved_scenario() -> None:
    runs = {"r": transfer(SIMPLE)}
    assert value("link_values", runs, run="r", links="modem,lan") == [8000, 50, 1e7, 0.5]
    assert value("spied_link_rate", runs, run="r", flow="x") == 1e7
    assert value("sending_time", runs, run="r", link="modem", packets="3") == 3
    hidden = made_run(SCENARIO.replace('["a"]', '["r"]'))
    assert value("spied_link_rate", {"r": hidden}, run="r", flow="x") is None
    forked = made_run(SCENARIO.replace('["r", "b"]', '["a", "b"]'))
    assert value("spied_link_rate", {"r": forked}, run="r", flow="x") is None


@pytest.mark.parametrize(("longest", "limits"), [(3, [3]), (4, None)])
def test_queue_limits_are_returned_only_if_no_queue_was_longer_than_its_limit(
    longest: int, limits: list[float] | None
) -> None:
    links = table(link=["lan", "modem", "modem"], queue_packets_max=[9, 0, longest])
    run = transfer(SIMPLE, links=links)
    assert value("queue_limits", {"r": run}, run="r", links="modem") == limits
    assert value("longest_queue", {"r": run, "s": run}, runs="r,s", links="modem") == longest


# Two runs.


def shifted(packets: int, seconds: float) -> list[Event]:
    """Return a slow start's events, later by `seconds`, with packet numbers higher by `packets`.

    With (0, 0), return the early trace, with which the shifted traces are compared.
    """
    early = [(0.2 * n, "data", n) for n in range(1, 9)]
    early += [(1.0 + 0.3 * n, "ack", n) for n in range(1, 7)]
    if (packets, seconds) == (0, 0.0):
        return [*early, (5.0, "retransmission", 7)]
    late = [(t + seconds, kind, n + packets) for t, kind, n in early]
    # Two of fourteen events came late, by half a millisecond and by two milliseconds.
    late[-2:] = [
        (t + off, kind, n) for (t, kind, n), off in zip(late[-2:], (0.0005, 0.002), strict=True)
    ]
    late += [(0.0, "data", n) for n in range(1, packets + 1)]
    return [*late, (9.9, "retransmission", 8)]


@pytest.mark.parametrize(("packets", "seconds"), [(3, 2.5), (0, 0.25), (15, 7.0)])
def test_the_shift_of_two_traces_makes_as_many_events_agree_as_possible(
    packets: int, seconds: float
) -> None:
    runs = {"early": transfer(shifted(0, 0.0)), "late": transfer(shifted(packets, seconds))}
    both = {"late": "late", "early": "early"}
    result = measure("shift")(bench_with(runs), part="packets", **both)
    assert (result.value, result.table[1][2]) == (packets, "13")
    assert value("shift", runs, part="seconds", **both) == pytest.approx(seconds)
    # A packet takes 1 s on the modem.
    ahead = seconds - packets
    assert value("gain", runs, link="modem", unit="seconds", **both) == pytest.approx(ahead)
    assert value("gain", runs, link="modem", unit="packets", **both) == pytest.approx(ahead)
    lan = value("gain", runs, link="lan", unit="packets", **both)
    assert lan == pytest.approx(seconds / 0.0008 - packets)


def test_events_after_the_first_retransmission_do_not_change_the_shift() -> None:
    """After its retransmission, the late trace repeats the early one.

    The packet numbers are then higher by 7.
    """
    early, before = shifted(0, 0.0), shifted(3, 2.5)
    late = [*before[:3], *before[8:12], (9.9, "retransmission", 8)]
    late += [(t + 20, kind, n + 7) for t, kind, n in early[:-1]]
    runs = {"early": transfer(early), "late": transfer(late)}
    assert value("shift", runs, part="packets", late="late", early="early") == 3


def test_the_smallest_of_equally_good_shifts_counts() -> None:
    runs = {
        "early": transfer([(0.0, "data", 1)]),
        "late": transfer([(3.0 * n, "data", n) for n in (1, 2)]),
    }
    both = {"late": "late", "early": "early"}
    assert value("shift", runs, part="packets", **both) == 0
    assert value("shift", runs, part="seconds", **both) == 3


def test_a_link_is_busy_while_its_queue_has_packets() -> None:
    queue = table(
        t_s=[1.0, 2.0, 4.0, 7.0, 9.0, 9.0],
        link=["modem"] * 4 + ["lan", "modem"],
        direction=["forward"] * 5 + ["reverse"],
        queue_packets=[1, 0, 2, 0, 9, 9],
    )
    run = transfer(SIMPLE, queue=queue)
    assert busy_time(run, "modem", 100) == 1 + 3
    assert busy_time(run, "modem", 5.5) == 1 + 1.5
    assert busy_time(run, "modem", 0.5) == 0


def test_an_idle_link_and_a_delay_of_the_receiver_are_distinguished() -> None:
    """The retransmission leaves at 4 s. Before that, the modem is idle for 1 s in the run `late`.

    In the other two runs, the modem is idle for 0.5 s. The receiver of the run `slow` delays the
    ACK of packet 2 by 0.4 s. A delay of an ACK after the retransmission does not count.
    """

    def run(idle_s: float, dally_s: float) -> Any:
        receiver = [(1.0, "in", 1), (1.0, "out", 1), (2.0, "in", 2), (2.0 + dally_s, "out", 2)]
        receiver += [(5.0, "in", 3), (8.0, "out", 3)]
        queue = table(
            t_s=[1.0, 2.0, 2.0 + idle_s, 9.0],
            link=["modem"] * 4,
            direction=["forward"] * 4,
            queue_packets=[1, 0, 1, 0],
        )
        return transfer(SIMPLE, receiver, queue=queue)

    runs = {"late": run(1.0, 0.0), "early": run(0.5, 0.0), "slow": run(0.5, 0.4)}
    words = {"early": "early", "dallying": "slow", "link": "modem"}
    result = measure("idle_cause")(bench_with(runs), late="late", **words)
    assert result.value == "idle 0.500 s, no dally"
    assert list(result.table[1:3]) == [("late", "1.000 s"), ("early", "0.500 s")]
    assert value("idle_cause", runs, late="slow", **words) == "idle 0.000 s, dally 0.400 s"


# Grids.


def case(window: str, acks: Sequence[float], send: str = "9 segments", **more: str) -> BenchCase:
    """Return a case with packets acknowledged at these times; the last time ends its flow."""
    events = [(0.0, "data", 1)] + [(t, "ack", n) for n, t in enumerate(acks, 1)]
    run = transfer(events)
    run.flows = table(flow=["x"], **{"from": ["a"], "to": ["b"]}, finished_s=[acks[-1]])
    values = {"initial_window": window, "send": send, "tick": {"tick": "10 ms"}, **more}
    return BenchCase(values, run)


def test_the_largest_saving_of_all_transfers_is_found() -> None:
    cases = [
        case("1 segment", [2.0, 8.0]),
        case("1 segment", [2.0, 20.0], send="90 segments"),
        case("4 segments", [2.0, 4.0]),
        case("4 segments", [2.0, 15.0], send="90 segments"),
    ]
    bench = bench_with({}, grid=lambda _: cases)
    result = measure("most_saved")(bench, grid="g")
    assert result.value == 2.5
    assert [row[0] for row in result.table[1:]] == ["9 segments", "90 segments"]


def test_lateness_is_measured_at_the_last_packet_that_both_runs_acknowledged() -> None:
    """In these cases, a start with four packets gets the ACK of packet 2 later than other starts.

    The last packet that is acknowledged in both runs is packet 2 with the recovery `sack`, and
    packet 3 with the recovery `reno`.
    """
    cases = [
        case("1 segment", [1.0, 2.0, 3.0, 4.0], recovery="reno"),
        case("4 segments", [1.0, 2.5, 2.75], recovery="reno"),
        case("1 segment", [1.0, 2.0], recovery="sack"),
        case("4 segments", [1.0, 2.125, 9.0], recovery="sack"),
        case("1 segment", [1.0, 2.0], recovery="tahoe"),
        case("4 segments", [1.0, 5.0], recovery="tahoe"),
    ]
    bench = bench_with({}, grid=lambda _: cases)
    result = measure("lateness")(bench, grid="g", modules="reno,sack")
    assert result.value == 0.125
    assert [row[2:] for row in result.table[1:]] == [
        ("-0.250 s", "+0.500 s", "1 of 3"),
        ("+0.125 s", "+0.125 s", "1 of 2"),
    ]
    assert measure("lateness")(bench, grid="g", modules="reno").value == -0.25


# Timers.


def test_the_tick_of_a_timer_is_the_greatest_common_divisor_of_its_samples() -> None:
    runs = {
        "coarse": made_run(rtt=table(t_s=[0, 1, 2], rtt_s=[1.5, 2.0, 3.5])),
        "fine": made_run(rtt=table(t_s=[0, 1], rtt_s=[0.03, 0.05])),
    }
    assert value("ticks_read", runs, runs="coarse,fine") == [500, 10]


def test_the_factor_of_rttvar_leaves_out_small_rttvars_and_backoffs() -> None:
    rto = table(
        t_s=[0.0, 1.0, 2.0, 3.0, 4.0],
        srtt_s=[1.0] * 5,
        rttvar_s=[0.2, 0.3, 0.25, 0.19, 0.5],
        rto_s=[1.8, 2.2, 2.25, 9.0, 9.0],
        backoff=[1, 1, 1, 1, 2],
    )
    run = made_run(SCENARIO, rto=rto)
    # Two ticks are 200 ms. The factors are 0.8/0.2, 1.2/0.3 and 1.25/0.25.
    assert value("deviations_in_timer", {"r": run}, run="r", least="2") == pytest.approx(4)
    assert value("deviations_in_timer", {"r": run}, run="r", least="2.4") == pytest.approx(4.5)


def test_the_first_rttvar_and_the_first_rto_are_returned_as_multiples_of_the_first_sample() -> None:
    rtt = table(t_s=[2.0, 3.0], rtt_s=[0.4, 9.0])
    rto = table(
        t_s=[0.0, 2.0, 3.0], srtt_s=[NAN, 0.4, 9], rttvar_s=[NAN, 0.2, 9], rto_s=[3.0, 1.2, 9]
    )
    assert value("first_timer", {"r": made_run(rtt=rtt, rto=rto)}, run="r") == pytest.approx(
        [0.5, 3]
    )


def test_ssthresh_after_a_timeout_is_measured_as_a_share_of_the_old_cwnd() -> None:
    rto = table(t_s=[4.0, 6.0], fired=[True, True])
    cwnd = table(
        t_s=[0.0, 3.0, 4.0, 6.0],
        cwnd_bytes=[960, 7680, 960, 960],
        ssthresh_bytes=[64000, 64000, 3840, 1920],
    )
    run = made_run(SCENARIO, rto=rto, cwnd=cwnd)
    assert value("after_a_timeout", {"r": run}, run="r") == [1, 0.5]


def test_the_time_from_a_timeout_to_the_next_ack_of_new_data_is_measured() -> None:
    rto = table(t_s=[1.0, 1.75, 5.0], fired=[False, True, True])
    assert value("early_by", {"r": transfer(SIMPLE, rto=rto)}, run="r") == pytest.approx(750)
    without_timeout = transfer(SIMPLE, rto=table(t_s=[1.0], fired=[False]))
    assert value("early_by", {"r": without_timeout}, run="r") is None


def test_runs_with_two_clocks_are_compared_by_end_and_by_duration() -> None:
    runs = {
        name: made_run(flows=table(start_s=[start], finished_s=[end]))
        for name, start, end in (("fine", 10.0, 45.0), ("coarse", 20.0, 60.0))
    }
    assert value("clocks_ratio", runs, runs="fine,coarse") == [45 / 60, 35 / 40]
    assert value("ends_at", runs, run="coarse") == 60


def test_the_use_of_a_line_after_a_step_is_measured_without_the_pause_that_the_step_makes() -> None:
    """Before the delay steps up, ten packets arrive in each second; in the next second, none."""
    paper = read_paper("globecom2000")
    ((step, _),) = (jump for jump in stored(paper, contacts(paper)["S14"]).jumps() if jump[1] > 0)
    counts = [10, 10, 10, 0, 4, 7, 10, 10, 10, 10, 10, 10, 10, 10]
    arrivals = [step - 3 + n + k / 20 for n, count in enumerate(counts) for k in range(count)]
    run = transfer(SIMPLE, [(t, "in", 1) for t in arrivals])
    bench = bench_with({"r": run}, paper=paper)
    used = measure("used_after_step")(bench, run="r", contact="S14", window="1").value
    assert used == pytest.approx(0.4)


def test_spikes_are_compared_by_the_ranges_of_round_trips_at_equal_starts() -> None:
    links = table(queue_packets_max=[3])
    trips = {(True, 1): [0.5, 1.5], (False, 1): [0.5, 0.75], (True, 2): [1, 2], (False, 2): [1, 3]}
    cases = [
        BenchCase(
            {"pacing": paced, "start": start, "size": 9},
            made_run(rtt=table(t_s=[0, 1], rtt_s=values), links=links),
        )
        for (paced, start), values in trips.items()
    ]
    bench = bench_with({}, grid=lambda _: cases)
    assert measure("spikes_by_size")(bench, grid="g").value == pytest.approx([(4 + 0.5) / 2])
