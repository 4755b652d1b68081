"""Compares statistics with closed forms, tables of distributions, and brute force."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from netspurt.analysis import (
    Account,
    Adaptation,
    Interval,
    Load,
    Resamples,
    adaptations,
    block_bootstrap,
    block_length,
    contradictions,
    find_glitches,
    find_period,
    fit_lengths,
    label_by_delay,
    paired_difference,
    rate_band,
)
from netspurt.analysis.bootstrap import RESAMPLES, _autocovariance, stretch
from netspurt.analysis.replayed import could_be_chance, poisson_interval

#: An array of floats.
Floats = NDArray[np.float64]


def mean(sums: Floats) -> Floats:
    """Return the means of resamples from the sums of their values and their counts."""
    means: Floats = sums[0] / sums[-1]
    return means


def autocorrelated(n: int, rho: float, seed: int) -> Floats:
    """Return an autoregressive series of `n` values with the coefficient `rho`."""
    noise = np.random.default_rng(seed).normal(size=n)
    series = np.zeros(n)
    for place in range(n):
        series[place] = rho * (series[place - 1] if place else 0.0) + noise[place]
    return series


# The blocks of a bootstrap.


def block_by_hand(x: Floats) -> int:
    """Compute the formula of Patton, Politis and White (2009) term by term."""
    n = len(x)
    off = x - x.mean()
    quiet = max(5, math.ceil(math.sqrt(math.log10(n))))
    lags = math.ceil(math.sqrt(n)) + quiet
    r = [sum(off[i] * off[i + k] for i in range(n - k)) / n for k in range(2 * lags + 1)]
    small = [abs(r[k]) < 2 * math.sqrt(math.log10(n) / n) * r[0] for k in range(1, lags + 1)]
    memory = next(
        (m for m in range(lags - quiet + 1) if all(small[m : m + quiet])),
        lags,
    )
    if memory == 0:
        return 1
    lag_window = [min(1.0, 2 * (1 - k / (2 * memory))) for k in range(2 * memory + 1)]
    slope = 2 * sum(lag_window[k] * k * r[k] for k in range(1, 2 * memory + 1))
    level = r[0] + 2 * sum(lag_window[k] * r[k] for k in range(1, 2 * memory + 1))
    best = (2 * slope**2 / (4 / 3 * level**2)) ** (1 / 3) * n ** (1 / 3)
    return int(min(max(math.ceil(best), 1), n // 4))


@pytest.mark.parametrize(("n", "rho"), [(100, 0.0), (300, 0.3), (300, 0.7), (500, 0.9)])
def test_the_length_of_blocks_follows_from_the_published_formula(n: int, rho: float) -> None:
    for seed in range(3):
        series = autocorrelated(n, rho, seed)
        assert block_length(series) == block_by_hand(series), seed


@pytest.mark.parametrize("n", [2, 9, 8193, 40_000])
@pytest.mark.parametrize("lags", [1, 20, 5000])
def test_autocovariances_computed_in_parts_equal_sums_over_the_whole_series(
    n: int, lags: int
) -> None:
    series = autocorrelated(n, 0.9, n)
    off = series - series.mean()
    found = _autocovariance(off, lags)
    assert len(found) == min(lags, n - 1) + 1
    for k in {0, 1, len(found) // 2, len(found) - 1}:
        by_hand = float(np.dot(off[: n - k], off[k:])) / n
        assert found[k] == pytest.approx(by_hand, rel=1e-9, abs=1e-9 * found[0]), k


def test_a_block_length_does_not_depend_on_the_unit_or_the_offset() -> None:
    series = autocorrelated(400, 0.8, 1)
    assert block_length(series) == block_length(1000 * series) == block_length(series - 50)


@pytest.mark.parametrize(
    "series", [[], [1.0], [2.0] * 50, [0.1] * 3000, [math.nan] * 50, [1.0, 2.0, 1.0]]
)
def test_a_series_without_measurable_memory_has_blocks_of_one_value(series: list[float]) -> None:
    assert block_length(series) == 1


@pytest.mark.parametrize("length", [1, 4, 7, 20, 60])
def test_sums_of_resamples_have_the_exact_variance(length: int) -> None:
    n = 60
    series = autocorrelated(n, 0.6, 5)
    drawn = Resamples(series, length=length)
    assert drawn.resampled.shape == (2, RESAMPLES)
    assert (drawn.resampled[1] == n).all()
    # The exact variance of the circular bootstrap is a sum over all blocks: the variances of the
    # whole blocks, and of the last block if it is shorter.
    whole, rest = divmod(n, length)
    twice = np.concatenate([series, series])
    blocks = [float(np.var([twice[i : i + k].sum() for i in range(n)])) for k in (length, rest)]
    exact = whole * blocks[0] + blocks[1]
    assert drawn.resampled[0].var() == pytest.approx(exact, rel=0.12, abs=1e-9)
    spread = 4 * (exact / RESAMPLES) ** 0.5
    assert drawn.resampled[0].mean() == pytest.approx(series.sum(), abs=spread + 1e-9)


def test_the_same_seed_draws_the_same_resamples_and_another_seed_draws_others() -> None:
    series = autocorrelated(80, 0.5, 2)
    one, same, other = (Resamples(series, length=5, seed=seed) for seed in (3, 3, 4))
    assert (one.resampled == same.resampled).all()
    assert (one.resampled != other.resampled).any()
    assert one.interval(mean) == same.interval(mean)


def test_few_blocks_widen_an_interval_by_students_distribution() -> None:
    # From tables of Student's distribution (t) and of the normal distribution (z):
    # t(0.975; 2) = 4.302653, t(0.975; 9) = 2.262157, z(0.975) = 1.959964.
    series = autocorrelated(30, 0.0, 1)
    assert stretch([Resamples(series, length=10)], 0.95) == pytest.approx(4.302653 / 1.959964)
    assert stretch([Resamples(series, length=3)], 0.95) == pytest.approx(2.262157 / 1.959964)
    # Fewer than three blocks count as three.
    assert stretch([Resamples(series, length=30)], 0.95) == pytest.approx(4.302653 / 1.959964)


@pytest.mark.parametrize("blocks", [999, 1001, 1500, 40_000])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_many_blocks_widen_an_interval_by_students_distribution(blocks: int, level: float) -> None:
    resamples = Resamples(np.arange(float(blocks)), length=1)
    quantile = (1 + level) / 2
    factor = stdtrit(blocks - 1, quantile) / ndtri(quantile)
    assert stretch([resamples], level) == pytest.approx(factor, rel=1e-8)


def test_an_interval_is_symmetric_and_wider_at_a_higher_level() -> None:
    drawn = Resamples(np.random.default_rng(1).exponential(size=200), length=4)
    reaches = []
    for level in (0.5, 0.9, 0.99):
        bounds = drawn.interval(mean, level)
        assert bounds.high - bounds.value == pytest.approx(bounds.value - bounds.low)
        reaches.append(bounds.high - bounds.value)
    assert reaches == sorted(reaches)
    assert reaches[0] < reaches[-1] / 2


def test_the_columns_of_a_bootstrap_are_resampled_together() -> None:
    series = np.random.default_rng(2).exponential(size=300)
    ratio = block_bootstrap([3 * series, series], lambda s: s[0] / s[1], length=5)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((3.0, 3.0, 3.0))


def test_swapping_the_terms_of_a_difference_changes_its_sign_and_shared_parts_cancel() -> None:
    rng = np.random.default_rng(3)
    a, b, shared = rng.normal(size=(3, 200))
    plain = paired_difference(a, b, mean, length=4)
    swapped = paired_difference(b, a, mean, length=4)
    assert (swapped.value, swapped.low, swapped.high) == pytest.approx(
        (-plain.value, -plain.high, -plain.low)
    )
    moved = paired_difference(a + 9 * shared, b + 9 * shared, mean, length=4)
    assert (moved.low, moved.high) == pytest.approx((plain.low, plain.high))


@pytest.mark.parametrize("series", [[], [1.0]])
def test_resampling_fewer_than_two_values_is_an_error(series: list[float]) -> None:
    with pytest.raises(ValueError, match="too few to resample"):
        block_bootstrap(series, mean)


@pytest.mark.parametrize(
    ("low", "high", "sign"), [(1, 2, 1), (-2, -1, -1), (-1, 1, 0), (0, 1, 0), (-1, 0, 0)]
)
def test_an_interval_has_a_sign_only_if_it_excludes_zero(
    low: float, high: float, sign: int
) -> None:
    interval = Interval((low + high) / 2, low, high, 0.95, 3)
    assert interval.sign == sign
    scaled = interval.scaled(100)
    assert (scaled.low, scaled.high, scaled.level, scaled.block) == (100 * low, 100 * high, 0.95, 3)
    assert scaled.sign == sign


# Counts.


@pytest.mark.parametrize("count", [0, 1, 2, 5, 17, 60])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_each_end_of_garwoods_interval_has_half_of_the_tail_probability(
    count: int, level: float
) -> None:
    low, high = poisson_interval(count, level)

    def at_most(k: int, rate: float) -> float:
        return math.fsum(math.exp(-rate) * rate**i / math.factorial(i) for i in range(k + 1))

    assert at_most(count, high) == pytest.approx((1 - level) / 2)
    if count:
        assert 1 - at_most(count - 1, low) == pytest.approx((1 - level) / 2)
    else:
        assert low == 0


def test_two_counts_could_differ_by_chance_if_mcnemars_exact_test_says_so() -> None:
    for a in range(14):
        for b in range(14):
            n, few = a + b, min(a, b)
            tails = 2 * sum(math.comb(n, k) for k in range(few + 1)) / 2**n
            assert could_be_chance(a, b) == (min(tails, 1.0) > 0.05), (a, b)


# Delay against length.


def test_a_line_through_four_points_equals_the_one_computed_by_hand() -> None:
    """By hand: slope 0.6, intercept 0.1, residuals of ±0.1 and ±0.3, leverages of 0.7 and 0.3.

    Each residual is divided by 1 minus the leverage (HC3): ±1/3 and ±3/7.
    """
    (line,) = fit_lengths([0, 1, 2, 3], [0.0, 1.0, 1.0, 2.0], break_at=None).lines
    assert (line.slope_s, line.intercept_s) == pytest.approx((0.6, 0.1))
    assert line.residual_s == pytest.approx(math.sqrt(0.05))
    error = math.sqrt(2 * (1.5 / 3) ** 2 + 2 * (0.5 * 3 / 7) ** 2) / 5
    assert line.slope_error_s == pytest.approx(error)
    # t(0.975; 2) = 4.302653.
    reach = 4.302653 * error
    assert line.slope_between() == pytest.approx((0.6 - reach, 0.6 + reach))
    assert (line.shortest, line.longest, line.probes) == (0, 3, 4)
    assert line.at(10) == pytest.approx(6.1)
    assert line.rate_bps == pytest.approx(8 / 0.6)


def test_the_only_probe_of_a_length_adds_nothing_to_the_error_of_the_slope() -> None:
    """The line passes through this probe, whatever its delay is."""
    (line,) = fit_lengths([0, 0, 10], [1.0, 3.0, 5.0], break_at=None).lines
    assert line.slope_s == pytest.approx(0.3)
    assert line.slope_error_s == pytest.approx(math.sqrt(2 * 2.0**2) * (10 / 3) / (200 / 3))


def left_over(x: Floats, y: Floats) -> float:
    """Return the sum of the squared residuals of a line through these points."""
    slope, intercept = np.polyfit(x, y, 1)
    return float(np.sum((y - slope * x - intercept) ** 2))


@pytest.mark.parametrize("seed", range(6))
def test_the_break_that_is_found_has_the_smallest_squared_residuals_of_all_breaks(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(40, 60, 90).astype(float)
    y = np.where(x < 50, 0.1 * x, 3 + 0.02 * x) + rng.normal(0, 0.3, 90)
    kinds = np.unique(x)
    tried = {
        int(at): left_over(x[x < at], y[x < at]) + left_over(x[x >= at], y[x >= at])
        for at in kinds[3:-2]
    }
    fit = fit_lengths(x, y, break_at="find")
    assert fit.break_octets is not None
    assert tried[fit.break_octets] == pytest.approx(min(tried.values()))


def test_the_second_line_begins_at_the_break() -> None:
    octets = np.arange(100, 160)
    fit = fit_lengths(octets, np.where(octets < 126, 0.001 * octets, 1.0 + 0 * octets))
    assert fit.at(125) == pytest.approx(0.125)
    assert fit.at(126) == pytest.approx(1.0)
    assert fit.lines[1].rate_bps > 1e9, "a flat line must have a rate above 1 Gbit/s"


@given(
    rate=st.floats(1e3, 1e7),
    base=st.floats(0, 1),
    octets=st.integers(1, 1500),
    unit=st.sampled_from([1e-3, 1e-2]),
)
@settings(max_examples=200, deadline=None)
def test_the_true_rate_lies_in_the_range_that_rounded_delays_allow(
    rate: float, base: float, octets: int, unit: float
) -> None:
    delays = [base, base + 8 * octets / rate]
    first, second = (round(delay / unit) * unit for delay in delays)
    low, high = rate_band(octets, first, second, unit=unit)
    assert low * (1 - 1e-6) <= rate <= high * (1 + 1e-6)


# Bursts of long delays (glitches), their rhythm, and levels of delay.


def glitches_by_hand(delay: Floats, times: float, over: int, join: int) -> list[tuple[int, int]]:
    """Return the beginning and the end of each burst of long delays, as the definition says."""
    half = over // 2
    long = []
    for n, value in enumerate(delay):
        about = [d for d in delay[max(0, n - half) : n + half + 1] if not math.isnan(d)]
        typical = float(np.median(about if about else delay[~np.isnan(delay)]))
        if value > times * typical:
            long.append(n)
    bursts: list[tuple[int, int]] = []
    for n in long:
        if bursts and n - bursts[-1][1] <= join:
            bursts[-1] = (bursts[-1][0], n + 1)
        else:
            bursts.append((n, n + 1))
    return bursts


@pytest.mark.parametrize("join", [0, 1, 5])
@pytest.mark.parametrize("over", [11, 101])
def test_glitches_are_found_as_the_definition_says(over: int, join: int) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        delay = 0.1 + rng.exponential(0.05, 150)
        delay[rng.random(150) < 0.15] = math.nan
        delay[60:85] = math.nan
        glitches = find_glitches(delay, times=2.5, typical_over=over, join=join)
        wanted = glitches_by_hand(delay, 2.5, over, join)
        assert [(glitch.start, glitch.end) for glitch in glitches] == wanted
        for glitch in glitches:
            assert glitch.peak_s == np.nanmax(delay[glitch.start : glitch.end])
            assert glitch.times > 2.5


@pytest.mark.parametrize("period", [0.5, 7.0, 3600.0])
def test_a_rhythm_does_not_depend_on_when_it_began_or_on_the_unit(period: float) -> None:
    rng = np.random.default_rng(4)
    beats = np.arange(30) + rng.normal(0, 0.03, 30)
    plain = find_period(beats)
    assert plain is not None
    for shifted in (beats * period, 1e4 + beats * period, rng.permutation(beats) * period):
        rhythm = find_period(shifted)
        assert rhythm is not None
        assert rhythm.period_s == pytest.approx(plain.period_s * period, rel=1e-4)
        assert rhythm.strength == pytest.approx(plain.strength, rel=1e-4)


def test_a_perfect_rhythm_has_strength_one() -> None:
    perfect = find_period(np.arange(20.0))
    assert perfect is not None
    assert (perfect.period_s, perfect.strength) == pytest.approx((1.0, 1.0), rel=1e-3)
    assert perfect.chance < 1e-5
    # Of 61 events, 41 are at whole seconds and 20 halfway between two whole seconds.
    beat = np.arange(41.0)
    mixed = find_period(np.concatenate([beat, beat[:40:2] + 0.5]), longest_s=1.5)
    assert mixed is not None
    assert mixed.period_s == pytest.approx(0.5, rel=1e-3), (
        "the period must be 0.5 s, because all events fall on multiples of 0.5 s"
    )


@pytest.mark.parametrize("times", [[], [1.0] * 4, [5.0] * 9])
def test_events_at_one_time_have_no_rhythm(times: list[float]) -> None:
    assert find_period(times) is None


def test_a_recording_is_busy_only_if_its_delay_exceeds_the_bound() -> None:
    recordings = {"night": [0.1], "at": [0.125], "over": [0.126], "lossy": [math.nan, 0.1]}
    labels = label_by_delay(recordings, times=1.25)
    assert [name for name, load in labels.items() if load is Load.BUSY] == ["over"]
    assert label_by_delay({}) == {}


# How a timer adapts, and whether the figures of a row of a printed table agree with each other.


@pytest.mark.parametrize(
    ("delay", "timer", "samples"),
    [
        ([3.0, 3.0, 3.0], [4.0, 4.0, 4.0], 0),
        ([3.0, 3.0, 3.0], [2.0, 3.0, 3.0], 1),
        ([3.0, 3.0, 3.0], [2.0, 4.0, 2.0], None),
        ([3.0, math.nan, 3.0], [2.0, 2.0, 4.0], 1),
        ([3.0, 3.0, math.nan], [2.0, 4.0, 9.0], 1),
        ([3.0, math.nan, math.nan], [2.0, 9.0, 9.0], None),
        ([math.nan, math.nan, math.nan], [2.0, 2.0, 2.0], None),
    ],
)
def test_a_timer_has_adapted_when_it_is_no_longer_too_short(
    delay: list[float], timer: list[float], samples: int | None
) -> None:
    changes = adaptations([40, 40, 256, 256, 256], [1.0, 1.0, *delay], [2.0, 2.0, *timer])
    assert changes == [Adaptation(2, (40, 256), samples)]


def test_adaptation_is_judged_from_each_change_of_length_to_the_next() -> None:
    octets = [40, 256, 256, 40, 40, 1500]
    changes = adaptations(octets, [1.0] * 6, [9.0] * 6)
    assert [(change.start, change.octets) for change in changes] == [
        (1, (40, 256)),
        (3, (256, 40)),
        (5, (40, 1500)),
    ]
    assert adaptations([40, 40], [1.0, 1.0], [2.0, 2.0]) == []
    with pytest.raises(ValueError, match=r"shapes of the arrays are \(2,\), \(1,\) and \(2,\)"):
        adaptations([40, 40], [1.0], [2.0, 2.0])


def cut(value: float, parts: int = 1) -> float:
    """Return a number without the digits below 1 / `parts`, as a paper prints it."""
    return math.floor(value * parts) / parts


@given(seed=st.integers(0, 10**6), lost=st.integers(0, 60), spurious=st.integers(0, 20))
@settings(max_examples=200, deadline=None)
def test_the_printed_row_of_a_true_run_is_always_consistent(
    seed: int, lost: int, spurious: int
) -> None:
    rng = np.random.default_rng(seed)
    good = float(rng.exponential(rng.uniform(0.05, 3), 512).sum())
    waited, twice = (float(rng.exponential(2.0, n).sum()) for n in (lost, spurious))
    total = good + waited + twice
    row = Account(
        "A",
        total_s=cut(total),
        lost=lost,
        lost_s=cut(waited, 10),
        spurious=spurious,
        spurious_s=cut(twice, 10),
        mean_ms=cut(1000 * good / 512),
        cov=1.0,
        efficiency=cut(good / total, 100),
    )
    assert contradictions(row) == {}
    wrong = replace(row, efficiency=row.efficiency - 0.08)
    assert list(contradictions(wrong)) == ["efficiency"]
    assert "mean" in contradictions(replace(row, mean_ms=row.mean_ms + 25))
