"""Tests statistics of several kinds: losses, replays, replies, unseen events, seeds and causes.

A loss event is several lost probes that are close together, or one lost probe alone. In these
tests, an outage is at least ten lost probes in a row.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2, gamma

import netspurt as ns
from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.counts import counts_events, most_unseen
from netspurt.analysis.loss_share import LossShare, loss_share, percent, percents, share_words
from netspurt.analysis.replayed import (
    ReplaySums,
    could_be_chance,
    is_spurious,
    learnt,
    learnt_from,
    poisson_interval,
    waited_in_delays,
)
from netspurt.analysis.replies import Replies
from netspurt.analysis.seeds import SEEDS_MAX, needed
from netspurt.analysis.shares import shares

NAN = math.nan


def _lost(pattern: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which probes of a pattern are lost. `x` is a lost probe, and `.` an answered one."""
    return np.array([one == "x" for one in pattern], dtype=np.bool_)


def _runs(pattern: str) -> list[int]:
    """Return the length of each unbroken row of lost probes."""
    return [len(run) for run in pattern.replace(".", " ").split()]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("x.", max_size=9), max_size=4))
def test_consecutive_losses_of_a_recording_are_one_event(patterns: list[str]) -> None:
    # With fewer than ten losses in a recording, only consecutive losses belong together.
    found = loss_share([_lost(pattern) for pattern in patterns])
    runs = [run for pattern in patterns for run in _runs(pattern)]
    assert found.events.tolist() == runs
    assert (found.lost, found.largest) == (sum(runs), max(runs, default=0))
    assert found.apart_max == 1
    probes = sum(map(len, patterns))
    assert math.isnan(found.value) if probes == 0 else found.value == sum(runs) / probes
    if probes:
        assert found.low <= found.value <= found.high <= 1


def test_fay_and_feuers_method_gives_the_interval_of_events_of_several_sizes() -> None:
    found = loss_share([_lost("x...." * 3 + "xxx" + "." * 482)])
    # The limits come from equations 2 and 4 of Fay and Feuer (1997), with the weights 1, 1, 1 and 3
    # over 500 probes. For the upper limit, one more event of weight 3 is added.
    y, v, largest = 6 / 500, 12 / 500**2, 3 / 500
    low = gamma.ppf(0.025, y**2 / v, scale=v / y)
    upper_y, upper_v = y + largest, v + largest**2
    high = gamma.ppf(0.975, upper_y**2 / upper_v, scale=upper_v / upper_y)
    assert [found.low, found.high] == pytest.approx([low, high])
    wide = loss_share([_lost("x...." * 3 + "xxx" + "." * 482)], level=0.99)
    assert wide.low < found.low < found.high < wide.high


@pytest.mark.parametrize(("run", "outages"), [(9, []), (10, [10]), (25, [25])])
def test_an_outage_has_at_least_ten_losses_in_a_row(run: int, outages: list[int]) -> None:
    found = loss_share([_lost("." * 100 + "x" * run + "." * 100)])
    assert found.outages.tolist() == outages
    assert found.in_outages == sum(outages)
    assert found.has_large_event == (run >= 10)


@pytest.mark.parametrize(
    ("events", "uncertain"),
    [([1] * 9, True), ([1] * 10, False), ([10] + [1] * 10, False), ([11] + [1] * 10, True)],
)
def test_a_share_is_uncertain_with_few_events_or_if_one_event_has_most_losses(
    events: list[int], uncertain: bool
) -> None:
    assert LossShare(0.1, 0.05, 0.2, np.array(events)).is_uncertain is uncertain


def test_the_lost_probes_of_a_removed_event_are_not_counted() -> None:
    share = LossShare(0.04, 0.01, 0.2, np.array([30, 6, 4]))  # 40 of 1,000 probes
    assert share.without(30) == pytest.approx(10 / 970)
    assert share.without(0, added=0.5) == pytest.approx(40.5 / 1000.5)
    assert share.without_largest == pytest.approx(10 / 970)
    assert share.others == pytest.approx([0.01, 0.2, 10 / 970])
    small = LossShare(0.004, 0.0, 0.2, np.array([3, 1]))
    assert small.others == [0.2]


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "0 %"), (0.0049, "0.49 %"), (0.994, "99 %"), (0.995, "99.5 %"), (1.0, "100 %")],
)
def test_a_share_has_two_digits_but_near_100_percent_three_digits(share: float, words: str) -> None:
    assert percent(share) == words


def test_the_words_for_an_interval_from_zero_name_only_its_upper_end() -> None:
    none = np.zeros(0, np.int64)
    assert percents(LossShare(0.0, 0.0, 0.02, none)) == "up to 2 %"
    assert percents(LossShare(0.01, 0.005, 0.02, np.array([1]))) == "0.5 to 2 %"


def test_the_sentence_on_losses_counts_events_only_if_an_event_has_several_losses() -> None:
    assert share_words(ns.Delays.of([0.1] * 20)) == []
    (single,) = share_words(ns.Delays.of([0.1, None, 0.1, None, 0.1]))
    assert "event" not in single
    (burst,) = share_words(ns.Delays.of([0.1, None, None, 0.1, None, 0.1]))
    assert burst.endswith(
        "counting 2 loss events (consecutive losses are one event) and not 3 losses"
    )


@pytest.mark.parametrize("count", [0, 1, 2, 10, 400])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_garwoods_interval_equals_the_one_from_the_chi_square_distribution(
    count: int, level: float
) -> None:
    tail = (1 - level) / 2
    low = chi2.ppf(tail, 2 * count) / 2 if count else 0.0
    high = chi2.ppf(1 - tail, 2 * count + 2) / 2
    assert poisson_interval(count, level) == pytest.approx((low, high))


def test_mcnemars_test_agrees_with_the_binomial_test_for_all_small_counts() -> None:
    for one in range(13):
        for other in range(13):
            expected = one == other or binomtest(one, one + other).pvalue > 0.05
            assert could_be_chance(one, other) == expected, (one, other)


@pytest.mark.parametrize(
    ("given_ends", "ends"),
    [((-0.1, 0.4), (0.0, 0.4)), ((0.1, 1.4), (0.1, 1.0)), ((0.3, 0.4), (0.2, 0.4))],
)
def test_an_interval_contains_its_value_and_no_impossible_values(
    given_ends: tuple[float, float], ends: tuple[float, float]
) -> None:
    found = Interval(0.2, *given_ends, 0.9, 7).bounded(0.0, 1.0)
    assert found == Interval(0.2, *ends, 0.9, 7)


def test_a_timer_has_a_sample_as_soon_as_an_answer_arrives() -> None:
    delays = ns.Delays.of([0.5, None, 0.1, 0.1], sent=[0.0, 0.25, 0.5, 1.0])
    # The first answer arrives at 0.5 s.
    assert learnt(delays, "causal").tolist() == [False, False, True, True]
    assert learnt(delays, "sequence").tolist() == [False, True, True, True]


@pytest.mark.parametrize("order", ["causal", "sequence"])
def test_all_probes_count_if_no_timer_has_a_sample(order: str) -> None:
    silent = ns.Delays.of([None, None], sent=[0.0, 1.0])
    assert learnt(silent, order).all()
    late = ns.Delays.of([None, 0.1], sent=[0.0, 1.0])
    assert learnt(late, order).all()


def test_a_timer_as_long_as_the_delay_causes_no_spurious_retransmission() -> None:
    delays = ns.Delays.of([0.1, 0.1, None])
    assert is_spurious(delays, np.array([0.1, 0.099, 0.01])).tolist() == [False, True, False]


def test_the_sums_of_two_parts_add_up_to_the_sums_of_the_recording() -> None:
    rng = np.random.default_rng(3)
    rtt = np.where(rng.random(60) < 0.2, NAN, rng.exponential(0.1, 60))
    replay = ns.replay(ns.Delays.of(rtt, every=0.05), ["mills:g=1.25"])
    (algorithm,), first = replay.algorithms, learnt_from(replay.delays, "causal")
    whole, waits = algorithm.sums(), algorithm.waits
    replayed = replay.replayed(algorithm.estimator)
    parts = [ReplaySums.between(replayed, first, *ends) for ends in ((0, 23), (23, 60))]
    with pytest.raises(ValueError, match="probes 23 to 61: the recording has 60 probes"):
        ReplaySums.between(replayed, first, 23, 61)
    for name in ("learnt", "answers", "lost", "spurious", "timers", "waited"):
        assert sum(getattr(part, name) for part in parts) == pytest.approx(getattr(whole, name))
    sent = np.arange(60) * 0.05
    first_answer = np.nanmin(sent + rtt)
    own = [n for n in range(60) if sent[n] >= first_answer]
    assert whole.timers == pytest.approx(sum(waits[n] for n in own))
    assert whole.waited == pytest.approx(sum(waits[n] for n in own if np.isnan(rtt[n])))
    assert whole.spurious == sum(waits[n] < rtt[n] for n in range(60))


def test_a_wait_is_compared_with_the_last_delay_before_the_loss() -> None:
    delays = ns.Delays.of([None, 0.1, None, None, 0.4, None])
    waits = np.array([9.0, 9.0, 0.2, 0.4, 9.0, 0.4])
    assert waited_in_delays(delays, waits) == pytest.approx((2 + 4 + 1) / 3)
    assert math.isnan(waited_in_delays(ns.Delays.of([None, 0.1]), np.ones(2)))
    assert math.isnan(waited_in_delays(ns.Delays.of([0.0, None]), np.ones(2)))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0.1, 9), st.booleans()), min_size=1, max_size=12))
def test_a_quantile_is_a_lower_bound_if_an_incomplete_reply_may_increase_it(
    given_replies: list[tuple[float, bool]],
) -> None:
    spans = np.array([NAN if waiting else span for span, waiting in given_replies])
    waited = np.array([span for span, _ in given_replies])
    replies = Replies(spans, waited)
    assert replies.waiting == sum(waiting for _, waiting in given_replies)
    for tenths in range(1, 11):
        rank = -(-tenths * len(spans) // 10) - 1
        ends = [np.sort(np.where(np.isnan(spans), later, spans))[rank] for later in (waited, 99.0)]
        assert replies.quantile(tenths / 10) == (ends[0], ends[1] > ends[0])


@pytest.mark.parametrize(
    ("measure", "counts"),
    [
        ("lost", True),
        ("lost / sent", True),
        ("retransmissions_rack", True),
        ("spurious_rto/sent", True),
        ("sent/lost", False),
        ("lost_ns", False),
    ],
)
def test_the_numerator_of_a_measure_decides_whether_it_counts_events(
    measure: str, counts: bool
) -> None:
    assert counts_events(measure) is counts


def test_the_bound_on_unseen_events_comes_from_garwood_or_from_clopper_and_pearson() -> None:
    sent = np.full(40, 25.0)
    # Without events, Clopper and Pearson's upper limit p solves (1 - p)^n = 0.025, where n is the
    # number of packets of 40 repeats. Garwood's upper limit for no event is -ln 0.025.
    assert most_unseen("lost/sent", 0, sent, 40) == pytest.approx(1 - 0.025 ** (1 / 1000))
    assert most_unseen("lost", 0, np.ones(40), 40) == pytest.approx(-math.log(0.025) / 40)
    # All cases with the same seed form one repeat. They may have the same random draws, so 40 cases
    # of 20 repeats count as 20 cases.
    halved = most_unseen("lost", 0, np.ones(40), 20)
    assert halved == pytest.approx(-math.log(0.025) / 20)
    # With events, the bound assumes that each unseen event changes a count or a ratio by at most
    # the count or the ratio itself.
    for measure, figure in (("lost", 7), ("lost/sent", 0.2)):
        bound = most_unseen(measure, figure, sent, 40)
        assert bound == pytest.approx(-math.log(0.025) / 40 * figure)


@pytest.mark.parametrize(
    ("measure", "bottom", "repeats"),
    [
        ("waited_ns", [1, 1], 2),
        ("lost", [1, 1], 1),
        ("lost/sent", [0, 0], 2),
    ],
)
def test_there_is_no_bound_if_events_cannot_be_counted_or_if_there_is_only_one_repeat(
    measure: str, bottom: list[float], repeats: int
) -> None:
    assert math.isnan(most_unseen(measure, 0, np.array(bottom), repeats))


@pytest.mark.parametrize(
    ("value", "half_width", "seeds", "expected"),
    [
        (1.0, 1.5, 10, 23),  # 10 · 1.5² = 22.5
        (-1.0, 1.5, 10, 23),
        (1.0, 1.0, 10, None),  # 10 seeds are enough
        (1.0, 0.5, 10, None),
        (0.5, 500.0, 1, SEEDS_MAX),
        (0.5, 501.0, 1, None),
        (1.0, NAN, 10, None),
        (0.0, 1.0, 10, None),
    ],
)
def test_the_number_of_seeds_needed_grows_with_the_square_of_the_relative_half_width(
    value: float, half_width: float, seeds: int, expected: int | None
) -> None:
    difference = Interval(value, value - half_width, value + half_width, 0.95, 1)
    assert needed(difference, seeds) == expected


def test_the_share_of_a_cause_is_its_mean_effect_over_all_orders_of_the_causes() -> None:
    worth = np.random.default_rng(8).normal(size=16)
    causes = ["a", "b", "c", "d"]

    def outcome(present: frozenset[str]) -> float:
        return float(worth[sum(1 << causes.index(one) for one in present)])

    effects: dict[str, list[float]] = {cause: [] for cause in causes}
    for order in permutations(causes):
        for place, cause in enumerate(order):
            before = frozenset(order[:place])
            effects[cause].append(outcome(before | {cause}) - outcome(before))
    found = shares(causes, outcome)
    assert found == pytest.approx({cause: np.mean(own) for cause, own in effects.items()})
    assert sum(found.values()) == pytest.approx(worth[15] - worth[0])
    assert shares([], outcome) == {}
