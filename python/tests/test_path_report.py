"""Tests how the delays of a path are described, in lines of text and in data.

The description has the median delay, how the delay depends on the length of probes, bursts of long
delays, and a histogram.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netspurt.analysis.glitches import Glitch
from netspurt.cli.path_report import (
    bars,
    burst_data,
    burst_lines,
    delay_line,
    each_way,
    length_text,
    path_data,
    rate_text,
    span,
)
from netspurt.delays import Delays
from netspurt.probe import Histogram


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1000, "1 µs"),
        (1_234_567, "1.235 ms"),
        (10**9, "1 s"),
        (-2_500_000, "-2.5 ms"),
        (90 * 10**9, "90 s"),
    ],
)
def test_a_time_has_the_largest_unit_that_it_reaches(nanos: float, text: str) -> None:
    assert span(nanos) == text


def test_the_line_of_the_delays_says_whether_they_are_round_trips() -> None:
    delay = {"p1_ms": 10.0, "median_ms": 25.0, "p99_ms": 1500.0, "one_way_median_ms": 12.5}
    assert delay_line({"delay": delay}, "round-trip") == (
        "round trip 25 ms median, 10 ms - 1.5 s (1-99 %)"
    )
    assert delay_line({"delay": delay}, "one-way") == (
        "one-way delay 25 ms median, 10 ms - 1.5 s (1-99 %)"
    )


def test_the_rate_in_each_direction_is_twice_the_rate_that_round_trips_give() -> None:
    line: dict[str, Any] = {"rate_bps": 28e3, "rate_bps_between": [25e3, 32e3]}
    assert (
        rate_text(line, "round-trip", each_way("round-trip"))
        == "56 kbit/s each way (50 kbit/s to 64 kbit/s)"
    )
    assert rate_text(line, "one-way", each_way("one-way")) == "28 kbit/s (25 kbit/s to 32 kbit/s)"
    flat = {"rate_bps": 28e3, "rate_bps_between": [25e3, None]}
    assert rate_text(flat, "round-trip", each_way("round-trip")) == "50 kbit/s or more each way"
    # A line with slope zero gives no rate, but the interval of the rate can have a lower end.
    level = {"rate_bps": None, "rate_bps_between": [25e3, None]}
    assert rate_text(level, "one-way") == "25 kbit/s or more"
    assert rate_text({"rate_bps": None, "rate_bps_between": [None, None]}, "one-way") == (
        "rate unknown"
    )
    told = line | {"intercept_ms": 40.0, "us_per_octet": 285.7, "residual_ms": 0.5}
    assert length_text(told | {"us_per_octet_between": [250.0, 320.0]}, "round-trip") == (
        "delay by length: 40 ms plus 285.7 µs an octet (250 to 320), 56 kbit/s each way (50 kbit/s "
        "to 64 kbit/s), deviation from the line 500 µs"
    )


def test_bursts_are_named_by_the_numbers_of_their_first_and_last_probes() -> None:
    recording = Delays.of(np.full(20, 0.05))
    first = int(recording.number[0])
    told = [
        burst_data(recording, Glitch(3, 7, 1.5, 30.0)),
        burst_data(recording, Glitch(9, 10, 0.2, 4)),
    ]
    assert (told[0]["first"], told[0]["last"]) == (first + 3, first + 6)
    assert list(burst_lines(told)) == [
        f"a burst of long delays, probes {first + 3} to {first + 6}: up to 1.5 s, 30.0 times the "
        "typical delay",
        f"a burst of long delays, probe {first + 9}: up to 200 ms, 4.0 times the typical delay",
    ]
    assert list(burst_lines(told * 3, most=2))[-1] == (
        "4 more bursts: `netspurt delays report` lists all"
    )
    assert len(list(burst_lines(told, most=2))) == 2


@given(st.lists(st.floats(1e-7, 100), min_size=1, max_size=60), st.integers(1, 25))
@settings(max_examples=40, deadline=None)
def test_a_printed_histogram_has_every_delay_and_at_most_the_given_number_of_lines(
    delays: list[float], most: int
) -> None:
    histogram = Histogram()
    for delay in delays:
        histogram.add(delay)
    lines = list(bars(histogram, most, across=80))
    assert len(lines) <= most
    assert sum(int(line.rstrip("█ ").split()[-1]) for line in lines) == len(delays)
    assert max(line.count("█") for line in lines) == 80 - 34
    assert all(len(line) <= 80 for line in lines)


def test_an_empty_histogram_has_no_lines_and_no_bins() -> None:
    assert list(bars(Histogram())) == []
    assert Histogram().spans() == []


def test_a_path_without_answers_has_no_delay_and_no_line() -> None:
    assert path_data(Delays.of([None, None])) == {
        **{"histogram": [], "delay": None, "line": None, "bursts": []}
    }


def test_the_data_of_a_path_contain_the_line_from_which_the_test_made_the_delays() -> None:
    # A round trip takes 40 ms and 0.1 ms for each octet. An octet crosses the link of 160 kbit/s
    # twice, so the slope gives a rate of 80 kbit/s.
    octets = np.tile(np.arange(40, 257), 3)
    noise = np.random.default_rng(5).normal(0, 1e-4, len(octets))
    recording = Delays.of(0.04 + 1e-4 * octets + noise, wire_bytes=octets)
    told = path_data(recording)
    line = told["line"]
    assert (line["shortest"], line["longest"], line["probes"]) == (40, 256, len(octets))
    assert line["us_per_octet"] == pytest.approx(100, rel=0.01)
    assert line["intercept_ms"] == pytest.approx(40, rel=0.01)
    assert line["rate_bps"] == pytest.approx(8 / 1e-4, rel=0.01)
    low, high = line["rate_bps_between"]
    assert low < 80_000 < high
    assert line["residual_ms"] == pytest.approx(0.1, rel=0.1)
    assert told["bursts"] == []
    median = float(np.median(recording.rtt_s))
    assert told["delay"]["median_ms"] == pytest.approx(1e3 * median)
    assert told["delay"]["one_way_median_ms"] == pytest.approx(500 * median)
    assert sum(one["count"] for one in told["histogram"]) == len(octets)


def test_the_data_of_a_path_omit_empty_bins_of_the_histogram() -> None:
    bins = path_data(Delays.of([0.001, 0.001, None, 1.0]))["histogram"]
    assert [one["count"] for one in bins] == [2, 1]
    for one, delay in zip(bins, (0.001, 1.0), strict=True):
        assert one["from_s"] <= delay * (1 + 1e-9) < one["to_s"]
        # There are 200 bins from a delay to ten times this delay.
        assert one["to_s"] / one["from_s"] == pytest.approx(10 ** (1 / 200))
