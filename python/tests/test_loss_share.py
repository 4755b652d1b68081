"""Tests intervals of the share of losses, and warnings in the advice on timers.

The intervals count loss events, and the advice warns if there are few of them. A loss event is
several lost probes that are close together, or one lost probe alone.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

import netspurt as ns
from netspurt.advice import Price, advise
from netspurt.analysis.loss_share import loss_share, losses_recorded
from netspurt.analysis.replayed import poisson_interval

from conftest import Command


def bunched(
    rng: np.random.Generator, probes: int, begins: float, ends: float, lost: float
) -> NDArray[np.bool_]:
    """Return which probes the Gilbert-Elliott model loses.

    At each probe, a bad period begins with the probability `begins` and ends with the probability
    `ends`. In a bad period, a probe is lost with the probability `lost`.
    """
    drawn, state = rng.random((2, probes)), False
    found = np.zeros(probes, bool)
    for n in range(probes):
        state = drawn[0, n] >= ends if state else drawn[0, n] < begins
        found[n] = state and drawn[1, n] < lost
    return found


def with_event(lost_alone: int = 0, path_s: float = 0.06) -> ns.Delays:
    """Return a recording of 5,000 probes, of which 100 are lost in one loss event.

    The number of other lost probes is `lost_alone`. They are lost one at a time. The delays are
    about `path_s` [s], except for one delay of 0.2 s.
    """
    rng = np.random.default_rng(4)
    rtt = rng.normal(path_s, 0.0005, 5000)
    rtt[rng.choice(np.arange(100, 5000), 2, replace=False)] = 0.2
    rtt[2000:2100] = np.nan
    rtt[rng.choice(np.arange(2500, 5000), lost_alone, replace=False)] = np.nan
    return ns.Delays.of(rtt, every=1.0, name="path")


def test_single_losses_have_garwoods_interval() -> None:
    """The weight of a loss event is its number of lost probes.

    If every weight is one, the limits of Fay and Feuer (1997) equal Garwood's limits.
    """
    lost = np.zeros(1000, bool)
    lost[[100, 300, 500, 900]] = True
    share = loss_share([lost])
    assert (share.low, share.high) == pytest.approx([end / 1000 for end in poisson_interval(4)])
    nothing = loss_share([np.zeros(1000, bool)])
    assert (nothing.low, nothing.high) == pytest.approx((0.0, poisson_interval(0)[1] / 1000))


def test_losses_that_are_close_together_count_as_one_event_however_many_they_are() -> None:
    lost = np.zeros(10_000, bool)
    lost[500:700] = True
    share = loss_share([lost])
    assert share.events.tolist() == [200]
    assert share.is_uncertain
    assert share.high / share.low > 200, (
        "the interval from one event must span a factor of more than 200"
    )
    assert not loss_share([np.arange(10_000) % 97 == 5]).is_uncertain
    assert np.isnan(loss_share([np.zeros(0, bool)]).value)


@pytest.mark.parametrize(
    "spells",
    [(0.01, 1.0, 1.0), (0.005, 0.1, 1.0), (0.005, 0.05, 0.4)],
    ids=["single losses", "bursts", "bad periods in which some probes are answered"],
)
def test_at_least_84_percent_of_the_intervals_cover_the_true_share_of_losses(
    spells: tuple[float, float, float],
) -> None:
    begins, ends, lost = spells
    truth = lost * begins / (begins + ends)
    rng = np.random.default_rng(1)
    shares = [loss_share([bunched(rng, 1000, *spells)]) for _ in range(200)]
    covered = sum(one.low <= truth <= one.high for one in shares)
    assert covered >= 0.84 * len(shares)


def test_the_advice_does_not_say_that_no_losses_occurred_if_losses_are_not_recorded(
    tmp_path: Path, netspurt: Command
) -> None:
    scenario = ns.new_scenario().replace({"stop": "10 s", "links.modem.rate": "1 Mbit/s"})
    file = scenario.run().save(tmp_path / "run") / "source.pcapng"
    path = max(ns.read_delays(file), key=len)
    assert any("losses are not recorded" in note for note in path.notes)
    assert not losses_recorded(path)
    replay = ns.replay(path, ["linux", "quic"])
    advice = advise([replay])
    words = " ".join(advice.paragraphs())
    assert "No probe was lost" not in words
    assert "Losses are not recorded, so their share is not known. The cost assumes half a" in words
    assert "at half a loss, because losses are not recorded. One spurious" in words
    assert words.count("--loss sets the share") == 1
    assert "The share of losses may be" not in words
    assert advice.data()["loss_share"] is None
    given = " ".join(advise([replay], Price(loss=0.01)).paragraphs())
    assert "osses are not recorded" not in given
    printed = " ".join(netspurt("replay", str(file), "-e", "linux", "-e", "quic").stdout.split())
    assert f"{len(path)} probes, {len(path)} answered · " in printed
    echoes = ns.replay(ns.Delays.of([0.05] * 99, every=1.0), ["linux", "quic"])
    assert (
        "No probe was lost (recordings that do not show losses: 1 of 2); "
        "the cost assumes half a loss."
    ) in " ".join(advise([replay, echoes]).paragraphs())


def test_the_advice_says_that_bursts_may_make_the_share_larger_if_no_probe_was_lost() -> None:
    """If a burst of five losses begins at one probe in 1000, the true share of losses is 0.5 %.

    But a third of all recordings of 1000 probes then have no burst. For such a recording, the
    interval for single losses ends at 0.37 %, which is too low.
    """
    none, one = (
        " ".join(advise([ns.replay(ns.Delays.of([0.05] * 999 + last, every=1.0))]).paragraphs())
        for last in ([0.05], [math.nan])
    )
    told = "The share of losses may be up to 0.37 % (95 %) if probes are lost one at a time; bursts"
    assert told in none
    assert "one at a time" not in one


@pytest.mark.parametrize(
    ("note", "lost", "known"),
    [
        ("times guessed", 0, True),
        ("losses are not recorded", 0, False),
        ("not all replies have numbers, so losses between them cannot be seen", 0, False),
        ("not all replies have numbers, so losses between them cannot be seen", 1, True),
    ],
)
def test_the_notes_of_a_recording_say_whether_it_shows_losses(
    note: str, lost: int, known: bool
) -> None:
    assert losses_recorded(SimpleNamespace(notes=["a", note], lost=lost)) == known  # type: ignore[arg-type]


def test_a_choice_that_depends_on_one_loss_event_has_a_warning(
    tmp_path: Path, netspurt: Command
) -> None:
    path = with_event()
    advice = advise([ns.replay(path, ["quic", "linux"])])
    words = " ".join(advice.paragraphs())
    assert "Caution: All 100 losses are in one outage of at least 10 lost probes" in words
    assert "In an outage retransmissions are lost, too, so a shorter timer gains little" in words
    assert "there. Without the losses in outages " in words
    assert " The choice rests on one loss event with all 100 losses." in words
    assert words.count("Caution") == 1
    # If the outage is left out, half a loss is added.
    shares = [round(one.loss, 5) for one in advice.elsewhere]
    assert shares == [0.00051, 0.11143, round(0.5 / 4900.5, 5)]
    without = " ".join(replace(advice, pick="").paragraphs())
    assert " These costs rest on one loss event with all 100 losses." in without
    other = advise([ns.replay(path, ["quic", "linux"])], Price(loss=advice.elsewhere[0].loss))
    assert other.pick == advice.elsewhere[0].choice
    assert "Caution" not in " ".join(other.paragraphs()), (
        "there must be no warning if the user sets the share"
    )
    file = tmp_path / "path.csv"
    file.write_text("rtt_ms\n" + "".join(f"{1e3 * s:.3f}\n" for s in path.rtt_s))
    shown = " ".join(netspurt("delays", str(file)).stdout.split())
    assert (
        "share of losses: 0.051 to 11 % (95 %), counting one loss event (losses at most "
        "197 probes apart are one event) and not 100 losses" in shown
    )
    data = json.loads(netspurt("replay", str(file), "--json", "--interval", "1s").stdout)[0][
        "advice"
    ]
    assert data["loss_share"]["events"] == 1
    assert data["take_at"][0]["loss"] == pytest.approx(advice.elsewhere[0].loss)


def test_if_the_choice_of_a_timer_depends_on_one_outage_the_recording_cannot_decide(
    tmp_path: Path, netspurt: Command
) -> None:
    """Of 122 losses, 120 are in one outage. Without it, the longest rto_min costs least."""
    rng = np.random.default_rng(3)
    rtt = 0.04 + rng.gamma(2, 0.004, 6000)
    rtt[rng.choice(np.arange(3000, 6000), 12, replace=False)] += 0.2
    rtt[1000:1120] = rtt[[3000, 4500]] = np.nan
    timers = ["linux", "linux:rto_min=100ms", "linux:rto_min=50ms"]
    advice = advise([ns.replay(ns.Delays.of(rtt, every=0.2), timers)])
    assert advice.pick == "linux:rto_min=50ms"
    assert not advice.is_decided
    assert advice.data()["decided"] is False
    text = advice.answer()[0]
    assert text.startswith(
        "This recording cannot decide which timer to take. 120 of the 122 losses are in one "
        "outage, where retransmissions are lost, too. Without the outage (0.034 % lost) linux "
        "would be taken. As recorded (2 % lost) linux:rto_min=50ms would be taken: it costs "
    ), text
    assert text.endswith("Until then keep the timer that you have.")
    assert "In Linux TCP: keep your rto_min until a recording decides." in advice.paragraphs()
    assert "Set 50 ms" not in " ".join(advice.answer())
    # If the user gives the share of losses, the recording can decide.
    given = advise(advice.replays, Price(loss=0.01))
    assert given.is_decided
    # The second outage is as long as the first one. So the advice examines the share of losses
    # without both outages, and not without one of them.
    rtt[5000:5120] = np.nan
    both = advise([ns.replay(ns.Delays.of(rtt, every=0.2), timers)])
    assert not both.is_decided
    assert "Without the outages (0.035 % lost) linux would be taken" in both.answer()[0]
    file = tmp_path / "path.csv"
    file.write_text("rtt_ms\n" + "".join(f"{1e3 * s:.3f}\n" for s in rtt))
    words = ("replay", str(file), "--interval", "200ms", "-e", timers[0], "-e", timers[2])
    printed = netspurt(*words).stdout
    assert printed.split("\n\n")[1].startswith("This recording cannot decide")


def test_if_all_losses_are_in_one_outage_the_recording_cannot_decide_on_a_timer() -> None:
    """Without the outage, half a loss remains. Then the longer rto_min costs less."""
    rng = np.random.default_rng(3)
    rtt = 0.04 + rng.gamma(2, 0.004, 6000)
    rtt[rng.choice(np.arange(3000, 6000), 12, replace=False)] += 0.2
    rtt[1000:1120] = np.nan
    timers = ["linux", "linux:rto_min=50ms"]
    advice = advise([ns.replay(ns.Delays.of(rtt, every=0.2), timers)])
    assert not advice.is_decided
    assert "All 120 losses are in one outage" in advice.answer()[0]


def test_a_caution_states_the_cost_without_outages_if_most_losses_are_in_outages() -> None:
    """Two hours of probes, one per second, have outages of 30, 12 and 60 s, and single losses."""
    rng = np.random.default_rng(7)
    delays = rng.lognormal(-3.2, 0.15, 7200)
    delays[rng.random(7200) < 0.005] = np.nan
    for begins, lasts in ((1000, 30), (4000, 12), (6000, 60)):
        delays[begins : begins + lasts] = np.nan
    lost = int(np.isnan(delays).sum())
    path = ns.Delays.of(delays.tolist(), every=1.0)
    advice = advise([ns.replay(path, ["quic", "linux"])])
    (caution,) = (one for one in advice.paragraphs() if one.startswith("Caution"))
    assert f"102 of the {lost} losses are in 3 outages of at least 10 lost probes" in caution
    calm = advise(
        [ns.replay(path, ["quic", "linux"])], Price(loss=(lost - 102 + 0.5) / (7200 - 102 + 0.5))
    )
    without = 1000 * calm.cost(advice.pick).total.value
    assert f"Without the losses in outages {advice.pick} costs {without * 1000:.0f} ms" in caution
    assert "Caution" not in " ".join(calm.paragraphs()), (
        "there must be no caution if the user sets the share"
    )
    assert advice.losses is not None
    assert advice.losses.data()["in_outages"] == 102
    # In the first recording nine probes are lost in a row, which is too few for an outage. In the
    # second recording fewer than half of the losses are in outages: 100 of about 350.
    for length, singles in ((9, 0), (10, 250)):
        few = rng.lognormal(-3.2, 0.15, 7200)
        for place in range(10):
            few[700 * place + 50 : 700 * place + 50 + length] = np.nan
        few[300 : 300 + 25 * singles : 25] = np.nan
        told = advise([ns.replay(ns.Delays.of(few.tolist(), every=1.0), ["quic", "linux"])])
        assert "in outages" not in " ".join(told.paragraphs())


def test_a_change_of_level_is_reported_with_the_command_that_shows_its_time(
    tmp_path: Path, netspurt: Command
) -> None:
    from netspurt.analysis.quarters import quarter_words

    rng = np.random.default_rng(3)
    steady = rng.lognormal(-3.2, 0.15, 2000)
    level = np.where(np.arange(2000) < 1000, 0.0, 0.03)
    # The delay changes every 50 probes, so all four quarters have the same level.
    swinging = steady + 0.03 * (np.arange(2000) // 50 % 2)
    file = tmp_path / "path.csv"
    for delays, changed in ((steady, False), (steady + level, True), (swinging, False)):
        file.write_text("rtt_ms\n" + "".join(f"{1e3 * s:.3f}\n" for s in delays))
        for command in ("delays", "replay"):
            options = ("--interval", "1s") if command == "replay" else ()
            words = " ".join(netspurt(command, str(file), *options).stdout.split())
            assert ("the level of the delays changed: the medians" in words) == changed
            assert ("`netspurt delays constancy` says when" in words) == changed
    assert not quarter_words(ns.Delays.of([*steady[:90], *(steady[:90] + 0.03)]))


def test_the_advice_says_which_timer_it_would_choose_without_the_largest_loss_event() -> None:
    advice = advise([ns.replay(with_event(lost_alone=1), ["quic", "linux"])])
    last = advice.elsewhere[-1]
    assert last.loss == pytest.approx(1 / 4900)
    assert (advice.pick, last.choice) == ("quic", "linux")
    words = " ".join(advice.paragraphs())
    assert "Without the outage (0.02 % lost) linux would be taken" in words


def test_no_timer_is_recommended_if_timers_back_off_and_a_loss_event_is_large() -> None:
    advice = advise([ns.replay(with_event(), ["quic", "linux"], told=True)])
    assert advice.pick == ""
    assert advice.paragraphs()[0].startswith("No timer is recommended: --told doubles a timer")
