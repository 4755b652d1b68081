"""Tests which timer netspurt recommends for invented delays, and how the advice explains it.

The advice compares the costs of timers that were replayed on a recording of delays. The cost of a
timer is the time that it waits for losses, plus a price for each spurious retransmission. A timer
fires early if it fires before a late answer arrives. It then causes a spurious retransmission.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import netspurt as ns
from netspurt import _core
from netspurt.advice import Advice, Price, advise
from netspurt.advice.deploying import lacking, linux_commands, quic_words, shortcomings, span
from netspurt.advice.weighing import Terms, Weighing, cost, cost_of
from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.replayed import ReplaySums
from netspurt.cli.replay_report import rfc889_settings, settings_lines
from netspurt.timers import USUAL, figures

from conftest import Command, refused

Floats = NDArray[np.float64]


def path_of(rtt: Floats | list[float | None], name: str = "path", every: float = 1.0) -> ns.Delays:
    """Return a recording with these delays [s]. NaN and `None` are lost probes."""
    return ns.Delays.of(rtt, every=every, name=name)


def rare(count: int = 3000, spikes: int = 30, lost: int = 60, seed: int = 1) -> ns.Delays:
    """Return delays of about 50 ms with some spikes of 150 ms and some losses."""
    rng = np.random.default_rng(seed)
    rtt = rng.normal(0.05, 0.0005, count)
    rtt[rng.choice(np.arange(10, count), spikes, replace=False)] = 0.15
    rtt[rng.choice(np.arange(10, count), lost, replace=False)] = np.nan
    return path_of(rtt)


def advice_on(path: ns.Delays, estimators: Sequence[str], price: Price | None = None) -> Advice:
    """Return the advice for a recording, with these timers replayed on it."""
    return advise([ns.replay(path, estimators)], price)


#: Two fixed timers, of 100 ms and of 300 ms.
FIXED = ["fixed:rto=100ms,max=60s", "fixed:rto=300ms,max=60s"]


# Costs.


def test_the_cost_is_the_waiting_plus_a_price_for_each_spurious_retransmission() -> None:
    """Computes the cost by hand: 2 of 10 probes are lost, and 1 of 8 answers takes over 300 ms.

    The share of losses is 2.5 / 10.5, because half a loss is added to the losses and to the probes.
    For each loss, the timer waits 300 ms.
    """
    rtt = [0.1, 0.1, 0.5, None, 0.1, 0.1, None, 0.1, 0.1, 0.1]
    replay = ns.replay(path_of(rtt), ["fixed:rto=300ms,max=60s"])
    share = 2.5 / 10.5
    by_hand = share * 0.3 + (1 - share) * 0.2 * 1 / 8
    (cost,) = Weighing([replay], Price(0.2)).costs
    assert cost.total.value == pytest.approx(by_hand)
    assert (cost.waiting, cost.spurious) == pytest.approx((share * 0.3, (1 - share) * 0.2 / 8))
    (cost,) = Weighing([replay], Price(0.2, loss=0.1)).costs
    assert cost.total.value == pytest.approx(0.1 * 0.3 + 0.9 * 0.2 / 8)
    light = figures(replay.delays, "fixed:rto=300ms,max=60s")
    assert cost_of([replay.delays], [light], Price(0.2, loss=0.1)) == pytest.approx(
        cost.total.value
    )


def test_the_default_price_is_five_median_delays_and_impossible_prices_are_refused() -> None:
    path = rare()
    assert Price().of(path) == pytest.approx(5 * np.nanmedian(path.rtt_s))
    for invalid in ({"spurious_s": -1.0}, {"spurious_s": math.nan}, {"loss": 1.5}):
        with pytest.raises(ValueError, match="write a number from 0 to"):
            Price(**invalid)


def test_costs_of_several_recordings_are_weighted_by_their_numbers_of_probes() -> None:
    paths = [rare(1000, 10, 20, seed) for seed in (1, 2)] + [rare(3000, 0, 60, 3)]
    replays = [ns.replay(path, FIXED) for path in paths]
    price = Price(0.4)
    together = Weighing(replays, price).costs
    for place, one in enumerate(together):
        alone = [Weighing([of], price).costs[place].total.value for of in replays]
        assert one.total.value == pytest.approx(np.average(alone, weights=[1000, 1000, 3000]))
    with pytest.raises(ValueError, match="their estimators differ"):
        Weighing([replays[0], ns.replay(paths[1], ["mills"])], price)


def test_at_least_54_of_60_intervals_cover_the_true_cost() -> None:
    """Each probe has a spike with a probability of 1 %, so the true cost is known."""
    price, covered = Price(0.25, loss=0.02), 0
    true = 0.02 * 0.1 + 0.98 * 0.25 * 0.01
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rtt = np.where(rng.random(800) < 0.01, 0.15, 0.05)
        (cost,) = Weighing([ns.replay(path_of(rtt), FIXED[:1])], price).costs
        covered += cost.total.low <= true <= cost.total.high
    assert covered >= 54, "at least 54 of 60 intervals of 95 % must cover the true cost"


def test_the_lower_end_of_a_cost_is_at_least_the_least_cost_of_losses() -> None:
    """A few early timeouts in a row make up most of the cost, so its interval is wide.

    For each loss, the timer waits at least as long as its shortest wait. The value `least` is the
    cost if the timer waits this long for each loss and for half a loss more. All waits of a fixed
    timer are equal, so the interval of its cost begins at `least`.
    """
    rtt = np.random.default_rng(3).normal(0.02, 0.002, 2000)
    rtt[700:705] = 0.5
    for lost in ([], [300, 1200]):
        rtt[lost] = np.nan
        replay = ns.replay(path_of(rtt), ["linux", "quic", "fixed:rto=300ms,max=60s"])
        weighing = Weighing([replay], Price(1.0))
        for one, weighed in zip(replay.algorithms, weighing.costs, strict=True):
            least = (len(lost) + 0.5) / (len(rtt) + 0.5) * one.waits[1:].min()
            assert weighed.spurious > weighed.waiting
            assert least * (1 - 1e-9) <= weighed.total.low <= weighed.waiting * (1 + 1e-9)


def test_other_timers_do_not_change_the_intervals_of_a_timer() -> None:
    """Checks that a replay of several timers gives each timer the interval of its own replay.

    Intervals come from resamples of blocks of probes. The delays are independent of each other, so
    the fixed timer alone gets short blocks.
    """
    rng = np.random.default_rng(1)
    path = path_of(np.where(rng.random(3000) < 0.01, 0.15, rng.normal(0.05, 0.005, 3000)))
    alone = ns.replay(path, FIXED[:1])
    among = ns.replay(path, [*FIXED, "linux", "quic"])
    both = [Weighing([of], Price(0.25)).costs[0].total for of in (alone, among)]
    assert both[0] == both[1]
    one, other = (of.algorithms[0] for of in (alone, among))
    assert (one.spurious_share, one.timer) == (other.spurious_share, other.timer)
    assert alone.block < among.block, "the resamples of all timers must have longer blocks"
    again = alone.with_estimators(["linux"]).only(["linux"])
    assert Weighing([again], Price(0.25)).costs[0].total == (
        Weighing([among], Price(0.25)).costs[2].total
    )


def test_the_price_decides_which_of_two_timers_costs_less() -> None:
    """Per probe, the longer timer waits 4 ms more than the shorter one.

    The shorter timer fires early about 30 times.
    """
    replay = ns.replay(rare(), FIXED)
    short, long = 0, 1
    dear = Weighing([replay], Price(5.0))
    assert dear.difference(short, long).sign == 1, (
        "the shorter timer must cost more at a price of 5 s"
    )
    assert dear.alike(long) == [long]
    cheap = Weighing([replay], Price(0.0))
    assert cheap.difference(short, long).sign == -1, (
        "the shorter timer must cost less if the price is zero"
    )
    assert cheap.difference(short, long).value == -cheap.difference(long, short).value
    even = Weighing([replay], Price(0.4))
    assert even.difference(short, long).sign == 0
    assert even.alike(long) == [short, long]


def test_unseen_long_delays_count_only_against_the_shorter_timer() -> None:
    """No delay exceeds a timer here.

    A delay above the longer timer would make both timers fire early, so the difference would stay.
    """
    replay = ns.replay(rare(spikes=0), FIXED)
    longer = Weighing([replay], Price(1.0)).difference(1, 0)
    assert longer.high == pytest.approx(longer.value, rel=1e-6), (
        "the upper end must equal the difference"
    )
    assert longer.low < longer.value - 3 / 3000, "the lower end must allow for rare long delays"


# Recommendations.


def test_the_price_changes_the_recommendation() -> None:
    path = rare()
    assert advice_on(path, FIXED, Price(0.001)).pick == FIXED[0]
    assert advice_on(path, FIXED, Price(5.0)).pick == FIXED[1]
    paragraphs = advice_on(path, FIXED, Price(5.0)).paragraphs()
    priced = next(paragraph for paragraph in paragraphs if paragraph.startswith("The cost is"))
    below = re.search(r"below (\d+) ms, fixed:rto=100ms", priced)
    assert below is not None, priced
    even = 0.001 * float(below[1])
    costs = Weighing([ns.replay(path, FIXED)], Price(even)).costs
    assert costs[0].total.value == pytest.approx(costs[1].total.value, rel=0.01)


def test_a_suitable_timer_is_recommended_even_if_the_other_timers_are_unsuitable() -> None:
    """A tenth of the answers takes 95 ms. The other answers take about 51 ms.

    The timer `linux` does not fire early. Two timers fire early: `rfc6298` without a minimum, and
    the fixed timer of 60 ms.
    """
    rng = np.random.default_rng(5)
    rtt = np.where(np.arange(900) % 10 == 7, 0.095, 0.05 + rng.uniform(0, 0.002, 900))
    advice = advice_on(path_of(rtt), ["rfc6298:min=0s", "linux", "fixed:rto=60ms,max=60s"])
    assert advice.suits
    assert advice.pick == "linux"
    assert "None of these timers is good enough" not in str(advice)


def test_constants_are_computed_from_the_delays_if_no_timer_suits() -> None:
    """Three of ten answers, chosen at random, take about 2 s (in the second recording 6 s).

    Both fixed timers are shorter than these times, so neither timer suits.
    """
    rng = np.random.default_rng(6)
    slow = rng.random(1200) < 0.3
    for scale in (1.0, 3.0):
        rtt = scale * np.where(slow, 2.0, 0.05) * rng.uniform(0.99, 1.01, 1200)
        advice = advice_on(path_of(rtt, every=10.0), FIXED)
        assert not advice.suits
        assert str(advice).startswith("None of these timers is good enough: even ")
        assert advice.pick in {*advice.tuned, *advice.alike}
        picked = ns.replay(advice.replays[0].delays, [advice.pick]).algorithms[0]
        assert picked.spurious <= 0.01 * picked.answered
        assert picked.timer.value < 4 * scale * 2.0, (
            "the mean timer must be below four times the slow delays"
        )
        assert [lesson.choice for lesson in advice.lessons], (
            "the timers must be tried on halves of the recording"
        )


def test_a_timer_chosen_on_one_half_is_judged_on_the_other_half() -> None:
    """The first half has no spikes. In the second half, the short timer fires early at spikes."""
    rng = np.random.default_rng(7)
    rtt = rng.normal(0.05, 0.0005, 2000)
    rtt[1000::12] = 0.15
    rtt[5::40] = np.nan
    advice = advice_on(path_of(rtt), FIXED, Price(1.0))
    first, second = sorted(advice.lessons, key=lambda lesson: lesson.part)
    assert (second.choice, second.best) == (FIXED[0], FIXED[1]), (
        "the timer chosen on the first half must not be the best timer on the second half"
    )
    assert second.cost > second.least
    assert first.choice == FIXED[1]
    assert "The halves disagree" in str(advice)
    assert not advice.is_decided
    (contrary,) = advice.contrary
    undecided = advice.answer()[0]
    assert undecided.startswith("This recording cannot decide which timer to take. On the ")
    half = ("first", "second")[contrary.part]
    assert f"On the {half} half {contrary.best} costs measurably less: " in undecided
    assert undecided.endswith("Record for longer. Until then keep the timer that you have.")
    halves = [path_of(rtt[:1000]), path_of(rtt[1000:])]
    price = Price(1.0, loss=Terms.of(advice.replays[0], Price(1.0)).loss)
    there = cost_of(halves[1:], [figures(halves[1], FIXED[0])], price)
    assert second.cost == pytest.approx(there, rel=0.02)


def test_an_rto_min_that_costs_more_on_one_half_is_not_advised() -> None:
    """Losses favour a short minimum. In the first half, it makes a timer fire early at spikes."""
    rng = np.random.default_rng(1)
    rtt = rng.uniform(0.020, 0.022, 4000)
    rtt[:2000][rng.random(2000) < 0.08] = 0.15
    rtt[rng.random(4000) < 0.03] = np.nan
    advice = advice_on(path_of(rtt), USUAL)
    assert advice.pick == "quic"
    assert advice.reversed_halves == {advice.linux: 0}
    for text in (" ".join(advice.answer()), str(advice)):
        assert "but on the first half an rto_min of " in text
        assert "only if no receiver" not in text
        assert "sysctl" not in text
    assert "sysctl" in str(advice_on(path_of(rtt[2000:]), USUAL)), (
        "the advice for the half without spikes must name the command"
    )


@pytest.mark.parametrize("bare", ["mills", "mills-single", "rfc793", "fixed", "cocoa"])
def test_a_timer_without_bounds_or_backoff_is_never_recommended_unchanged(bare: str) -> None:
    assert shortcomings(bare)
    advice = advice_on(rare(), [bare, "rfc6298:min=0s"])
    assert advice.pick not in (bare, "rfc6298:min=0s")
    assert advice.pick == "" or not shortcomings(advice.pick)
    for name in ("linux", "quic", "rfc6298", "freebsd", "sctp"):
        assert shortcomings(name) == []


def test_a_timer_whose_missing_bounds_cannot_be_added_is_not_recommended() -> None:
    assert lacking("cocoa", "40ms") == {}
    assert advice_on(rare(), ["cocoa"]).pick == ""
    completed = advice_on(rare(), ["mills:falling=7/8,rising=7/8,max=30 s"]).pick
    assert re.fullmatch(r"mills-single:min=\d+ms,max=30s,karn=true", completed)


def test_the_advice_names_an_rto_min_even_if_it_recommends_no_timer() -> None:
    advice = advice_on(rare(lost=4), ["cocoa", "cocoa:alpha=0.2"])
    assert (advice.pick, advice.linux[:6]) == ("", "linux:")
    words = " ".join(str(advice).split())
    assert "no timer would be recommended either." in words
    assert "In Linux TCP: its estimator has one constant, rto_min. The best value" in words


def test_missing_bounds_are_added_with_keys_that_the_timer_has() -> None:
    for name in _core.ALGORITHMS:
        added = lacking(name, "40ms")
        assert set(added) <= set(dict(_core.Estimator(name).settings))
    advice = advice_on(rare(), ["mills", "mills:g=1"])
    assert re.fullmatch(r"mills:.*min=\d.*max=60s,karn=true", advice.pick)
    low, high = _core.Estimator(advice.pick).bounds
    assert (low > 0, high) == (True, 60.0)


def test_the_advice_says_how_to_deploy_the_recommended_timer() -> None:
    linux = str(advice_on(rare(), ["rfc6298", "linux:rto_min=40ms"]))
    assert "rto_min 40ms`" in linux
    assert "net.ipv4.tcp_rto_min_us=40000" in linux
    assert "TCP_BPF_RTO_MIN, 40000 µs" in linux
    assert "TCP_BPF_DELACK_MAX" in linux
    quic = str(advice_on(rare(), ["rfc6298", "quic"]))
    assert "In QUIC: stacks compute exactly this probe timeout" in quic
    assert "In Linux TCP: its estimator has one constant" in quic
    assert linux_commands(0.2) == ["200 ms is Linux's own rto_min, so this needs no setting."]
    assert "BPF" not in " ".join(linux_commands(5.0)), (
        "values above 200 ms must give no BPF command"
    )


def test_the_advice_on_captures_says_that_samples_contain_the_delays_of_acks() -> None:
    """The samples come from ACKs, not from echoes, so the advice must not mention echoes."""
    folder = Path(__file__).parents[2] / "data" / "captures"
    paths = [p for file in sorted(folder.glob("*/sender.pcapng")) for p in ns.read_delays(file)]
    timers = ["linux:rto_min=50ms", "fixed:rto=9s,max=60s"]
    captured = advise([ns.replay(path, timers) for path in paths if path.received > 20])
    assert captured.pick == "linux:rto_min=50ms"
    assert "These samples contain the delays of the captured ACKs." in str(captured)
    assert "Echoes" not in str(captured)


def test_the_advice_says_which_end_sets_each_unusual_constant_of_quic() -> None:
    plain = " ".join(quic_words("quic"))
    assert "There is nothing to set" in plain
    assert "the receiver announces max_ack_delay, here 25ms" in plain
    granularity = " ".join(quic_words("quic:granularity=60ms"))
    assert "with the RFC's constants. This timer has granularity=60ms." in granularity
    assert "Set the sender's granularity (kGranularity, RFC 9002 §6.1.2) to 60ms, not 1ms" in (
        granularity
    )
    assert "nothing to set" not in granularity
    assert "the sender cannot set it" not in granularity
    delay = " ".join(quic_words("quic:max_ack_delay=5ms"))
    assert "max_ack_delay is 5ms here, not 25ms." in delay
    assert "the sender cannot set it" in delay
    assert "margin" not in delay
    longer = " ".join(quic_words("quic:max_ack_delay=60ms"))
    assert "But the sender may add the difference to its timer as a margin." in longer
    several = " ".join(quic_words("quic:initial_rtt=100ms,max=10s"))
    assert "This timer has initial_rtt=100ms and max=10s." in several
    assert "kInitialRtt, RFC 9002 §6.2.2) to 100ms, not 333ms" in several
    assert "the maximum of the sender's probe timeout to 10s" in several
    taken = advice_on(rare(), ["rfc6298", "quic:granularity=60ms"])
    assert taken.pick == "quic:granularity=60ms"
    assert "Set the sender's granularity" in str(taken)


def test_the_advice_names_timers_that_cost_more_and_a_computed_timer_that_costs_less() -> None:
    """For delays of 50 ms without spikes, a computed rto_min costs less than the usual 200 ms."""
    advice = advice_on(rare(spikes=0), ["rfc6298", "linux", "cocoa"])
    (first, *_) = advice.paragraphs()
    costs = {name: advice.cost(name).total.value for name in ("rfc6298", advice.linux, advice.pick)}
    assert costs["rfc6298"] > costs[advice.pick] > costs[advice.linux]
    assert re.search(r"rfc6298 \([^)]*\) costs measurably more\.", first), first
    less = (
        rf"{advice.linux} \([^)]*\) costs less, but its constants were computed from these delays"
    )
    assert re.search(less, first), first
    last = advice_on(rare(spikes=0), ["rfc6298", "linux"]).paragraphs()[-1]
    assert "confirm the difference with a longer recording. Echoes are answered" in last
    many = [f"fixed:rto={n}s,max=60s" for n in range(1, 9)]
    assert "The other 7 timers with bounds and backoff cost measurably more." in str(
        advice_on(rare(), many)
    )
    text = str(advice_on(rare(spikes=0), ["linux", "cocoa"]))
    assert "costs measurably more" not in text, (
        "a timer without bounds must not appear in this comparison"
    )


def test_the_check_says_why_a_half_and_the_whole_recording_give_different_timers() -> None:
    """On the whole recording, a timer with a computed constant beats `rfc6298` but not `linux`.

    The check chooses a timer on one half of the recording and tries it on the other half.
    """
    rtt = np.random.default_rng(1).normal(0.016, 0.001, 980)
    rtt[np.linspace(100, 900, 4).astype(int)] = 0.26
    advice = advice_on(path_of(rtt), ["rfc6298", "linux", "mills"])
    assert advice.pick == "linux"
    assert [lesson.choice for lesson in advice.lessons] == ["rfc6298", "rfc6298"]
    (check,) = (text for text in advice.paragraphs() if text.startswith("Check: "))
    assert check.startswith("Check: one of the timers rfc6298 and linux was chosen on one")
    assert check.endswith(
        "On the whole recording rfc6298 is not taken, because it costs measurably more than "
        "mills:min=260ms,max=60s,karn=true, whose constants were computed from all delays. The "
        "check chooses among the named timers only."
    )
    agreeing = str(advice_on(path_of(rtt), ["rfc6298", "linux:rto_min=300ms"]))
    assert "Check: " in agreeing
    assert "On the whole recording" not in agreeing


def test_a_recording_still_decides_if_its_halves_differ_only_by_chance() -> None:
    """The delays are independent of each other, so the halves differ only by chance."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rtt = 0.04 + rng.gamma(1, 0.005, 1000)
        rtt[rng.random(1000) < 0.01] += 0.1
        rtt[rng.random(1000) < 0.02] = np.nan
        advice = advice_on(path_of(rtt), ["rfc6298", "linux", "quic"])
        assert advice.is_decided, str(advice)
        assert advice.answer()[0].startswith(f"Take {advice.pick}: ")


def spiky() -> ns.Delays:
    """Return 600 delays of about 40 ms with eight spikes of 150 ms and twelve losses."""
    rng = np.random.default_rng(1)
    rtt = rng.normal(0.04, 0.003, 600)
    rtt[rng.choice(np.arange(10, 600), 8, replace=False)] = 0.15
    rtt[rng.choice(600, 12, replace=False)] = np.nan
    return path_of(rtt)


def test_the_advice_states_its_rule_and_names_each_timer_not_chosen() -> None:
    """Of the named timers, `quic` costs least, but `linux` has the lowest upper end of the cost."""
    advice = advice_on(spiky(), ["linux", "quic", "rfc6298"])
    totals = {name: advice.cost(name).total for name in advice.asked}
    assert totals["quic"].value < totals["linux"].value
    assert totals["quic"].high > totals["linux"].high
    assert advice.pick == "linux"
    taken, why = advice.paragraphs()[:2]
    rule = (
        r"from quic, the cheapest, linux has the lowest upper end of the cost: "
        r"[\d.]+ s; quic [\d.]+ s\."
    )
    assert re.search(rule, why), why
    assert re.search(r"rfc6298 \([^)]*\) costs measurably more than quic \(", why), why
    less = rf"{advice.linux} \([^)]*\) costs measurably less, but its constants were computed"
    assert re.search(less, taken), (
        "the advice takes linux, but must say that the computed timer costs less"
    )
    bare = str(advice_on(spiky(), ["linux", "quic", "mills", "rfc6298:min=0s"]))
    for name in ("mills has no backoff and no bounds", "rfc6298:min=0s has no minimum"):
        assert name in bare


#: 300 delays of about 25 ms with some losses. The rto_min is Linux's minimum of what the timer adds
#: to srtt. On these delays, a short rto_min costs measurably less than the default of 200 ms.
SHORT = np.random.default_rng(6).normal(0.025, 0.001, 300)
SHORT[::40] = np.nan


def test_the_advice_begins_with_the_settings_for_linux_and_quic() -> None:
    advice = advice_on(path_of(SHORT), ["linux", "quic"])
    assert advice.pick == "quic"
    first, second = advice.paragraphs()[:2]
    floor = advice.linux.removeprefix("linux:rto_min=").removesuffix("ms")
    assert first.startswith(f"On a Linux server: an rto_min of {floor} ms costs ")
    assert "; the default of 200 ms costs " in first
    assert f"The value of {floor} ms was computed from these delays, so test it on another" in first
    assert f"With Linux receivers {floor} ms is too short: they delay ACKs by 40 ms" in first
    assert f"Set {floor} ms only if no receiver delays ACKs by {floor} ms or more" in first
    assert re.search(r"With QUIC there is nothing to set; its timer costs \S+ m?s \(", first)
    assert second.startswith("Take quic: ")


def test_the_first_paragraph_names_the_recommended_timer_and_not_the_cheapest() -> None:
    """The timer `quic` costs less, but the upper end of its cost is higher than with 170 ms."""
    advice = advice_on(spiky(), ["linux:rto_min=3s", "quic", "quic:granularity=170ms"])
    assert advice.pick == "quic:granularity=170ms"
    assert advice.cost("quic").total.value < advice.cost(advice.pick).total.value
    first = advice.paragraphs()[0]
    assert "With QUIC: quic:granularity=170ms costs " in first
    assert "nothing to set" not in str(advice)


def test_a_headline_says_when_to_set_a_cheaper_rto_min() -> None:
    from netspurt.report import replay_section

    def headline(timers: list[str]) -> tuple[str, Advice]:
        delays = path_of(SHORT)
        advice = advise([ns.replay(delays, timers)])
        (part,) = replay_section(advice.replays[0], "one", advice.paragraphs(), "one.txt").parts
        return part.answer, advice

    told, advice = headline(["linux", "quic"])
    floor = advice.linux.removeprefix("linux:rto_min=").removesuffix("ms")
    cheaper = advice.cost(advice.linux).total.value
    assert advice.pick == "quic"
    assert cheaper < advice.cost("quic").total.value
    assert f"The value of {floor} ms was computed from these delays, so test it on another" in told
    assert f"Set {floor} ms only if no receiver delays ACKs by {floor} ms or more" in told
    assert "With QUIC" not in told
    why = (
        f"The value of {floor} ms is not recommended, because it was computed from this recording."
    )
    assert re.search(rf"Take quic: [^.]*\.[^.]*{re.escape(why)}$", told) or told.endswith(why), told
    # The headline gives no reason if the user named the rto_min, or if `linux` is recommended.
    named, _ = headline(["linux", "linux:rto_min=60ms", "quic"])
    assert "Linux delays them by 40 ms, other systems by up to 200 ms." in named
    assert "not recommended" not in named
    undecided = ["This recording cannot decide which timer to take.", "Take quic: it costs 1 s."]
    (part,) = replay_section(advice.replays[0], "one", undecided, "one.txt").parts
    assert part.answer == undecided[0]
    alone, advice = headline(["linux", "rfc6298"])
    assert advice.pick == "linux"
    assert "not recommended" not in alone


def test_the_advice_prefers_a_named_rto_min_to_a_computed_one() -> None:
    advice = advice_on(path_of(SHORT), ["linux", "linux:rto_min=60ms", "quic"])
    first, *_, last = advice.paragraphs()
    assert first.startswith("On a Linux server: an rto_min of 60 ms costs ")
    assert "computed" not in first
    assert "The best of the named values for these delays is linux:rto_min=60ms" in last
    assert "tcp_rto_min_us=60000`" in last


def test_an_rto_min_without_a_measurable_gain_is_not_advised() -> None:
    advice = advice_on(path_of(SHORT), ["linux", "linux:rto_min=199ms", "quic"])
    first, *_, last = advice.paragraphs()
    assert first.startswith("On a Linux server: keep the rto_min of 200 ms. It costs ")
    assert "; the difference is not measurable." in first
    assert re.search(r"200 ms costs [^;]*; the difference is not measurable\. Keep", last)
    assert "Keep 200 ms" in last
    assert "ip route" not in last, "there must be no command for a value that is not advised"


#: Most of these delays are about 30 ms. Each twentieth delay is 150 ms, so an rto_min of 50 ms is
#: measurably worse than 200 ms.
JUMPY = np.random.default_rng(4).normal(0.03, 0.001, 1000)
JUMPY[50::20] = 0.15


@pytest.mark.parametrize("own", [["linux"], []])
def test_the_advice_keeps_an_rto_min_of_200_ms_if_it_costs_less_than_the_named_values(
    own: list[str],
) -> None:
    """Linux's default rto_min is compared even if the user did not name it."""
    advice = advice_on(path_of(JUMPY), ["fixed:rto=180ms,max=60s", "linux:rto_min=50ms", *own])
    first, *_, last = advice.paragraphs()
    assert advice.pick.startswith("fixed")
    assert advice.cost("linux").total.value < advice.cost("linux:rto_min=50ms").total.value
    assert first.startswith("On a Linux server: keep the rto_min of 200 ms. It costs ")
    if own:
        assert "The best of the named values for these delays is linux: it costs " in last
        assert "so this needs no setting." in last
    else:
        assert "50 ms costs" in first
        assert "which is measurably more." in first
        assert "rto_min of 200 ms costs" in last
        assert "which is measurably less. Keep 200 ms, which needs no setting." in last
    assert "ip route" not in last
    assert "sysctl" not in last


def test_a_recommended_rto_min_is_always_compared_with_200_ms() -> None:
    slow = "fixed:rto=60s,max=60s"
    worse = advice_on(path_of(JUMPY), ["linux:rto_min=50ms", slow])
    assert worse.pick == "linux:rto_min=50ms"
    last = worse.paragraphs()[-1]
    assert re.search(r"200 ms, which was not named, costs .* which is measurably less\. Keep", last)
    assert "ip route" not in last
    alike = advice_on(path_of(SHORT), ["linux:rto_min=199ms", slow]).paragraphs()[-1]
    assert "; the difference is not measurable, so you may keep 200 ms. " in alike
    assert "ip route" in alike
    better = advice_on(path_of(SHORT), ["linux:rto_min=60ms", slow]).paragraphs()[-1]
    assert re.search(r"200 ms, which was not named, costs [^;]*\)\. Echoes", better), better


def test_a_computed_rto_min_without_a_measurable_gain_gets_no_commands() -> None:
    quiet = np.random.default_rng(2).normal(0.009, 0.0005, 1000)
    advice = advice_on(path_of(quiet), ["linux", "rfc6298"])
    assert advice.pick == "linux"
    assert advice.cost(advice.linux).total.value < advice.cost("linux").total.value
    last = advice.paragraphs()[-1]
    assert last.endswith("; the difference is not measurable.")
    assert "ip route" not in last


def test_the_advice_begins_with_the_timer_to_take_if_only_linux_or_only_quic_is_named() -> None:
    texts = advice_on(path_of(SHORT), ["quic", "rfc6298"]).paragraphs()
    assert texts[0].startswith("Take quic: ")
    assert advice_on(path_of(SHORT), ["linux", "rfc6298"]).paragraphs()[0].startswith("Take linux")


def test_a_computed_rto_min_and_a_computed_max_ack_delay_can_be_set() -> None:
    """Routes and the parameter max_ack_delay (RFC 9000 §18.2) take only whole milliseconds."""
    rng = np.random.default_rng(3)
    for scale in (30e-6, 1.2e-3):
        advice = advise(
            [ns.replay(path_of(scale * rng.uniform(0.7, 2, 400)), ["linux", "quic"])], tune=True
        )
        constants = {text: dict(_core.Estimator(text).settings) for text in advice.tuned}
        linux, quic = (
            next(of for text, of in constants.items() if text.startswith(name))
            for name in ("linux", "quic")
        )
        assert re.fullmatch(r"\d+ms", linux["rto_min"]), linux
        assert re.fullmatch(r"\d+ms", quic["max_ack_delay"]), quic
        least = linux["rto_min"]
        assert f"rto_min {least}`" in str(advice)
        assert f"tcp_rto_min_us={least[:-2]}000`" in str(advice)
        assert "4 ms at 250 Hz" in str(advice)


def test_the_advice_says_which_values_can_be_set() -> None:
    short = linux_commands(73e-6)
    assert short[0].startswith("An rto_min of 0.073 ms cannot be set")
    assert short[0].endswith("1 ms can be set.")
    assert "An rto_min of 1 ms is too short for Linux receivers, unless" in short[1]
    assert "An rto_min of 40 ms is too short for Linux receivers" in linux_commands(0.04)[0]
    assert (
        "An rto_min of 41 ms needs receivers that delay ACKs by less." in linux_commands(0.041)[0]
    )
    assert "rto_min 1ms`" in short[2]
    assert "tcp_rto_min_us=1000`" in short[2]
    assert "rto_min 13ms`" in linux_commands(0.0125)[2]
    assert "needs receivers" not in " ".join(linux_commands(0.3))
    assert "TCP_BPF_RTO_MIN, 13000 µs" in " ".join(linux_commands(0.0125))
    assert linux_commands(0.0)[0].startswith("An rto_min of 0 ms cannot be set")
    for settable in (0.001, 0.007, 0.093, 1.3):
        assert "cannot be set" not in " ".join(linux_commands(settable))
    assert "100us cannot be set, but 1ms can" in " ".join(quic_words("quic:max_ack_delay=0.1ms"))
    assert "20s cannot be set, but 16383ms can" in " ".join(quic_words("quic:max_ack_delay=20s"))
    assert "cannot be set" not in " ".join(quic_words("quic:max_ack_delay=0ms"))


@given(st.floats(1e-6, 1e3))
def test_the_printed_value_of_a_computed_constant_is_right_within_5_percent(
    seconds: float,
) -> None:
    assert _core.Estimator(f"linux:rto_min={span(seconds)},rto_max=1h").bounds[0] == pytest.approx(
        seconds, rel=0.051
    )


def test_constants_computed_on_one_half_do_not_depend_on_the_other_half() -> None:
    """Only the second half has delays of 9 s, so constants from the first half stay below 1 s."""
    rng = np.random.default_rng(9)
    rtt = rng.uniform(0.04, 0.06, 800)
    rtt[400:] = np.where(rng.random(400) < 0.3, 9.0, rtt[400:])
    advice = advise([ns.replay(path_of(rtt, every=30.0), FIXED)], tune=True)
    second = max(advice.lessons, key=lambda lesson: lesson.part)
    settings_of = dict(_core.Estimator(second.choice).settings)
    assert all(settings_of.get(key, "1ms").endswith("ms") for key in ("min", "rto_min"))
    assert any(re.search(r"min=\d+(\.\d+)?s", text) for text in advice.tuned), (
        "a constant computed on the whole recording must be at least 1 s"
    )


def test_the_advice_uses_all_recordings_and_its_check_leaves_out_one_at_a_time() -> None:
    paths = [rare(1000, 10, 20, seed) for seed in range(4)]
    advice = advise([ns.replay(path, FIXED) for path in paths], Price(5.0))
    assert advice.pick == FIXED[1]
    assert [lesson.part for lesson in advice.lessons] == [0, 1, 2, 3]
    assert "tried on the remaining recording. Chosen: fixed:rto=300ms,max=60s each" in str(advice)
    assert len(advice.replays) == 4


# Ranges of figures.


def recordings() -> st.SearchStrategy[ns.Delays]:
    """Draw recordings of all kinds, for example of a single probe or with all probes lost."""
    delay = st.one_of(st.none(), st.sampled_from([0.0, 1e-6, 0.05, 0.05, 0.05, 3.0, 40.0]))
    shapes = st.one_of(
        st.lists(delay, min_size=1, max_size=3),
        st.lists(delay, min_size=4, max_size=80),
        st.integers(1, 200).map(lambda n: [None] * n),
        st.integers(1, 200).map(lambda n: [0.05] * n),
        st.integers(0, 90).map(lambda n: [None] * n + [0.05] * 60),
        st.integers(0, 90).map(lambda n: [None] * n + [0.05] + [None] * (90 - n)),
    )
    orders = st.sampled_from(["sequence", "causal"])
    return st.builds(
        lambda rtt, order, every: ns.Delays.of(rtt, every=every, order=order),
        shapes,
        orders,
        st.sampled_from([0.01, 1.0, 60.0]),
    )


def inside(of: Interval, low: float, high: float) -> bool:
    """Return whether the value and the ends of an interval are between `low` and `high`."""
    if not math.isfinite(of.low):
        return not math.isfinite(of.value) or low <= of.value <= high
    return low <= of.low <= of.value <= of.high <= high


@settings(max_examples=60, deadline=None)
@given(recordings(), st.booleans(), st.sampled_from([None, 0.0, 0.3]))
def test_every_figure_is_within_its_possible_range(
    path: ns.Delays, told: bool, price: float | None
) -> None:
    of = ns.replay(path, USUAL, told=told)
    for algorithm in of.algorithms:
        assert 0 <= algorithm.spurious <= algorithm.answered
        assert inside(algorithm.spurious_share, 0.0, 1.0)
        ends = (
            float(algorithm.waits.min()) * (1 - 1e-12),
            float(algorithm.waits.max()) * (1 + 1e-12),
        )
        assert inside(algorithm.timer, *ends)
        assert not algorithm.efficiency < 0
        assert not algorithm.efficiency > 1
        assert (
            min(
                algorithm.good,
                algorithm.waited,
                algorithm.waited_before,
                algorithm.spurious_time,
                algorithm.mean,
            )
            >= 0
        )
        for share in (
            algorithm.bad_share,
            algorithm.cov,
            algorithm.waited_in_delays,
            algorithm.waited_per_loss,
        ):
            assert not share < 0
        assert not algorithm.bad_share > 1
        assert 0 <= algorithm.lost_before <= algorithm.lost
        assert algorithm.printed_efficiency in {"-", "1", *(f".{n:02d}" for n in range(100))}
    for one in of.algorithms[1:]:
        ahead = of.versus(one, of.algorithms[0]).ahead
        assert inside(ahead, -1.0, 1.0)
        assert inside(of.difference(one, of.algorithms[0])[0], -1.0, 1.0)
    advice = advise([of], Price(price))
    for cost_ in advice.weighing.costs if advice.weighing else ():
        assert inside(cost_.total, 0.0, math.inf)
        assert 0 <= cost_.count <= cost_.answers
    assert all(lesson.cost >= lesson.least >= 0 for lesson in advice.lessons)
    assert "nan" not in str(advice)
    json.dumps(advice.data(), allow_nan=False)


def test_an_interval_is_cut_to_its_bounds() -> None:
    wide = Interval(0.5, -0.2, 1.7, 0.95, 1)
    assert (wide.bounded(0, 1).low, wide.bounded(0, 1).high) == (0.0, 1.0)
    last_bit = Interval(1.0000000000000002, 1.0, 1.0, 0.95, 1)
    assert inside(last_bit.bounded(0.0, 1.0), 0.0, 1.1)


# Losses before the first answer.


@pytest.mark.parametrize("order", ["sequence", "causal"])
def test_losses_before_the_first_answer_change_neither_the_efficiency_nor_the_cost(
    order: str,
) -> None:
    rng = np.random.default_rng(8)
    rtt = np.where(rng.random(60) < 0.1, np.nan, 0.05 + rng.exponential(0.01, 60))
    rtt[0] = 0.05
    led = np.concatenate([np.full(90, np.nan), rtt])
    without_them = ns.replay(path_of(rtt), USUAL, order=order)
    with_them = ns.replay(path_of(led), USUAL, order=order)
    for a, b in zip(without_them.algorithms, with_them.algorithms, strict=True):
        assert (b.lost, b.lost_before) == (a.lost + 90, 90)
        assert b.waited == pytest.approx(a.waited)
        assert b.efficiency == pytest.approx(a.efficiency)
        assert b.waited_before == pytest.approx(90 * b.waits[0])
        assert b.waited_in_delays == pytest.approx(a.waited_in_delays)
    costs = [Weighing([of], Price(0.3)).costs for of in (without_them, with_them)]
    for one, other in zip(*costs, strict=True):
        assert one.total.value == pytest.approx(other.total.value)


# The command.


def write(path: ns.Delays, file: Path) -> None:
    """Write a recording as a CSV file."""
    rows = ("" if math.isnan(rtt) else f"{rtt:.9f}" for rtt in path.rtt_s)
    file.write_text("seq,sent_s,rtt_s\n" + "".join(f"{n},{n},{r}\n" for n, r in enumerate(rows)))


def test_the_command_takes_a_price_with_a_unit_and_a_share_of_losses(
    netspurt: Command, tmp_path: Path
) -> None:
    write(rare(), tmp_path / "a.csv")
    words = ("replay", "a.csv", "-e", FIXED[0], "-e", FIXED[1], "--json")
    for more, pick, price in (
        (("--cost", "1ms"), FIXED[0], 0.001),
        (("--cost", "5000ms"), FIXED[1], 5.0),
        (("--cost", "5s"), FIXED[1], 5.0),
        (("--cost", "400ms", "--loss", "20%"), FIXED[0], 0.4),
        (("--cost", "400ms", "--loss", "0.0001"), FIXED[1], 0.4),
    ):
        result = netspurt(*words, *more)
        assert result.returncode == 0, result.stderr
        (data,) = json.loads(result.stdout)
        assert data["advice"]["take"] == pick, more
        assert data["advice"]["price_s"] == [price]
    refused(netspurt("replay", "a.csv", "--cost", "-1ms"), "write a time of waiting up to 1000000s")
    refused(netspurt("replay", "a.csv", "--cost", "200"), "has no unit: write 200ms or 200s")
    refused(netspurt("replay", "a.csv", "--loss", "30"), "not a share of packets, such as 1%")


def test_the_command_prints_groups_of_consecutive_losses_and_the_waits(
    netspurt: Command, tmp_path: Path
) -> None:
    rtt = np.full(4000, 0.05)
    rtt[:30] = rtt[100] = rtt[3700:3712] = np.nan
    write(path_of(rtt), tmp_path / "a.csv")
    ran = netspurt("replay", "a.csv", "--details")
    assert "waits 50 %" not in netspurt("replay", "a.csv").stdout
    assert (
        "losses in 3 groups of consecutive probes, 1 of them of one probe; the longest: 30"
        in ran.stdout
    )
    assert "30 probes were lost before the first answer" in ran.stdout
    heads = next(line for line in ran.stdout.splitlines() if "waits 50 %" in line)
    assert heads.split() == ["waits", "50", "%", "90", "%", "99", "%", "longest"]
    of_delays = " ".join(netspurt("delays", "a.csv").stdout.split())
    assert "longest: 30 probes, 0:00:00 after the beginning" in of_delays
    (data,) = json.loads(netspurt("delays", "a.csv", "--json").stdout)
    assert data["recordings"][0]["loss_runs"] == [30, 1, 12]


def test_every_setting_of_a_grid_is_printed_and_the_best_one_is_named(
    netspurt: Command, tmp_path: Path
) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        write(rare(400, 4, 8, seed), tmp_path / f"{name}.csv")
    grid = ("-e", "mills:g=1..3/4,falling=7/8..15/16/2")
    result = netspurt("replay", "a.csv", "b.csv", *grid, "--all", "--pool", "--cost", "100ms")
    rows = [line.split() for line in result.stdout.splitlines() if line.startswith("mills")]
    assert len(rows) == 8
    best = re.search(r"^best: (\S+), .* on all 2 recordings$", result.stdout, re.MULTILINE)
    assert best is not None, result.stdout
    data = json.loads(
        netspurt(
            "replay", "a.csv", "b.csv", *grid, "--all", "--pool", "--json", "--cost", "100ms"
        ).stdout
    )
    assert [entry["estimator"] for entry in data] == [row[0] for row in rows]
    assert min(data, key=lambda one: one["cost_s"])["estimator"] == best[1]
    assert [len(entry["recordings"]) for entry in data] == [2] * 8


def test_a_minimum_that_hides_differences_is_named_and_settings_are_not_ranked() -> None:
    path = rare(400, 4, 8)

    def told(*texts: str) -> list[str]:
        settings = ([figures(path, text)] for text in texts)
        return [*settings_lines([path], ((one, cost_of([path], one, Price())) for one in settings))]

    hidden = told("rfc6298:k=2", "rfc6298:k=6", "rfc6298:alpha=1/4")
    assert not any(line.startswith("best") for line in hidden)
    assert hidden[-2].startswith("All settings cost the same: ")
    assert hidden[-1].startswith("All timers stand at their minimum of 1 s on these probes")
    equal = told("fixed:rto=100ms,max=60s", "fixed:rto=100ms,max=50s")
    assert equal[-1].startswith("All settings cost the same: ")
    some = told("rfc6298:k=2", "rfc6298:k=6", "fixed:rto=5s,max=60s")
    assert some[-1].startswith("best: rfc6298:k=2 and 1 other setting, which costs the same, ")
    assert told("rfc6298")[-1].startswith("best: rfc6298, ")
    table = [*rfc889_settings([path], (([figures(path, f"rfc6298:k={k}")], 0.0) for k in (2, 6)))]
    assert table[-2].startswith("All settings have the same efficiency, 0.")
    assert table[-1].startswith("All timers stand at their minimum of 1 s")


def test_each_setting_has_a_table_with_a_row_for_each_recording(
    netspurt: Command, tmp_path: Path
) -> None:
    for name, seed in (("a", 1), ("b", 2), ("c", 3)):
        write(rare(400, 40, 8, seed), tmp_path / f"{name}.csv")
    files = ("a.csv", "b.csv", "c.csv")
    result = netspurt("replay", *files, "-e", "mills:g=1..4/4", "--all", "--rfc889")
    tables = result.stdout.split("\n\n")
    assert [table.split()[0] for table in tables[:-1]] == [
        "mills:g=1",
        "mills",
        "mills:g=3",
        "mills:g=4",
    ]
    shares = {}
    for table in tables[:-1]:
        head, *rows, share = table.splitlines()
        assert [row.split()[0] for row in rows] == [*files]
        shares[head.split()[0]] = float(share.rpartition(" ")[2])
    best = max(shares, key=shares.__getitem__)
    assert tables[-1].startswith(f"best: {best}, with an efficiency of {shares[best]:.3f}")


def test_the_command_replay_draws_its_pictures_in_each_named_format(
    netspurt: Command, tmp_path: Path
) -> None:
    write(rare(300, 3, 3), tmp_path / "a.csv")
    words = ("replay", "a.csv", "-e", "mills", "--out", "out")
    result = netspurt(*words, "--pictures", "svg", "--pictures", "pdf")
    assert result.returncode == 0, result.stderr
    kinds = ("timeline", "histogram", "scatter", "pareto")
    names = {f"replay-{kind}.{end}" for kind in kinds for end in ("svg", "pdf")}
    names |= {"replay.parquet", "replay.json"}
    assert {file.name for file in (tmp_path / "out").iterdir()} == names
    assert (tmp_path / "out" / "replay-pareto.pdf").read_bytes().startswith(b"%PDF")
    refused(netspurt(*words, "--pictures", "gif"), "'gif' is not one of png, svg, pdf")
    refused(netspurt("replay", "a.csv", "--pictures", "svg"), "add --out FOLDER")


def test_drawing_a_recording_without_answers_causes_no_traceback(
    netspurt: Command, tmp_path: Path
) -> None:
    write(path_of([None] * 20 + [0.1]).lost_after(0.01), tmp_path / "a.csv")
    result = netspurt("replay", "a.csv", "-e", "mills", "--out", "out", "--lost-after", "10ms")
    assert "Traceback" not in result.stderr


def test_the_sums_that_are_resampled_equal_the_sums_over_the_whole_recording() -> None:
    replay = ns.replay(rare(), FIXED)
    for place, algorithm in enumerate(replay.algorithms):
        whole = algorithm.sums()
        summed = ReplaySums.of(replay.resamples.sums, place)
        for key, value in vars(whole).items():
            assert float(getattr(summed, key)) == pytest.approx(float(value)), key
        terms = [Terms.of(replay, Price(0.2))]
        assert cost([whole], terms) == pytest.approx(cost([summed], terms))


def test_no_deployable_timer_costs_measurably_less_than_a_recommended_computed_timer() -> None:
    rng, n = np.random.default_rng(3), np.arange(1200)
    rtt = 0.03 + 0.001 * ((n + 30) // 150 * 37 % 23) + rng.exponential(0.003, 1200)
    rtt[330:430] = np.nan
    advice = advise([ns.replay(path_of(rtt, every=0.1), ["linux", "rfc6298:min=0s"])])
    weighing = advice.weighing
    assert weighing is not None
    assert advice.pick not in advice.asked
    pick = weighing.names.index(advice.pick)
    for place, name in enumerate(weighing.names):
        if not shortcomings(name):
            assert weighing.difference(place, pick).sign >= 0, name
    assert "Its constant was computed from these delays." in str(advice)
