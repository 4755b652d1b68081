"""Tests the intervals and verdicts of sweeps: few runs, missing cases and unusual labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import netspurt as ns
from netspurt import _core
from netspurt.analysis.cases import compare, summarise
from netspurt.analysis.grouping import label_text
from netspurt.sweep import Sweep, run_sweep

from conftest import Command
from test_sweep import LOSSY

#: A function that draws `n` values.
Draw = Callable[[np.random.Generator, int], NDArray[Any]]

#: Distributions of a measure.
DRAWS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed": lambda rng, n: rng.exponential(size=n),
    "counts": lambda rng, n: rng.poisson(1.0, size=n),
    "coins": lambda rng, n: rng.integers(0, 2, size=n),
}


def two(old: NDArray[Any], new: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the cases of two algorithms, with these counts of timeouts in their runs."""
    n = len(old)
    return {
        "case": np.arange(2 * n),
        "repeat": np.tile(np.arange(n) + 1, 2),
        "algorithm": np.repeat(["old", "new"], n),
        "timeouts": np.concatenate([old, new]).astype(float),
    }


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("runs", [2, 3, 5, 20])
def test_equal_algorithms_are_rarely_called_better_or_worse(
    runs: int, draw: str, paired: bool
) -> None:
    rng = np.random.default_rng(runs)
    told = 0
    for _ in range(120):
        cases = two(DRAWS[draw](rng, runs), DRAWS[draw](rng, runs))
        (row,) = compare(
            cases, "timeouts", "algorithm", {"algorithm": ["old", "new"]}, paired=paired
        )
        told += row.verdict in ("better", "worse")
    # On average, 6 verdicts `better` or `worse` are expected. By chance, there are more than 18
    # less than once in 100,000 times.
    assert told <= 18


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_an_interval_of_few_runs_covers_the_mean_as_often_as_it_claims(runs: int) -> None:
    rng = np.random.default_rng(runs)
    held = 0
    for _ in range(200):
        cases = two(rng.normal(size=runs), np.zeros(runs))
        (row,) = summarise(
            {name: column[:runs] for name, column in cases.items()}, "timeouts", [], {}
        )
        held += int(row.mean.low <= 0 <= row.mean.high)
    assert held >= 180


def test_the_interval_of_very_many_runs_reaches_about_two_standard_errors() -> None:
    draws = np.random.default_rng(1).exponential(size=50_001)
    cases = {"case": np.arange(50_001), "repeat": np.arange(50_001) + 1, "timeouts": draws}
    (row,) = summarise(cases, "timeouts", [], {})
    assert row.mean.value == pytest.approx(draws.mean())
    assert row.mean.high - row.mean.low == pytest.approx(2 * 1.96 / 50_001**0.5, rel=0.1)


#: The labels of the compared axis, in their order.
ALGORITHMS: dict[str, list[object]] = {"algorithm": ["old", "new"]}


def test_equal_differences_give_a_verdict_with_three_runs_but_not_with_two() -> None:
    for runs, verdict in ((2, "cannot tell"), (3, "worse")):
        cases = two(np.arange(runs), np.arange(runs) + 1)
        (row,) = compare(cases, "timeouts", "algorithm", ALGORITHMS, paired=True)
        assert row.verdict == verdict


def test_the_interval_of_few_events_covers_the_true_rate() -> None:
    rng = np.random.default_rng(11)
    for rate in (0.02, 0.032, 0.055, 0.1):
        held = 0
        for _ in range(200):
            lost = (rng.random(100) < rate).astype(float)
            cases = {"case": np.arange(100), "repeat": np.arange(100) + 1, "lost": lost}
            (row,) = summarise(cases, "lost", [], {})
            held += int(row.mean.low <= rate <= row.mean.high)
        # On average, 190 intervals are expected to cover the rate. By chance, fewer than 180 cover
        # the rate less than once in 300 times.
        assert held >= 180, rate


def test_more_events_never_lower_the_upper_end_of_the_interval() -> None:
    ends = []
    for events in range(12):
        lost = (np.arange(100) < events).astype(float)
        cases = {"case": np.arange(100), "repeat": np.arange(100) + 1, "lost": lost}
        (row,) = summarise(cases, "lost", [], {})
        ends.append(row.mean.high)
    assert ends == sorted(ends)
    # In 100 runs, these are the upper ends of Garwood's intervals for no event and for one event.
    assert ends[:2] == pytest.approx([0.036889, 0.055716], rel=1e-4)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("old", "new"), [(5.0, 5.0), (5.0, 7.0)])
def test_equal_runs_have_an_interval_and_a_verdict_only_if_nothing_is_random(
    old: float, new: float, paired: bool
) -> None:
    times = two(np.full(9, old), np.full(9, new))
    times["completion_ns_mean"] = times.pop("timeouts")
    known = ("completion_ns_mean", "algorithm", ALGORITHMS)
    (row,) = compare(times, *known, paired=paired)
    assert (row.difference.value, row.verdict, row.repeats) == (new - old, "cannot tell", 9)
    assert np.isnan([row.difference.low, row.difference.high]).all()
    assert all(
        np.isnan(own.mean.low) and own.repeats == 9
        for own in summarise(times, "completion_ns_mean", ["algorithm"], ALGORITHMS)
    )
    (sure,) = compare(times, *known, paired=paired, exact=True)
    assert (sure.difference.low, sure.difference.high) == (new - old, new - old)
    assert sure.verdict == ("worse" if new > old else "same" if paired else "cannot tell")


def test_an_interval_of_rare_losses_is_missing_or_covers_the_mean_often_enough() -> None:
    """A loss in 1 of 25 runs makes a transfer ten times as long.

    If 20 runs are drawn, the probability that none of them has a loss is 44 %.
    """
    rng = np.random.default_rng(3)
    held = missing = 0
    for _ in range(200):
        times = np.where(rng.random(20) < 0.04, 10.0, 1.0)
        cases = {"case": np.arange(20), "repeat": np.arange(20) + 1, "completion_ns_mean": times}
        (row,) = summarise(cases, "completion_ns_mean", [], {})
        missing += int(np.isnan(row.mean.low))
        held += int(row.mean.low <= 1 + 9 * 0.04 <= row.mean.high)
    assert 70 <= missing <= 106
    assert held >= 0.75 * (200 - missing)


def test_equal_figures_have_an_interval_of_no_width_in_spite_of_rounding() -> None:
    """The mean of equal numbers can differ from them in its last bits."""
    rate = 950_812.345_678_9
    cases = {
        "case": np.arange(14),
        "repeat": np.tile(np.arange(7) + 1, 2),
        "algorithm": np.repeat(["old", "new"], 7),
        "goodput_bps": np.concatenate([np.full(7, rate), np.full(7, rate / 3)]),
    }
    rows = summarise(cases, "goodput_bps", [], ALGORITHMS, exact=True)
    rows += summarise(cases, "goodput_bps", ["algorithm"], ALGORITHMS, exact=True)
    assert [row.mean.low == row.mean.high for row in rows] == [True] * 3
    for paired in (True, False):
        (row,) = compare(cases, "goodput_bps", "algorithm", ALGORITHMS, paired=paired, exact=True)
        assert row.difference.low == row.difference.high


def test_the_counterpart_of_a_cut_case_is_left_out() -> None:
    # Each algorithm has four runs on a hard path and four runs on an easy path. Three of the new
    # algorithm's four hard runs were stopped early, so they have no measure.
    cases = {
        "case": np.arange(16),
        "repeat": np.tile(np.arange(4) + 1, 4),
        "algorithm": np.repeat(["old", "new"], 8),
        "path": np.tile(np.repeat(["hard", "easy"], 4), 2),
        "timeouts": np.ma.masked_less(
            [100.0, 101, 100, 101, 1, 2, 1, 2, -1, -1, -1, 101, 1, 2, 1, 2], 0
        ),
    }
    order = {"algorithm": ["old", "new"], "path": ["hard", "easy"]}
    for paired, pairs in ((True, 5), (False, 5)):
        (row,) = compare(cases, "timeouts", "algorithm", order, paired=paired, by=[])
        assert row.pairs == pairs
        if paired:
            assert (row.difference.value, row.without) == (0.0, 6)
            assert row.verdict == "same"


def test_labels_of_mixed_types_are_found(tmp_path: Path) -> None:
    base = ns.Scenario.parse(LOSSY.partition("[sweep]")[0], "x.toml")
    labels = (1.0, 1e-7, "none", 3)
    sweep = Sweep.listed([({"p": label}, base) for label in labels], seeds=2)
    folder, _ = run_sweep(sweep, tmp_path / "s")
    rows = summarise(folder.read(), "sent", ["p"], folder.labels)
    assert [row.labels[0] for row in rows] == ["1", "0.0000001", "none", "3"]
    assert [row.cases for row in rows] == [2, 2, 2, 2]
    rows_of_one = compare(
        folder.read(), "retransmissions", "p", folder.labels, paired=True, baseline="1.0"
    )
    assert {row.baseline for row in rows_of_one} == {label_text(1.0)}


def test_the_compared_axis_cannot_group_the_cases() -> None:
    cases = two(np.zeros(3), np.ones(3))
    rows = summarise(cases, "timeouts", ["repeat"], {"algorithm": ["old", "new"]})
    assert [(row.labels, row.mean.value) for row in rows] == [
        (("1",), 0.5),
        (("2",), 0.5),
        (("3",), 0.5),
    ]
    with pytest.raises(ValueError, match="algorithm is the compared axis"):
        compare(
            cases,
            "timeouts",
            "algorithm",
            {"algorithm": ["old", "new"]},
            paired=True,
            by=["algorithm"],
        )


@pytest.mark.parametrize("name", ["value", "label", "verdict", "percentiles"])
def test_an_axis_cannot_have_the_name_of_a_column_of_results(
    netspurt: Command, tmp_path: Path, name: str
) -> None:
    (tmp_path / "x.toml").write_text(LOSSY.replace("window =", f"{name} ="))
    ended = netspurt("sweep", "x.toml", "--out", "s")
    assert ended.returncode == 2
    assert f"tables of results may have a column `{name}`" in ended.stderr


def test_the_columns_of_results_are_reserved(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(LOSSY)
    netspurt("sweep", "x.toml", "--out", "s")
    shown = netspurt("sweep", "show", "s", "-m", "sent", "--csv").stdout
    words = ("sweep", "compare", "s", "--axis", "window", "-m", "retransmissions", "--csv")
    heads = [text.splitlines()[0].split(",") for text in (shown, netspurt(*words).stdout)]
    columns = {name.partition(".")[0] for head in heads for name in head}
    assert columns - {"rate", "window"} == set(_core.RESULT_COLUMNS)


def test_a_measure_that_no_case_has_is_not_drawn(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(LOSSY.replace('send = "100 segments"\n', ""))
    netspurt("sweep", "x.toml", "--out", "s")
    drawn = netspurt("sweep", "plot", "s", "-m", "completion_ns_mean", "--by", "rate")
    assert drawn.returncode == 2
    assert "no case has the measure completion_ns_mean" in drawn.stderr
    assert not list(tmp_path.rglob("*.png"))


def test_a_count_of_zero_in_all_runs_has_an_upper_end() -> None:
    order: dict[str, list[object]] = {"algorithm": ["old", "new"]}
    cases = two(np.zeros(100), np.zeros(100)) | {"sent": np.full(200, 50.0)}
    old, new = summarise(cases, "timeouts", ["algorithm"], order)
    assert (old.mean.value, old.mean.low) == (0, 0)
    assert old.mean.high == new.mean.high == pytest.approx(3.6889 / 100, rel=1e-4)
    (share,) = summarise(cases, "timeouts/sent", [], order)
    # The two algorithms of one repeat may have had the same losses. So only 100 runs of 50 packets
    # count as independent.
    assert share.mean.high == pytest.approx(1 - 0.025 ** (1 / 5000), rel=1e-9)
    (row,) = compare(cases, "timeouts", "algorithm", order, paired=True)
    assert (row.verdict, row.difference.low) == ("same", -row.difference.high)
    assert row.difference.high == old.mean.high


def test_zeros_have_an_upper_end_only_if_they_are_counts_of_several_runs() -> None:
    one = {name: column[:1] for name, column in two(np.zeros(3), np.zeros(3)).items()}
    (row,) = summarise(one, "timeouts", [], {})
    assert np.isnan(row.mean.high)
    cases = two(np.zeros(9), np.zeros(9)) | {"waited_ns": np.zeros(18)}
    (row,) = summarise(cases, "waited_ns", [], {})
    assert np.isnan([row.mean.low, row.mean.high]).all()


def test_the_interval_of_a_count_that_is_equal_in_all_runs_allows_for_unseen_events() -> None:
    cases = two(np.zeros(9), np.ones(9))
    old, new = summarise(cases, "timeouts", ["algorithm"], ALGORITHMS)
    bound = old.mean.high
    assert [new.mean.low, new.mean.high] == pytest.approx([1 - bound, 1 + bound])
    for paired in (True, False):
        (row,) = compare(cases, "timeouts", "algorithm", ALGORITHMS, paired=paired)
        assert row.verdict == "worse"
        assert row.difference.high == pytest.approx(1 + bound)
        (exact,) = compare(cases, "timeouts", "algorithm", ALGORITHMS, paired=paired, exact=True)
        assert (exact.verdict, exact.difference.high) == ("worse", 1.0)


@pytest.mark.parametrize(("runs", "verdict"), [(3, "cannot tell"), (4, "worse")])
def test_three_runs_with_equal_counts_give_no_verdict(runs: int, verdict: str) -> None:
    """At most 3.7 events are unseen (Garwood's limit), and each may change a repeat's count by 15.

    So unseen events can explain the mean difference of 15 with three repeats, but not with four.
    """
    cases = two(np.zeros(runs), np.full(runs, 15.0))
    (row,) = compare(cases, "timeouts", "algorithm", ALGORITHMS, paired=True)
    assert row.verdict == verdict


def test_the_interval_of_runs_without_an_event_covers_the_true_rate() -> None:
    rng = np.random.default_rng(7)
    told = [rng.poisson(0.02, size=100) for _ in range(1000)]
    quiet = [one for one in told if not one.any()]
    assert len(quiet) > 50
    for one in quiet[:5]:
        cases = {"case": np.arange(100), "repeat": np.arange(100) + 1, "lost": one.astype(float)}
        (row,) = summarise(cases, "lost", [], {})
        assert row.mean.low <= 0.02 <= row.mean.high


def of_sizes(old: NDArray[Any], new: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return cases of two algorithms that may have different numbers of runs."""
    counts = np.concatenate([old, new]).astype(float)
    return {
        "case": np.arange(len(counts)),
        "repeat": np.concatenate([np.arange(len(old)), np.arange(len(new))]) + 1,
        "algorithm": np.repeat(["old", "new"], [len(old), len(new)]),
        "timeouts": counts,
    }


def test_a_small_group_without_events_is_rarely_called_better() -> None:
    order: dict[str, list[object]] = {"algorithm": ["old", "new"]}
    rng = np.random.default_rng(5)
    told = 0
    for _ in range(100):
        cases = of_sizes(rng.poisson(0.2, size=5), rng.poisson(0.2, size=40))
        (row,) = compare(cases, "timeouts", "algorithm", order, paired=False)
        told += row.verdict in ("better", "worse")
    # On average, 5 verdicts `better` or `worse` are expected. By chance, there are more than 15
    # less than once in 10,000 times.
    assert told <= 15


def test_squared_half_widths_of_unpaired_groups_add_up_in_a_difference_even_without_events() -> (
    None
):
    order: dict[str, list[object]] = {"algorithm": ["old", "new"]}
    none, some = np.zeros(20), np.tile([0, 0, 0, 1], 5)
    cases = of_sizes(none, some)
    _, new = summarise(cases, "timeouts", ["algorithm"], order)
    (row,) = compare(cases, "timeouts", "algorithm", order, paired=False)
    half_width = row.difference.high - row.difference.value
    assert half_width == pytest.approx(np.hypot(new.mean.value - new.mean.low, 3.6889 / 20), 0.05)
    assert row.difference.value - row.difference.low == pytest.approx(half_width)
    (pairs,) = compare(cases, "timeouts", "algorithm", order, paired=True)
    assert pairs.difference.high - pairs.difference.value < half_width
    (equal,) = compare(of_sizes(none, none), "timeouts", "algorithm", order, paired=False)
    assert (equal.difference.low, equal.difference.high) == pytest.approx((-0.18444, 0.18444), 1e-4)
