"""Tests replays of timers: sums computed by hand, comparisons, tables, the command `replay`.

A replay applies a timer to recorded delays: for each probe, it computes whether the timer would
have fired before the answer came.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import netspurt as ns
from netspurt.analysis import Sums
from netspurt.estimators import Sample, name_of
from netspurt.timers import Algorithm, Replay, grid_front, save_records

from conftest import Command, refused

#: The round trips of five probes [s]; the third probe is lost.
FIVE = [0.5, 1.5, None, 0.9, 2.0]


def on(delays: list[float | None], every: float = 10.0) -> ns.Delays:
    """Return a recording with these delays, whose probes left at intervals of `every` seconds."""
    return ns.Delays.of(delays, every=every, name="by-hand")


def algorithm_of(delays: ns.Delays, estimator: str, **how: object) -> Algorithm:
    """Replay one timer; return its results."""
    return ns.replay(delays, [estimator], **how).algorithms[0]  # type: ignore[arg-type]


def test_a_fixed_timer_gives_the_sums_computed_by_hand_on_five_probes() -> None:
    """Check the sums of a timer of 1 s.

    The answers after 1.5 s and 2 s come after the timer has fired. The lost probe costs the timer's
    wait of 1 s.
    """
    algorithm = algorithm_of(on(FIVE), "fixed:rto=1s,max=1s")
    assert (algorithm.probes, algorithm.answered, algorithm.lost, algorithm.spurious) == (
        5,
        4,
        1,
        2,
    )
    assert algorithm.waits.tolist() == [1.0] * 5
    sums = Sums(good_s=algorithm.good, lost_s=algorithm.waited, spurious_s=algorithm.spurious_time)
    assert (sums.good_s, sums.lost_s, sums.spurious_s) == pytest.approx((4.9, 1.0, 3.5))
    assert algorithm.total == pytest.approx(sums.total_s)
    assert algorithm.efficiency == pytest.approx(sums.efficiency) == pytest.approx(4.9 / 9.4)
    assert algorithm.printed_efficiency == ".52", "0.5213 must be cut to two digits"
    assert algorithm.mean == pytest.approx(4.9 / 5), (
        "the mean must be over all probes, as in RFC 889"
    )
    answered = np.array([0.5, 1.5, 0.9, 2.0])
    assert algorithm.cov == pytest.approx(answered.std() / answered.mean())
    # Two of the three timeouts were spurious. The timeout of the lost probe came after 1 s, which
    # is two thirds of the last known delay (1.5 s).
    assert algorithm.bad_share == pytest.approx(2 / 3)
    assert algorithm.waited_in_delays == pytest.approx(1.0 / 1.5, abs=1e-6)
    assert algorithm.waited_per_loss == 1.0


def test_the_timer_of_a_filter_without_memory_is_twice_the_last_delay() -> None:
    algorithm = algorithm_of(on(FIVE), "mills:falling=0,rising=0")
    assert algorithm.waits.tolist() == pytest.approx([3.0, 1.0, 3.0, 3.0, 1.8])
    assert algorithm.spurious == 2, "the answers after 1.5 s and 2 s must be spurious"
    assert (algorithm.waited, algorithm.spurious_time) == pytest.approx((3.0, 3.5))
    assert algorithm.timer.value == pytest.approx((1.0 + 3.0 + 3.0 + 1.8) / 4), (
        "the mean must leave out the initial timer of the first probe"
    )


def test_the_filter_of_the_timer_mills_equals_the_steps_computed_by_hand() -> None:
    """RFC 889: a delay R changes the estimate E to F E + (1 - F) R.

    F is 15/16 if R is below E, otherwise 3/4. The timer is 2 E.
    """
    delays = [0.4, 0.8, 0.2, 1.6]
    estimate, waits = 0.4, [3.0]
    for delay in delays[1:]:
        waits.append(2 * estimate)
        weight = 15 / 16 if delay < estimate else 3 / 4
        estimate = weight * estimate + (1 - weight) * delay
    assert algorithm_of(on([*delays]), "mills").waits.tolist() == pytest.approx(waits, abs=1e-6)


def test_the_causal_order_takes_replies_in_the_order_of_their_arrival() -> None:
    """The reply to probe 0 takes a second, so it arrives after the replies to probes 1 and 2."""
    path = ns.Delays.of([1.0, 0.1, 0.1, 0.1, 0.1], every=0.4)
    forgets = "mills:falling=0,rising=0"
    causal = algorithm_of(path, forgets, order="causal").waits
    assert causal.tolist() == pytest.approx([3.0, 3.0, 0.2, 2.0, 0.2])
    sequence = algorithm_of(path, forgets, order="sequence").waits
    assert sequence.tolist() == pytest.approx([3.0, 2.0, 0.2, 0.2, 0.2])


@pytest.mark.parametrize(("told", "third"), [(False, 0.3), (True, 0.6)])
def test_a_timer_that_sees_its_timeouts_doubles_until_the_next_answer(
    told: bool, third: float
) -> None:
    """Check the waits of RFC 6298 §2. The second probe is lost, so a timeout precedes the third.

    The first wait is 1 s, and the second is 0.1 + 4 x 0.05 s. The third equals the second, or is
    doubled if the timer backs off (§5.5). The fourth is 0.1 + 4 x 0.0375 s.
    """
    waits = algorithm_of(on([0.1, None, 0.1, 0.1]), "rfc6298:min=0s", told=told).waits
    assert waits.tolist() == pytest.approx([1.0, 0.3, third, 0.25])


@pytest.mark.parametrize(("told", "waits"), [(False, [0.3, 10.225]), (True, [0.6, 0.25])])
def test_a_late_reply_is_a_sample_only_for_a_sender_with_timestamps(
    told: bool, waits: list[float]
) -> None:
    """By Karn's rule (RFC 6298 §3), a delay of 9 s is no sample if the probe was retransmitted.

    If `told` is true, the timer learns of its timeouts. If it is false, all replies are samples, as
    for a sender with timestamps. Then the 9 s make rttvar 2.253125 s and srtt 1.2125 s.
    """
    path = ns.Delays.of([0.1, 9.0, 0.1, 0.1], every=5.0)
    found = algorithm_of(path, "rfc6298:min=0s", told=told).waits
    assert found[:2].tolist() == pytest.approx([1.0, 0.3])
    assert found[2:].tolist() == pytest.approx(waits)


@pytest.mark.parametrize("ticks", [1, 2, 4, 10])
def test_a_timer_of_n_ticks_fires_at_the_nth_tick(ticks: int) -> None:
    tick_ms = 1000 // ticks
    path = ns.Delays.of([0.1] * 9, every=0.77)
    waits = algorithm_of(path, "fixed:rto=1s,max=1s", clock=f"{tick_ms} ms").waits
    sent_ms = np.rint(path.sent_s * 1e3).astype(int)
    fires_ms = (sent_ms // tick_ms + ticks) * tick_ms
    assert np.rint(waits * 1e3).tolist() == (fires_ms - sent_ms).tolist()


def test_linux_fires_a_timer_at_most_two_wheel_steps_late() -> None:
    waits = algorithm_of(
        ns.Delays.of([0.1] * 40, every=0.77), "fixed:rto=1s,max=1s", clock="linux-hz250"
    )
    assert (waits.waits > 1.0 - 1e-9).all()
    assert (waits.waits <= 1.0 + 2 * 0.032).all(), (
        "each wait must be at most two steps of 32 ms too long"
    )


def test_lost_probes_and_probes_with_spurious_timeouts_have_percentiles_of_their_own() -> None:
    rng = np.random.default_rng(3)
    rtt = np.where(rng.random(400) < 0.1, np.nan, 0.1 + rng.exponential(0.1, 400))
    algorithm = algorithm_of(ns.Delays.of(rtt, every=1.0), "mills:g=1.2")
    lost, percents = np.isnan(rtt), (0, 25, 50, 100)
    lost[: 1 + np.flatnonzero(~lost)[0]] = False  # These probes have the initial timer.
    short = (rtt - algorithm.waits)[rtt > algorithm.waits]
    assert (algorithm.lost - algorithm.lost_before, algorithm.spurious) == (
        int(lost.sum()),
        len(short),
    )
    assert algorithm.wait_percentiles(percents) == pytest.approx(
        np.percentile(algorithm.waits[lost], percents)
    )
    assert algorithm.short_percentiles(percents) == pytest.approx(np.percentile(short, percents))
    assert algorithm.waited == pytest.approx(algorithm.waits[lost].sum())
    assert algorithm.spurious_time == pytest.approx(rtt[rtt > algorithm.waits].sum())


def test_without_losses_or_spurious_retransmissions_there_are_no_percentiles() -> None:
    algorithm = algorithm_of(on([0.1, 0.1, 0.1]), "fixed:rto=1s,max=1s")
    assert np.isnan(algorithm.wait_percentiles([50])).all()
    assert np.isnan(algorithm.short_percentiles([50])).all()
    assert np.isnan(algorithm.waited_per_loss)
    assert (algorithm.efficiency, algorithm.printed_efficiency) == (1.0, "1")


# Several timers.


def mixed(count: int = 300, seed: int = 1) -> ns.Delays:
    """Return a recording of random delays of at least 50 ms, with 5 % lost probes."""
    rng = np.random.default_rng(seed)
    rtt = 0.05 * (1 + rng.exponential(0.4, count))
    return ns.Delays.of(np.where(rng.random(count) < 0.05, np.nan, rtt), every=1.0)


#: Timers that are compared.
SETTINGS = [f"fixed:rto={ms}ms,max=1s" for ms in (60, 80, 80.5, 120, 200)] + ["mills", "linux"]


def test_the_front_has_the_timers_that_no_other_timer_beats() -> None:
    replay = ns.replay(mixed(), SETTINGS)
    pairs = {a.estimator: (a.spurious, a.timer.value) for a in replay.algorithms}
    beaten = {
        name
        for name, own in pairs.items()
        if any(o[0] <= own[0] and o[1] <= own[1] and o != own for o in pairs.values())
    }
    front = [algorithm.estimator for algorithm in replay.front()]
    assert set(front) == set(pairs) - beaten
    assert [pairs[name] for name in front] == sorted(pairs[name] for name in front)


def test_differences_in_shares_and_mean_timers_change_sign_if_the_timers_are_exchanged() -> None:
    replay = ns.replay(mixed(), SETTINGS)
    for a, b in itertools.combinations(replay.algorithms, 2):
        share, timer = replay.difference(a, b)
        assert share.value == pytest.approx((a.spurious - b.spurious) / a.answered)
        assert timer.value == pytest.approx(a.timer.value - b.timer.value)
        swapped = replay.difference(b, a)
        assert (swapped[0].value, swapped[1].sign) == pytest.approx((-share.value, -timer.sign))
        ahead, behind = replay.versus(a, b), replay.versus(b, a)
        turned = {"better": "worse", "worse": "better"}
        assert behind.verdict == turned.get(ahead.verdict, ahead.verdict)
        assert ahead.ahead.value == pytest.approx(a.efficiency - b.efficiency)


def test_timers_that_are_equal_probe_by_probe_are_called_the_same() -> None:
    replay = ns.replay(mixed(), ["fixed:rto=1s,max=2s", "fixed:rto=1s,max=3s"])
    found = replay.versus(*replay.algorithms)
    assert (found.verdict, found.ahead.low, found.ahead.high) == ("same", 0.0, 0.0)


def recommended(delays: ns.Delays, estimators: list[str], cost: float | None = None) -> str:
    """Return the recommendation of a replay as one text."""
    return " ".join(ns.replay(delays, estimators).recommendation(ns.Price(cost)))


def test_the_recommendation_follows_from_the_replay() -> None:
    path = mixed(4000)
    alone = recommended(path, ["mills"])
    assert alone.startswith("To get a recommendation"), "a single timer must not be compared"
    none = recommended(path, ["fixed:rto=51ms,max=60s", "fixed:rto=52ms,max=60s"])
    assert "None of these timers is good enough: even fixed:rto=52ms,max=60s, the cheapest" in none
    cheap = recommended(path, ["fixed:rto=150ms,max=60s", "fixed:rto=900ms,max=60s"], 0.05)
    assert "Take fixed:rto=150ms,max=60s: it costs " in cheap
    told = cheap.split("The cost is")[0]
    assert "fixed:rto=900ms,max=60s (44.0 s) costs measurably more than" in told
    same = recommended(path, ["fixed:rto=700ms,max=60s", "fixed:rto=702ms,max=60s"])
    assert "Take fixed:rto=700ms,max=60s" in same
    assert "Caution" not in same, "200 lost probes must give no warning"


def test_one_way_delays_and_few_losses_get_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "owd.csv"
    file.write_text("rtt_ms\n" + "20\n" * 60)
    (path,) = ns.read_delays(file, columns={"one_way": True}, interval=1.0)
    paragraphs = recommended(path, ["mills", "linux"])
    assert "No probe was lost; the cost assumes half a loss." in paragraphs
    assert "These are one-way delays." in paragraphs
    assert "counts as 200 ms of waiting (10 median one-way delays, which are 5 round trips" in (
        paragraphs
    )
    assert "no setting follows from one-way delays" in paragraphs
    for command in ("ip route", "sysctl", "Echoes"):
        assert command not in paragraphs
    trips = on([0.1] * 80)
    advice = ns.advise(
        [ns.replay(one, ["mills", "linux"], order="causal") for one in (path, trips)]
    )
    assert advice.price.of(path) == pytest.approx(0.2)
    assert advice.price.of(trips) == pytest.approx(0.5)
    together = str(advice)
    assert "These are one-way delays." not in together
    assert f"{path.name} has one-way delays, and the others have round trips" in together
    assert "5 median round trips, with a one-way delay as half a round trip" in together
    assert "no setting follows from one-way delays" in together


class Growing:
    """A timer of one second, plus one second for each sample so far."""

    def __init__(self) -> None:
        self.samples = 0

    def on_sample(self, _sample: Sample) -> None:
        self.samples += 1

    def on_timeout(self, now: float) -> None: ...

    def rto(self) -> float:
        return 1.0 + self.samples


def test_only_a_given_object_keeps_its_state_between_replays() -> None:
    path = on([0.5, 0.5, None])
    assert ns.replay(path, [Growing]).algorithms[0].waits.tolist() == [1.0, 2.0, 3.0]
    made = Growing()
    for start in (1.0, 3.0):
        waits = ns.replay(path, [made]).algorithms[0].waits
        assert waits.tolist() == [start, start + 1, start + 2]


def test_texts_with_the_same_settings_give_one_estimator() -> None:
    assert [a.estimator for a in ns.replay(on(FIVE), "mills").algorithms] == ["mills"]
    twice = ns.replay(on(FIVE), ["mills", "mills:g=2", "linux:rto_min=200ms", "linux"])
    assert [a.estimator for a in twice.algorithms] == ["mills", "linux"]
    assert name_of("mills:g=2") == name_of("mills")
    with pytest.raises(KeyError, match="'quic' was not replayed; the replayed timers are mills"):
        twice["quic"]
    with pytest.raises(ValueError, match="no estimator to replay: name one"):
        ns.replay(on(FIVE), [])


def test_objects_made_from_texts_have_these_texts_as_names(tmp_path: Path) -> None:
    """Two objects of one class are different estimators, so the replay must keep both."""
    (tmp_path / "wait.py").write_text(
        "class Wait:\n"
        "    def __init__(self, s=1.0):\n"
        "        self.s = s\n"
        "    def on_sample(self, sample):\n"
        "        pass\n"
        "    on_timeout = on_sample\n"
        "    def rto(self):\n"
        "        return self.s\n"
    )
    texts = [f"{tmp_path / 'wait.py'}:Wait:s={s}" for s in (0.3, 0.7)]
    made = [ns.estimator(text) for text in texts]
    of = ns.replay(on(FIVE), [*made, "linux", made[0]])
    assert [a.estimator for a in of.algorithms] == [*texts, "linux"]
    assert of[texts[1]].timer.value == 0.7
    objects = ns.replay(on(FIVE), [texts[0], made[0], Growing(), Growing(), Growing])
    assert [a.estimator for a in objects.algorithms] == [
        texts[0],
        f"{texts[0]}#2",
        "Growing",
        "Growing#2",
        "Growing#3",
    ]


def test_only_a_file_with_several_recordings_needs_a_choice(tmp_path: Path) -> None:
    paths = [ns.Delays.of([0.1, 0.2], every=1.0, name=name) for name in ("east", "west")]
    replays = [ns.replay(path, ["mills"]) for path in paths]
    single = save_records(replays[:1], tmp_path / "one.parquet")
    double = save_records(replays, tmp_path / "two.parquet")
    assert ns.replay(single, ["mills"]).delays.sent == 2
    with pytest.raises(ns.ReplayError, match="has 2 recordings") as raised:
        ns.replay(double, ["mills"])
    assert "take one of `netspurt.read_delays(path)`" in str(raised.value)
    assert [recording.name.rpartition(": ")[2] for recording in ns.read_delays(double)] == [
        "east",
        "west",
    ]


# The saved table of a replay, and the printed output.


def column(replay: Replay, name: str) -> NDArray[np.generic]:
    """Return a column of the table of a replay."""
    return np.ma.getdata(replay.records()[name])


def test_the_table_of_a_replay_has_a_row_for_each_timer_and_probe(tmp_path: Path) -> None:
    replay = ns.replay(on(FIVE), ["fixed:rto=1s,max=1s", "mills"])
    records = replay.records()
    assert len(records) == 10
    assert records["verdict"][:5].tolist() == ["in-time", "spurious", "lost", "in-time", "spurious"]
    waits = np.concatenate([algorithm.waits for algorithm in replay.algorithms])
    assert column(replay, "wait_ns").tolist() == np.rint(waits * 1e9).tolist()
    file = save_records([replay], tmp_path / "replay.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["replay.parquet"]
    (saved,) = ns.read_delays(file)
    assert np.ma.allequal(saved.rtt_ns, replay.delays.rtt_ns)
    assert saved.sent_ns.tolist() == replay.delays.sent_ns.tolist()


#: The five probes as a table in CSV.
CSV = "seq,sent_s,rtt_s\n" + "".join(
    f"{n},{10 * n},{'' if delay is None else delay}\n" for n, delay in enumerate(FIVE)
)


def test_the_command_prints_a_row_of_the_table_in_rfc_889_with_truncated_numbers(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "five.csv").write_text(CSV)
    words = ("replay", "five.csv", "-e", "fixed:rto=1s,max=1s", "--rfc889")
    ran = netspurt(*words, "--column", "one_way=true")
    assert ran.returncode == 0, ran.stderr
    heading, line, *scale = ran.stdout.splitlines()[-4:]
    assert heading.split("  ")[-1].split() == ["eff"]
    assert line.split() == ["fixed:rto=1s,max=1s", "9", "1", "1.0", "2", "3.5", "980", ".47", ".52"]
    assert " ".join(scale).startswith("one-way delays and timers, as recorded; lost s: the waits")


def test_a_note_says_that_the_table_in_rfc_889_has_halved_round_trips(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "five.csv").write_text(CSV)
    words = ("replay", "five.csv", "-e", "fixed:rto=1s,max=1s", "--rfc889")
    _, line, *scale = netspurt(*words).stdout.splitlines()[-4:]
    assert line.split() == ["fixed:rto=1s,max=1s", "4", "1", "0.5", "2", "1.7", "490", ".47", ".52"]
    assert " ".join(scale).startswith("one-way delays and timers: half of the round trips")
    (data,) = json.loads(netspurt(*words, "--json").stdout)
    assert data["estimators"][0]["mean_s"] == pytest.approx(0.98), (
        "the JSON must have the round trips"
    )


def test_the_command_compares_each_timer_with_the_reference(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "five.csv").write_text(CSV)
    words = ("replay", "five.csv", "-e", "fixed:rto=1s,max=1s", "--versus", "mills:rising=0")
    heading, line, *_ = netspurt(*words).stdout.splitlines()
    assert heading.split()[:5] == ["recording", "order", "timer", "spurious", "efficiency"]
    assert line.split()[:4] == ["five.csv", "causal", "fixed:rto=1s,max=1s", "2"]
    assert line.endswith("cannot tell")
    (data,) = json.loads(netspurt(*words, "--json").stdout)
    (against,) = data["versus"]
    assert (against["first"], against["second"]) == ("fixed:rto=1s,max=1s", "mills:rising=0")
    assert against["ahead"]["low"] <= 0 <= against["ahead"]["high"]
    assert [estimator["estimator"] for estimator in data["estimators"]] == [
        against["first"],
        against["second"],
    ]


def test_twelve_settings_of_the_front_are_shown_for_a_large_grid(
    netspurt: Command, tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    rtts = 0.05 * (1 + rng.exponential(0.5, 500))
    rows = "".join(f"{n},{n},{rtt}\n" for n, rtt in enumerate(rtts))
    (tmp_path / "many.csv").write_text("seq,sent_s,rtt_s\n" + rows)
    result = netspurt("replay", "many.csv", "-e", "mills:g=1..4/61,falling=0..1/11", "--json")
    (data,) = json.loads(result.stdout)
    assert len(data["estimators"]) == 12
    (path,) = ns.read_delays(tmp_path / "many.csv")
    front, count = grid_front(path, "mills:g=1..4/61,falling=0..1/11")
    assert (count, len(front) > 12) == (61 * 11, True)
    names = [estimator["estimator"] for estimator in data["estimators"]]
    assert (names[0], names[-1]) == (front[0], front[-1])
    assert names == [name for name in front if name in names], (
        "the rows must be in the order of the front"
    )
    refused(netspurt("replay", "many.csv", "-e", "mills:g=1..4/61", "--versus", "mils"), "`mills`")
