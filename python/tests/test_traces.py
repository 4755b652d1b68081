"""Tests traces of Mahimahi that are made from rates, opportunities and captures.

An opportunity is an instant at which the link may deliver 1500 octets. A trace lists all
opportunities of a link, in milliseconds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netspurt as ns
from netspurt.timelines import (
    Outage,
    Timeline,
    Way,
    delivered,
    mahimahi,
    read_timeline,
    silence_at_end,
)

from conftest import Command, refused

#: The nanoseconds of a second.
S = 1_000_000_000
#: The nanoseconds of a millisecond.
MS = 1_000_000


def test_a_rate_of_12_mbit_s_gives_one_opportunity_in_each_millisecond() -> None:
    assert mahimahi(Way(rate=[(0, 12_000_000)]), S) == list(range(1, 1001))


def test_the_remainder_of_a_rate_counts_for_the_next_opportunity() -> None:
    # 1500 octets at 8 Mbit/s take 1.5 ms.
    assert mahimahi(Way(rate=[(0, 8_000_000)]), 6 * MS) == [2, 3, 5, 6]
    # Half of the first 1500 octets are sent at the first rate, and half at the second rate.
    assert mahimahi(Way(rate=[(0, 12_000_000), (500_000, 6_000_000)]), 4 * MS) == [2, 4]


def test_an_outage_has_no_opportunities() -> None:
    way = Way(rate=[(0, 12_000_000)], outages=[Outage(2 * MS, 5 * MS)])
    assert mahimahi(way, 10 * MS) == [1, 2, 8, 9, 10]


def test_an_outage_at_the_end_stays_in_the_trace(netspurt: Command) -> None:
    way = Way(rate=[(0, 12_000_000)], outages=[Outage(3 * MS, 5 * MS)])
    assert mahimahi(way, 6 * MS) == [1, 2, 3, 6]
    assert mahimahi(Way(rate=[(0, 12_000_000), (3 * MS, 0)]), 6 * MS) == [1, 2, 3, 6]
    assert silence_at_end(way, 6 * MS) == 3 * MS
    assert silence_at_end(way, 9 * MS) == 0
    # An opportunity that is incomplete at the end does not make an outage.
    assert mahimahi(Way(rate=[(0, 8_000_000)]), 5 * MS) == [2, 3, 5]
    assert mahimahi(Way(rate=[(0, 5_000_000)]), 4 * MS) == [3]
    Path("rates.csv").write_text("t_s,rate_mbps\n0,12\n10,0\n12,3\n")
    output = netspurt("timeline", "rates.csv", "--mahimahi", "c.up", "--for", "11s").stdout
    assert "10,001 opportunities in 11 s, 10.9 Mbit/s on average" in output
    assert "an outage of 1 s" in output
    assert Path("c.up").read_text().split()[-2:] == ["10000", "11000"]


def test_a_millisecond_may_have_several_opportunities() -> None:
    assert mahimahi(Way(rate=[(0, 36_000_000)]), 2 * MS) == [1, 1, 1, 2, 2, 2]


@given(
    st.lists(
        st.tuples(st.integers(1, 400), st.integers(100_000, 200_000_000)), min_size=1, max_size=8
    )
)
def test_a_trace_and_its_rate_differ_by_at_most_one_opportunity(
    spans: list[tuple[int, int]],
) -> None:
    starts = np.concatenate([[0], np.cumsum([span for span, _ in spans])])
    rates = [rate for _, rate in spans]
    points = [(int(at) * MS, rate) for at, rate in zip(starts, rates, strict=False)]
    bits = np.concatenate([[0], np.cumsum([span * rate // 1000 for span, rate in spans])])
    if bits[-1] < 13_000:
        return
    lines = np.array(mahimahi(Way(rate=points), int(starts[-1]) * MS))
    assert (np.diff(lines) >= 0).all()
    assert lines[0] >= 1
    for at, offered in zip(starts, bits, strict=True):
        count = int(np.searchsorted(lines, at, side="right"))
        assert abs(count - offered / 12_000) <= 1 + 1e-6


def test_opportunities_are_written_back_as_they_were_read(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "a.up").write_text("1\n1\n3\n7\n")
    result = netspurt("timeline", "a.up", "--mahimahi", "b.up")
    assert result.stdout == "b.up: 4 opportunities in 0.007 s, 6.86 Mbit/s on average\n"
    assert (tmp_path / "b.up").read_text() == "1\n1\n3\n7\n"
    refused(netspurt("timeline", "a.up", "--mahimahi", "b.up"), "exists")


def test_each_direction_has_a_trace_of_its_own(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "up").write_text("2\n4\n")
    (tmp_path / "down").write_text("1\n")
    netspurt("timeline", "up", "--reverse", "down", "--out", "both.toml")
    netspurt("timeline", "both.toml", "--mahimahi", "f")
    netspurt("timeline", "both.toml", "--mahimahi", "r", "--direction", "reverse")
    assert ((tmp_path / "f").read_text(), (tmp_path / "r").read_text()) == ("2\n4\n", "1\n")


def test_an_impossible_trace_is_an_error(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "rate.csv").write_text("t_s,rate_mbps\n0,12\n")
    (tmp_path / "delay.csv").write_text("t_s,delay_ms\n0,12\n")
    refused(netspurt("timeline", "rate.csv", "--mahimahi", "a"), "rate.csv: add --for TIME")
    refused(netspurt("timeline", "rate.csv", "--for", "1s"), "--for needs --mahimahi")
    refused(netspurt("timeline", "delay.csv", "--mahimahi", "a"), "there is no rate")
    refused(netspurt("timeline", "rate.csv", "--mahimahi", "a", "--for", "0.1ms"), "1500 octets")
    refused(netspurt("timeline", "rate.csv", "--mahimahi", "a", "--for", "9h"), "at most 200,000")
    assert not (tmp_path / "a").exists()
    broken = Way(opportunities=[1], outages=[Outage(0, 1)])
    with pytest.raises(ValueError, match="a trace repeats and outages do not"):
        mahimahi(broken)


#: A scenario with a transfer that never ends; a test fills in the rate of its link.
FULL = """
stop = "20 s"
[links.cell]
between = ["source", "receiver"]
delay = "10 ms"
queue = "200 packets"
rate = {}
[flows.transfer]
from = "source"
to = "receiver"
profile = "linux-6"
send = "unlimited"
[record]
spy = ["receiver"]
"""


def test_a_rate_and_the_trace_of_this_rate_make_a_link_deliver_about_equally_much(
    tmp_path: Path,
) -> None:
    by_rate = '{ timeline = [["0 s", "6 Mbit/s"], ["5 s", "2 Mbit/s"]] }'
    steps = Way(rate=[(0, 6_000_000), (5 * S, 2_000_000)])
    (tmp_path / "trace").write_text("".join(f"{at}\n" for at in mahimahi(steps, 20 * S)))
    read = read_timeline(tmp_path / "trace")
    by_trace = read.to_toml().partition("rate = ")[2].replace("\n", " ")
    runs = [
        ns.Scenario.parse(FULL.replace("{}", rate), "full.toml").run()
        for rate in (by_rate, by_trace)
    ]
    got = [int(run.flows["delivered_bytes"][0]) for run in runs]
    assert got[1] == pytest.approx(got[0], rel=0.02)
    # The packets that arrive at the receiver give the trace again.
    data = runs[1].segments.where(direction="forward")
    timeline = delivered("receiver", data["t_ns"], data["size_bytes"])
    lines = np.array(mahimahi(timeline.forward))
    sizes = float(data["size_bytes"].sum()) - float(data["size_bytes"][0])
    assert abs(len(lines) - sizes / 1500) <= 1
    late = (lines > 5000) & (lines < 15_000)
    assert late.sum() * 12_000 / 10 == pytest.approx(2_000_000, rel=0.02)


def test_the_first_packet_fills_no_opportunity_and_times_count_from_this_packet() -> None:
    made = delivered("x", [5 * MS, 6 * MS, 8 * MS, 9 * MS], [1500, 750, 750, 3000])
    assert isinstance(made, Timeline)
    assert list(made.forward.opportunities) == [3 * MS, 4 * MS, 4 * MS]
    with pytest.raises(ValueError, match="less than 1500 octets passed after the first"):
        delivered("x", [0, 1], [1500, 40])


def test_a_capture_gives_a_trace_of_its_delivered_packets(
    netspurt: Command, tmp_path: Path
) -> None:
    run = ns.Scenario.parse(FULL.replace("{}", '"2 Mbit/s"'), "full.toml").run()
    run.save(tmp_path / "r")
    result = netspurt("timeline", "r/receiver.pcapng", "--mahimahi", "cell.down")
    assert "2 Mbit/s on average" in result.stdout
    assert "the link could not deliver more than the packets that passed" in result.stderr
