"""Tests parts of the texts of advice: times, lists, prices, settings, costs, and times of day.

The price is the waiting time that counts for one spurious retransmission.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import netspurt as ns
from netspurt import _core
from netspurt.advice.deploying import (
    can_be_completed,
    floor_of,
    lacking,
    linux_commands,
    span,
    whole_ms,
    with_settings,
)
from netspurt.advice.phrases import listed, ms
from netspurt.advice.price import Price
from netspurt.advice.weighing import Terms, cost, parts, prudent, squared_distances
from netspurt.analysis.replayed import ReplaySums, poisson_interval
from netspurt.analysis.settings import Difference, differences
from netspurt.analysis.time_of_day import day_words

from conftest import ROOT, Command


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (math.nan, "-"),
        (math.inf, "-"),
        (0.0, "0 ms"),
        (1.234e-6, "1.2 µs"),
        (12.34e-6, "12 µs"),
        (0.001, "1 ms"),
        (0.00994, "9.9 ms"),
        (0.0123, "12 ms"),
        (0.25, "250 ms"),
        (1.0, "1 s"),
        (9.94, "9.9 s"),
        (10.0, "10.0 s"),
        (99.94, "99.9 s"),
        (100.0, "100 s"),
        (12_345.6, "12,346 s"),
    ],
)
def test_a_time_is_printed_in_the_unit_that_suits_it(seconds: float, words: str) -> None:
    assert ms(seconds) == words


def test_a_list_has_its_conjunction_before_the_last_name_only() -> None:
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c", "d"], last="or") == "a, b, c or d"


@pytest.mark.parametrize("seconds", [-0.001, 1e6 + 1, math.nan, math.inf])
def test_a_price_outside_its_range_is_refused(seconds: float) -> None:
    words = f"the price of a spurious retransmission is {seconds} s: write a number from 0 to 1e6 s"
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        Price(seconds)


@pytest.mark.parametrize("share", [-0.01, 1.01, math.nan])
def test_a_share_of_losses_outside_its_range_is_refused(share: float) -> None:
    words = f"the share of lost packets is {share}: write a number from 0 to 1"
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        Price(loss=share)


def test_a_price_may_be_zero_and_is_five_median_delays_by_default() -> None:
    path = ns.Delays.of([0.1, None, 0.3, 0.2, None])
    assert Price(0.0, loss=0.0).of(path) == 0.0
    assert Price(1e6, loss=1.0).of(path) == 1e6
    assert Price().of(path) == pytest.approx(5 * 0.2)
    assert math.isnan(Price().of(ns.Delays.of([None, None])))
    assert Price(0.3).of(ns.Delays.of([None])) == 0.3


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-5, 900))
def test_a_time_in_a_setting_has_two_significant_digits(seconds: float) -> None:
    _, nanoseconds = _core.quantity(span(seconds))
    assert nanoseconds / 1e9 == pytest.approx(float(f"{seconds:.1e}"), rel=0.06)
    assert abs(nanoseconds / 1e9 - seconds) <= 0.0501 * seconds


@pytest.mark.parametrize(
    ("seconds", "key"),
    [(0.0001, "1ms"), (0.001, "1ms"), (0.0091, "10ms"), (0.01, "10ms"), (0.126, "130ms")],
)
def test_times_below_ten_milliseconds_are_rounded_up_to_whole_milliseconds(
    seconds: float, key: str
) -> None:
    assert whole_ms(seconds) == key


def test_further_settings_replace_those_with_the_same_name() -> None:
    assert with_settings("linux:rto_min=30ms", rto_min="50ms") == "linux:rto_min=50ms"
    assert floor_of(with_settings("linux", rto_min="7ms")) == pytest.approx(0.007)


def test_a_timer_that_lacks_no_setting_cannot_be_completed() -> None:
    assert lacking("linux", "30ms") == {}
    assert not can_be_completed("linux")
    assert lacking("no_such_timer", "30ms") == {}
    completed = with_settings("mills", **lacking("mills", "30ms"))
    assert lacking(completed, "30ms") == {}
    assert _core.Estimator(completed).bounds == pytest.approx((0.03, 60.0))


@pytest.mark.parametrize(
    ("floor_ms", "bpf", "jiffies", "receivers"),
    [
        (7, False, True, True),
        (8, True, True, True),
        (19, True, True, True),
        (20, True, False, True),
        (199, True, False, True),
        (201, False, False, False),
    ],
)
def test_each_sentence_on_rto_min_is_printed_only_in_its_range(
    floor_ms: int, bpf: bool, jiffies: bool, receivers: bool
) -> None:
    told = " ".join(linux_commands(floor_ms / 1000))
    assert ("TCP_BPF_RTO_MIN" in told) == bpf
    assert ("whole jiffies" in told) == jiffies
    assert ("receivers delay ACKs" in told) == receivers
    assert f"tcp_rto_min_us={1000 * floor_ms}`" in told
    assert "cannot be set" not in told


@pytest.mark.parametrize(
    ("formats", "words"),
    [
        (["ping (Linux iputils)", "irtt"], "Echoes are answered immediately, but receivers delay"),
        (["capture (TCP)"], "These samples contain the delays of the captured ACKs. Other receiv"),
        (["capture (TCP)", "irtt"], "Receivers of TCP delay ACKs: Linux by 40 ms"),
        (["qlog"], "Receivers of TCP delay ACKs: Linux by 40 ms"),
        (["capture (ICMP)"], "Echoes are answered immediately, but receivers delay"),
    ],
)
def test_the_words_on_receivers_that_delay_acks_depend_on_what_answered_the_probes(
    formats: list[str], words: str
) -> None:
    told = " ".join(linux_commands(0.05, formats))
    assert told.startswith(words)
    assert "An rto_min of 50 ms needs receivers that delay ACKs by less." in told


def _sums(learnt: int, lost: int, spurious: int, timers: float, waited: float) -> ReplaySums:
    """Return the sums of a replay of one timer."""
    values = (learnt, learnt - lost, lost, spurious, timers, waited)
    return ReplaySums(*(np.asarray(float(value)) for value in values))


def test_the_cost_adds_expected_waits_and_expected_prices_of_early_timers() -> None:
    sums, terms = _sums(100, 2, 3, 30.0, 0.9), Terms(0.5, 0.02, 100)
    # Two losses waited 0.9 s. The rule adds half a loss, and half of the mean timer of 0.3 s.
    waiting, spurious = parts([sums], [terms])
    assert waiting[0] == pytest.approx(0.02 * 1.05 / 2.5)
    assert spurious[0] == pytest.approx(0.98 * 0.5 * 3 / 98)


def test_the_costs_of_recordings_are_weighted_by_their_numbers_of_probes() -> None:
    sums = [_sums(100, 2, 3, 30.0, 0.9), _sums(300, 5, 0, 60.0, 1.0)]
    terms = [Terms(0.5, 0.02, 100), Terms(0.4, 0.01, 300)]
    alone = [cost([own], [term])[0] for own, term in zip(sums, terms, strict=True)]
    assert cost(sums, terms)[0] == pytest.approx((alone[0] + 3 * alone[1]) / 4)
    squares = [squared_distances([own], [t]) for own, t in zip(sums, terms, strict=True)]
    together = squared_distances(sums, terms)
    assert together == pytest.approx((squares[0] + 9 * squares[1]) / 16)


def test_a_prudent_cost_uses_the_upper_limit_of_late_answers() -> None:
    terms = Terms(1.0, 0.0, 100)
    for count in (0, 1, 7):
        upper = poisson_interval(count)[1]
        assert prudent([_sums(100, 0, count, 30.0, 0.0)], [terms]) == pytest.approx(upper / 100)
    # At most both answers can be late, although Garwood's upper limit for one late answer is 5.6.
    assert prudent([_sums(2, 0, 1, 1.0, 0.0)], [Terms(1.0, 0.0, 2)]) == pytest.approx(1.0)
    low, _ = squared_distances([_sums(100, 0, 0, 30.0, 0.0)], [terms])
    assert low == 0.0


def test_the_differences_of_two_scenarios_are_all_keys_that_differ_except_the_title() -> None:
    first = "title = 'a'\nstop = '1 s'\n[links.modem]\nqueue = 5\nrate = '1 Mbit/s'"
    second = "title = 'b'\nseed = 2\n[links.modem]\nqueue = 6\nrate = '1 Mbit/s'\n[links.fast]"
    assert differences(first, second) == [
        Difference("stop", "1 s", None),
        Difference("links.modem.queue", 5, 6),
        Difference("seed", None, 2),
        Difference("links.fast", None, {}),
    ]
    assert differences(first, first) == []
    # Only the scenario's own title is left out.
    assert differences("[a]\ntitle = 1", "[a]\ntitle = 2") == [Difference("a.title", 1, 2)]


@dataclass
class Recording:
    """The figures of a recording on which the times of day depend."""

    sent_s: NDArray[np.float64]
    rtt_s: NDArray[np.float64]
    began: float | None = field(default=datetime(2024, 3, 9, 22, 30, tzinfo=UTC).timestamp())
    began_is_local: bool = False

    def __len__(self) -> int:
        """Return the number of probes."""
        return len(self.sent_s)


def _words(sent: list[float], rtt: list[float], **more: Any) -> list[str]:
    """Return what is said about the times of day of a recording."""
    return day_words(cast("ns.Delays", Recording(np.array(sent), np.array(rtt), **more)))


def test_a_recording_without_its_time_or_without_probes_has_no_times_of_day() -> None:
    assert _words([0.0], [0.1], began=None) == []
    assert _words([], []) == []


def test_a_recording_within_a_day_has_dates_only_at_its_beginning() -> None:
    assert _words([0, 60, 90], [0.1, 0.25, 0.1]) == [
        "began 2024-03-09 22:30:00 UTC, ended 22:31:30",
        "longest delay, 250 ms, at 22:31:00",
    ]
    (began, _) = _words([0, 90], [0.1, 0.2], began_is_local=True)
    assert began == "began 2024-03-09 22:30:00 local time, ended 22:31:30"


def test_a_recording_over_midnight_has_a_date_at_each_time() -> None:
    began, losses = _words([0, 300, 5400], [0.1, math.nan, 12.0])
    assert began == "began 2024-03-09 22:30:00 UTC, ended 2024-03-10 00:00:00"
    assert losses == (
        "the loss at 2024-03-09 22:35:00; longest delay, 12 s, at 2024-03-10 00:00:00"
    )


def test_a_recording_without_answers_has_only_the_times_of_its_losses() -> None:
    assert _words([0, 10, 599], [math.nan] * 3)[1:] == ["losses from 22:30:00 to 22:39:59"]


@pytest.mark.parametrize(
    ("lasts", "words"),
    [
        (600, "2 of 3 from 22:31 to 22:32"),
        (3600, "2 of 3 from 22:30 to 22:40"),
        (6 * 3600 - 1, "2 of 3 from 22:30 to 22:40"),
        (6 * 3600, "2 of 3 from 22:00 to 23:00"),
        (86_400, "3 of 3 from 22:00 to 23:00"),
        (86_401, "3 of 3 from 22:00 to 23:00 of any day"),
    ],
)
def test_the_part_of_the_day_with_most_losses_is_wider_in_longer_recordings(
    lasts: int, words: str
) -> None:
    # The losses after 70 and 80 s are in one minute. The third loss is at the end. If the
    # recording lasts a day, its end has the same hour as the other losses.
    sent = [0.0, 70.0, 80.0, float(lasts)]
    losses = _words(sent, [0.1, math.nan, math.nan, math.nan])[1].partition(";")[0]
    assert losses == f"losses: {words}"


@pytest.mark.parametrize("answers", [299, 300])
def test_the_time_of_the_longest_delays_is_printed_if_300_answers_came(answers: int) -> None:
    sent = np.arange(answers) * 10.0
    rtt = np.full(answers, 0.1)
    rtt[[13, 14, 250]] = [0.5, 0.6, 0.7]
    told = _words(sent.tolist(), rtt.tolist())[1]
    # Probes 13 and 14 left after 130 and 140 s, in the minute from 22:32.
    end = "; the longest 1 % of delays: 2 of 3 from 22:32 to 22:33" if answers >= 300 else ""
    assert told == f"longest delay, 700 ms, at 23:11:40{end}"


def test_delays_equal_to_one_of_the_longest_delays_also_count() -> None:
    sent = np.arange(300) * 10.0

    def told(equal: list[int]) -> str:
        rtt = np.full(300, 0.1)
        rtt[equal] = 0.5
        return _words(sent.tolist(), rtt.tolist())[1].partition("; ")[2]

    # The longest 1 % are three delays. All five equal delays count, and most are at the end.
    assert told([13, 100, 247, 248, 249]).endswith("3 of 5 from 23:11 to 23:12")
    # Seven equal delays are more than 2 %.
    assert not told(list(range(0, 70, 10)))


def test_one_timer_alone_gets_a_hint_and_no_recommendation(netspurt: Command) -> None:
    hint = "To get a recommendation, name several timers with -e, or none."
    alone = netspurt("replay", ROOT / "data" / "ping.txt", "-e", "linux").stdout
    assert alone.split("\n\n")[1] == hint
    both = netspurt("replay", ROOT / "data" / "ping.txt", "-e", "linux", "-e", "rfc6298").stdout
    assert hint not in both
