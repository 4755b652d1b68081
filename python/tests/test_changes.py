"""Tests `find_changes`, which finds the places where the level of a series changes.

Each of its methods must find the changes that a test plants, and few changes in steady series.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from netspurt.analysis import find_changes
from netspurt.analysis.changes import METHODS, RESAMPLED_VALUES_MAX, Method, kuiper

Floats = NDArray[np.float64]
#: A function that draws a number of values.
Noise = Callable[[np.random.Generator, int], Floats]

#: Four kinds of random delays [ms]: normal, with a long tail, in whole milliseconds, log-normal.
NOISES: dict[str, Noise] = {
    "normal": lambda rng, n: rng.normal(40, 1, n),
    "tail": lambda rng, n: 40 + rng.exponential(2, n),
    "whole": lambda rng, n: np.round(rng.normal(40, 1, n)),
    "log-normal": lambda rng, n: 40 + np.exp(rng.normal(0, 1, n)),
}
#: The methods that need no optional package.
OWN: tuple[Method, ...] = ("rank-order", "bootstrap")


def need_ruptures() -> None:
    """Skip a test of the method PELT if the package ruptures is not installed."""
    pytest.importorskip("ruptures", reason="ruptures is not installed: PELT needs it")


def share_with_changes(method: Method, noise: Noise, series: int, n: int) -> float:
    """Return the share of steady series in which a method finds a change."""
    changed = [
        bool(find_changes(noise(np.random.default_rng(seed), n), method=method))
        for seed in range(series)
    ]
    return float(np.mean(changed))


@pytest.mark.parametrize("noise", NOISES)
def test_the_method_rank_order_finds_a_change_in_1_to_7_percent_of_steady_series(
    noise: str,
) -> None:
    """The measured share is 2.7 % to 5.0 % for 60 and 200 values. `alpha` allows at most 5 %."""
    assert 0.01 <= share_with_changes("rank-order", NOISES[noise], 1000, 60) <= 0.065


@pytest.mark.parametrize("noise", ["normal", "log-normal"])
def test_the_method_bootstrap_finds_a_change_in_about_3_to_7_percent_of_steady_series(
    noise: str,
) -> None:
    """The measured share is 4.1 % to 5.7 % for 60 and 200 values. Its standard error is 0.7 %."""
    assert 0.029 <= share_with_changes("bootstrap", NOISES[noise], 1000, 60) <= 0.071


def test_the_method_pelt_finds_a_change_in_at_most_2_percent_of_steady_series() -> None:
    """The measured share is 0.1 % to 0.6 %."""
    need_ruptures()
    assert share_with_changes("pelt", NOISES["tail"], 1000, 60) <= 0.02


def test_correlated_neighbours_cause_more_false_changes() -> None:
    """For a correlation of 0.6 and 60 values, docs/constancy.md states a share of 44 %."""

    def walk(rng: np.random.Generator, n: int) -> Floats:
        from scipy.signal import lfilter

        return 40 + np.asarray(lfilter([1.0], [1.0, -0.6], rng.normal(0, 1, n + 50)))[50:]

    assert share_with_changes("rank-order", walk, 200, 60) > 0.2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("noise", NOISES)
def test_planted_steps_are_found_at_their_places_and_no_other_steps_are_found(
    method: Method, noise: str
) -> None:
    """Two steps, of 2.5 and 5 standard deviations, are found in at least 18 of 20 series.

    A step counts as found if the change is at most 6 values away from it.
    """
    if method == "pelt":
        need_ruptures()
    right = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        series = NOISES[noise](rng, 300)
        step = 2.5 * float(series.std())
        series[100:] += step
        series[180:] -= 2 * step
        places = [change.at for change in find_changes(series, method=method, alpha=0.01)]
        right += len(places) == 2 and np.allclose(places, [100, 180], atol=6)
    assert right >= 18


@pytest.mark.parametrize("method", METHODS)
def test_a_rise_and_a_later_fall_are_two_changes(method: Method) -> None:
    """The mean after the fall equals the mean before the rise.

    So a single comparison over the whole series could miss both changes.
    """
    if method == "pelt":
        need_ruptures()
    rng = np.random.default_rng(4)
    series = rng.normal(40, 1, 300)
    series[120:170] += 6
    changes = find_changes(series, method=method)
    assert [change.at for change in changes] == [120, 170]
    assert changes[0].after - changes[0].before == pytest.approx(6, abs=0.5)


def test_the_method_rank_order_finds_no_change_at_outliers() -> None:
    rng = np.random.default_rng(8)
    series = rng.normal(40, 1, 200)
    series[150:156] += 400
    assert find_changes(series, method="rank-order") == []


@pytest.mark.parametrize("method", OWN)
def test_missing_values_are_skipped_but_count_in_the_positions_of_changes(method: Method) -> None:
    rng = np.random.default_rng(5)
    series = np.concatenate([rng.normal(40, 1, 50), rng.normal(46, 1, 50)])
    gaps = np.insert(series, [10, 20, 50], np.nan)
    assert [change.at for change in find_changes(gaps, method=method, alpha=1e-3)] == [53]


@pytest.mark.parametrize("method", METHODS)
def test_constant_short_and_empty_series_have_no_change(method: Method) -> None:
    if method == "pelt":
        need_ruptures()
    for series in (np.full(200, 40.0), np.arange(11.0), np.array([]), np.full(30, np.nan)):
        assert find_changes(series, method=method) == []


def test_chances_from_the_limit_distribution_agree_with_chances_from_shuffles() -> None:
    """Compares the chances of a change in two series of almost the same length.

    `bootstrap` shuffles a series of at most `RESAMPLED_VALUES_MAX` values to find the chance. For a
    longer series, it uses the limit distribution.
    """
    rng = np.random.default_rng(6)
    differences = []
    for seed in range(6):
        series = rng.normal(40, 1, RESAMPLED_VALUES_MAX) + np.linspace(
            0, 0.03 * seed, RESAMPLED_VALUES_MAX
        )
        longer = np.append(series, series.mean())
        chances = [
            next(
                (c.chance for c in find_changes(one, method="bootstrap", alpha=0.99, least=900)), 1
            )
            for one in (series, longer)
        ]
        differences.append(abs(chances[0] - chances[1]))
    assert max(differences) < 0.06
    # These are Stephens's percentage points of Kuiper's statistic for many values.
    assert [round(kuiper(v), 3) for v in (1.620, 1.747, 2.001)] == [0.1, 0.05, 0.01]


@given(st.lists(st.floats(0.001, 10, allow_nan=False), max_size=80), st.integers(2, 10))
@settings(max_examples=60, deadline=None)
def test_periods_between_changes_keep_the_minimum_length_and_results_are_repeatable(
    values: list[float], least: int
) -> None:
    for method in OWN:
        changes = find_changes(values, method=method, least=least)
        ends = [0, *(change.at for change in changes), len(values)]
        assert not changes or min(np.diff(ends)) >= least
        assert all(0 < change.chance <= 0.05 for change in changes)
        assert changes == find_changes(values, method=method, least=least)


def test_the_method_rank_order_finds_the_same_changes_in_the_logarithms_of_a_series() -> None:
    rng = np.random.default_rng(7)
    series = np.concatenate([rng.lognormal(0, 0.5, 80), rng.lognormal(1, 0.5, 80)])
    plain, logs = (find_changes(one) for one in (series, np.log(series)))
    assert [(c.at, c.chance) for c in plain] == [(c.at, c.chance) for c in logs]


def test_a_wrong_parameter_is_reported() -> None:
    for words, why in (
        (
            {"method": "cusum"},
            "no method is called 'cusum'; the methods are rank-order, bootstrap, pelt",
        ),
        ({"alpha": 0}, "alpha = 0: it must be between 0 and 1"),
        ({"least": 1}, "a segment needs 2 values"),
    ):
        with pytest.raises(ValueError, match=why):
            find_changes(np.arange(30.0), **words)
