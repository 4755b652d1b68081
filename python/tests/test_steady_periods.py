"""Tests edge cases of change-free periods, bands, categories, averages and medians of series.

A change-free period is the time between two changes of a series. In a band, the largest value is at
most a given ratio times the smallest value. A category is a range of values.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netspurt.analysis import (
    band_periods,
    category_periods,
    change_free_periods,
    find_levels,
    lengths_of,
    neighbours,
    predictions,
)
from netspurt.analysis.changes import Change
from netspurt.analysis.constancy import Lengths, SteadyPeriod, medians_every

#: A missing value.
NAN = math.nan


def _change(at: int) -> Change:
    """Return a change of a series before the value with the index `at`."""
    return Change(at=at, chance=0.01, before=1.0, after=2.0)


def _period(length_s: float) -> SteadyPeriod:
    """Return a period of this length."""
    return SteadyPeriod(10.0, 10.0 + length_s, 0, 1, 1.0, 1.0, 0.0)


def test_a_period_has_median_mean_and_deviation_and_ends_where_the_next_period_begins() -> None:
    t = [2.0, 3.0, 5.0, 8.0, 13.0]
    first, second = change_free_periods(t, [1.0, NAN, 3.0, 7.0, 9.0], [_change(3)])
    assert (first.start_s, first.end_s, first.length_s) == (2.0, 8.0, 6.0)
    assert (first.first, first.count) == (0, 2)
    # The mean of 1 and 3 is 2, and both are 1 away from it.
    assert (first.median, first.mean, first.sd) == (2.0, 2.0, 1.0)
    assert (second.start_s, second.end_s, second.first, second.count) == (8.0, 13.0, 3, 2)
    assert (second.median, second.mean, second.sd) == (8.0, 8.0, 1.0)


def test_a_period_without_a_value_is_left_out() -> None:
    periods = change_free_periods(range(5), [1.0, NAN, NAN, 4.0, 5.0], [_change(1), _change(3)])
    assert [(one.first, one.count) for one in periods] == [(0, 1), (3, 2)]


def test_a_single_value_has_a_period_of_length_zero() -> None:
    assert change_free_periods([], [], []) == []
    assert band_periods([], [], ratio=2) == []
    assert category_periods([], [], [1.0]) == []
    assert category_periods([0, 1], [NAN, NAN], [1.0]) == []
    (one,) = band_periods([7.0], [3.0], ratio=2)
    assert (one.length_s, one.count, one.sd) == (0.0, 1, 0.0)


@pytest.mark.parametrize(
    ("t_s", "values", "words"),
    [
        ([0, 1], [1.0], r"t_s and values have the shapes \(2,\) and \(1,\): both must be \(n,\)"),
        ([[0, 1]], [[1.0, 2.0]], r"shapes \(1, 2\) and \(1, 2\)"),
        ([0, 2, 1], [1.0, 2.0, 3.0], "t_s goes back in time: sort the values by time"),
        ([0, math.nan], [1.0, 2.0], "t_s has an instant that is not finite"),
    ],
)
def test_instants_that_do_not_fit_the_values_are_refused(
    t_s: list[float], values: list[float], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        change_free_periods(t_s, values, [])
    with pytest.raises(ValueError, match=words):
        band_periods(t_s, values, ratio=2)
    with pytest.raises(ValueError, match=words):
        category_periods(t_s, values, [1.0])
    with pytest.raises(ValueError, match=words):
        medians_every(t_s, values, 1.0)


def test_equal_instants_do_not_count_as_going_back_in_time() -> None:
    (one,) = change_free_periods([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [])
    assert (one.count, one.length_s) == (3, 0.0)


@pytest.mark.parametrize("ratio", [1.0, 0.5, -2.0, NAN])
def test_the_ratio_of_a_band_must_be_above_one(ratio: float) -> None:
    with pytest.raises(ValueError, match=f"ratio = {ratio}: write a ratio above one"):
        band_periods([0], [1.0], ratio=ratio)


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_band_and_a_relative_error_need_values_above_zero(value: float) -> None:
    with pytest.raises(ValueError, match="a band is a ratio of two values, so all values must be"):
        band_periods([0, 1], [1.0, value], ratio=2)
    with pytest.raises(ValueError, match="a relative error needs values above zero"):
        predictions([1.0, value])


def test_a_value_at_the_edge_of_a_band_belongs_to_it() -> None:
    # 16 is exactly twice 8, and 16.01 is more than twice 8.
    assert [one.count for one in band_periods(range(3), [8, 16, 8], ratio=2)] == [3]
    assert [one.count for one in band_periods(range(3), [8, 16.01, 10], ratio=2)] == [1, 2]


def test_a_missing_value_neither_ends_nor_widens_a_band() -> None:
    periods = band_periods(range(5), [10.0, NAN, 11.0, NAN, 30.0], ratio=1.5)
    assert [(one.first, one.count) for one in periods] == [(0, 2), (4, 1)]
    assert periods[0].end_s == 4.0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(1, 100), min_size=1, max_size=30), st.floats(1.1, 5))
def test_a_band_is_as_long_as_it_can_be(values: list[float], ratio: float) -> None:
    periods = band_periods(range(len(values)), values, ratio=ratio)
    assert sum(one.count for one in periods) == len(values)
    for one, following in itertools.pairwise(periods):
        own = values[one.first : one.first + one.count]
        longer = [*own, values[following.first]]
        assert max(own) <= ratio * min(own)
        assert max(longer) > ratio * min(longer)


def test_a_value_at_an_edge_belongs_to_the_upper_category() -> None:
    found = category_periods(range(4), [0.09, 0.1, 0.19, 0.2], [0.1, 0.2])
    assert [(one.first, one.count) for one in found] == [(0, 1), (1, 2), (3, 1)]


def test_a_category_continues_over_missing_values() -> None:
    found = category_periods(range(6), [NAN, 1.0, NAN, 1.5, 5.0, NAN], [2.0])
    assert [(one.start_s, one.end_s, one.count) for one in found] == [(0, 4, 2), (4, 5, 1)]


def test_random_instants_lie_more_often_in_long_periods() -> None:
    # 60 % of the time is in the longest period, and half of the periods are 1 s long.
    lengths = lengths_of(map(_period, (6.0, 1.0, 2.0, 1.0)))
    assert lengths.length_s.tolist() == [1.0, 1.0, 2.0, 6.0]
    assert lengths.longest_s == 6.0
    assert lengths.quantile(0.5) == 1.5
    at_instants = np.repeat(lengths.length_s, lengths.length_s.astype(int))
    for place, share in enumerate((0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.95)):
        assert lengths.at_an_instant(share) == at_instants[int(share * 10)], place
    assert lengths.at_an_instant(1.0) == 6.0
    for least in (0.5, 1.0, 1.5, 2.0, 6.0, 7.0):
        assert lengths.share_of_time(least) == pytest.approx(np.mean(at_instants >= least))


@pytest.mark.parametrize("lengths", [[], [0.0], [0.0, 0.0]])
def test_periods_of_length_zero_have_no_share_of_the_time(lengths: list[float]) -> None:
    found = Lengths(np.array(lengths))
    assert math.isnan(found.at_an_instant(0.5))
    assert math.isnan(found.share_of_time(0.0))
    assert math.isnan(found.longest_s) == (not lengths)
    assert math.isnan(found.quantile(0.5)) == (not lengths)


@pytest.mark.parametrize("n", [2, 3, 40, 129, 130, 300])
def test_each_average_predicts_as_its_definition_says(n: int) -> None:
    values = np.exp(np.random.default_rng(n).normal(0, 0.3, n))
    found = {one.name: one for one in predictions(values)}
    expected = {}
    for past in (1, 2, 4, 8, 16, 32):
        name = "last value" if past == 1 else f"mean of {past}"
        expected[name] = [values[max(0, k - past) : k].mean() for k in range(1, n)]
    for power in (1, 2, 3, 4):
        average, gain, own = values[0], 0.5**power, [values[0]]
        for value in values[1:-1]:
            average += gain * (value - average)
            own.append(average)
        expected[f"EWMA 1/{2**power}"] = own
    assert list(found) == list(expected)
    for name, predicted in expected.items():
        errors = np.abs(np.log(np.array(predicted) / values[1:]))
        assert found[name].count == n - 1
        assert found[name].error == pytest.approx(errors.mean()), name
        assert found[name].error_p95 == pytest.approx(np.percentile(errors, 95)), name


def test_missing_values_are_not_predicted_and_one_value_predicts_nothing() -> None:
    assert predictions([]) == predictions([3.0]) == predictions([NAN, 3.0, NAN]) == []
    assert predictions([1.0, NAN, 2.0, 4.0]) == predictions([1.0, 2.0, 4.0])


# The mean of 200 values of 0.02 differs from 0.02 in its last bit.
@pytest.mark.parametrize("values", [[], [1.0, 2.0], [NAN, 1.0, 2.0], [5.0, 5.0, 5.0], [0.02] * 200])
def test_few_or_equal_values_have_no_correlation(values: list[float]) -> None:
    assert math.isnan(neighbours(values, []))


def test_the_correlation_of_neighbours_uses_deviations_from_the_mean_of_their_period() -> None:
    values = np.array([1.0, 2.0, 4.0, 3.0, 11.0, 15.0, 12.0])
    # By hand: the mean is 2.5 before the change and 38/3 after it.
    before, after = values[:4] - 2.5, values[4:] - 38 / 3
    products = sum(a * b for part in (before, after) for a, b in itertools.pairwise(part))
    squares = sum(a * a for part in (before, after) for a in part)
    assert neighbours(values, [_change(4)]) == pytest.approx(products / squares)
    alternating = [1.0, -1.0] * 50
    assert neighbours(alternating, []) == pytest.approx(-0.99)


def test_intervals_of_medians_begin_at_the_first_instant() -> None:
    t, medians = medians_every([5, 6, 8.9, 9, 21], [3.0, 1.0, 2.0, 7.0, NAN], 4.0)
    # The intervals begin at 5, 9, 13, 17 and 21 s; the third to fifth have no value.
    assert t.tolist() == [5.0, 9.0]
    assert medians.tolist() == [2.0, 7.0]
    nothing = medians_every([1, 2], [NAN, NAN], 1.0)
    assert [len(part) for part in nothing] == [0, 0]


@pytest.mark.parametrize("every", [0.0, -1.0, NAN])
def test_the_interval_of_medians_must_be_above_zero(every: float) -> None:
    with pytest.raises(ValueError, match=f"every_s = {every}: write a time above zero"):
        medians_every([0], [1.0], every)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_at_most_the_given_number_of_levels_is_tried_and_at_most_a_third_of_the_number_of_values(
    most: int,
) -> None:
    values = [10.0, 10.1, 10.2, 50.0, 50.5, 51.0]
    found = find_levels(values, most=most)
    assert len(found.bic) <= min(most, len(values) // 3)
    assert len(found.levels) == min(most, 2)


def test_levels_do_not_depend_on_the_unit_or_on_missing_values() -> None:
    rng = np.random.default_rng(5)
    values = rng.choice([1.0, 3.0], 60) * np.exp(rng.normal(0, 0.02, 60))
    found, scaled = find_levels(values), find_levels(np.append(1e6 * values, NAN))
    assert [one.value * 1e6 for one in found.levels] == pytest.approx(
        [one.value for one in scaled.levels]
    )
    assert scaled.member.tolist() == [*found.member.tolist(), -1]
    assert [one.count for one in found.levels] == [np.sum(values < 2), np.sum(values > 2)]
    assert sum(one.share for one in found.levels) == pytest.approx(1.0)


def test_a_single_level_is_described_by_the_normal_distribution_of_the_logarithms() -> None:
    values = np.array([8.0, 10.0, 12.5, 9.0, 11.0])
    found, logs = find_levels(values, most=1), np.log(values)
    (level,) = found.levels
    assert level.value == pytest.approx(np.exp(logs.mean()))
    assert level.spread == pytest.approx(logs.std())
    assert level.share == pytest.approx(1.0)
    assert level.count == 5
    density = np.exp(-0.5 * ((logs - logs.mean()) / logs.std()) ** 2)
    likelihood = np.log(density / (logs.std() * np.sqrt(2 * np.pi))).sum()
    # Schwarz's criterion with two free parameters: the mean and the standard deviation.
    assert list(found.bic) == pytest.approx([2 * np.log(5) - 2 * likelihood])


def test_a_level_spans_the_time_from_its_first_to_its_last_value() -> None:
    values = [10.0, 10.1, 10.2, 50.0, 50.5, 51.0]
    found = find_levels(values)
    assert found.spans([0, 1, 2, 3, 5, 10]) == [0.2, 0.7]
    assert all(math.isnan(span) for span in found.spans([4.0] * 6))
