"""Tests the statistics of constancy, and the command `netspurt delays constancy`.

There are three kinds of constancy. The level of a series may stay the same, the values may stay
within a band or a category, or the next value may be easy to predict. A change-free period is the
time between two changes of the level. `find_levels` finds the levels between which throughput
alternates.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netspurt as ns
from netspurt.analysis import (
    band_periods,
    category_periods,
    change_free_periods,
    find_changes,
    find_levels,
    lengths_of,
    neighbours,
    predictions,
)
from netspurt.pictures.constancy import periods as picture_of_periods
from netspurt.pictures.marks import Rules, Spans
from netspurt.plots.constancy import draw_lengths_of_periods, draw_periods

from conftest import ROOT, Command, refused


@pytest.fixture
def stepped(tmp_path: Path) -> Path:
    """Write an hour of pings of at least 40 ms. In minutes 20 to 50 they take at least 46 ms."""
    rng = np.random.default_rng(11)
    rtt = 0.040 + rng.exponential(0.002, 3600)
    rtt[1200:3000] += 0.006
    rtt[::50] = np.nan
    return ns.Delays.of(rtt, every=1.0, name="stepped").save(tmp_path / "stepped.csv")


def test_each_step_of_a_series_begins_a_new_period(
    netspurt: Command, stepped: Path, tmp_path: Path
) -> None:
    (data,) = json.loads(netspurt("delays", "constancy", stepped, "--json").stdout)
    for one in data["change_free"].values():
        starts = [period["start"] for period in one["periods"]]
        assert len(starts) == 3
        assert starts == pytest.approx([0, 1200, 3000], abs=20)
        assert one["longest"] == pytest.approx(1800, abs=30)
        assert sum(period["length"] for period in one["periods"]) == data["lasts"]
    medians = [p["median_ms"] for p in data["change_free"]["rank-order"]["periods"]]
    assert medians == pytest.approx([41.4, 47.4, 41.4], abs=0.3)
    rng = np.random.default_rng(12)
    steady = ns.Delays.of(0.04 + rng.exponential(0.002, 900), every=1.0)
    (data,) = json.loads(
        netspurt("delays", "constancy", steady.save(tmp_path / "steady.csv"), "--json").stdout
    )
    assert [len(method["periods"]) for method in data["change_free"].values()] == [1, 1]
    assert data["sd_s"] == pytest.approx(0.002, rel=0.1)


def test_the_command_prints_periods_the_best_predictor_and_a_comparison_with_a_paper(
    netspurt: Command, stepped: Path, tmp_path: Path
) -> None:
    result = netspurt(
        "delays", "constancy", stepped, "--every", "10s", "--out", "p.png", columns=100
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert any(line.split()[:4] == ["rank-order", "3", "30", "min"] for line in lines)
    assert any(line.split()[:3] == ["0:20:00", "30", "min"] for line in lines)
    assert "the next value is best predicted by the" in result.stdout
    output = " ".join(lines)
    assert (
        "30 min in this recording of 59.8 min; 30 min for delays in Zhang et al. (2001)" in output
    )
    assert lines[-1] == "p.png"
    assert (tmp_path / "p.png").stat().st_size > 20_000
    second = netspurt(
        "delays", "constancy", stepped, "--every", "10s", "--out", "p.png", columns=100
    )
    assert second.stdout == result.stdout


def test_if_neighbouring_values_are_correlated_the_command_advises_longer_intervals(
    netspurt: Command, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    smooth = np.convolve(rng.exponential(0.02, 1200), np.ones(8) / 8, mode="valid")
    file = ns.Delays.of(0.04 + smooth, every=0.1).save(tmp_path / "smooth.csv")
    text = " ".join(netspurt("delays", "constancy", file).stdout.split())
    assert "neighbouring values are correlated (0." in text
    assert "test medians of longer intervals, with --every" in text


def test_the_periods_of_a_recording_without_times_are_counted_in_probes(
    netspurt: Command, tmp_path: Path
) -> None:
    rng = np.random.default_rng(13)
    rtt = np.concatenate([rng.normal(0.04, 0.001, 60), rng.normal(0.05, 0.001, 60)])
    file = ns.Delays.of(rtt, wire_bytes=[64] * 120).save(tmp_path / "numbers.csv")
    (data,) = json.loads(netspurt("delays", "constancy", file, "--json").stdout)
    assert data["unit"] == "probes"
    assert [p["start"] for p in data["change_free"]["rank-order"]["periods"]] == [0, 60]
    refused(
        netspurt("delays", "constancy", file, "--every", "1s"), "no times of sending", "--interval"
    )


def test_too_few_delays_and_unknown_methods_are_errors(netspurt: Command, tmp_path: Path) -> None:
    few = ns.Delays.of([0.04] * 11, every=1.0).save(tmp_path / "few.csv")
    refused(netspurt("delays", "constancy", few), "11 values: finding a change needs at least 12")
    refused(netspurt("delays", "constancy", few, "--method", "cusum"), "'cusum' is not one of")


def test_delays_of_0_have_periods_but_neither_bands_nor_predictions(
    netspurt: Command, tmp_path: Path
) -> None:
    step = ns.Delays.of([0.0] * 30 + [0.01] * 30, every=1.0).save(tmp_path / "step.csv")
    printed = netspurt("delays", "constancy", step)
    assert printed.returncode == 0, printed.stderr
    assert "30 values are 0: bands and errors of predictions are ratios" in printed.stdout
    (data,) = json.loads(netspurt("delays", "constancy", step, "--json").stdout)
    assert [p["start"] for p in data["change_free"]["rank-order"]["periods"]] == [0, 30]
    assert (data["within_band"], data["predictions"], data["zeros"]) == (None, [], 30)
    zeros = ns.Delays.of([0.0] * 30, every=1.0).save(tmp_path / "zeros.csv")
    assert "0 ns standard deviation, no CoV;" in netspurt("delays", "constancy", zeros).stdout


def test_recordings_that_are_too_short_are_left_out_unless_all_are_too_short(
    netspurt: Command, tmp_path: Path
) -> None:
    rows = [f"long,{second},20" for second in range(20)]
    rows += [f"short-{second},0,20" for second in range(7)]
    several = tmp_path / "several.csv"
    several.write_text("\n".join(["target,time,rtt_ms", *rows]) + "\n")
    result = netspurt("delays", "constancy", several, "--column", "group=target")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("no change found by rank-order") == 1
    assert result.stderr.count("left out: ") == 6, (
        "five lines must name a recording each, and one line must count the others"
    )
    assert "left out: 2 more recordings of" in result.stderr
    few = tmp_path / "few.csv"
    few.write_text("\n".join(["target,time,rtt_ms", *rows[20:]]) + "\n")
    refused(
        netspurt("delays", "constancy", few, "--column", "group=target"),
        "error: ",
        "1 value: finding a change needs at least 12",
    )


def test_the_constancy_of_each_shipped_recording_is_printed_if_it_is_long_enough(
    netspurt: Command,
) -> None:
    too_short = set()
    for file in sorted((ROOT / "data").iterdir()):
        if file.suffix in (".md", ".py"):
            continue
        result = netspurt("delays", "constancy", file)
        if result.returncode:
            assert "finding a change needs at least 12" in result.stderr, result.stderr
            too_short.add(file.name)
    assert too_short == {"black-hole.pcap", "black-hole-unanswered.pcap", "path-mtu.pcap"}


def test_quantiles_count_each_period_once_or_in_proportion_to_its_length() -> None:
    t = np.arange(10.0)
    periods = category_periods(t, [1, 1, 1, 1, 1, 1, 5, 1, 1, 1], [3.0])
    assert [period.length_s for period in periods] == [6, 1, 2]
    lengths = lengths_of(periods)
    assert (lengths.longest_s, lengths.quantile(0.5)) == (6, 2)
    # The longest period has six of the nine seconds.
    assert lengths.at_an_instant(0.5) == 6
    assert lengths.share_of_time(2) == pytest.approx(8 / 9)
    assert np.isnan(lengths_of([]).longest_s)


@given(st.lists(st.floats(0.001, 10), min_size=1, max_size=60), st.floats(1.01, 5))
@settings(max_examples=100, deadline=None)
def test_periods_in_a_band_cover_all_values_and_stay_within_it(
    values: list[float], ratio: float
) -> None:
    t = np.arange(len(values), dtype=float)
    periods = band_periods(t, values, ratio=ratio)
    assert sum(period.count for period in periods) == len(values)
    for period in periods:
        own = values[period.first : period.first + period.count]
        assert max(own) <= ratio * min(own)


def test_predictions_match_hand_computation_and_a_constant_is_predicted_without_error() -> None:
    by_name = {prediction.name: prediction for prediction in predictions([10.0, 20.0, 10.0, 20.0])}
    assert by_name["last value"].error == pytest.approx(np.log(2))
    assert by_name["mean of 2"].error == pytest.approx(np.mean(np.log([2, 1.5, 20 / 15])))
    # With a gain of 1/2 the moving average is 10, then 15, then 12.5.
    half = np.abs(np.log(np.array([10, 15, 12.5]) / [20, 10, 20]))
    assert by_name["EWMA 1/2"].error == pytest.approx(half.mean())
    assert {prediction.count for prediction in by_name.values()} == {3}
    # Averages of 0.02 differ from 0.02 in their last bits.
    assert all(prediction.error == 0 for prediction in predictions([0.02] * 200))
    assert predictions([7.0, np.nan]) == []


def test_a_long_ewma_equals_the_one_computed_step_by_step() -> None:
    """An EWMA is an exponentially weighted moving average."""
    from netspurt.analysis.constancy import _ewma

    series = np.random.default_rng(17).exponential(1, 700)
    average, by_steps = series[0], []
    for value in series[:-1]:
        average += 0.0625 * (value - average)
        by_steps.append(average)
    np.testing.assert_allclose(_ewma(series, 0.0625), by_steps)


def test_the_mean_of_many_values_predicts_noise_best_and_the_last_value_a_random_walk() -> None:
    rng = np.random.default_rng(14)
    noise = predictions(rng.normal(40, 2, 2000))
    walk = predictions(100 + np.cumsum(rng.normal(0, 0.5, 2000)))
    assert min(noise, key=lambda one: one.error).name == "mean of 32"
    assert min(walk, key=lambda one: one.error).name == "last value"


def test_the_correlation_of_neighbouring_values_does_not_include_steps_of_the_level() -> None:
    rng = np.random.default_rng(15)
    step = np.concatenate([rng.normal(40, 1, 400), rng.normal(60, 1, 400)])
    assert neighbours(step, []) > 0.9
    assert abs(neighbours(step, find_changes(step))) < 0.1


def test_the_number_and_the_values_of_invented_levels_are_found() -> None:
    """In at least 7 of 8 invented series, all eleven levels are found.

    Neighbouring levels are five standard deviations apart. The paper `sfr2005` also reports eleven
    levels, of the throughput of one site.
    """
    right = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        centres = np.log(15) + 0.15 * np.arange(11)
        member = rng.choice(11, 500, p=rng.dirichlet(np.full(11, 5.0)))
        levels = find_levels(np.exp(centres[member] + rng.normal(0, 0.03, 500)))
        logs = [np.log(level.value) for level in levels.levels]
        right += len(logs) == 11 and np.allclose(logs, centres, atol=0.03)
        if len(logs) == 11:
            assert np.mean(levels.member == member) > 0.97
    assert right >= 7


def test_a_single_level_is_found_and_alternating_levels_span_the_whole_time() -> None:
    rng = np.random.default_rng(2)
    single = find_levels(np.exp(rng.normal(4, 0.3, 500)))
    assert len(single.levels) == 1
    assert single.levels[0].spread == pytest.approx(0.3, rel=0.1)
    t = np.arange(400.0)
    mixed = np.exp(rng.normal(0, 0.02, 400)) * rng.choice([20.0, 60.0], 400)
    moved = np.exp(rng.normal(0, 0.02, 400)) * np.where(t < 200, 20.0, 60.0)
    assert min(find_levels(mixed).spans(t)) > 0.95
    assert max(find_levels(moved).spans(t)) < 0.55
    gap = np.append(mixed, np.nan)
    assert find_levels(gap).member[-1] == -1
    assert [level.count for level in find_levels(np.full(30, 7.0)).levels] == [30]


def test_levels_need_values_above_zero() -> None:
    for values in ([], [np.nan], [1.0, 0.0]):
        with pytest.raises(ValueError, match=r"at least one value|above zero"):
            find_levels(values)


def test_pictures_have_a_line_for_each_period_and_each_method() -> None:
    rng = np.random.default_rng(16)
    series = np.concatenate([rng.normal(0.04, 0.001, 60), rng.normal(0.05, 0.001, 60)])
    t = np.arange(120.0)
    periods = change_free_periods(t, series, find_changes(series))
    (axes,) = draw_periods(t, series, periods, title="one", what="round trip").axes
    labels = axes.get_legend_handles_labels()[1]
    assert sorted(labels) == ["change", "median of a change-free period", "round trip"]
    _, medians, changes = picture_of_periods(t, series, periods, what="round trip").marks
    assert isinstance(medians, Spans)
    assert medians.left.tolist() == [0, 60]
    assert medians.y == pytest.approx([0.04, 0.05], abs=5e-4)
    assert isinstance(changes, Rules)
    assert changes.x.tolist() == [60]
    lengths = {"rank-order": [60, 60], "bootstrap": [120]}
    (axes,) = draw_lengths_of_periods(lengths, title="both", mark=(1800, "2001")).axes
    assert [line.get_label() for line in axes.lines] == ["rank-order", "bootstrap", "2001"]
    assert axes.lines[0].get_ydata()[0] == 1.0  # type: ignore[index]


def test_a_single_throughput_is_one_level_and_an_infinite_one_is_refused() -> None:
    (level,) = find_levels([3.0]).levels
    assert level.value == pytest.approx(3.0)
    assert level.count == 1
    with pytest.raises(ValueError, match="finite values"):
        find_levels([1.0, math.inf])
