"""Tests what a comparison of two runs finds: common events, the first difference and its reason.

An event is a segment that the sender sends, or an ACK that reaches the sender.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt.analysis.compare import (
    LIMITED_TRANSMIT,
    PARTIAL_ACK,
    Seen,
    compare,
    events,
    mechanisms,
    opening,
    why,
)
from netspurt.analysis.settings import differences
from netspurt.captures import explain
from netspurt.cli.comparing import settings_lines

from conftest import Command


def data(t_s: float, packet: int, nth: int = 1, cause: str = "") -> Seen:
    """Return the event in which a segment of 100 octets is sent for the `nth` time."""
    kind = "retransmission" if cause else "data"
    return Seen(("out", "data", 100 * packet - 99, 100, nth), t_s, kind, cause, packet)


def ack(t_s: float, packet: int, nth: int = 1) -> Seen:
    """Return the arrival of an ACK. Of equal ACKs, all but the first are duplicate ACKs."""
    kind = "ack" if nth == 1 else "dupack"
    return Seen(("in", "ack", 100 * packet + 1, 0, nth), t_s, kind, "", packet)


#: The first events of a run.
START = [data(0.0, 1), data(0.0, 2), data(0.0, 3), data(0.0, 4), ack(1.0, 1)]


def test_a_run_has_no_difference_from_itself() -> None:
    comparison = compare(START, START)
    assert (comparison.same, comparison.matched, comparison.only, comparison.parted) == (
        5,
        5,
        (0, 0),
        (None, None),
    )
    assert comparison.differences_s.tolist() == comparison.all_differences_s.tolist() == [0.0] * 5
    assert why(comparison, START, START) == ""


def test_the_end_of_a_shorter_run_is_the_first_difference() -> None:
    comparison = compare(START, [*START, data(1.5, 5)])
    assert (comparison.same, comparison.only) == (5, (0, 1))
    assert comparison.parted[0] is None
    assert str(comparison.parted[1]) == "sends packet 5"


def test_equal_events_match_even_if_their_times_and_their_order_differ() -> None:
    first = [data(0.0, 1), data(0.0, 2), ack(1.0, 1), ack(1.5, 2)]
    second = [data(0.0, 1), ack(1.25, 1), data(1.25, 2), ack(1.5, 2)]
    comparison = compare(first, second)
    assert (comparison.same, comparison.matched, comparison.only) == (1, 4, (0, 0))
    assert comparison.all_differences_s.tolist() == [0.0, 1.25, 0.25, 0.0]
    assert comparison.differences_s.tolist() == [0.0]


@pytest.mark.parametrize("seed", range(20))
def test_swapping_two_runs_swaps_the_results_of_their_comparison(seed: int) -> None:
    chance = random.Random(seed)
    runs: list[list[Seen]] = []
    for _ in range(2):
        sent = sorted(chance.sample(range(1, 30), chance.randrange(1, 25)))
        runs.append([data(chance.random(), packet) for packet in sent])
    found, swapped = compare(*runs), compare(*reversed(runs))
    assert (found.same, found.matched) == (swapped.same, swapped.matched)
    assert found.only == swapped.only[::-1]
    assert found.parted == swapped.parted[::-1]
    assert sorted(found.all_differences_s) == pytest.approx(sorted(-swapped.all_differences_s))
    for run, only in zip(runs, found.only, strict=True):
        assert found.matched + only == len(run)
    shared = {seen.key for seen in runs[0]} & {seen.key for seen in runs[1]}
    assert found.matched == len(shared)
    assert [seen.key for seen in runs[0][: found.same]] == [s.key for s in runs[1][: found.same]]


def test_new_segments_on_duplicate_acks_count_as_limited_transmit_in_either_run() -> None:
    plain = [*START, ack(1.1, 1, 2), ack(1.2, 1, 3)]
    limited = [*START, ack(1.1, 1, 2), data(1.1, 5), ack(1.2, 1, 3)]
    for pair in ((plain, limited), (limited, plain)):
        assert why(compare(*pair), *pair) == LIMITED_TRANSMIT
    # A segment on the third duplicate ACK is not limited transmit: RFC 3042 allows two segments.
    third = [*START, *(ack(1.0 + n / 10, 1, n) for n in (2, 3, 4))]
    late = [*third, data(1.4, 5)]
    assert why(compare(third, late), third, late) == ""


def test_a_retransmission_in_only_one_run_is_reported_with_its_cause() -> None:
    waits = [*START, ack(1.5, 2)]
    repeated = [*START, data(1.4, 2, 2, "rto")]
    reason = why(compare(waits, repeated), waits, repeated)
    assert reason == "a retransmission (timeout) that the other run does not have at this point"


def test_no_reason_is_given_if_the_first_difference_is_an_ack() -> None:
    first, second = [*START, ack(1.5, 2)], [*START, ack(1.5, 3)]
    assert why(compare(first, second), first, second) == ""


@pytest.mark.parametrize(
    ("cause", "named"),
    [
        ("rto", "timeout"),
        ("go-back-n", "go-back-N"),
        ("tlp", "tail loss probe (RFC 8985)"),
        ("sfr", "Super Fast Retransmit"),
        ("syn", "SYN"),
        ("sack-recovery", "SACK recovery"),
        ("rack", "RACK"),
    ],
)
def test_each_cause_is_listed_by_name_with_all_its_instants(cause: str, named: str) -> None:
    run = [*START, data(2.0, 2, 2, cause), data(3.0, 2, 3, cause)]
    assert mechanisms(run) == {named: [2.0, 3.0]}


def test_a_fast_retransmit_on_a_new_ack_is_called_a_repair_through_a_partial_ack() -> None:
    duplicates = [ack(1.0 + n / 10, 1, n) for n in (2, 3, 4)]
    run = [*START, *duplicates, data(1.4, 2, 2, "fast"), ack(2.0, 2), data(2.0, 3, 2, "fast")]
    assert mechanisms(run) == {"fast retransmit": [1.4], PARTIAL_ACK: [2.0]}


def test_limited_transmit_is_counted_on_the_first_two_duplicates_of_each_ack() -> None:
    run = [*START]
    for n, packet in ((2, 5), (3, 6), (4, 7)):
        run += [ack(1.0 + n / 10, 1, n), data(1.0 + n / 10, packet)]
    run += [ack(3.0, 4), data(3.0, 8), ack(3.1, 4, 2), data(3.1, 9)]
    assert mechanisms(run) == {LIMITED_TRANSMIT: [1.2, 1.3, 3.1]}


# Comparisons of simulated runs.


@pytest.fixture(scope="module")
def both() -> tuple[ns.Run, ns.Run]:
    """Run the scenario of `netspurt new` twice: without and with limited transmit."""
    plain = ns.new_scenario().replace({"stop": "30 s", "flows.transfer.tcp.recovery": "reno"})
    return plain.run(), plain.replace({"flows.transfer.tcp.limited_transmit": True}).run()


@pytest.fixture
def folders(both: tuple[ns.Run, ns.Run], tmp_path: Path) -> None:
    """Save the two runs of the fixture `both` in the folders `plain` and `limited`."""
    for run, name in zip(both, ("plain", "limited"), strict=True):
        run.save(tmp_path / name)


def test_events_have_different_keys_and_begin_with_the_first_data(
    both: tuple[ns.Run, ns.Run],
) -> None:
    for run in both:
        seen = events(run.segments, "transfer", "source")
        assert (seen[0].t_s, str(seen[0])) == (0.0, "sends packet 1")
        assert len({event.key for event in seen}) == len(seen)
        assert [event.t_s for event in seen] == sorted(event.t_s for event in seen)
        causes = [event.cause for event in seen if event.cause]
        assert len(causes) == int(run.flows["retransmissions"][0])
        at = np.array([event.at_s - event.t_s for event in seen])
        assert np.ptp(at) == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="no data of flow transfer was seen at r9"):
        events(both[0].segments, "transfer", "r9")


def test_the_time_from_the_last_ack_to_the_first_data_is_returned(
    both: tuple[ns.Run, ns.Run],
) -> None:
    """The server replies 300 ms after a request, and acknowledges the request before it replies."""
    assert opening(both[0].segments, "transfer", "source") is None, (
        "there must be no time if the data of the sender leaves before any ACK comes"
    )
    values = {
        "flows.transfer": {
            "from": "source",
            "to": "receiver",
            "send": "200 B",
            "app": {"reply": "2 kB", "requests": 1, "serve": "300 ms"},
        },
        "record.spy": ["receiver"],
        "stop": "9 s",
    }
    run = ns.new_scenario().replace(values).run()
    left = run.segments.where(way="out", node="receiver")
    rows = list(zip(left.seconds(), left["len_bytes"].tolist(), left["kind"], strict=True))
    first = next(t for t, octets, _ in rows if octets)
    before = [t for t, octets, kind in rows if not octets and kind == "ack" and t < first]
    gap = opening(run.segments, "transfer", "receiver")
    assert gap == pytest.approx(first - before[-1])
    assert 0.05 < first - before[-1] <= 0.3


@pytest.mark.usefixtures("folders")
def test_the_command_shows_the_first_difference_of_two_runs_and_its_reason(
    netspurt: Command,
) -> None:
    result = netspurt("compare", "plain", "limited")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("flow transfer: neither finishes within 30 s; plain is ")
    assert "flow transfer at source, from its first data segment on" in lines
    assert f"first divergence: {LIMITED_TRANSMIT}" in lines
    heading, *rows = lines[lines.index("differences:") + 1 :]
    assert heading.split()[-2:] == ["plain", "limited"]
    counts = next(row for row in rows if LIMITED_TRANSMIT in row).split()
    assert counts[-2] == "0"
    assert int(counts[-1]) > 0
    assert [line.partition(":")[0] for line in lines if line.startswith("retransmissions")] == [
        "retransmissions in plain",
        "retransmissions in limited",
    ]
    back = netspurt("compare", "limited", "plain").stdout
    assert f"first divergence: {LIMITED_TRANSMIT}" in back


def test_the_comparison_begins_with_the_run_that_finished_first(
    netspurt: Command, tmp_path: Path
) -> None:
    base = ns.new_scenario().replace({"flows.transfer.send": "20 segments", "stop": "99 s"})
    short, long = base.run(), base.replace({"links.modem.queue": "10 packets"}).run()
    took = [float(run.flows.seconds("finished_ns")[0]) for run in (short, long)]
    assert took[0] < took[1], "the run with the longer queue must take longer"
    for run, name in zip((short, long), ("short", "long"), strict=True):
        run.save(tmp_path / name)
    longer = f"{100 * (took[1] / took[0] - 1):.2g} % longer"
    first, _, head, *rows = netspurt("compare", "short", "long").stdout.splitlines()
    assert first == (
        f"flow transfer: short finishes first, after {took[0]:.3f} s; "
        f"long finishes after {took[1]:.3f} s ({longer})"
    )
    assert head.split()[:3] == ["finished", "after", "goodput"]
    assert [row.split()[:3] for row in rows[:2]] == [
        [name, f"{t:.3f}", "s"] for name, t in zip(("short", "long"), took, strict=True)
    ]
    data = json.loads(netspurt("compare", "short", "long", "--json").stdout)["outcomes"]
    assert [entry["took_s"] for entry in data] == pytest.approx(took)
    assert data[0]["goodput_bps"] == pytest.approx(8 * data[0]["acked_bytes"] / took[0])
    # If the connection was closed, the run's capture shows the same time as the run's folder.
    values = {"flows.transfer.profile": "linux-6", "flows.transfer.tcp": {}}
    base.replace(values).run().save(tmp_path / "linux")
    data = json.loads(netspurt("compare", "linux", "linux/source.pcapng", "--json").stdout)[
        "outcomes"
    ]
    assert data[0]["took_s"] == pytest.approx(data[1]["took_s"])


@pytest.mark.usefixtures("folders")
def test_a_count_of_one_is_in_the_singular(netspurt: Command) -> None:
    output = netspurt("compare", "plain", "limited", "--span", "1.3").stdout
    assert "s: 6 segments, 1 ACK; their times" in output


@pytest.mark.usefixtures("folders")
def test_json_lists_every_event_in_order_with_its_times_in_both_runs(netspurt: Command) -> None:
    data = json.loads(netspurt("compare", "plain", "limited", "--json").stdout)
    rows = data["events"]
    firsts = [row["first_s"] if row["first_s"] is not None else row["second_s"] for row in rows]
    assert firsts == sorted(firsts)
    paired = [row for row in rows if None not in (row["first_s"], row["second_s"])]
    assert len(paired) == data["matched"]
    for row in paired:
        assert row["difference_s"] == pytest.approx(row["second_s"] - row["first_s"])
    assert sum(row["first_s"] is None for row in rows) == data["only"][1]
    assert sum(row["second_s"] is None for row in rows) == data["only"][0]
    differences = [row["difference_s"] for row in paired]
    assert data["difference_s_median"] == pytest.approx(np.median(differences))
    assert abs(data["difference_s_largest"]) == pytest.approx(np.abs(differences).max())
    assert data["why"] == LIMITED_TRANSMIT


@pytest.mark.usefixtures("folders")
@pytest.mark.parametrize("span", ["1 s", "500ms", "12.5"])
def test_the_option_span_leaves_out_later_events(netspurt: Command, span: str) -> None:
    data = json.loads(netspurt("compare", "plain", "limited", "--span", span, "--json").stdout)
    most = {"1 s": 1.0, "500ms": 0.5, "12.5": 12.5}[span]
    assert data["span_s"] == most
    times = [t for row in data["events"] for t in (row["first_s"], row["second_s"])]
    assert max(t for t in times if t is not None) <= most
    if most < 5:
        assert (data["parted"], data["only"]) == ([None, None], [0, 0])


@pytest.mark.usefixtures("folders")
def test_runs_with_two_flows_are_compared_only_if_the_command_names_a_flow(
    netspurt: Command, tmp_path: Path
) -> None:
    text = """
        stop = "5 s"
        dumbbell = { pairs = 2, access = { rate = "9 Mbit/s" }, bottleneck = { rate = "1 Mbit/s" } }
        flows = { a = { from = "west0", to = "east0" }, b = { from = "west1", to = "east1" } }
        record = { spy = ["west0", "west1"] }
    """
    ns.Scenario.parse(text).run().save(tmp_path / "two")
    several = "flows that both runs have: a, b; name one with --flow"
    none = "the first has a, b, the second transfer; --flow a,transfer compares a flow of each"
    for other, there in (("two", several), ("plain", none)):
        result = netspurt("compare", "two", other)
        assert result.returncode == 2
        assert there in result.stderr
    assert "same events for 4.962 s" in netspurt("compare", "two", "two", "--flow", "b").stdout
    many = ns.new_scenario().replace({"flows.transfer.count": 30, "stop": "5 s"}).run()
    many.save(tmp_path / "many")
    result = netspurt("compare", "many", "many")
    assert result.stderr.endswith("transfer.7, and more; name one with --flow\n")


def test_the_comparison_of_different_scenarios_says_that_they_have_nothing_in_common(
    netspurt: Command, tmp_path: Path
) -> None:
    ns.new_scenario().replace({"stop": "5 s"}).run().save(tmp_path / "one")
    other = ns.load("requests").replace({"stop": "2 s"})
    other.run().save(tmp_path / "other")
    output = netspurt("compare", "one", "other", "--flow", "transfer,web").stdout
    assert "nothing in common: " in output
    assert "median" not in output


def test_a_comparison_of_runs_with_different_segment_sizes_names_these_sizes(
    netspurt: Command, tmp_path: Path
) -> None:
    large = ns.new_scenario().replace({"stop": "5 s"})
    small = large.replace({"flows.transfer.tcp.packet_size": "600 B"})
    large.run().save(tmp_path / "large")
    small.run().save(tmp_path / "small")
    output = " ".join(netspurt("compare", "large", "small").stdout.split())
    payloads = [int(s.run().segments["len_bytes"].max()) for s in (large, small)]
    assert payloads[0] > payloads[1]
    expected = f"most data segments have {payloads[0]} B in large and {payloads[1]} B in small"
    assert expected in output


def test_a_comparison_lists_the_differences_of_the_scenarios(
    netspurt: Command, tmp_path: Path
) -> None:
    base = ns.new_scenario().replace({"stop": "20 s"})
    base.run().save(tmp_path / "a")
    base.replace({"links.modem.queue": "10 packets", "seed": 7}).run().save(tmp_path / "b")
    lines = netspurt("compare", "a", "b").stdout.splitlines()
    at = lines.index("the scenarios differ:")
    assert [line.split() for line in lines[at + 2 :]] == [
        ["seed", "1", "7"],
        ["links.modem.queue", "3", "packets", "10", "packets"],
    ]
    data = json.loads(netspurt("compare", "a", "b", "--json").stdout)["scenarios"]
    assert data[1] == {"key": "links.modem.queue", "first": "3 packets", "second": "10 packets"}
    assert "the scenarios are the same" in netspurt("compare", "a", "a").stdout
    other = base.replace({"flows.transfer.profile": "linux-6"}).run()
    other.save(tmp_path / "c")
    assert " more keys; --json has all" in netspurt("compare", "a", "c").stdout


def test_the_direction_with_more_data_is_compared(netspurt: Command, tmp_path: Path) -> None:
    base = ns.load("requests").replace({"stop": "4 s"})
    base.run().save(tmp_path / "a")
    base.replace({"seed": 9}).run().save(tmp_path / "b")
    result = netspurt("compare", "a", "b")
    assert "flow web (reverse) at server" in result.stdout
    assert "median reply" in result.stdout
    assert "most of the data of flow web; --direction forward shows the other" in result.stderr
    assert "flow web at client" in netspurt("compare", "a", "b", "--direction", "forward").stdout


#: A scenario in which data of both ends is lost. The last request gets no reply before the stop.
BOTH_WAYS = """
stop = "3 s"
seed = 2
[links.path]
between = ["client", "server"]
rate = "5 Mbit/s"
delay = "20 ms"
loss = [{ packets = [4] }, { packets = [12] }]
[flows.web]
from = "client"
to = "server"
profile = "linux-6"
send = "20 kB"
app = { requests = 60, reply = "40 kB" }
"""


def test_the_lines_on_spurious_retransmissions_stand_below_those_on_all_retransmissions(
    netspurt: Command,
) -> None:
    base = ns.load("early-timeout")
    slow = base.replace({"flows.transfer.tcp.clock": {"tick": "500 ms"}})
    runs = [base.run(), slow.run()]
    for run, name in zip(runs, ("fine", "slow"), strict=True):
        run.save(name)
    counts = [int(run.flows["spurious"][0]) for run in runs]
    assert counts[0] > counts[1], "the fine clock must cause more spurious retransmissions"
    lines = netspurt("compare", "fine", "slow").stdout.splitlines()
    place = lines.index(f"spurious retransmissions in fine: {counts[0]}")
    assert lines[place - 1].startswith("retransmissions in slow: ")
    assert lines[place + 1] == f"spurious retransmissions in slow: {counts[1]}"
    assert json.loads(netspurt("compare", "fine", "slow", "--json").stdout)["spurious"] == counts


def test_the_retransmissions_of_each_end_are_counted_separately(
    netspurt: Command, tmp_path: Path
) -> None:
    run = ns.Scenario.parse(BOTH_WAYS, name="both").run()
    run.save(tmp_path / "a")
    run.save(tmp_path / "b")
    counts = [int(n) for n in run.flows["retransmissions"]]
    assert min(counts) > 0
    lines = netspurt("compare", "a", "b", "--direction", "reverse").stdout.splitlines()
    told = [line.partition(": ") for line in lines if line.startswith("retransmissions in a")]
    assert [line[0] for line in told] == [
        "retransmissions in a",
        "retransmissions in a, received by server",
    ]
    numbers = [[int(n) for n in re.findall(r" (\d+)(?:,|$)", line[2])] for line in told]
    sent = [sum(own) for own in numbers]
    assert sent == [counts[1], counts[0]]
    data = json.loads(netspurt("compare", "a", "b", "--direction", "reverse", "--json").stdout)
    assert sum(data["retransmissions"][0].values()) == counts[1]
    assert sum(data["retransmissions_of_others"][0]["in"].values()) == counts[0]


def test_netspurt_run_and_netspurt_compare_print_the_same_median_time_of_a_reply(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "both.toml").write_text(BOTH_WAYS)
    report = netspurt("run", "both.toml", "--out", "a").stdout
    requests = ns.open_run(tmp_path / "a").table("requests")
    spans = requests.seconds("complete_ns")
    assert np.isnan(spans).sum() == 1, "one request must wait at the end"
    median = float(np.sort(spans)[-(-len(spans) // 2) - 1])
    told = f"{1e3 * median:.3f} ms"
    assert told in report
    compared = netspurt("compare", "a", "a").stdout
    assert compared.count(told) == 2
    assert "1 request still waited at the end of the run" in report


def test_the_comparison_of_a_named_connection_shows_its_busier_direction_and_its_timeouts(
    netspurt: Command, tmp_path: Path
) -> None:
    ns.load("slow-download").run().save(tmp_path / "slow")
    capture = "slow/server.pcapng"
    output = netspurt("compare", capture, capture, "--flow", "c3").stdout
    assert output.startswith("flow c3 (reverse): neither finishes")
    row = output.splitlines()[3]
    retransmissions = explain(tmp_path / "slow" / "server.pcapng").table("retransmissions")
    own = retransmissions.where(connection=3, direction="reverse", cause="rto")
    assert len(own) == 5
    assert row.split()[-1] == "5"


def test_keys_that_the_kernels_tcp_does_not_have_are_counted_and_not_listed() -> None:
    model = """
        stop = "3 s"
        flows.web = { endpoint = "model", profile = "linux-6", tcp = { prr = true, tlp = true } }
    """
    kernel = """
        stop = "3 s"
        flows.web = { endpoint = "kernel", profile = "linux-6" }
    """
    _, head, *rows, last = settings_lines(differences(model, kernel), ["model", "kernel"])
    assert head.split() == ["key", "model", "kernel"]
    assert [row.split() for row in rows] == [["flows.web.endpoint", "model", "kernel"]]
    assert last == "  ... and 2 keys of the model's TCP, which the kernel's TCP does not have"
    other = model.replace("tlp = true", "tlp = false")
    (*_, row) = settings_lines(differences(model, other), ["model", "other"])
    assert row.split() == ["flows.web.tcp.tlp", "true", "false"]
